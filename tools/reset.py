"""Put notebooks of the book back, and keep what the reader made of them.

    python tools/reset.py 07 ...

A chapter goes by its number, a page of the back matter by its name. What was
there is kept as book/mine/1/07_logistic.ipynb, or in the next folder that has
no such file; it runs there as well.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def find(name, root=ROOT):
    """The notebook of a number, or of a name."""
    places = [f"{name}.ipynb", f"back/{name}.ipynb"]
    if name.isdigit():
        places = [f"{name.zfill(2)}_*.ipynb"]
    found = [path for p in places for path in (root / "book").glob(p)]
    if len(found) != 1:
        raise SystemExit(f"NB must be a chapter's number; got {name!r}")
    return found[0]


def committed(path, root=ROOT):
    """The bytes of a file as they were committed."""
    place = path.relative_to(root).as_posix()
    try:
        done = subprocess.run(
            ["git", "show", f"HEAD:./{place}"], cwd=root, capture_output=True
        )
    except FileNotFoundError:
        done = None
    if not done or done.returncode:
        raise SystemExit(
            f"nothing was changed: the original of {place} comes from git, and "
            "this folder was not cloned with it. Take that file from the "
            "archive again."
        )
    return done.stdout


def keep(path, root=ROOT):
    """Move a notebook to where nothing of its name has been kept yet."""
    k = 1
    while (mine := root / "book" / "mine" / str(k) / path.name).exists():
        k += 1
    mine.parent.mkdir(parents=True, exist_ok=True)
    return path.rename(mine)


def reset(path, root=ROOT):
    """Put one notebook back; say what was done."""
    original = committed(path, root)
    name = path.relative_to(root)
    if path.read_bytes() == original:
        return f"{name} is the original"
    mine = keep(path, root)
    path.write_bytes(original)
    return f"{name} is the original again; yours is {mine.relative_to(root)}"


if __name__ == "__main__":
    if not sys.argv[1:]:
        raise SystemExit("which one? for example: make reset NB=07")
    for notebook in [find(name) for name in sys.argv[1:]]:
        print(reset(notebook))
