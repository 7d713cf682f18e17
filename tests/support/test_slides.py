"""support.slides: the slider around the pictures."""

import xml.etree.ElementTree as ET

import pytest
from support import slides

from tools.browser import launch


def slider(**changed):
    words = {
        "label": "width < 1",
        "names": ["0.1", "0.2"],
        "said": ["narrow & tall", "wide"],
        "start": 1,
        "picture": '<path id="@0"/><use href="#@0"/>',
    } | changed
    return slides.page(**words)


def test_the_slider_is_well_formed_and_says_its_frame():
    """A screen reader hears the sentence of the frame that is shown."""
    root = ET.fromstring(slider())
    assert root.find("span").get("aria-label") == "wide"
    assert root.find("p").text == "wide"
    control = root.find("div/label/input")
    assert (control.get("max"), control.get("value")) == ("1", "1")


def test_negative_numbers_have_a_minus_sign():
    """In names and sentences; a hyphen between words stays one."""
    text = slider(names=["-2.7", "3"], said=["low-cost, at -2.7", "up, 1-2"])
    assert 'data-value="−2.7">low-cost, at −2.7</li>' in text
    assert ">up, 1-2</li>" in text


def test_ids_of_different_sliders_do_not_collide():
    """References point into their own picture."""
    one, two = slider(), slider(picture='<path id="@0" d="M0"/>')
    ids = [ET.fromstring(s).find("span/path").get("id") for s in (one, two)]
    assert ids[0] != ids[1]
    assert f'href="#{ids[0]}"' in one


NAMES = [str(k) for k in range(5)]


@pytest.fixture
def visit(tmp_path):
    """A slider of five frames on a page of its own."""
    from playwright.sync_api import sync_playwright

    page = tmp_path / "slider.html"
    page.write_text(slider(names=NAMES, said=[f"frame {n}" for n in NAMES]))

    def goto(**options):
        view = browser.new_context(**options).new_page()
        view.goto(page.as_uri())
        return view

    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield goto
        browser.close()


def test_the_scale_has_a_mark_for_every_frame_and_names_the_ends():
    scale = ET.fromstring(slider()).find("div/label/small")
    assert scale.get("style") == "--steps:1"
    assert [end.text for end in scale] == ["0.1", "0.2"]


@pytest.mark.browser
def test_steps_go_to_the_ends_and_not_beyond(visit):
    """By keyboard; picture, value and sentence follow."""
    view = visit()
    for name, end in (("back", "0"), ("on", "4")):
        button = view.get_by_role("button", name=f"one step {name}")
        for _ in range(5):
            button.press("Enter")
        assert view.locator("output").inner_text() == end
        assert view.locator("p").inner_text() == f"frame {end}"


@pytest.mark.browser
def test_play_runs_to_the_end_and_begins_again(visit):
    view = visit()
    play = view.locator(".play")
    play.click()
    assert play.inner_text() == "stop"
    assert view.locator("p").get_attribute("aria-live") == "off"
    view.locator("output", has_text="4").wait_for()
    assert play.inner_text() == "play"
    assert view.locator("p").get_attribute("aria-live") == "polite"
    play.press("Enter")
    assert view.locator("output").inner_text() == "0"
    play.press("Enter")
    assert play.inner_text() == "play"


@pytest.mark.browser
@pytest.mark.parametrize("stop", ["key", "press", "button", "slider"])
def test_play_stops_on_any_input(visit, stop):
    view = visit()
    play = view.locator(".play")
    play.click()
    {
        "key": lambda: view.keyboard.press("Shift"),
        "press": lambda: view.mouse.click(5, 5),
        "button": play.click,
        "slider": lambda: view.locator("input").press("Home"),
    }[stop]()
    assert play.inner_text() == "play"
    here = view.locator("output").inner_text()
    view.wait_for_timeout(1100)
    assert view.locator("output").inner_text() == here


@pytest.mark.browser
def test_nothing_plays_for_those_who_want_no_motion(visit):
    """The steps stay."""
    view = visit(reduced_motion="reduce")
    assert not view.locator(".play").is_visible()
    assert view.get_by_role("button", name="one step on").is_visible()
