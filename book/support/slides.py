"""How a slider picture is drawn and written down.

    frame(draw, value, panels, height, style)  matplotlib's SVG, panels' ends
    picture(frames, height, start)             all of them as SVG
    page(label, names, said, ...)              and as one piece of HTML

The HTML carries its own style and script, needs no identifiers but those of
the picture, and shows its first picture where scripts do not run.
"""

import re
from html import escape

import matplotlib.pyplot as plt

from support import figures, svg

WIDTH, HEIGHT = 6.4, 3.8  # inches of a drawing
PANEL = {  # steady margins, so that nothing jumps from frame to frame
    "figure.constrained_layout.use": False,
    "figure.subplot.left": 0.12,
    "figure.subplot.right": 0.97,
    "figure.subplot.wspace": 0.3,
    "figure.subplot.bottom": 0.17,
    "figure.subplot.top": 0.92,
}
_CSS = f"""<style>
{svg.CSS}.prml-slider{{max-width:40rem}}
.prml-slider div,.prml-slider label{{display:flex;align-items:center;\
gap:0 .8em}}
.prml-slider div{{flex-wrap:wrap}}
.prml-slider :is(div,p){{text-align:left}}
.prml-slider label{{display:grid;flex:1 1 100%;\
grid-template-columns:fit-content(50%) 1fr}}
.prml-slider input{{min-width:0;height:1.75rem;margin:0;cursor:pointer;\
accent-color:var(--tone0)}}
.prml-slider small{{grid-column:2;display:flex;justify-content:space-between;\
margin:0 .45em;padding-top:5px;line-height:1.2;\
background:linear-gradient(to right,currentColor 1px,transparent 0) 0 0/\
calc((100% - 1px)/var(--steps)) 4px repeat-x}}
.prml-slider button{{min-width:2rem;height:1.75rem;padding:0 .4em;\
border:1px solid;border-radius:4px;background:none;color:inherit;\
font:inherit;line-height:1;cursor:pointer}}
@media(max-width:600px){{.prml-slider label{{grid-template-columns:1fr}}\
.prml-slider small{{grid-column:1}}}}
@media(pointer:coarse){{.prml-slider button,.prml-slider input\
{{min-width:2.75rem;height:2.75rem}}}}
@media(prefers-reduced-motion:reduce){{.prml-slider .play{{display:none}}}}
.prml-slider output{{order:1;min-width:3.5em;font-variant-numeric:tabular-nums}}
.prml-slider p{{margin:.2em 0 0;min-height:3em}}
@media print{{.prml-slider :is(input,small,button){{display:none}}}}
</style>"""
_ON_INPUT = (
    "const r=this.closest('.prml-slider'),q=s=>r.querySelector(s),k=this.value,"
    "f=r.querySelectorAll('li')[k],s=f.textContent,v=f.dataset.value;"
    "r.querySelectorAll('[data-f]').forEach("
    "g=>g.style.display=g.dataset.f==k?'':'none');"
    "this.setAttribute('aria-valuetext',v);q('output').textContent=v;"
    "q('p').textContent=s;q('[role=img]').setAttribute('aria-label',s)"
)
_STEP = (
    "const i=this.closest('.prml-slider').querySelector('input');"
    "i.stepUp({});i.oninput()"
)
# a click of the button begins and stops; so do any other press and any key
_PLAY = (
    "const b=this,r=b.closest('.prml-slider'),i=r.querySelector('input'),"
    "w=['pointerdown','keydown'],p=r.querySelector('p'),"
    "say=s=>p.setAttribute('aria-live',s),"
    "own=e=>e?.target==b?!e.key||e.key==' '||e.key=='Enter':false,"
    "stop=e=>{if(own(e))return;clearInterval(b.t);b.t=0;"
    "b.textContent='play';say('polite');"
    "w.forEach(n=>window.removeEventListener(n,b.stop,true))},"
    "step=n=>{if(+i.value+n>=i.max)stop();i.stepUp(n);i.oninput()};"
    "if(b.t)return b.stop();"
    "b.stop=stop;b.textContent='stop';say('off');"
    "w.forEach(n=>window.addEventListener(n,stop,true));"
    "b.t=setInterval(step,900,1);if(i.value==i.max){i.value=0;i.oninput()}"
)
_KEYS = 'data-lm-suppress-shortcuts="true"'
_BUTTONS = f"""
<button type="button" aria-label="one step back" {_KEYS} \
onclick="{_STEP.format(-1)}">◂</button>
<button type="button" class="play" {_KEYS} onclick="{_PLAY}">play</button>
<button type="button" aria-label="one step on" {_KEYS} \
onclick="{_STEP.format(1)}">▸</button>"""


def _written(text):
    """HTML of a text, whose negative numbers have a minus sign."""
    return re.sub(r"(?<![\w-])-(?=\d)", "−", escape(text))


def _scale(names):
    """A mark for every frame under the slider; the ends have their values."""
    steps = max(len(names) - 1, 1)
    return (
        f'<small aria-hidden="true" style="--steps:{steps}">'
        f"<span>{names[0]}</span><span>{names[-1]}</span></small>"
    )


def frame(draw, value, panels, height, style):
    """One frame as matplotlib's SVG, and where its panels end."""
    with plt.rc_context(style | PANEL):
        fig, axes = plt.subplots(1, panels, figsize=(WIDTH, height))
        draw(axes, value)
        cuts = figures.cuts(fig)
        made = svg.drawing(fig)
        plt.close(fig)
    return made, cuts


def picture(frames, height, start):
    """All frames as SVG; panels side by side stack where there is no room."""
    cuts, refs = frames[start][1], {}
    held = [svg.panels(made, refs, len(cuts) - 1) for made, _ in frames]
    columns = [svg.layers(panel, start) for panel in zip(*held, strict=True)]
    columns[0] = svg.definitions(refs) + columns[0]
    return svg.row(cuts, 72 * height, columns)


def page(label, names, said, start, picture):
    """The whole slider as HTML: style, picture, range input, sentences.

    JupyterLab leaves the arrow keys to the input if asked to (data-lm-...).
    """
    label, *names = map(_written, [label, *names])
    said = [_written(s) for s in said]
    items = "".join(
        f'<li data-value="{n}">{s}</li>\n'
        for n, s in zip(names, said, strict=True)
    )
    return f"""<div class="prml-slider prml-picture" role="group" \
aria-label="{label}">
{_CSS}
<span class="prml-panels" role="img" aria-label="{said[start]}">
{svg.named(picture)}</span>
<div><label>{label} <input type="range" min="0" max="{len(names) - 1}" \
value="{start}" autocomplete="off" aria-valuetext="{names[start]}" \
data-lm-suppress-shortcuts="true" oninput="{_ON_INPUT}"/>{_scale(names)}</label>
<output aria-live="off">{names[start]}</output>{_BUTTONS}</div>
<p aria-live="polite">{said[start]}</p>
<ol hidden="">
{items}</ol>
</div>"""
