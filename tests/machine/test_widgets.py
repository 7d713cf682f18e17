"""What the pages let the reader touch: its numbers against the library's."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.special import roots_hermitenorm

from prml4 import ep, gp_laplace, laplace
from prml4 import gaussian_process as gp
from prml4.models import averages, kernels
from prml4.numerics import special
from prml4.studies import clutter

ROOT = Path(__file__).resolve().parents[2]
ASSETS, SITE = ROOT / "theme/assets", ROOT / "_build/html/book"
PAPER = 612  # pixels between the margins
PAGES = {"gp": "16_gaussian_process", "ep": "18_ep"}


@pytest.fixture(scope="module")
def scripts(chromium):
    """An empty page with the scripts of the widgets, opened once."""
    page = chromium.new_page()
    for name in ("linear", "widget", *PAGES):
        page.add_script_tag(path=ASSETS / f"{name}.js")
    return page


@pytest.mark.browser
@pytest.mark.parametrize("N", [0, 1, 2, 5, 30])
def test_linear_solves(scripts, rng, N):
    """A x = b, L L^T = A and ln|A| of random matrices."""
    A = rng.normal(size=(N, N + 3))
    A, b = A @ A.T, rng.normal(size=N)
    found = """([A, b]) => { const L = Linear.cholesky(A); return {L,
      x: Linear.solve(L, b), d: Linear.logdet(L), u: Linear.forward(L, b)}}"""
    found = scripts.evaluate(found, [A.tolist(), b.tolist()])
    L = np.reshape(found["L"], (N, N))
    assert pytest.approx(A, abs=1e-12) == L @ L.T
    assert A @ found["x"] == pytest.approx(b, abs=1e-9)
    assert L @ found["u"] == pytest.approx(b, abs=1e-9)
    assert found["d"] == pytest.approx(np.linalg.slogdet(A)[1], rel=1e-12)


@pytest.mark.browser
@pytest.mark.parametrize("A", [[[0]], [[1, 2], [2, 1]], [[1, 1], [1, 1]]])
def test_linear_knows_what_is_not_positive_definite(scripts, A):
    assert scripts.evaluate("A => Linear.cholesky(A)", A) is None


@pytest.mark.browser
@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("normalCdf", special.normal_cdf),
        ("logNormalCdf", special.log_normal_cdf),
        ("mills", special.mills),
        ("millsPrime", special.mills_prime),
        ("sigmoid", special.sigmoid),
        ("log1pexp", special.softplus),
    ],
)
def test_linear_is_accurate_far_out(scripts, rng, name, other):
    """To 1e-13 up to 30; beyond, the library's own tails round earlier."""
    near = np.append(rng.uniform(-30, 9, 1000), [-1.5, 0, 1.5])
    far = rng.uniform(-37, 37, 100)
    for a, rel in [(near, 2e-13), (far, 1e-12)]:
        asked = f"a => a.map(Linear.{name})"
        got = scripts.evaluate(asked, a.tolist())
        assert got == pytest.approx(other(a), rel=rel, abs=1e-300)


@pytest.mark.browser
@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_linear_has_gauss_hermite(scripts, n):
    x, w = roots_hermitenorm(n)
    rule = scripts.evaluate("n => Linear.hermite(n)", n)
    assert rule["x"] == pytest.approx(x, abs=1e-13)
    assert rule["w"] == pytest.approx(w / w.sum(), rel=1e-11)


@pytest.mark.browser
def test_linear_draws_normal_numbers(scripts):
    """Three moments of 20000, within five errors; the seed decides."""
    asked = """seed => { const z = Linear.normals(seed);
      return Array.from({length: 20000}, z)}"""
    z, again, other = (np.array(scripts.evaluate(asked, s)) for s in (3, 3, 4))
    assert np.all(z == again) and np.all(z != other)
    for power, (mean, variance) in enumerate([(0, 1), (1, 2), (0, 15)], 1):
        error = np.sqrt(variance / len(z))
        assert abs(np.mean(z**power) - mean) < 5 * error


def gp_states(rng):
    """A hundred: no point, one, twins with opposite labels, any scale."""
    for k in range(100):
        N = (0, 1, 2)[k] if k < 3 else int(rng.integers(1, 25))
        x, y = rng.uniform(-5, 5, N), rng.uniform(-4, 4, N)
        if k % 5 == 0 and N > 1:
            x[1], y[1] = x[0], -y[0]
        yield {
            "points": [{"x": a, "y": b} for a, b in zip(x, y, strict=True)],
            "labels": bool(k % 2),
            "ell": 10 ** [-1.3, 1, rng.uniform(-1.3, 1)][min(k % 6, 2)],
            "amp": 10 ** rng.uniform(-0.5, 0.7),
            "noise": 10 ** rng.uniform(-1.3, 0),
            "seed": k,
            "turn": 0,
        }


def gp_kernel(state, x, z=None):
    """The kernel of the widget, by the library's."""
    theta = np.log([state["amp"] ** 2, state["ell"]])
    kernel = kernels.constant() * kernels.squared_exponential()
    return kernel(theta, x, x if z is None else z)


def gp_library(state, x, y, grid):
    """Mean, covariance on the grid, log evidence; of no point the prior."""
    prior = gp_kernel(state, grid)
    if not len(x):
        return np.zeros(len(grid)), prior, 0.0
    C, c = gp_kernel(state, x), gp_kernel(state, x, grid)
    if state["labels"]:
        fit = gp_laplace.fit(C, (y > 0) * 1.0, tol=1e-13)
    else:
        fit = gp.condition(C, y, noise=state["noise"] ** 2)
    mean = gp.predict_latent(fit, c, prior.diagonal())[0]
    return mean, gp.posterior_covariance(fit, c, prior), fit.log_evidence


@pytest.mark.browser
def test_gaussian_process_is_the_library_s(scripts, rng):
    """Mean, variance, evidence, functions and probabilities of 100 states."""
    for state in gp_states(rng):
        got = scripts.evaluate("state => GP.compute(state)", state)
        x, y = (np.array([p[k] for p in state["points"]]) for k in "xy")
        grid, close = np.array(got["grid"]), {"rel": 1e-8, "abs": 1e-8}
        mean, cov, evidence = gp_library(state, x, y, grid)
        assert got["mean"] == pytest.approx(mean, **close)
        assert got["variance"] == pytest.approx(cov.diagonal(), **close)
        assert got["evidence"] == pytest.approx(evidence, **close)
        root, seen = np.array(got["root"]), cov + 1e-8 * state["amp"] ** 2 * I81
        assert root @ root.T == pytest.approx(seen, **close)
        k = int(rng.integers(47))
        there = state | {"ell": got["lengths"][k]}
        other = gp_library(there, x, y, grid)[2]
        assert got["ridge"][k] == pytest.approx(other, **close)
        if state["labels"]:
            p = averages.quadrature(mean, cov.diagonal().clip(0))
            assert got["p"] == pytest.approx(p, **close)


I81 = np.eye(81)
DRAWN = """state => { const {root, mean, draws} = GP.compute(state);
  const z = Linear.normals(state.seed);
  return draws.map(f => { const own = mean.map(() => z());
    return Math.max(...Linear.matvec(root, own).map(
      (v, i) => Math.abs(mean[i] + v - f[i])))})}"""


@pytest.mark.browser
def test_functions_are_drawn_from_the_posterior(scripts, rng):
    """f = mean + root z, z standard normal; half way it is so as well."""
    state = {**next(gp_states(rng)), "turn": 0}
    assert scripts.evaluate(DRAWN, state) == [0, 0, 0]
    ends = [state, state | {"turn": 1}, state | {"turn": 0.5}]
    ends = [scripts.evaluate("s => GP.compute(s).draws", s) for s in ends]
    first, last, half = map(np.array, ends)
    assert half == pytest.approx((first + last) / np.sqrt(2), abs=1e-12)


def ep_states(rng):
    """A hundred: nothing in, one in, twins, any points, visits and shares."""
    for k in range(100):
        x = rng.uniform(-8, 8, 5) if k % 3 else rng.normal(1, 2, 5)
        if k % 5 == 0:
            x[1] = x[0]
        acts = rng.integers(1, 6, k % 12)
        acts = acts * np.where(rng.random(len(acts)) < 0.2, -1, 1)
        n, w = int(rng.integers(5)), float(rng.uniform(0.1, 0.9))
        yield {"x": x.tolist(), "w": w, "acts": acts.tolist(), "n": n}


def ep_replay(state, world):
    """The sites after the acts, by the library."""
    X, (tau, nu) = (
        np.array(state["x"])[:, None],
        (np.zeros(5), np.zeros((5, 1))),
    )
    for act in state["acts"]:
        n = abs(act) - 1
        if act > 0:
            tau, nu, _ = clutter.update(n, tau, nu, X, world)
        elif clutter.cavity(n, tau, nu, world)[1] > 0:
            tau[n], nu[n] = 0, 0
    return X, tau, nu


CLOSE = {"rel": 1e-8, "abs": 1e-8}


def moments(m, v, log_z):
    """As the widget names them."""
    seen = {"m": float(m), "v": float(v), "logZ": log_z}
    return pytest.approx(seen, **CLOSE)


@pytest.mark.browser
def test_every_visit_is_the_library_s(scripts, rng):
    """Sites, q, cavity, tilted moments, the site to come, ln Z, ADF."""
    improper = 0
    for state in ep_states(rng):
        got = scripts.evaluate("state => EP.compute(state)", state)
        world, n = clutter.World(state["w"], 10.0, 9.0), state["n"]
        X, tau, nu = ep_replay(state, world)
        assert got["tau"] == pytest.approx(tau, **CLOSE)
        assert got["nu"] == pytest.approx(nu[:, 0], **CLOSE)
        m, v = clutter.posterior(tau, nu, world)
        assert [got["q"]["m"], got["q"]["v"]] == pytest.approx([*m, v], **CLOSE)
        order = got["adf"].pop("order")
        adf = clutter.adf(X, world, order)
        assert got["adf"] == moments(adf.m[0], adf.S, adf.log_evidence)
        first = dict.fromkeys(a - 1 for a in state["acts"] if a > 0)
        assert order == [*first, *(k for k in range(5) if k not in first)]
        cavities = [clutter.cavity(k, tau, nu, world) for k in range(5)]
        assert (got["next"] is None) == (not cavities[n][1] > 0)
        if all(v_c > 0 for _, v_c in cavities):
            value = clutter.log_evidence(tau, nu, X, world)
            assert got["logZ"] == pytest.approx(value, **CLOSE)
        else:
            improper += 1
            assert got["logZ"] is None
        if got["next"]:
            ep_visit(got["next"], n, tau, nu, X, world)
    assert 0 < improper < 50


def ep_visit(seen, n, tau, nu, X, world):
    """What a visit of site n shows, and the site that it would put in."""
    m_c, v_c = clutter.cavity(n, tau, nu, world)
    own = [seen["cavity"]["m"], seen["cavity"]["v"]]
    assert own == pytest.approx([m_c[0], v_c], **CLOSE)
    log_z, rho, m_t, v_t = clutter.tilted(X[n], m_c, v_c, world)
    assert seen["tilted"].pop("rho") == pytest.approx(rho, **CLOSE)
    assert seen["tilted"] == moments(m_t[0], v_t, log_z)
    tau, nu, _ = clutter.update(n, tau, nu, X, world)
    assert [seen["tau"], seen["nu"]] == pytest.approx(
        [tau[n], nu[n, 0]], **CLOSE
    )


@pytest.mark.browser
@pytest.mark.filterwarnings("ignore::prml4.laplace.NotGaussian")
def test_the_other_answers_are_the_library_s(scripts, rng):
    """Exact by a grid, Laplace at the highest mode, EP where it ends."""
    grid, settled = np.linspace(-40, 40, 16001), 0
    for state in ep_states(rng):
        got = scripts.evaluate("state => EP.compute(state)", state)
        world = clutter.World(state["w"], 10.0, 9.0)
        X = np.array(state["x"])[:, None]
        joint = partial(clutter.log_joint, X=X, world=world)
        heights = joint(grid[:, None])
        log_z, m, v = ep.moments_on_grid(heights, grid)
        assert got["exact"] == moments(m, v, log_z)
        mode = laplace.approximate(joint, grid[[heights.argmax()]])
        sides = mode.mode[0], mode.covariance[0, 0], mode.log_evidence
        known = [got["laplace"][k] for k in ("m", "v", "logZ")]
        assert known == pytest.approx(sides, **CLOSE)
        sweeps = got["ep"].pop("sweeps")
        if sweeps is not None and sweeps < 60:
            settled += 1
            fit = clutter.fit(X, world, tol=1e-12)
            assert got["ep"] == moments(fit.m[0], fit.S, fit.log_evidence)
    assert settled > 50


# The widgets in their pages.


@pytest.fixture
def visit(opened):
    """Open a page, and wait for its widget to be drawn."""

    def goto(name, width=1300, link="", **options):
        view = opened(SITE / f"{PAGES[name]}.html", link, width, **options)
        figure = view.locator("figure.widget")
        if options.get("java_script_enabled", True):  # nothing moves after it
            view.wait_for_selector("html[data-math=typeset]", timeout=60_000)
            figure.locator("svg path.axis").first.wait_for()
            figure.scroll_into_view_if_needed()
        return figure

    return goto


def said(figure):
    """The sentence that says what changed."""
    return figure.locator(".said").inner_text()


def curves(figure):
    """What is drawn, as text."""
    return figure.locator("svg").first.inner_html()


@pytest.mark.browser
@pytest.mark.parametrize(("width", "theme"), [(1300, "light"), (390, "dark")])
def test_points_follow_the_keyboard(visit, width, theme):
    """Move one, remove it, add one, move a slider, turn values to labels."""
    figure = visit("gp", width, color_scheme=theme)
    keys, dots = figure.page.keyboard, figure.locator("button.point")
    assert dots.count() == 6 and "6 points" in said(figure)
    dots.nth(2).focus()
    before = curves(figure)
    keys.press("ArrowRight")
    keys.press("Shift+ArrowUp")
    assert "Point 3 is at x = −0.80, t = 1.60." in said(figure)
    assert dots.nth(2).get_attribute("aria-label") == (
        "point 3: x = −0.80, t = 1.60"
    )
    assert curves(figure) != before
    keys.press("Delete")
    assert dots.count() == 5 and "is gone. With 5 points" in said(figure)
    assert dots.nth(2).evaluate("e => e == document.activeElement")
    figure.get_by_role("button", name="Add a point").press("Enter")
    assert dots.count() == 6 and "A point more" in said(figure)
    figure.get_by_role("slider", name="length-scale").press("ArrowLeft")
    assert "The length-scale is 0.89." in said(figure)
    figure.get_by_role("radio", name="values").press("ArrowRight")
    assert "as labels" in said(figure)
    dots.first.focus()
    keys.press("ArrowUp")
    assert "Point 1 is at x = −3.20, t = 1." in said(figure)
    assert "class-1" in dots.first.get_attribute("class")


@pytest.mark.browser
def test_points_follow_the_finger(visit):
    """A tap adds one where it is; a drag moves one."""
    figure = visit("gp", 390, has_touch=True)
    stage, dots = figure.locator(".stage"), figure.locator("button.point")
    stage.scroll_into_view_if_needed()
    box = stage.bounding_box()
    place = {"x": box["width"] * 0.8, "y": box["height"] * 0.25}
    stage.tap(position=place)
    assert dots.count() == 7 and "A point more" in said(figure)
    dot = dots.nth(6).bounding_box()
    assert dot["x"] + 22 - box["x"] == pytest.approx(place["x"], abs=4)
    assert dot["y"] + 22 - box["y"] == pytest.approx(place["y"], abs=4)
    mouse = figure.page.mouse
    mouse.move(dot["x"] + 22, dot["y"] + 22)
    mouse.down()
    mouse.move(dot["x"] + 2, dot["y"] + 62)
    mouse.up()
    new = dots.nth(6).bounding_box()
    assert new["x"] - dot["x"] == pytest.approx(-20, abs=4)
    assert new["y"] - dot["y"] == pytest.approx(40, abs=4)
    assert dots.count() == 7 and "Point 7 is at" in said(figure)


@pytest.mark.browser
@pytest.mark.parametrize("name", PAGES)
def test_a_tap_chooses_the_point_that_is_nearest(visit, name):
    """On a phone the targets of neighbours overlap; their dots do not."""
    figure = visit(name, 390, has_touch=True)
    for point in figure.locator("button.point").all():
        point.scroll_into_view_if_needed()
        box = point.bounding_box()
        middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        figure.page.touchscreen.tap(*middle)
        assert "chosen" in point.get_attribute("class")


@pytest.mark.browser
def test_functions_swing_only_where_motion_is_welcome(visit):
    """To the next draw, at once if less motion is asked for."""
    ends = []
    for motion in ("reduce", "no-preference"):
        figure = visit("gp", reduced_motion=motion)
        button = figure.get_by_role("button", name="Other functions")
        button.evaluate("e => e.click()")
        first = curves(figure)
        figure.page.wait_for_timeout(1500)
        ends.append(curves(figure))
        assert (first == ends[-1]) == (motion == "reduce")
    assert ends[0] == ends[1]


@pytest.mark.browser
def test_a_link_leads_to_labels(visit):
    figure = visit("gp", link="#gp-labels")
    assert figure.get_by_role("radio", name="labels").is_checked()


@pytest.mark.browser
@pytest.mark.parametrize(("width", "theme"), [(1300, "dark"), (390, "light")])
def test_sites_follow_the_keyboard(visit, width, theme):
    """In, out, projected, in again, in any order; and back."""
    figure = visit("ep", width, color_scheme=theme)
    step = figure.locator("[data-do=step]")
    site = figure.get_by_role("button", name="site", exact=False)
    figure.get_by_role("button", name="Visit all in turn").press("Enter")
    assert said(figure).startswith("All sites visited, 1 to 5. Now q has")
    site.nth(3).press("Enter")
    assert step.inner_text() == "Take site 4 out"
    for words in ("Site 4 is out.", "Cavity times factor 4:", "Site 4 is in."):
        step.press("Enter")
        assert said(figure).startswith(words)
    state = EP_START | {"acts": [1, 2, 3, 4, 5, -4, 4], "n": 3}
    rows = table(figure)
    assert rows == shown(figure.page.evaluate("s => EP.compute(s)", state))
    figure.get_by_role("button", name="Take that back").press("Enter")
    assert step.inner_text() == "Put site 4 in"
    figure.get_by_role("button", name="Until nothing changes").press("Enter")
    assert table(figure)[0] == table(figure)[2]
    point = figure.locator("button.point").first
    point.press("ArrowRight")
    assert "Point 1 is at −3.9" in said(figure)


EP_START = {"x": [-4, -0.5, 1, 2.2, 2.8], "w": 0.3}


def table(figure):
    """The numbers of the table, row by row."""
    cells = figure.locator("tbody td").all_inner_texts()
    return [cells[k : k + 3] for k in range(0, len(cells), 3)]


def shown(found):
    """What the table says of these numbers."""
    rows = [found["q"] | {"logZ": found["logZ"]}]
    rows += [found[name] for name in ("adf", "ep", "laplace", "exact")]
    return [
        [
            f"{v:.3f}".replace("-", "−")
            for v in (r["m"], r["v"] ** 0.5, r["logZ"])
        ]
        for r in rows
    ]


@pytest.mark.browser
def test_what_the_chapter_says_of_the_sites(scripts):
    """Sites 1 and 2 end with negative precisions; with 0.4 none ends."""
    go_on = "s => EP.compute({...s, acts: EP.onwards({...s, acts: []})})"
    found = scripts.evaluate(go_on, EP_START | {"n": 0})
    assert found["ep"]["sweeps"] is not None
    assert [tau < 0 for tau in found["tau"]] == [
        True,
        True,
        False,
        False,
        False,
    ]
    found = scripts.evaluate(go_on, EP_START | {"n": 0, "w": 0.4})
    assert found["ep"]["sweeps"] is None


@pytest.mark.browser
@pytest.mark.parametrize("name", PAGES)
def test_targets_are_large_enough(visit, name):
    """44 pixels for every button, slider and label, at 390 as well."""
    figure = visit(name, 390)
    for target in figure.locator("button, label, [type=range]").all():
        if target.is_visible():
            box = target.bounding_box()
            assert min(box["width"], box["height"]) >= 43.9, target


@pytest.mark.browser
@pytest.mark.parametrize("name", PAGES)
def test_without_scripts_a_sentence_and_on_paper_nothing(visit, name):
    figure = visit(name, java_script_enabled=False)
    assert "needs JavaScript" in figure.inner_text()
    assert figure.locator("button, input, svg").count() == 0
    figure.page.emulate_media(media="print")
    assert not figure.is_visible()


@pytest.mark.browser
@pytest.mark.parametrize("name", PAGES)
def test_paper_shows_the_picture_and_its_number(visit, name):
    """As the page begins; nothing that can be pressed is printed."""
    figure = visit(name)
    wide = figure.locator("svg[role]").first.bounding_box()["width"]
    figure.page.set_viewport_size({"width": PAPER, "height": 900})
    figure.page.emulate_media(media="print")
    assert figure.locator(".controls:visible, input:visible").count() == 0
    box = figure.locator("svg[role]").first.bounding_box()
    assert 200 < box["width"] <= PAPER < wide
    for point in figure.locator("button.point").all():
        place = point.bounding_box()
        assert box["x"] < place["x"] + 22 < box["x"] + box["width"]
        assert box["y"] < place["y"] + 22 < box["y"] + box["height"]
    number = f"Figure {int(PAGES[name][:2])}."
    assert number in figure.locator("figcaption").inner_text()


@pytest.mark.parametrize("name", PAGES)
def test_widgets_are_small_and_only_where_they_are_used(name):
    """At most 25 KB; their notebook has a sentence that leads to the page."""
    pieces = [ASSETS / f"{name}.js", ROOT / f"theme/{name}.html"]
    shared = [ASSETS / f for f in ("linear.js", "widget.js", "widget.css")]
    for group in (pieces, shared):
        assert sum(p.stat().st_size for p in group) <= 25_000
    used = [
        path.stem
        for path in (ROOT / "book").glob("*.ipynb")
        if f'data-widget=\\"{name}\\"' in path.read_text(encoding="utf-8")
    ]
    assert used == [PAGES[name]]
    text = (ROOT / f"book/{used[0]}.ipynb").read_text(encoding="utf-8")
    assert f"html/book/{used[0]}.html#{name}-widget" in text
