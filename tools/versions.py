"""Library and unit tests on several Pythons, with old and new NumPy and SciPy.

    python tools/versions.py                        all of them, all unit tests
    python tools/versions.py --python 3.12 --tests tests/test_irls.py ...

For each Python that can be found, in the folder of pyenv or on PATH: the
oldest NumPy and SciPy that pyproject.toml allows and that have a wheel for it,
then the newest. Environments are kept in .make/versions.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

PYTHONS = "3.11", "3.12", "3.13"
# what reads the notebooks and builds the pages is tested by `make test`
TESTS = ["tests/models", "tests/numerics", "tests/studies", "tests/referee"]
TESTS += [str(path) for path in sorted(Path("tests").glob("test_*.py"))]
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
            tests = ["-m", "pytest", "-q", "-p", "no:cacheprovider"]
            if subprocess.run([python, *tests, *asked.tests]).returncode:
                bad.append(f"Python {version}, {said}")
    print("\n".join(f"FAILED: {each}" for each in bad) or "all passed")
    return bad


if __name__ == "__main__":
    sys.exit(bool(main()))
