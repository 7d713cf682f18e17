"""Which cells of a notebook are read, and which stand in the audit alone.

A page in *Read* shows what teaches, in *Audit* everything. The rule:

- An exercise and its solution are read, and so is a cell tagged `shown`.
- A cell of checks is sealed at its equation; what else it shows is read.
- A cell tagged `numbers`, which asserts numbers of the prose, is audit.
- A cell that shows nothing is read if a name that it makes is used in the main
  line; if not, or if it calls the referee, it sets up checks: audit.
"""

import dis
import re
from types import CodeType

from tools.chapters import CLAIM_CHECKS, SILENT, pictures_of, referee_calls

VERDICT = re.compile(r'\s*<div class="(check|slip)">')
REFEREE = CLAIM_CHECKS | SILENT | {"slip"}


def audit_only(cells):
    """Indices of the code cells that stand in the audit alone."""
    needed, audit = set(), set()
    for cell in reversed([c for c in cells if c.kind == "code"]):
        if cell.is_reader:
            continue
        reads, makes = names_of(compile(cell.tree, "cell", "exec"))
        read = is_read(cell, needed & makes)
        needed -= makes
        if read:
            needed |= reads
        elif not any(map(verdict, cell.outputs)):
            audit.add(cell.index)
    return audit


def is_read(cell, needed):
    """Whether the code of a cell is read; `needed` are names that it makes."""
    if "shown" in cell.tags:
        return True
    calls = {call.func.attr for call, _ in referee_calls(cell.tree)}
    if "numbers" in cell.tags or any(map(verdict, cell.outputs)):
        return False
    return bool(cell.outputs or needed and not calls & REFEREE)


def folded(outputs):
    """What the line says that opens folded code."""
    if pictures_of(outputs):
        return "Code of the picture"
    return "Code" if outputs else "Set-up"


def verdict(output):
    """Whether an output is the line of a check or of a slip."""
    html = output.get("data", {}).get("text/html", "")
    return bool(VERDICT.match("".join(html)))


def names_of(code):
    """(names that it reads and did not make before, names that it makes)."""
    reads, makes = set(), set()
    for step in dis.get_instructions(code):
        if isinstance(step.argval, CodeType):
            reads |= names_of(step.argval)[0] - makes
        elif step.opname in ("LOAD_NAME", "LOAD_GLOBAL"):
            reads |= {step.argval} - makes
        elif step.opname in ("STORE_NAME", "STORE_GLOBAL"):
            makes.add(step.argval)
    return reads, makes
