"""support.svg: small, steady pictures from matplotlib's SVG."""

from support import svg


def test_last_digits_do_not_show():
    """Noise far below a tenth of a pixel leaves the text as it is."""
    assert svg.rounded("M 1.25000001 -0.0400001") == "M 1.3 0"
    assert svg.rounded("1.2499999999") == svg.rounded("1.25") == "1.3"
    assert svg.rounded("3.14159 2.5e-3", digits=2) == "3.14 0"


def test_what_all_frames_share_is_written_once():
    """Axes are common; the curves belong to their frames."""
    axes, first, second = "<path d='M0 0'/>", "<path d='M1'/>", "<path d='M2'/>"
    text = svg.layers([[axes, first], [axes, second]], 0)
    assert text.count(axes) == 1
    assert text.count(first) == text.count(second) == 1
