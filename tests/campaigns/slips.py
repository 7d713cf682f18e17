"""Slips of the ledger, planted in the library: does its own test go red?

    python -m tests.campaigns.slips            all of them
    python -m tests.campaigns.slips A02 B14    some

Each is written into a copy of the library, where the unit tests of its module
then run until one fails. Which were found goes to
benchmarks/results/slips.json; exit 1 if one was not. Those about the limits of
a statement, or a step on the way, have no place in the library.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools import journal

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks/results/slips.json"
PATIENCE = 1800  # seconds for the tests of one module
BELL = "covariance", "    return -half - 0.5 * np.shape(z)[-1] *"
LOSS = "logistic", "np.sum(t * log_sigmoid(a) + (1 - t) * log_sigmoid(-a))"
PRIOR = "logistic", "return error(w, Phi, t) + 0.5 * float(np.sum(alpha * d * d"
SHIFT = "logistic", "validate.held(w, alpha, m0)\n    return error"
CURVED = "logistic", "    return hessian(w, Phi) + alpha * np.eye(len(w))"
BLOCK = "softmax", "(Y[k] * (eye[k, j] - Y[j]) * Phi.T)"
HEIGHT = "laplace", "log_f - log_gaussian(0 * mode, -np"
RISE = "laplace", "return -H, np.zeros(shape)"
PROBIT = "averages", "special.normal_cdf(mu / np.sqrt(1 + _variance(s2)))"
CHANCE = "likelihoods", "np.minimum(m, 0.0) - np.log1p(z)"
SLIPS = {  # id: module, what stands there, what the notes have
    "A02": (*LOSS, "np.sum(t * log_sigmoid(-a) + (1 - t) * log_sigmoid(a))"),
    "B14": (
        "logistic",
        "Phi.T @ (sigmoid(validate.activations(w, Phi)) - t)",
        "Phi.T @ (validate.activations(w, Phi) - t)",
    ),
    "D06": (*PRIOR, PRIOR[1].replace("+", "-")),
    "D07": (*SHIFT, SHIFT[1].replace(", m0", "")),
    "E02": (*PRIOR, PRIOR[1].replace("alpha * d", "1 / alpha * d")),
    "A22": (*CURVED, CURVED[1].replace("n(w", "n(0 * w")),
    "B28": (*CURVED, CURVED[1].partition(" +")[0]),
    "A08": (*BLOCK, BLOCK[1].replace("Y[j]", "np.log(Y[j])")),
    "A09": (*BLOCK, BLOCK[1].replace("(Y[k]", "(-Y[k]")),
    "B05": ("special", "np.exp(gap) / (1.0 + s)", "np.exp(gap) / (s + 0.0)"),
    "A14": (
        "special",
        "return scipy_special.ndtr(a)",
        "return 0.5 * (1 + scipy_special.erf(a) / ROOT_TWO)",
    ),
    "A17": (
        "dispersion",
        "    link=special.logit,",
        "    link=special.sigmoid,",
    ),
    "B03": ("covariance", "half = 0.5 * np.sum", "half = np.sum"),
    "D03": (*BELL, BELL[1].replace("-half", "half")),
    "D04": (*BELL, BELL[1].replace("[-1]", "[-1] * 1.5")),
    "B12": (*BELL, BELL[1].replace("- 0.5", "+ 0.5")),
    "B31": (*HEIGHT, HEIGHT[1].replace("-np", "np")),
    "A19": (*RISE, RISE[1].replace("-", "")),
    "C05": ("laplace", "float(_shaped(", "np.exp(_shaped("),
    "B29": ("evidence", "self.log_prior + self.log_volume", "self.log_prior"),
    "A26": ("averages", "np.pi / 8 *", "np.pi**2 / 8 *"),
    "A28": ("averages", "sigmoid(kappa(s2) * mu)", "sigmoid(kappa(s2))"),
    "D10": (*PROBIT, "special.normal_cdf(mu + 0 * _variance(s2))"),
    "D11": (*PROBIT, PROBIT[1].replace("(s2)", "(np.sqrt(s2))")),
    "B08": ("naive_bayes", "C.sum(axis=1)", "C[:, :-1].sum(axis=1)"),
    "B43": ("exponential_family", "family.shape[1] * np.log(s)", "np.log(s)"),
    "E04": (*CHANCE, f"np.exp({CHANCE[1]})"),
    "E06": ("likelihoods", "2.0 * np.asarray(t, float) - 1.0", "np.asarray(t)"),
    "E12": ("ep", "v**2 / len(m) * gap", "v**2 * gap"),
}


def planted(slip):
    """The path of a module below the root, and its text with a slip."""
    stem, right, wrong = SLIPS[slip]
    (path,) = ROOT.glob(f"prml4/**/{stem}.py")
    text = path.read_text()
    if text.count(right) != 1:
        raise ValueError(f"{slip} must stand once in {path}; got {right!r}")
    return path.relative_to(ROOT), text.replace(right, wrong)


def tests_of(path):
    """The unit tests of a module."""
    return ROOT / "tests" / Path(*path.parts[1:-1]) / f"test_{path.name}"


def found(slip):
    """Whether a unit test of its module fails."""
    path, text = planted(slip)
    tests = tests_of(path).relative_to(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("prml4", "tests", "tools", "book"):
            shutil.copytree(ROOT / name, Path(folder, name))
        shutil.copy(ROOT / "pyproject.toml", folder)
        Path(folder, path).write_text(text)
        command = [sys.executable, "-m", "pytest", "-qx", str(tests)]
        done = subprocess.run(
            command, cwd=folder, timeout=PATIENCE, capture_output=True,
            env=os.environ | {"PYTHONPATH": folder},
        )  # fmt: skip
    return done.returncode == 1


def main(asked):
    """Plant them one by one; whether all that were tried were found."""
    tried = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for slip in asked or SLIPS:
        tried[slip] = found(slip)
        print(slip, "found" if tried[slip] else "MISSED", flush=True)
        journal.write(
            RESULTS, json.dumps(dict(sorted(tried.items())), indent=1) + "\n"
        )
    return all(tried.values())


if __name__ == "__main__":
    sys.exit(not main(sys.argv[1:]))
