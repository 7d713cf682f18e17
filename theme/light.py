"""The Sphinx extension that makes small what the pages load.

When the book is built, the typefaces are cut down to the characters of the
book and put into one style sheet, so that no line moves when they arrive, and
the theme's style sheets lose the rules that no page can use.
"""

import base64
import io
import re
from importlib.util import find_spec
from pathlib import Path

import tinycss2
from fontTools import subset
from fontTools.ttLib import TTFont

# family, package, file, weight, style
FACES = [
    (family, f"font_source_{kind}_pro", f"Source{kind.title()}Pro-{name}.ttf",
     weight, style)
    for family, kind in (("Source Serif", "serif"), ("Source Sans", "sans"))
    for name, weight, style in (
        ("Regular", 400, "normal"), ("It", 400, "italic"),
        ("Semibold", 600, "normal"), ("SemiboldIt", 600, "italic"),
    )
    if (kind, name) != ("sans", "SemiboldIt")
]  # fmt: skip
FACE = """@font-face {{
  font-family: "{family}"; font-weight: {weight}; font-style: {style};
  src: url("data:font/woff2;base64,{data}") format("woff2"); }}
"""
ASCII = {chr(code) for code in range(32, 127)}
# where the theme and the extensions leave their style sheets
SHEETS = ("styles/*.css", "mystnb*.css", "sphinx-design*.css", "proof.css")
# the theme asks every box, one after the other, whether it scrolls, and again
# whenever a formula is typeset; book.js asks all at once
ASKED = '"complete"===document.readyState?I():window.addEventListener("load",I)'
NAME = re.compile(r"[.#]((?:[\w-]|\\.)+)")


def lighten(app, exception):
    """Write the typefaces; prune the style sheets and a script."""
    if exception or app.builder.format != "html":
        return
    static = Path(app.outdir, "_static")
    pages = [p.read_text("utf-8") for p in Path(app.outdir).rglob("*.html")]
    scripts = [p.read_text("utf-8") for p in static.rglob("*.js")]
    theme = static / "scripts/pydata-sphinx-theme.js"
    theme.write_text(theme.read_text("utf-8").replace(ASKED, "0"), "utf-8")
    characters = ASCII.union(*map(set, pages))
    faces = [face(characters, *parts) for parts in FACES]
    (static / "fonts.css").write_text("".join(faces), encoding="utf-8")
    words = set(re.findall(r"[\w-]+", " ".join(pages + scripts)))
    for sheet in (p for pattern in SHEETS for p in static.glob(pattern)):
        rules = tinycss2.parse_stylesheet(sheet.read_text("utf-8"), True, True)
        kept = tinycss2.serialize(list(used(rules, words)))
        sheet.write_text(kept, encoding="utf-8")


def face(characters, family, package, name, weight, style):
    """A typeface with these characters alone, as a rule of a style sheet."""
    home = find_spec(package).submodule_search_locations[0]
    font, packed = TTFont(Path(home, "files", name)), io.BytesIO()
    options = subset.Options(hinting=False, notdef_outline=True)
    cut = subset.Subsetter(options)
    cut.populate(unicodes=map(ord, characters))
    cut.subset(font)
    font.flavor = "woff2"
    font.save(packed)
    data = base64.b64encode(packed.getvalue()).decode()
    return FACE.format(family=family, weight=weight, style=style, data=data)


def used(rules, words):
    """The rules of a style sheet that some page may need."""
    for rule in rules:
        if rule.type == "qualified-rule":
            selectors = tinycss2.serialize(rule.prelude)
            if any(possible(s, words) for s in split(selectors)):
                yield rule
        elif rule.type == "at-rule" and rule.at_keyword in (
            "media",
            "supports",
        ):
            inner = tinycss2.parse_rule_list(rule.content, True, True)
            rule.content = list(used(inner, words))
            if rule.content:
                yield rule
        elif "Awesome" not in rule.serialize():
            yield rule


def split(selectors):
    """The selectors of a rule, cut at commas outside parentheses."""
    return re.split(r",(?![^(]*\))", selectors)


def possible(selector, words):
    """Whether all classes and ids that a selector asks for exist."""
    asked = re.sub(r":not\([^)]*\)", "", selector)
    return all(name in words or "\\" in name for name in NAME.findall(asked))


def setup(app):
    """Register with Sphinx."""
    # after the other files have been written
    app.connect("build-finished", lighten, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
