"""What is published, and the library installed from it, alone."""

import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.wheel
ASIDE = "machine", "support"  # they test the book
TESTS = [
    path
    for path in (ROOT / "tests").rglob("*.py")
    if path.parent.name not in ASIDE
]
EVERY_MODULE = """
import importlib, pkgutil, prml4
names = [m.name for m in pkgutil.walk_packages(prml4.__path__, "prml4.")]
for name in names:
    try:
        importlib.import_module(name)
    except ImportError as why:
        assert name == "prml4.estimators" and "prml4[sklearn]" in str(why)
print(len(names), prml4.__file__)
"""
NEEDS_MORE = """
from prml4.models import data
data.iris()
"""


def finished(*command, **words):
    """What a command printed; its complaints if it failed."""
    done = subprocess.run(command, capture_output=True, text=True, **words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The two files that are published, built from what git would keep."""
    source = tmp_path_factory.mktemp("built") / "source"
    skipped = shutil.ignore_patterns(".*", "_build", "dist", "book", "*.pyc")
    shutil.copytree(ROOT, source, ignore=skipped)
    for path in source.glob("*.egg-info"):
        shutil.rmtree(path)
    cache = source / "prml4" / "__pycache__"
    cache.mkdir(exist_ok=True)
    (cache / "planted.pyc").touch()
    (source / "tests" / "planted.pyc").touch()
    finished(sys.executable, "-m", "build", source)
    return source / "dist"


@pytest.fixture(scope="module")
def run(built, tmp_path_factory):
    """Run a program where nothing but the wheel has been installed."""
    here = tmp_path_factory.mktemp("wheel")
    venv.create(here / "env", with_pip=True)
    folder = "Scripts" if sys.platform == "win32" else "bin"
    python = here / "env" / folder / "python"

    def run(*arguments):
        return subprocess.run(
            [python, "-I", *arguments], cwd=here, capture_output=True, text=True
        )

    done = run("-m", "pip", "install", *built.glob("*.whl"))
    assert done.returncode == 0, done.stderr
    return run


def names_in(built):
    """The files of the sdist, and those of the wheel."""
    (sdist,), (wheel,) = built.glob("*.tar.gz"), built.glob("*.whl")
    with tarfile.open(sdist) as inside:
        files = [m.name for m in inside.getmembers() if m.isfile()]
    with zipfile.ZipFile(wheel) as inside:
        wheel_files = inside.namelist()
    return {name.partition("/")[2] for name in files}, {*wheel_files}


def test_an_index_takes_both_files(built):
    """Metadata and the page of the index, judged strictly."""
    finished(
        *(sys.executable, "-m", "twine", "check", "--strict"),
        *built.iterdir(),
    )


def test_the_files_hold_what_they_should(built):
    """The wheel the library alone; the sdist its tests, too; no caches."""
    sdist, wheel = names_in(built)
    library = {p.relative_to(ROOT) for p in (ROOT / "prml4").rglob("*.py")}
    library = {p.as_posix() for p in library} | {"prml4/py.typed"}
    assert {n for n in wheel if ".dist-info/" not in n} == library
    tests = {p.relative_to(ROOT).as_posix() for p in TESTS}
    assert library | tests <= sdist
    papers = {"README.md", "CHANGELOG.md", "LICENSE", "CITATION.cff"}
    assert papers | {"pyproject.toml", "setup.py"} <= sdist
    strange = {n for n in sdist if n.endswith((".pyc", ".ipynb"))}
    assert strange == {n for n in sdist if "machine/" in n} == set()


def test_the_page_of_the_index_leads_nowhere_else(built):
    """No link to a file of the repository; no word of README.md is lost."""
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as inside:
        (name,) = (n for n in inside.namelist() if n.endswith("/METADATA"))
        page = inside.read(name).decode().partition("\n\n")[2]
    readme = (ROOT / "README.md").read_text("utf-8")
    links = r"\]\((?!https?:)"
    assert re.search(links, readme) and not re.search(links, page)
    words = r"[^\W_]+"
    told = re.sub(r"\]\([^)]*\)", "]", readme)
    assert re.findall(words, page) == re.findall(words, told)


def test_the_tests_of_the_sdist_pass_there(built, tmp_path):
    """A few of them, from the unpacked file alone; all of them are there."""
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as inside:
        inside.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    finished(*command, "--collect-only", cwd=source)
    finished(*command, "tests/test_logistic.py", cwd=source)


def test_nothing_but_numpy_and_scipy_comes_along(run):
    """Besides the installer itself."""
    found = run("-m", "pip", "freeze").stdout
    names = {re.split("[= @]", line)[0] for line in found.splitlines()}
    assert names - {"setuptools", "wheel"} == {"numpy", "scipy", "prml4"}


def test_every_module_imports(run):
    """From the wheel, each of them; one names the extra that it needs."""
    done = run("-c", EVERY_MODULE)
    assert done.returncode == 0, done.stderr
    count, where = done.stdout.split()
    modules = list((ROOT / "prml4").rglob("*.py"))
    assert int(count) == len(modules) - 1  # prml4 itself is not below itself
    assert not Path(where).is_relative_to(ROOT)


def test_the_example_of_the_readme_runs(run):
    """As it is printed."""
    text = (ROOT / "README.md").read_text("utf-8")
    examples = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert examples
    for example in examples:
        done = run("-W", "error", "-c", example)
        assert done.returncode == 0, done.stderr


def test_what_needs_more_names_the_extra(run):
    """And what holds the data."""
    done = run("-c", NEEDS_MORE)
    assert done.returncode == 1
    assert "sklearn.datasets holds this data set" in done.stderr
    assert 'pip install "prml4[data]"' in done.stderr
    extras = (ROOT / "pyproject.toml").read_text("utf-8")
    assert re.search(r'^data = \["scikit-learn", "statsmodels"', extras, re.M)


MISSPELT = """
from prml4 import logistic
logistic.fitt
logistic.fit()
"""


def test_a_type_checker_knows_the_library(run, tmp_path):
    """py.typed: its names and arguments are checked; arrays have no type."""
    program = tmp_path / "program.py"
    program.write_text(MISSPELT, "utf-8")
    assert run("-m", "pip", "install", "mypy").returncode == 0
    told = run("-m", "mypy", "--no-incremental", str(program)).stdout
    assert len(re.findall(r"program\.py:\d+: error:", told)) == 2
    assert 'has no attribute "fitt"' in told
    assert "Missing positional arguments" in told
