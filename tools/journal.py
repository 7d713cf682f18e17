"""What a long run has done so far: killed at any moment, it can go on.

A journal is a file with a line for each result. Lines are appended whole; one
that was torn is left out. The first line tells on what the results rest: if
that has changed the journal begins anew.
"""

import hashlib
import json
import os
from pathlib import Path


def digest(*texts):
    """Sixteen letters that change with any of the texts."""
    whole = "\0".join(map(str, texts)).encode()
    return hashlib.sha256(whole).hexdigest()[:16]


def digest_of(paths):
    """The same for files, their names included."""
    paths = sorted(map(Path, paths))
    return digest(*(x for p in paths for x in (p.name, p.read_text("utf-8"))))


def write(path, text):
    """Replace a file by a new one: whole, or not at all."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8", newline="\n")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


class Journal:
    """The results of a run, by name."""

    def __init__(self, path, rests_on):
        """Go on where a run that rested on the same was stopped."""
        self.path = Path(path)
        self.results = dict(self._lines())
        if self.results.pop("", None) != rests_on:
            self.results = {}
            write(self.path, json.dumps(["", rests_on]) + "\n")

    def _lines(self):
        """(name, result) of every whole line."""
        text = self.path.read_text("utf-8") if self.path.exists() else ""
        for line in text.split("\n")[:-1]:
            try:
                yield json.loads(line)
            except ValueError:
                continue

    def add(self, name, result):
        """Keep a result; safe from several processes at once."""
        line = f"\n{json.dumps([name, result])}\n".encode()
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(file, line)
        finally:
            os.close(file)

    def read(self):
        """name -> result, as the file stands."""
        self.results = dict(self._lines())
        self.results.pop("", None)
        return self.results

    def close(self):
        """The run is complete: the next begins anew."""
        self.path.unlink(missing_ok=True)
