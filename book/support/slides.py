"""How a slider picture is drawn and written down.

    frame(draw, value, panels, style)    one drawing as matplotlib's SVG
    page(label, names, said, ...)        all of them as one piece of HTML

The HTML carries its own style and script, needs no identifiers but those of
the picture, and shows its first picture where scripts do not run.
"""

import hashlib
import io
from html import escape

import matplotlib.pyplot as plt
from matplotlib.text import Text

from support import svg

SIZE = (6.4, 3.8)  # inches of every drawing
_VIEW = "0 0 460.8 273.6"  # the same in points
PANEL = {  # steady margins, so that nothing jumps from frame to frame
    "figure.figsize": SIZE,
    "svg.fonttype": "none",
    "figure.constrained_layout.use": False,
    "figure.subplot.left": 0.12,
    "figure.subplot.right": 0.97,
    "figure.subplot.wspace": 0.3,
    "figure.subplot.bottom": 0.17,
    "figure.subplot.top": 0.92,
}
_CSS = f"""<style>
.prml-slider{{{svg.variables()};--paper:var(--pst-color-background,\
var(--jp-layout-color0,#fff));max-width:40rem;margin:0 auto;color:inherit}}
html[data-theme="dark"] .prml-slider,\
body[data-jp-theme-light="false"] .prml-slider{{{svg.variables(dark=True)}}}
html[data-theme="dark"] .bd-content div.cell_output \
.text_html:has(div.prml-slider){{background:none;color:inherit;padding:0}}
.prml-slider svg{{display:block;width:100%;height:auto;overflow:visible;\
fill:currentColor;stroke-linejoin:round;font-size:{svg.BODY}px}}
@media(max-width:600px){{.prml-slider svg{{font-size:{svg.BODY + 2}px}}}}
.prml-slider div,.prml-slider label{{display:flex;align-items:center;\
gap:0 .8em}}
.prml-slider label{{flex:1;flex-wrap:wrap}}
.prml-slider input{{flex:1 1 12em;height:1.75rem;margin:0;cursor:pointer;\
accent-color:var(--tone0)}}
.prml-slider output{{min-width:3.5em;font-variant-numeric:tabular-nums}}
.prml-slider p{{margin:.2em 0 0;min-height:3em}}
@media print{{.prml-slider input{{display:none}}}}
</style>"""
_ON_INPUT = (
    "const r=this.closest('.prml-slider'),q=s=>r.querySelector(s),k=this.value,"
    "f=r.querySelectorAll('li')[k],s=f.textContent,v=f.dataset.value;"
    "r.querySelectorAll('[data-f]').forEach("
    "g=>g.style.display=g.dataset.f==k?'':'none');"
    "this.setAttribute('aria-valuetext',v);q('output').textContent=v;"
    "q('p').textContent=s;q('svg').setAttribute('aria-label',s)"
)


def frame(draw, value, panels, style):
    """One frame as matplotlib's SVG."""
    with plt.rc_context(style | PANEL):
        fig, axes = plt.subplots(1, panels)
        draw(axes, value)
        fig.canvas.draw()
        for text in fig.findobj(Text):
            if "$" in text.get_text():  # the SVG forgets how it was aligned
                box = text.get_window_extent()
                turned = text.get_rotation() % 180 == 90
                size = (box.height if turned else box.width) * 72 / fig.dpi
                text.set_gid(f"formula {text.get_ha()} {size:.2f}")
        out = io.BytesIO()
        fig.savefig(out, format="svg", transparent=True)
        plt.close(fig)
    return out.getvalue()


def page(label, names, said, start, picture):
    """The whole slider as HTML: style, picture, range input, sentences.

    JupyterLab leaves the arrow keys to the input if asked to (data-lm-...).
    """
    prefix = "s" + hashlib.sha256(picture.encode()).hexdigest()[:8] + "-"
    picture = picture.replace("#@", f"#{prefix}")
    picture = picture.replace('id="@', f'id="{prefix}')
    label, *names = map(escape, [label, *names])
    said = [escape(s) for s in said]
    items = "".join(
        f'<li data-value="{n}">{s}</li>\n'
        for n, s in zip(names, said, strict=True)
    )
    return f"""<div class="prml-slider" role="group" aria-label="{label}">
{_CSS}
<svg viewBox="{_VIEW}" role="img" aria-label="{said[start]}">
{picture}</svg>
<div><label>{label} <input type="range" min="0" max="{len(names) - 1}" \
value="{start}" autocomplete="off" aria-valuetext="{names[start]}" \
data-lm-suppress-shortcuts="true" oninput="{_ON_INPUT}"/></label>
<output aria-live="off">{names[start]}</output></div>
<p aria-live="polite">{said[start]}</p>
<ol hidden="">
{items}</ol>
</div>"""
