"""One contract, kept by every fit of the library, held by one table.

FITS lists the fits with data and with what they promise; each rule below is a
sentence about all of them. A fit or a result that is not in the tables is
found by `test_the_tables_are_complete`.
"""

import copy
import dataclasses
import importlib
import inspect
import pickle
import pkgutil
import re
from functools import partial

import numpy as np
import pandas
import pytest

import prml4
from prml4 import (
    bayes_logistic,
    comparison,
    ep,
    evidence,
    exponential_family,
    gaussian,
    gaussian_process,
    glm,
    gp_ep,
    gp_laplace,
    laplace,
    least_squares,
    logistic,
    naive_bayes,
    probit,
    separator,
    softmax,
)
from prml4.models import data, kernels
from prml4.models.dispersion import BERNOULLI
from prml4.models.likelihoods import LOGISTIC, PROBIT
from prml4.numerics import cubature, newton, separation
from prml4.numerics.result import Result
from prml4.studies import (
    clutter,
    goodness,
    gp_softmax,
    gp_truth,
    incomplete,
    worlds,
)

_rng = np.random.default_rng(0)
N = 60
X = _rng.integers(-2, 3, size=(N, 2)).astype(float)
T2 = (X[:, 0] + _rng.normal(size=N) > 0).astype(float)
T3 = _rng.integers(3, size=N).astype(float)
PHI = np.column_stack([np.ones(N), X])
BITS = (X > 0).astype(float)
COUNTS = X + 2  # whole numbers >= 0
POINTS = _rng.normal(size=(12, 2))
C = np.exp(-0.5 * ((POINTS[:, None] - POINTS) ** 2).sum(-1)) + 0.1 * np.eye(12)
CROSS = np.exp(-0.5 * ((POINTS[:, None] - POINTS[:5] - 1) ** 2).sum(-1))


def modules():
    """Every module of the library."""
    walk = pkgutil.walk_packages(prml4.__path__, "prml4.")
    return [importlib.import_module(found.name) for found in walk]


def function(name):
    """The function of the library that a name of FITS means."""
    module, _, function = name.partition(".")
    (home,) = (m for m in modules() if m.__name__.endswith(f".{module}"))
    return getattr(home, function)


@dataclasses.dataclass(frozen=True)
class Case:
    """A fit, its data, and what it promises.

    name             module.function
    A, t             data; A is a design matrix, or a kernel matrix C
    main             the field that is compared
    predict          module with what may be computed from the result
    new              what they need beside the result
    options          options that the fit must have
    alpha            its default for alpha
    likelihood       and for likelihood
    args, more       further arguments, and options made anew for each call
    call             (A, t, ...) -> result where the function takes others
    iterates         whether the result has converged and trace
    without          rules that say nothing about it
    """

    name: str
    A: np.ndarray
    t: np.ndarray
    main: str
    predict: object = None
    new: tuple = ()
    options: str = ""
    alpha: float = 0.0
    likelihood: object = LOGISTIC
    iterates: bool = True
    without: str = ""
    args: tuple = ()
    more: object = dict
    call: object = None

    def __call__(self, A=None, t=None, **options):
        """The fit of A and t, or of its own data."""
        A = self.A.copy() if A is None else A
        t = self.t.copy() if t is None else t
        fit = self.call or self.function
        return fit(A, t, *self.args, **{**self.more(), **options})

    def value(self, *data, **options):
        """What is compared."""
        return np.asarray(getattr(self(*data, **options), self.main))

    @property
    def function(self):
        """The function of the library."""
        return function(self.name)

    @property
    def kernel(self):
        """Whether A is a kernel matrix."""
        return self.A is C

    @property
    def K(self):
        """Number of classes."""
        return len(np.unique(self.t))


ITERATES = "tol max_iter"
NEWTON = f"alpha m0 weights {ITERATES}"
linear = partial(Case, A=PHI, new=(PHI[:7],))
joint = partial(Case, A=X, t=T3, iterates=False, new=(X[:7],))
gp = partial(Case, A=C, t=T2[:12], new=(CROSS, np.full(5, 1.1)))
FITS = [
    joint("gaussian.fit_lda", main="mu", predict=gaussian),
    joint("gaussian.fit_qda", main="mu", predict=gaussian),
    joint("naive_bayes.fit_gaussian", main="mu", predict=naive_bayes),
    joint(
        "naive_bayes.fit_bernoulli", A=BITS, main="theta",
        predict=naive_bayes, new=(BITS[:7],),
        more=lambda: {"pseudo_count": 0},
    ),
    joint(
        "naive_bayes.fit_multinomial", A=COUNTS, main="theta",
        predict=naive_bayes, new=(COUNTS[:7],),
        more=lambda: {"pseudo_count": 0},
    ),
    linear(
        "least_squares.fit", t=T3, main="W", predict=least_squares,
        iterates=False, options="alpha",
    ),
    joint("least_squares.fit_fisher", main="W"),
    linear(
        "logistic.fit", t=T2, main="w", predict=logistic, options=NEWTON
    ),
    linear(
        "logistic.fit_sequential", t=T2, main="average", options="weights tol",
        # its rows come in the order that rng draws
        without="does_not_depend_on_the_order_of_rows weighs",
        more=lambda: {
            "rate": logistic.constant_rate(0.05), "epochs": 40,
            "rng": np.random.default_rng(1), "tol": 1.0,
        },
    ),
    linear(
        "irls.fit_irls", t=T2, main="w", predict=logistic, options=NEWTON
    ),
    linear(
        "softmax.fit", t=T3, main="W", predict=softmax,
        options=f"alpha weights {ITERATES}", more=lambda: {"reference": 0},
    ),
    linear(
        "probit.fit", t=T2, main="w", predict=probit, likelihood=PROBIT,
        options=f"likelihood {NEWTON}",
    ),
    linear(
        "probit.fit_noise", t=T2, main="w", predict=probit, likelihood=PROBIT,
        options=f"likelihood {NEWTON}",
    ),
    linear(
        "glm.fit", t=T2, main="w", predict=glm, args=(BERNOULLI,),
        options=f"offset {NEWTON}",
    ),
    linear(
        "bayes_logistic.fit", t=T2, main="mode", predict=bayes_logistic,
        options=f"S0 likelihood {NEWTON}", alpha=1.0,
    ),
    linear(
        "bayes_logistic.fit_softmax", t=T3, main="mode",
        options="alpha", alpha=1.0,
    ),
    linear(
        "precision.maximise_evidence", t=T2, main="alpha",
        options=f"likelihood {NEWTON}", alpha=1.0,
    ),
    linear(
        "ep.fit", t=T2, main="m", predict=ep,
        options=f"alpha likelihood {ITERATES}", alpha=1.0,
    ),
    linear(
        "many_rows.fit_logistic", t=T2, main="w", predict=logistic,
        options=f"alpha m0 {ITERATES}",
    ),
    linear(
        "many_rows.fit_softmax", t=T3, main="W", predict=softmax, args=(3,),
        options=f"alpha {ITERATES}",
    ),
    joint("many_rows.fit_lda", main="mu", predict=gaussian, args=(3,)),
    joint("many_rows.fit_qda", main="mu", predict=gaussian, args=(3,)),
    joint("many_rows.fit_gaussian", main="mu", predict=naive_bayes, args=(3,)),
    joint(
        "many_rows.fit_bernoulli", A=BITS, main="theta", predict=naive_bayes,
        new=(BITS[:7],), args=(3,),
        without="takes_all_rows_twice_for_once",  # not of the pseudo-counts
    ),
    joint(
        "incomplete.fit_em",
        call=lambda A, t, **more: incomplete.fit_em(A, t, X[:9] + 0.5, **more),
        main="trace", iterates=True, options=ITERATES,
    ),
    Case(
        "clutter.fit",
        call=lambda A, t, **more: clutter.fit(A, clutter.World(), **more),
        A=X[:9], t=T3[:9], main="m", options=ITERATES,
        without="names_what_is_wrong refuses_minus_one_and_one",  # no t
    ),
    gp(
        "gaussian_process.condition", main="dual", iterates=False,
        # t is any number, and a row twice makes a singular matrix
        t=X[:12, 0],
        without="refuses_minus_one_and_one takes_all_rows_twice_for_once",
    ),
    gp(
        "gp_laplace.fit", main="mean", predict=gp_laplace,
        options=f"likelihood {ITERATES}",
    ),
    gp(
        "gp_ep.fit", main="tau", predict=gp_ep,
        options=f"likelihood {ITERATES}",
    ),
    gp(
        "gp_softmax.fit", t=T3[:12], main="mean", predict=gp_softmax,
        options=ITERATES,
    ),
]  # fmt: skip

# Results that are not fits, each made once.
HALVES = np.full((N, 2), 0.5)
OTHERS = {
    "Criteria": lambda: goodness.criteria(
        glm.fit(PHI, T2, BERNOULLI), PHI, T2
    ),
    "Significance": lambda: goodness.wald(glm.fit(PHI, T2, BERNOULLI), PHI),
    "RejectCurve": lambda: separator.reject_curve(HALVES, T2),
    "Score": lambda: comparison.score(comparison.log_losses(HALVES, T2)),
    "Calibration": lambda: comparison.calibration(HALVES, T2),
    "Prior": lambda: bayes_logistic.prior(3),
    "Evidence": lambda: evidence.logistic_evidence(PHI, T2, alpha=1.0),
    "Scores": lambda: evidence.compare([PHI, PHI[:, :2]], T2, alpha=1.0),
    "Dropped": lambda: evidence.dropped(
        evidence.logistic_evidence(PHI, T2, alpha=1.0), -30.0
    ),
    "Filtered": lambda: ep.adf(PHI, T2),
    "Dense": lambda: cubature.integrate(
        lambda w: -np.sum(w**2, axis=-1),
        bayes_logistic.fit(PHI[:, :2], T2, alpha=1.0),
    ),
    "Separation": lambda: separation.separation(PHI, T2),
    "Minimum": lambda: newton.newtons_method(
        lambda w: (w @ w, 2 * w, 2 * np.eye(2)), np.ones(2)
    ),
    "Truth": lambda: gp_truth.importance(
        C, T2[:12], LOGISTIC, np.zeros(12), C, np.random.default_rng(0), 1_000
    ),
    "Laplace": lambda: laplace.at_mode(np.zeros(2), 0.0, np.eye(2)),
    "Posterior": lambda: gaussian_process.Posterior(np.zeros(2), np.ones(2)),
    "Gaussian": lambda: gp_ep.posterior(C, np.ones(12), np.zeros(12)),
    "Optimum": lambda: gaussian_process.optimise(
        kernels.squared_exponential(), POINTS,
        gaussian_process.regression(T2[:12]), [0.0],
    ),
    "Data": data.iris,
    "Flights": data.challenger,
    "Counts": data.horse_kicks,
    "Groups": data.beetles,
    "Rates": data.coronary,
    "World": lambda: worlds.pair(1.0),
    "Prior of eta": lambda: exponential_family.Prior(np.zeros(1), 2.0),
}  # fmt: skip

# What is not kept yet: a pair that passes fails here until it goes.
PENDING = """
"""


def same(one, other):
    """Equal within what a fit stops at."""
    np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def refused(call, *names):
    """A ValueError that begins with the name of the argument at fault."""
    with pytest.raises(ValueError) as caught:
        call()
    assert re.match(f"({'|'.join(names)}) must ", str(caught.value)), caught


def taken(case, order):
    """The data in another order of rows."""
    A = case.A[np.ix_(order, order)] if case.kernel else case.A[order]
    return A, case.t[order]


# The rules of fits.


def returns_a_result(case):
    """Frozen, short to print, with fields that help() explains."""
    assert isinstance(case(), Result)


def takes_any_form_and_leaves_it_alone(case):
    """Read-only, Fortran-ordered, strided, backwards, lists, data frames."""
    want = case.value()
    assert want.dtype == float
    A, t = case.A.copy(), case.t.copy()
    case(A, t)
    np.testing.assert_array_equal(A, case.A)
    np.testing.assert_array_equal(t, case.t)
    A.flags.writeable = t.flags.writeable = False
    for matrix, targets in [
        (A, t),
        (np.asfortranarray(A), t.astype(int)),
        (np.repeat(A, 2, axis=1)[:, ::2], np.repeat(t, 2)[::2]),
        (A[::-1].copy()[::-1], t.astype(object)),
        (A.tolist(), t.tolist()),
        (pandas.DataFrame(A), pandas.Series(t)),
    ]:
        same(case.value(matrix, targets), want)


def takes_other_numbers(case):
    """Those that hold the data exactly: single precision, integers, truths."""
    want = case.value()
    for kind in (np.float32, np.int64, np.int8, bool):
        for A, t in [
            (case.A.astype(kind), case.t),
            (case.A, case.t.astype(kind)),
        ]:
            if np.array_equal(A, case.A) and np.array_equal(t, case.t):
                same(case.value(A, t), want)


def names_what_is_wrong(case):
    """NaN, infinity, no rows, one row too few, words, arguments swapped."""
    matrix, *_ = inspect.signature(case.function).parameters
    for value in (np.nan, np.inf, 1e200):
        bad = case.A.copy()
        bad[1, -1] = bad[-1, 1] = value
        refused(lambda: case(bad), matrix)  # noqa: B023
    for bad in (case.A[:0], case.A[0], case.A.astype(str), None):
        none = bad is None
        refused(lambda: case([[None]] if none else bad), matrix, "t")  # noqa: B023
    short = case.A[:-1, :-1] if case.kernel else case.A[:-1]
    refused(lambda: case(short), "t", "T", matrix)
    refused(lambda: case(case.t, case.A), matrix, "t", "T")
    bad = case.t.copy()
    bad[1] = np.nan
    for wrong in (bad, case.t[:, None], case.t.astype(str)):
        refused(lambda: case(t=wrong), "t", "T")  # noqa: B023


def refuses_what_is_no_kernel(case):
    """Not square, not symmetric, a negative eigenvalue."""
    tilted = case.A.copy()
    tilted[0, 1] += 0.1
    for bad in (case.A[:, :-1], tilted, case.A - 1.5 * np.eye(len(case.A))):
        refused(lambda: case(bad), "C", "t")  # noqa: B023


def refuses_minus_one_and_one(case):
    """And other codings; of three, without a prior, gaps and one alone."""
    wrong = [2 * (case.t > 0) - 1, case.t + 0.25, case.t + 1]
    if case.K == 3 and case.alpha:  # a prior makes up for an empty class
        wrong = [*wrong[:2], 0.5 * case.t]
    elif case.K == 3:
        wrong += [0 * case.t, 2 * (case.t > 0), 0.5 * case.t]
    for t in wrong:
        refused(lambda: case(t=t), "t")  # noqa: B023


def refuses_bad_options(case):
    """A negative precision, a prior of the wrong size, no likelihood."""
    bad = {
        "alpha": [-1.0, np.ones(9), np.nan],
        "m0": [np.ones(9), [np.nan] * 3],
        "S0": [np.eye(9), -np.eye(3)],
        "offset": [np.ones(9), np.inf],
        "weights": [np.ones(N - 1), -np.ones(N), np.zeros(N)],
        "likelihood": ["probit"],
        "max_iter": [0, 2.5],
        "tol": [None, 0.0, -1.0, np.inf, np.nan, "x", [1e-8, 1e-9]],
    }
    for option in set(case.options.split()) & set(bad):
        for value in bad[option]:
            more = {"alpha": None} if option == "S0" else {}
            refused(lambda: case(**{option: value}, **more), option)  # noqa: B023


def takes_all_rows_twice_for_once(case):
    """Without weights and prior: the same means and moments."""
    order = np.r_[np.arange(N), np.arange(N)]
    same(case.value(*taken(case, order)), case.value())


def does_not_depend_on_the_order_of_rows(case):
    """Up to rounding."""
    order = np.random.default_rng(1).permutation(len(case.t))
    want = case.value()
    if case.kernel:
        want = want[..., order]
    same(case.value(*taken(case, order)), want)


def weighs(case):
    """A row twice is a row of weight 2; a row of weight 0 is none."""
    few = np.arange(N) % 3 == 0
    twice = case.value(*taken(case, np.r_[np.arange(N), np.flatnonzero(few)]))
    same(case.value(weights=1.0 + few), twice)
    left = taken(case, np.flatnonzero(~few))
    same(case.value(weights=1.0 - few), case.value(*left))
    if "alpha" in case.options:
        again = case.value(left[0], left[1], alpha=2.0)
        same(case.value(weights=1.0 - few, alpha=2.0), again)


def has_the_options(case):
    """Same name, same default, by name only; none is hidden."""
    found = inspect.signature(case.function).parameters
    assert not [p for p in found.values() if p.kind is p.VAR_KEYWORD]
    assert set(case.options.split()) <= set(found)
    usual = {"alpha": case.alpha, "m0": None, "S0": None, "offset": 0.0}
    usual |= {"weights": None, "likelihood": case.likelihood}
    for option, default in usual.items():
        if option in found:
            assert found[option].default == default, option
            assert found[option].kind is found[option].KEYWORD_ONLY, option


def says_how_it_ended(case):
    """`converged` is a truth value, `trace` holds numbers."""
    fit = case()
    assert isinstance(fit.converged, bool | np.bool_)
    assert np.asarray(fit.trace, float).ndim == 1


def takes_at_most_max_iter_steps(case):
    """And warns that it did not arrive."""
    with pytest.warns(UserWarning):
        fit = case(max_iter=1)
    assert not fit.converged
    assert len(fit.trace) <= 2


def pickles(case):
    """As scikit-learn's tools ask of what they hold."""
    kept = pickle.loads(pickle.dumps(case()))
    same(getattr(kept, case.main), case.value())
    copy.deepcopy(kept)


def prints_in_a_line(case):
    """However large its arrays."""
    assert len(repr(case())) < 400


def explains_its_fields(case):
    """The docstring of the class has one line for each, in their order."""
    explained(type(case()))


def explained(kind):
    """Whether the docstring and the fields agree."""
    _, _, lines = inspect.getdoc(kind).partition("\n\n")
    said = re.findall(r"^(\w+) {2,}\S", lines, re.MULTILINE)
    assert said == [field.name for field in dataclasses.fields(kind)]


def holds_no_function(case):
    """A field is a value: functions neither print nor pickle."""
    assert not [n for n, value in vars(case()).items() if callable(value)]


def has_no_memory(case):
    """The same digits again after another problem."""
    first = case.value()
    case.value(*taken(case, np.arange(len(case.t))[::-1]))
    np.testing.assert_array_equal(case.value(), first)


def predicts_probabilities(case):
    """(N, K), K = 2 included; the rows sum to 1."""
    P = case.predict.predict_proba(case(), *case.new)
    rows = case.new[-1].shape[0]
    assert P.shape == (rows, case.K)
    assert np.all(P >= 0)
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-12)


def predicts_class_numbers(case):
    """Integers, those of the largest probability."""
    fit = case()
    classes = case.predict.predict(fit, *case.new)
    assert classes.dtype.kind == "i"
    if hasattr(case.predict, "predict_proba"):
        P = case.predict.predict_proba(fit, *case.new)
        np.testing.assert_array_equal(classes, P.argmax(axis=1))


def predicts_from_good_input_only(case):
    """NaN, infinity, a wrong size, words, the fit in second place."""
    fit, (first, *rest) = case(), case.new
    matrix = "c_star" if case.kernel else "X" if case.A is not PHI else "Phi"
    bad = [first.copy(), first.copy(), first[0], first.astype(str)]
    bad[0][1, 1], bad[1][1, 1] = np.nan, np.inf
    bad += [first[:-1] if case.kernel else first[:, :-1], first[:0]]
    for predict, takes in predictions(case.predict, matrix):
        more = rest * ("c_ss" in takes)
        for wrong in bad:
            refused(lambda: predict(fit, wrong, *more), matrix)  # noqa: B023
        swapped = "fit", "model", "[wW]", matrix
        refused(lambda: predict(first, fit, *more), *swapped)  # noqa: B023


def predictions(module, matrix):
    """What a module computes from a fit and new rows alone."""
    needs = {"fit", "model", matrix, "c_star", "c_ss"}
    for name, value in vars(module).items():
        ours = getattr(value, "__module__", "").startswith("prml4")
        if not inspect.isfunction(value) or not ours or name.startswith("_"):
            continue
        takes = inspect.signature(value).parameters
        if "C_ss" in takes:  # C as a whole, and not new points
            continue
        must = {p.name for p in takes.values() if p.default is p.empty}
        if list(takes)[:1] in (["fit"], ["model"]) and matrix in must <= needs:
            yield value, takes


def rules(case):
    """The rules that the fit is under."""
    found = [
        returns_a_result,
        takes_any_form_and_leaves_it_alone,
        takes_other_numbers,
        names_what_is_wrong,
        refuses_minus_one_and_one,
        does_not_depend_on_the_order_of_rows,
        has_the_options,
        refuses_bad_options,
        pickles,
        prints_in_a_line,
        explains_its_fields,
        holds_no_function,
        has_no_memory,
    ]
    found += [refuses_what_is_no_kernel] * case.kernel
    found += [takes_all_rows_twice_for_once] * (not case.iterates)
    found += [says_how_it_ended] * case.iterates
    found += [weighs] * ("weights" in case.options)
    found += [takes_at_most_max_iter_steps] * ("max_iter" in case.options)
    found += [predicts_from_good_input_only] * (case.predict is not None)
    if hasattr(case.predict, "predict"):
        found += [predicts_class_numbers]
    if hasattr(case.predict, "predict_proba"):
        found += [predicts_probabilities]
    return [rule for rule in found if rule.__name__ not in case.without]


# The rules for single functions and for other results.


def refuses_other_targets(formula):
    """Those in {-1, 1}, and a column, in one line before the formula."""
    needed = inspect.signature(formula).parameters
    more = {"alpha": 1.0, "family": BERNOULLI}
    if "prior" in needed:
        more["prior"] = bayes_logistic.prior(3, alpha=1.0)
    more = {key: value for key, value in more.items() if key in needed}
    w = np.zeros((2, 3)) if "W" in needed else np.zeros(3)
    for wrong in (2 * T2 - 1, T2[:, None], T2[:-1]):
        refused(lambda: formula(w, PHI, wrong, **more), "t", "T")  # noqa: B023


def takes_the_model_first(function):
    """Then what is new: predict_proba(fit, Phi)."""
    first, *rest = inspect.signature(function).parameters
    first = rest[0] if first == "rng" else first
    assert first in ("fit", "model", "w", "W")


def keeps_to_a_line(make):
    """Prints, pickles and explains itself, as fits do."""
    found = make()
    assert isinstance(found, Result)
    assert len(repr(found)) < 400
    pickle.loads(pickle.dumps(found))
    explained(type(found))


def public(module):
    """Names and functions that a module defines."""
    return [
        (f"{module.__name__.rpartition('.')[2]}.{name}", value)
        for name, value in vars(module).items()
        if inspect.isfunction(value)
        and value.__module__ == module.__name__
        and not name.startswith("_")
    ]


def triples():
    """Every name with every rule it is under, and what the rule looks at."""
    for case in FITS:
        yield from ((case.name, rule, case) for rule in rules(case))
    for name, make in OTHERS.items():
        yield name, keeps_to_a_line, make
    for name, value in [pair for m in modules() for pair in public(m)]:
        takes = list(inspect.signature(value).parameters)
        if takes[:3] in (["w", "Phi", "t"], ["W", "Phi", "t"]):
            yield name, refuses_other_targets, value
        if {"fit", "model"} & set(takes) or re.search(r"\.predict(_|$)", name):
            yield name, takes_the_model_first, value


def pending():
    """Pairs that are not kept yet."""
    return {tuple(line.split(": ")) for line in PENDING.strip().splitlines()}


def marked():
    """The triples, those pending as failures that are expected."""
    every, late = list(triples()), pending()
    stale = late - {(name, rule.__name__) for name, rule, _ in every}
    assert not stale, f"PENDING names what is not there: {sorted(stale)}"
    kept = pytest.mark.xfail(reason="kept now? take it out of PENDING")
    for name, rule, subject in every:
        marks = [kept] * ((name, rule.__name__) in late)
        said = f"{name}: {rule.__name__}"
        yield pytest.param(rule, subject, marks=marks, id=said)


@pytest.mark.parametrize(("rule", "subject"), list(marked()))
def test_the_contract_is_kept(rule, subject):
    """One rule about one fit, function or result."""
    rule(subject)


def test_every_fit_is_in_the_table():
    """By its name, and by what it returns."""
    named = {name for m in modules() for name, _ in public(m)}
    named = {name for name in named if re.search(r"\.fit(_|$)", name)}
    no_result = {"exponential_family.fit", "exponential_family.fit_classes"}
    assert named - no_result <= {case.name for case in FITS}
    made = {type(case()).__name__ for case in FITS}
    assert kinds() <= made | set(OTHERS)


def kinds():
    """Names of the classes whose objects are results."""
    classes = [
        value
        for module in modules()
        for value in vars(module).values()
        if dataclasses.is_dataclass(value) and inspect.isclass(value)
    ]
    return {
        kind.__name__
        for kind in classes
        if issubclass(kind, Result)
        or {"converged", "trace"} & set(kind.__dataclass_fields__)
    }
