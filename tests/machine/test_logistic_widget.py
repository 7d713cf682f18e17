"""The points that a reader moves in chapter 7: certificate, fit, intervals."""

from pathlib import Path

import numpy as np
import pytest

from prml4 import irls, logistic
from prml4.models.data import with_bias
from prml4.numerics.separation import separation

ASSETS = Path(__file__).resolve().parents[2] / "theme/assets"
PRECISIONS = [0, 0, 0.001, 0.1, 1, 20]


@pytest.fixture(scope="module")
def compute(chromium):
    """The function behind the picture, in an empty page."""
    page = chromium.new_page()
    for name in ["linear.js", "logistic.js"]:
        page.add_script_tag(path=ASSETS / name)

    def asked(X, t, alpha=0):
        rows = zip(X.tolist(), t.tolist(), strict=True)
        points = [{"x": x, "y": y, "t": c} for (x, y), c in rows]
        state = {"points": points, "alpha": alpha}
        return page.evaluate("s => bookLogistic.compute(s)", state)

    return asked


def clouds(rng):
    """Two clouds, nearer or further, in steps of 1/8 or anywhere."""
    N, apart = rng.integers(6, 31), rng.uniform(0, 4)
    t = rng.integers(0, 2, size=N)
    X = rng.normal(size=(N, 2)) + apart * (t - 0.5)[:, None]
    return (X if rng.random() < 0.3 else np.round(8 * X) / 8), t


def ties(rng):
    """A few points on a coarse grid: on lines, in one place, of one class."""
    N = rng.integers(1, 8)
    X = rng.integers(-2, 3, size=(N, 2)) * rng.choice([0.125, 0.5, 1])
    if rng.random() < 0.3:  # on one line
        X = X[:, :1] * rng.integers(-2, 3, size=2) + rng.integers(-1, 2, size=2)
    return X.astype(float), rng.integers(0, 2, size=N)


def agrees(found, X, t, alpha):
    """Every number of a state against the library; whether there is a fit."""
    Phi = with_bias(X)
    Z = (2 * t - 1)[:, None] * Phi
    assert found["kind"] == separation(Phi, t).kind
    assert found["rank"] == np.linalg.matrix_rank(Phi)
    tied = np.isin(np.arange(len(t)), found["tied"])
    if found["kind"] != "none":
        margins = Z @ found["u"]
        assert margins[tied] == pytest.approx(0, abs=1e-12)
        assert (margins[~tied] > 1e-12).all()
    assert tied.any() == (found["kind"] != "complete")
    if alpha or (found["kind"] == "none" and found["rank"] == 3):
        fit = logistic.fit(Phi, t, alpha=alpha)
        assert found["w"] == pytest.approx(fit.w, rel=1e-8, abs=1e-9)
        se = logistic.standard_errors(fit, Phi)
        assert found["se"] == pytest.approx(se, rel=1e-8)
        assert found["error"] == pytest.approx(fit.error, rel=1e-8)
        y = logistic.predict_proba(fit, Phi)[:, 1]
        assert found["y"] == pytest.approx(y, rel=1e-8)
        other = irls.fit_irls(Phi, t, alpha=alpha).w
        assert found["w"] == pytest.approx(other, rel=1e-8, abs=1e-8)
        return True
    assert found["w"] is None and found["se"] is None
    assert found["error"] == pytest.approx(least(Phi[tied], t[tied]), rel=1e-8)
    return False


def least(Phi, t):
    """The infimum of E: what the rows cost that no direction improves."""
    if not len(t):
        return 0
    _, size, V = np.linalg.svd(Phi, full_matrices=False)
    return logistic.fit(Phi @ V[size > 1e-9].T, t).error


@pytest.mark.browser
@pytest.mark.parametrize("draw", [clouds, ties])
def test_every_number_is_the_library_s(compute, rng, draw):
    """A hundred states of each sort, with a prior and without."""
    kinds, fits = set(), 0
    for _ in range(100):
        X, t = draw(rng)
        alpha = rng.choice(PRECISIONS)
        found = compute(X, t, alpha)
        fits += agrees(found, X, t, alpha)
        kinds.add(found["kind"])
    assert kinds >= {"none", "complete"} and 20 < fits < 100
    assert draw is clouds or "quasi-complete" in kinds


SPECIAL = {  # points, classes; kind, rank, how many are tied
    "one point": ([[1, 2]], [1], "complete", 1, 0),
    "one class": ([[1, 2], [0, 1], [3, 3]], [0, 0, 0], "complete", 3, 0),
    "both classes in one place": ([[1, 2], [1, 2]], [0, 1], "none", 1, 2),
    "a third beside them": (
        [[1, 2], [1, 2], [2, 2]], [0, 1, 1], "quasi-complete", 2, 2,
    ),
    "points of both classes on the line": (
        [[0, 0], [1, 0], [2, 0], [0, 1], [0, -1]], [0, 1, 0, 1, 0],
        "quasi-complete", 3, 3,
    ),
    "touching in a corner": (
        [[0, 0], [0, 0], [1, 1], [-1, -2]], [0, 1, 1, 0],
        "quasi-complete", 3, 2,
    ),
    "mixed on a line": ([[0, 0], [1, 1], [2, 2]], [0, 1, 0], "none", 2, 3),
    "exclusive or": (
        [[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1], "none", 3, 4,
    ),
}  # fmt: skip


@pytest.mark.browser
@pytest.mark.parametrize("name", SPECIAL)
@pytest.mark.parametrize("alpha", [0, 0.5])
def test_certificates_of_special_states(compute, name, alpha):
    X, t, *wanted = SPECIAL[name]
    X, t = np.array(X, float), np.array(t)
    found = compute(X, t, alpha)
    got = [found["kind"], found["rank"], len(found["tied"])]
    assert got == wanted
    agrees(found, X, t, alpha)


@pytest.mark.browser
def test_no_points_leave_the_prior(compute):
    X, t = np.empty((0, 2)), np.empty(0)
    assert compute(X, t)["w"] is None
    found = compute(X, t, 4)
    assert (found["w"], found["se"]) == ([0, 0, 0], [0.5, 0.5, 0.5])


# --- on the page of chapter 7 ------------------------------------------------
PAGE = ASSETS.parents[1] / "_build/html/book/07_logistic.html"


@pytest.fixture
def visit(opened):
    """Open the page at the widget."""

    def goto(width=1300, **options):
        view = opened(PAGE, "#logistic-widget", width, **options)
        if options.get("java_script_enabled", True):  # nothing moves after it
            view.wait_for_selector("html[data-math=typeset]", timeout=60_000)
        return view, view.locator("figure#logistic-widget")

    return goto


def begin(box, name):
    box.locator(f"[data-start={name}]").click()


def kind(box):
    return box.locator(".touch").get_attribute("data-kind")


def shown(box):
    """The three weights as they are written, as numbers."""
    words = box.locator(".weights p span:first-child").all_inner_texts()[:3]
    return [float(w.split("=")[1].replace("−", "-")) for w in words]


@pytest.mark.browser
@pytest.mark.parametrize("width", [1300, 390])
def test_it_can_be_used_by_keyboard_alone(visit, width):
    """Choose, move, relabel, remove and add; each is said, and drawn."""
    view, box = visit(width)
    said = box.get_by_role("status")
    dots = box.locator("svg[role=application] [role=button]")
    box.locator("[role=application] [tabindex='0']").focus()
    view.keyboard.press("ArrowRight")
    assert "Point 1 of class 0 moved to (−2.375, −1)." in said.inner_text()
    view.keyboard.press("Shift+ArrowUp")
    assert "to (−2.375, 0)." in said.inner_text()
    view.keyboard.press("PageDown")
    assert "Point 2 of class 0 at (−1.75, 1) is chosen" in said.inner_text()
    name = view.locator(":focus").get_attribute("aria-label")
    assert name == "Point 2 of class 0 at (−1.75, 1)"
    view.keyboard.press("Space")
    assert "Point 2 is now of class 1" in said.inner_text()
    view.keyboard.press("Delete")
    assert "11 are left" in said.inner_text() and dots.count() == 11
    for _ in range(11):
        view.keyboard.press("Backspace")
    assert dots.count() == 0 and "there are no points" in box.inner_text()
    view.keyboard.press("Enter")  # the focus has gone to the button
    assert "Point 1 of class 0 added at (0, 0)." in said.inner_text()
    assert kind(box) == "complete"


@pytest.mark.browser
def test_the_prior_is_a_slider_that_says_its_value(visit):
    """As far as 100; the weights grow with every step towards none."""
    view, box = visit()
    begin(box, "complete")
    assert "no minimum" in box.locator(".judgement").inner_text()
    slider = box.get_by_role("slider")
    slider.press("End")
    assert slider.get_attribute("aria-valuetext") == "100"
    sizes = []
    for _ in range(16):
        sizes.append(np.linalg.norm(shown(box)))
        slider.press("ArrowLeft")
    assert (np.diff(sizes) > 0).all()
    assert slider.get_attribute("aria-valuetext") == "0, no prior"
    assert "none" in box.locator(".weights").inner_text()


@pytest.mark.browser
def test_what_the_text_promises_happens(visit):
    """Two labels to separation; one step from quasi-complete to each side."""
    view, box = visit()
    key = view.keyboard.press

    def choose(name):
        place = box.locator("[role=application] [tabindex='0']")
        place.focus()
        while name not in view.locator(":focus").get_attribute("aria-label"):
            key("PageDown")

    size = [np.abs(shown(box)).max()]
    for name in ("class 1 at (−1.5, 0.25)", "class 0 at (1.25, 0.75)"):
        assert kind(box) == "none"
        choose(name)
        size.append(np.abs(shown(box)).max())
        key("Space")
    assert kind(box) == "complete" and size[2] > 2 * size[0]
    begin(box, "quasi-complete")
    assert kind(box) == "quasi-complete"
    assert "towards 1.91" in box.locator(".judgement").inner_text()
    choose("class 1 at (0, 0)")
    key("ArrowRight")
    assert kind(box) == "complete"
    key("ArrowLeft")
    key("ArrowLeft")
    assert kind(box) == "none"


@pytest.mark.browser
@pytest.mark.parametrize("touch", [False, True])
def test_points_follow_the_mouse_and_the_finger(visit, touch):
    """Add, drag, relabel by another tap; targets of 44 pixels."""
    view, box = visit(390 if touch else 1300, has_touch=touch)
    plane = box.locator("[role=application]")
    plane.scroll_into_view_if_needed()
    r = plane.bounding_box()
    here = {"x": r["width"] * 0.5, "y": r["height"] * 0.125}  # (0, 3)
    press = plane.tap if touch else plane.click
    said = box.get_by_role("status")
    press(position=here)
    assert "Point 13 of class 0 added at (0, 3.125)." in said.inner_text()
    press(position=here)
    assert "Point 13 is now of class 1." in said.inner_text()
    if touch:
        sizes = [b.bounding_box() for b in box.locator("button").all()]
        sizes += [c.bounding_box() for c in box.locator(".reach").all()]
        assert min(s["height"] for s in sizes) >= 44
        return
    r = plane.bounding_box()
    view.mouse.move(r["x"] + here["x"], r["y"] + here["y"])
    view.mouse.down()
    view.mouse.move(r["x"] + here["x"] + 50, r["y"] + here["y"], steps=4)
    view.mouse.up()
    assert "Point 13 of class 1 moved to (1.125, 3.125)." in said.inner_text()


@pytest.mark.browser
def test_without_scripts_a_sentence_and_on_paper_a_picture(visit):
    _, box = visit(java_script_enabled=False)
    assert "That needs JavaScript" in box.inner_text()
    assert box.locator("svg, button").count() == 0
    view, box = visit()
    assert box.bounding_box()["height"] < 0.7 * 900
    view.emulate_media(media="print")
    assert box.locator("svg[role]").first.is_visible()
    assert box.locator(":is(button, input, .keys):visible").count() == 0
    assert "Figure 7." in box.locator("figcaption").inner_text()


def test_the_scripts_are_small():
    """At most 25 KB, and only on the pages that have the widget."""
    names = ["linear.js", "logistic.js", "logistic.css"]
    assert sum((ASSETS / n).stat().st_size for n in names) < 25_000
    for page in PAGE.parent.glob("*.html"):
        used = "logistic.js" in page.read_text(encoding="utf-8")
        assert used == (page == PAGE)
