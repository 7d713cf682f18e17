"""Imports run one way, and the library needs NumPy and SciPy alone."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def contracts(root):
    """Exit code and report of import-linter about the library below root."""
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports as f"
         "\nraise SystemExit(f(no_cache=True))"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
    )  # fmt: skip
    return done.returncode, done.stdout


@pytest.fixture
def copy(tmp_path):
    """The library and its contracts, to plant faults in."""
    shutil.copytree(ROOT / "prml4", tmp_path / "prml4")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_imports_run_one_way():
    """The order of the layers in pyproject.toml holds."""
    code, said = contracts(ROOT)
    assert code == 0, said


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("logistic.py", "from prml4 import softmax"),
        ("logistic.py", "from .softmax import error"),
        ("numerics/newton.py", "from prml4.models import kernels"),
        ("models/bases.py", "from prml4 import check"),
        ("ep.py", "from prml4.studies import clutter"),
        ("logistics.py", "import numpy"),
    ],
)
def test_an_import_that_runs_backwards_is_refused(copy, name, line):
    """So is a module at the top that is no chapter."""
    path = copy / "prml4" / name
    text = path.read_text("utf-8") if path.exists() else '"""Stray."""\n'
    path.write_text(f"{text}\n{line}\n", "utf-8")
    code, said = contracts(copy)
    assert code == 1, said


def test_each_module_imports_with_numpy_and_scipy_alone():
    """What needs more asks for it where it is used, or names the extra."""
    program = """
import importlib, pkgutil, sys
import prml4
absent = "matplotlib", "sklearn", "statsmodels", "pandas", "IPython", "dask"
for name in absent:
    sys.modules[name] = None  # importing it raises
for module in pkgutil.walk_packages(prml4.__path__, "prml4."):
    try:
        importlib.import_module(module.name)
    except ImportError as why:
        named = "prml4[sklearn]" in str(why)
        assert module.name == "prml4.estimators" and named, why
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
