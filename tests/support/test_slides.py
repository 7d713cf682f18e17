"""support.slides: the slider around the pictures."""

import xml.etree.ElementTree as ET

from support import slides


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
    assert root.find("svg").get("aria-label") == "wide"
    assert root.find("p").text == "wide"
    control = root.find("div/label/input")
    assert (control.get("max"), control.get("value")) == ("1", "1")


def test_ids_of_different_sliders_do_not_collide():
    """References point into their own picture."""
    one, two = slider(), slider(picture='<path id="@0" d="M0"/>')
    ids = [ET.fromstring(s).find("svg/path").get("id") for s in (one, two)]
    assert ids[0] != ids[1]
    assert f'href="#{ids[0]}"' in one
