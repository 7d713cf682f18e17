"""Library and unit tests on several Pythons, with old and new NumPy and SciPy.

    python tools/versions.py                        all of them, all unit tests
    python tools/versions.py --python 3.12 --tests tests/test_irls.py ...

For each Python that can be found, in the folder of pyenv or on PATH: the
oldest NumPy and SciPy that pyproject.toml allows and that have a wheel for it,
then the newest. Environments are kept in .make/versions; what came of all unit
tests, in benchmarks/results/versions.json for the page "How reliable".
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools import journal

PYTHONS = "3.11", "3.12", "3.13"
# what reads the notebooks and builds the pages is tested by `make test`
ROOMS = "models", "numerics", "studies", "referee", "estimators"
TESTS = [f"tests/{room}" for room in ROOMS]
TESTS += [str(path) for path in sorted(Path("tests").glob("test_*.py"))]
RESULTS = Path("benchmarks/results/versions.json")
HOMES = ".pyenv/versions", ".local/share/uv/python"


def interpreter(version):
    """A python3 of this version, or None."""
    folders = [Path.home() / home for home in HOMES]
    if "PYENV_ROOT" in os.environ:
        folders.insert(0, Path(os.environ["PYENV_ROOT"]) / "versions")
    found = [
        python
        for folder in folders
        for python in sorted(folder.glob(f"*{version}*/bin/python{version}"))
    ]
    on_path = shutil.which(f"python{version}")
    for python in [*found, *[on_path] * bool(on_path)]:
        answer = run([python, "-c", "import sys; print(*sys.version_info[:2])"])
        if answer.stdout.split() == version.split("."):
            return str(python)
    return None


def run(command, **options):
    """The finished command, its output as text."""
    return subprocess.run(command, capture_output=True, text=True, **options)


def environment(python, version, age):
    """.make/versions/VERSION-AGE with the library and what its tests need."""
    place = Path(f".make/versions/{version}-{age}").absolute()
    uv = [shutil.which("uv", path=".venv/bin") or "uv", "pip", "install"]
    here = [*uv, "--quiet", "--python", str(place / "bin/python")]
    if not (place / "ok").exists():
        shutil.rmtree(place, ignore_errors=True)
        subprocess.run([python, "-m", "venv", str(place)], check=True)
        direct = tomllib.loads(Path("pyproject.toml").read_text())["project"]
        binary = ["--only-binary=numpy,scipy", *direct["dependencies"]]
        how = "lowest-direct" if age == "oldest" else "highest"
        # first the two alone; the rest may not move them
        subprocess.run([*here, "--resolution", how, *binary], check=True)
        both = run([place / "bin/python", "-c", VERSIONS], check=True).stdout
        pinned = place / "pinned.txt"
        pinned.write_text(both.replace(", ", "\n").replace(" ", "=="))
        rest = ["-c", str(pinned), "-e", ".[test]"]
        subprocess.run([*here, *rest], check=True)
        (place / "ok").touch()
    return place / "bin/python"


VERSIONS = (
    "import numpy, scipy;"
    "print(f'numpy {numpy.__version__}, scipy {scipy.__version__}')"
)


def counted(report):
    """How many tests passed, were skipped and failed, of pytest's XML."""
    suite = ElementTree.parse(report).find("testsuite")
    names = "tests", "skipped", "failures", "errors"
    every, skipped, *bad = (int(suite.get(name)) for name in names)
    failed = sum(bad)
    return {
        "passed": every - skipped - failed,
        "skipped": skipped,
        "failed": failed,
    }


def tried(python, tests):
    """The counts of a run of these tests, and its exit code."""
    report = python.parents[1] / "tests.xml"
    report.unlink(missing_ok=True)
    options = ["-q", "-p", "no:cacheprovider", f"--junitxml={report}"]
    code = subprocess.run([python, "-m", "pytest", *options, *tests]).returncode
    return counted(report), code


def keep(name, row):
    """Write what came of one environment beside the others."""
    rows = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    rows[name] = row
    text = json.dumps(dict(sorted(rows.items())), indent=1)
    journal.write(RESULTS, text + "\n")


def main():
    """Run the tests on each; which failed, or could not be tried."""
    parse = argparse.ArgumentParser()
    parse.add_argument("--python", nargs="+", default=PYTHONS)
    parse.add_argument("--tests", nargs="+", default=TESTS)
    asked, bad = parse.parse_args(), []
    for version in asked.python:
        found = interpreter(version)
        for age in ("oldest", "newest"):
            if found is None:
                bad.append(f"Python {version} not found")
                break
            python = environment(found, version, age)
            said = run([python, "-c", VERSIONS], check=True).stdout.strip()
            print(f"Python {version}, {said}", flush=True)
            counts, code = tried(python, asked.tests)
            if code:
                bad.append(f"Python {version}, {said}")
            if asked.tests == TESTS:
                keep(f"{version} {age}", {"with": said, **counts})
    print("\n".join(f"FAILED: {each}" for each in bad) or "all passed")
    return bad


if __name__ == "__main__":
    sys.exit(bool(main()))
