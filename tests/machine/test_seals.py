"""Seals: which cells they fold, and what they say."""

from docutils import nodes

from theme import flow, seals
from tools import chapters as reader

VERDICT = '<div class="check"><span class="mark">✓</span></div>'


def cells(*sources):
    """Code cells from (source, output, tag): "check" is the referee's line."""
    made = []
    for k, (source, output, *tags) in enumerate(sources):
        data = {"check": {"text/html": VERDICT}, "text": {"text/plain": "1"}}
        raw = {"cell_type": "code", "source": source}
        raw["metadata"] = {"tags": tags}
        raw["outputs"] = [{"data": data[output]}] if output else []
        made.append(reader.make_cell(k, raw))
    return made


def test_what_only_sets_up_checks_is_audit():
    """A cell is read if the main line uses a name of it, however late."""
    found = flow.audit_only(
        cells(
            ("a = 1\nb = 2", None),  # b is printed below
            ("c = a + 1", None),  # for the check alone
            ("check.printed('s-x', c=c)", "check"),
            ("print(b)", "text"),
        )
    )
    assert found == {1}


def test_a_name_that_is_made_again_is_not_used():
    """The first w is the check's; what is printed is the second."""
    found = flow.audit_only(
        cells(
            ("w = 1", None),
            ("check.psd('s-x', w)", "check"),
            ("w = 2", None),
            ("print(w)", "text"),
        )
    )
    assert found == {0}


def test_functions_use_what_their_bodies_name():
    """A name inside a function, a lambda or a comprehension counts."""
    found = flow.audit_only(
        cells(
            ("a, b, c, d = 1, 2, 3, 4", None),
            ("e = 5", None),
            ("def f(x):\n    return [x + e for _ in range(3)]", None),
            ("print(f(1), (lambda a: a)(2))", "text"),
        )
    )
    assert found == {0}


def test_tags_decide():
    """`numbers` is audit whatever it prints, `shown` is read always."""
    found = flow.audit_only(
        cells(
            ("assert 1 < 2", None),
            ("print(1)", "text", "numbers"),
            ("assert 2 < 3", None, "shown"),
            ("def f(): ...", None, "exercise"),
            ("check.given(a=(b := 1))", None),
            ("print(b)", "text"),
        )
    )
    assert found == {0, 1, 4}


def test_numbers_are_written_as_powers_of_ten():
    """As a reader would write them, and zero as zero."""
    line = "as printed: 2 members · library · sums · residual {} ≤ {}"
    said = seals.worded([line.format("1.5e-16", "2.2e-12")])
    assert said.replace("\u00a0", " ") == (
        "as printed, 2 members · prml4 · sums · "
        "residual 1.5 × 10⁻¹⁶ ≤ 2.2 × 10⁻¹²"
    )
    said = seals.worded([line.format("0.0e+00", "1.0e+00")])
    assert said.endswith("residual 0\u00a0≤\u00a01.0")
    said = seals.tens("from -1e6, by 1e-8 N or 2e2, not x1e3, 0x1e5")
    assert said.replace("\u00a0", " ") == (
        "from −10⁶, by 10⁻⁸ N or 2 × 10², not x1e3, 0x1e5"
    )


def test_many_runs_are_one_line_with_the_worst():
    """Nine families: what is printed is the one nearest to its bound."""
    line = "identity: display = library · residual {} ≤ {}"
    pairs = [("3.0e-13", "2.0e-12"), ("2.0e-13", "4.0e-13")]
    said = seals.worded([line.format(*pair) for pair in pairs])
    assert said.replace("\u00a0", " ") == (
        "2 cases, identity: display = prml4 · "
        "worst residual 2.0 × 10⁻¹³ ≤ 4.0 × 10⁻¹³"
    )


def page(*children):
    """A section with a display labelled s-x and the children."""
    block = nodes.math_block("", "x", ids=["equation-s-x"], label="s-x")
    return nodes.section("", block, *children)


def cell(*lines):
    """A code cell whose outputs are these pieces of HTML."""
    code = nodes.container(nb_element="cell_code_source")
    code += nodes.literal_block("", "check.printed(...)")
    outputs = nodes.container(nb_element="cell_code_output")
    for html in lines:
        outputs += nodes.container("", nodes.raw("", html, format="html"))
    return nodes.container("", code, outputs, cell_index="1")


def line(label, kind="check", spoken="holds"):
    """What the referee prints for a check or a slip of this label."""
    return (
        f'<div class="{kind}"><span class="mark" aria-hidden="true">✓</span>'
        f'<span class="visually-hidden">{spoken}:</span> '
        f'<a href="#equation-{label}">{label}</a> <span>identity: display = '
        "library · residual 0.0e+00 ≤ 2.2e-12</span></div>"
    )


def test_checks_of_one_claim_are_one_seal():
    """Two cells, one mark, two panels; the cells are gone."""
    doctree = page(cell(line("s-x")), cell(line("s-x")))
    for node in list(doctree.findall(seals.is_code)):
        seals.fold(node, doctree, shown=False)
    (mark,) = doctree.findall(seals.seal)
    assert len(list(mark.findall(nodes.literal_block))) == 2
    assert mark.parent["classes"] == ["sealed"] and len(doctree) == 1


def test_what_a_cell_of_checks_shows_besides_stays():
    """A picture beside a check is no check."""
    doctree = page(cell("<svg></svg>", line("s-x")))
    seals.fold(doctree[1], doctree, shown=False)
    (raw,) = doctree[1].findall(nodes.raw)
    assert raw.astext() == "<svg></svg>"
    assert not list(doctree[1].findall(nodes.literal_block))


def test_a_cell_tagged_shown_stays_and_is_sealed():
    doctree = page(cell(line("s-x")))
    seals.fold(doctree[1], doctree, shown=True)
    assert len(list(doctree.findall(seals.seal))) == 1
    assert len(list(doctree[1].findall(nodes.raw))) == 1


def test_a_slip_is_sealed_in_its_box():
    box = nodes.admonition("", ids=["slip-a12"])
    doctree = page(box, cell(line("s-x", "slip", "refuted: A12")))
    seals.fold(doctree[2], doctree, shown=False)
    assert isinstance(box[0], seals.seal) and box[0]["in_line"]
    assert len(doctree) == 2


def test_what_has_no_place_on_the_page_is_sealed_where_it_stands():
    doctree = page(cell(line("s-y")), cell(line("s-x", "slip", "refuted: A1")))
    for node in list(doctree.findall(seals.is_code)):
        seals.fold(node, doctree, shown=False)
    assert [type(n) for n in doctree[1:]] == [seals.seal, seals.seal]


def test_the_referee_prints_what_is_read_here():
    """The lines above are those of check, to the letter."""
    from prml4 import check

    said = check.identity("s-x", display=[1.0], library=[1.0])
    (raw,) = [nodes.raw("", said._repr_html_(), format="html")]
    kind, _, label, text = seals.said(nodes.container("", raw))
    assert (kind, label) == ("check", "s-x")
    assert seals.worded([text]).startswith("identity: display = prml4 · res")
