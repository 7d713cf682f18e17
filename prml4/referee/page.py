"""Finds the TeX of a display by its label, in the notebooks of a folder."""

import json
import re
from functools import cache
from hashlib import sha256
from pathlib import Path

from prml4.referee.tex import tokens

DISPLAY = re.compile(r"\$\$(.+?)\$\$(?:[ \t]*\(([^()\s]+)\))?", re.DOTALL)
CODE = re.compile(r"(`+)(?!`|\{).+?(?<!`)\1(?!`)")  # literal text


def display(label, folder="."):
    """(tex, file name) of the display with this label, as last saved."""
    paths = sorted(Path(folder).resolve().glob("*.ipynb"))
    found = [
        (tex, path.name)
        for path in paths
        for name, tex in displays(path, path.stat().st_mtime_ns)
        if name == label
    ]
    if len(found) == 1:
        return found[0]
    read = f"{len(paths)} notebooks of {Path(folder).resolve()}"
    if found:
        places = ", ".join(name for _, name in found)
        raise LookupError(f"{label} is displayed more than once: {places}")
    raise LookupError(
        f"no display is labelled {label} in the {read}, as they are saved: "
        'save first, or pass tex=r"..."'
    )


@cache
def displays(path, _changed):
    """(label, tex) of every labelled display of a notebook."""
    out = []
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "markdown":
            text = CODE.sub("", "".join(cell["source"]))
            pairs = [(m[2], m[1].strip()) for m in DISPLAY.finditer(text)]
            out += [pair for pair in pairs if pair[0]]
    return out


def digest(tex):
    """Eight letters that change with what the display says, not its spaces."""
    text = " ".join(t for t in tokens(tex) if t != "SP")
    return sha256(text.encode()).hexdigest()[:8]
