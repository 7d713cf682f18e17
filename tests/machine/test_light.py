"""What the pages load: typefaces cut down, style sheets without dead rules."""

import base64
import io
import re
from importlib.util import find_spec
from pathlib import Path

import tinycss2
from fontTools.ttLib import TTFont

from theme import light


def pruned(sheet, *words):
    """The style sheet, as pages with these words need it."""
    rules = tinycss2.parse_stylesheet(sheet, True, True)
    return tinycss2.serialize(list(light.used(rules, set(words))))


def test_rules_for_what_no_page_has_are_left_out():
    """A selector needs all its classes and ids; one of a list is enough."""
    assert pruned(".a .b{x:1}", "a") == ""
    assert pruned(".a .b{x:1}", "a", "b") == ".a .b{x:1}"
    assert pruned(".c,p.a{x:1}", "a") == ".c,p.a{x:1}"
    assert pruned("#top{x:1}") == ""
    assert pruned("h1:not(.c){x:1}") == "h1:not(.c){x:1}"


def test_rules_inside_media_queries_are_judged_too():
    sheet = "@media print{.a{x:1}.b{x:2}}@media print{.b{x:3}}"
    assert pruned(sheet, "a") == "@media print{.a{x:1}}"


def test_a_typeface_holds_the_characters_of_the_book_alone():
    """The letter is there, another one is not; the sheet holds the file."""
    rule = light.face({"a", "é"}, *light.FACES[0])
    data = re.search('base64,([^"]+)', rule)[1]
    font = TTFont(io.BytesIO(base64.b64decode(data)))
    assert set(font.getBestCmap()) == {ord("a"), ord("é")}
    assert font.flavor == "woff2" and len(data) < 5000


def test_what_is_taken_out_of_the_script_stands_in_it():
    """Once; another version of the theme may write it in another way."""
    home = find_spec("pydata_sphinx_theme").submodule_search_locations[0]
    (folder,) = Path(home).glob("theme/*/static/scripts")
    script = folder / "pydata-sphinx-theme.js"
    assert script.read_text("utf-8").count(light.ASKED) == 1
