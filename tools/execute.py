"""Run notebooks and write their outputs back.

    python tools/execute.py              every notebook below book/
    python tools/execute.py FILE ...     only these

A second run changes no byte: nothing that depends on the clock, the machine
or the versions of tools is kept.  Cell ids, tags and sources stay as they are.
A run of all notebooks that was killed goes on where it was.
"""

import os
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools import journal

JOURNAL = Path(".make/outputs.jsonl")
# read when the kernel starts: fixed digits, and no fight for cores
STEADY = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
}
KERNEL = {
    "display_name": "Python 3 (ipykernel)",
    "language": "python",
    "name": "python3",
}


def run(path):
    """Execute one notebook in its own folder and return it, tidied."""
    notebook = nbformat.read(path, as_version=4)
    notebook.nbformat_minor = 5
    notebook.metadata = nbformat.from_dict(
        {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    )
    NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        extra_arguments=["--log-level=ERROR"],
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(path.parent)}},
    ).execute()
    # the kernel's answer has overwritten it with versions
    notebook.metadata["language_info"] = nbformat.from_dict({"name": "python"})
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    return notebook


def every_notebook(book):
    """The chapters, then those of the back matter."""
    return [*sorted(book.glob("*.ipynb")), *sorted(book.glob("back/*.ipynb"))]


def rests_on():
    """What the outputs depend on besides the cells."""
    library = [*Path("prml4").glob("**/*.py"), *Path("book/support").glob("*")]
    return journal.digest_of(p for p in library if p.suffix == ".py")


def main(names):
    """Run the named notebooks; name the first failing cell of each."""
    paths = [Path(n) for n in names] or every_notebook(Path("book"))
    done = None if names else journal.Journal(JOURNAL, rests_on())
    os.environ.update(STEADY)
    failures = 0
    for path in paths:
        print(f"{path} ", end="", flush=True)
        if done and done.results.get(str(path)) == journal.digest_of([path]):
            print("done before")
            continue
        start = time.perf_counter()
        try:
            text = nbformat.writes(run(path)) + "\n"
        except CellExecutionError as error:
            failures += 1
            print(f"FAILED\n{error}")
            continue
        changed = path.read_text(encoding="utf-8") != text
        if changed:
            journal.write(path, text)
        if done:
            done.add(str(path), journal.digest_of([path]))
        seconds = time.perf_counter() - start
        print(f"{seconds:.1f} s, {'changed' if changed else 'unchanged'}")
    if done and not failures:
        done.close()
    return failures


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) > 0)
