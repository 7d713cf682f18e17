"""support.exercises: the answers are right, each for a reason of its own."""

from pathlib import Path

import numpy as np
import pytest
from scipy import special, stats
from support import exercises

from prml4 import check
from prml4.models import families
from prml4.studies import clutter
from tools.chapters import public_functions

A, T = np.array([-40.0, 0.5, 2.0]), np.array([0.0, 1, 0])
OLD, NEW = np.array([0.2, 0.3, 0.5]), np.array([0.6, 0.3, 0.1])
DENSITY = np.array([[0.4, 0.1, 0.7], [0.2, 0.9, 0.3]])  # p(x_n|C_k)
ROWS = np.array([[0.0, 1], [2, 2], [1, 6], [4, 0], [6, 1], [5, 5]])
TWO = np.array([[2.0, 0.6], [0.6, 1.0]])
X = np.array([[0.0, 0], [2, 1], [1, 2], [3, 1], [5, 2], [4, 3]])
LINE = np.array([[1.0, 2.0]])  # one row, and weights of two equal classes

# exercise -> (arguments, answer), the answer by another way than the book's
CASES = {
    # 1/x has the central difference -1 / (x^2 - h^2)
    "check_four": ((2.0, 0.5), (-4 / 3.75 + 1 / 3) / 3),
    "check_second": ((2.0, 0.5), 4 * np.log(15 / 16)),
    "separator_mirror": (
        (np.array([-5.0, 3, 4]), np.array([[1.0, 3], [3, -1]])),
        [[-1.4, -0.2], [3, -1]],
    ),
    "separator_prior": (
        (DENSITY * OLD / (DENSITY @ OLD)[:, None], OLD, NEW),
        DENSITY * NEW / (DENSITY @ NEW)[:, None],
    ),
    "separator_count": ((4, 1), 8),
    "gaussian_pooled": (
        (ROWS, np.repeat([0, 1], 3)),
        [[2 / 3, 1 / 3], [1 / 3, 14 / 3]],
    ),
    "gaussian_posterior": (
        (ROWS, [0.4, 0.6], ROWS[:2], np.array([TWO, 3 * TWO])),
        np.transpose(
            [
                np.log(2 * np.pi * p)
                + stats.multivariate_normal(m, S).logpdf(ROWS)
                for p, m, S in zip(
                    [0.4, 0.6], ROWS[:2], [TWO, 3 * TWO], strict=True
                )
            ]
        ),
    ),  # fmt: skip
    "gaussian_weights": (
        ([0.2, 0.8], ROWS[:2], TWO),
        [np.log(4) - 2.6 / 1.64, 1.4 / 1.64, 0.8 / 1.64],
    ),
    # by fractions: (2 + 1) / (3 + 1 + 2) and so on
    "naive_bayes_fit": (
        (
            np.array([[1.0, 0], [1, 1], [0, 1], [1, 0]]),
            np.array([0, 0, 0, 1]),
            1.0,
            2.0,
        ),
        [[3 / 6, 3 / 6], [2 / 4, 1 / 4]],
    ),
    # the feature speaks for odds of 9 if present and of 1/9 if absent
    "naive_bayes_offset": (
        (np.array([0.9]), np.array([0.1]), 0.5),
        [-np.log(9), np.log(81)],
    ),
    # the likelihoods 1 and 16, by their square roots
    "naive_bayes_discount": (
        (np.log([[0.2, 0.8 * 16]]), np.array([0.2, 0.8]), 0.5),
        [[0.2 / 3.4, 3.2 / 3.4]],
    ),
    # E[x^3] = 7 and E[x^4] = 25 for mean 1 and variance 2
    "exponential_family_covariance": ((1.0, 2.0), [[2, 4], [4, 16]]),
    "exponential_family_fit": (
        (families.poisson(), np.array([0.0, 3, 3]), np.zeros(1)),
        [np.log(2)],
    ),
    "exponential_family_weights": (
        (np.array([0.0, 3]), 6.0, 2.0, 0.2),
        np.log(stats.poisson(6).pmf([0, 3]) / stats.poisson(2).pmf([0, 3]) / 4),
    ),
    "least_squares_fisher": ((X, np.repeat([0, 1], 3)), [10 / 12, -2 / 12]),
    "least_squares_loo": (
        (np.array([[1.0, 0], [1, 1], [1, 3]]), np.array([0.0, 1, 1])),
        [1.0, 1 / 3, 3.0],
    ),
    "logistic_stable": ((A, T), -special.log_expit((2 * T - 1) * A).sum()),
    "irls_response": (
        (np.array([0.5]), np.array([[1.0], [-44.0]]), np.array([0.0, 1])),
        [0.5 - 1 / special.expit(-0.5), -22 + 1 / special.expit(-22)],
    ),
    "irls_damped": (
        (np.array([3.0]), np.ones((2, 1)), np.array([1.0, 0])),
        [3 - np.sinh(3) / 2],
    ),
    "softmax_blocks": (
        (np.zeros((2, 2)), LINE),
        np.kron([[0.25, -0.25], [-0.25, 0.25]], LINE.T @ LINE),
    ),
    "softmax_product": (
        (np.zeros((2, 2)), LINE, np.eye(2), np.array([4.0])),
        [[-1.0, -2.0], [1.0, 2.0]],
    ),
    # by fractions: 1/3 - 1/2 and 1/3 - 1/2
    "probit_tails": (
        (np.array([0.0, 1.0]), np.array([[1.0, -0.5], [1, -80]]), T[1:]),
        [-stats.norm.pdf(0.5) / stats.norm.sf(0.5) * x for x in (1, -0.5)],
    ),
    "probit_coin": ((np.array([1.0, 0.5, 0.9]),), 0.1),
    # means 2 and 6: (2 - 3) and 2 (6 - 4), once and twice
    "glm_gradient": (
        (
            np.zeros(2),
            np.array([[1.0, 0], [1, 2]]),
            np.array([3.0, 4]),
            np.log([2, 6]),
            np.array([1.0, 2]),
        ),
        [3, 8],
    ),
    # t / a + ln a, differentiated: (2 - 4) / 4 and (8 - 2) / 8
    "glm_factor": ((2.0, 4.0), [-0.5, 0.75]),
    # the mean of z = a + t / y - 1 at a = 0
    "glm_irls": (
        (np.zeros(1), np.ones((3, 1)), np.array([1.0, 2, 6])),
        [2],
    ),
    # by fractions: one bin of two rows without, one of three with two ones
    "comparison_parts": (
        (
            np.array([0.2, 0.6, 0.5, 0.8, 0.7]),
            np.array([0.0, 1, 1, 0, 0]),
            np.array([0, 1, 1, 1, 0]),
        ),
        [0.4 * 0.45**2 + 0.6 * (1.9 / 3 - 2 / 3) ** 2, 0.6 * 2 / 9],
    ),
    # the slope is zero where 2 (4 - 3 q) = 1 + 3 q
    "comparison_prior": (
        (np.array([[0.8, 0.2], [0.8, 0.2], [0.2, 0.8]]), [0.5, 0.5]),
        [7 / 9, 2 / 9],
    ),
    # three independent variances: 1/4, 1 and 1/9
    "laplace_evidence": (
        (-1.0, np.diag([4.0, 1, 9])),
        -1 + 1.5 * np.log(2 * np.pi) - np.log(6),
    ),
    # the cube root is where it vanishes; the square turns nothing round
    "laplace_cube": ((2.0, 25.0), 1.0),
    # by powers and roots: k = n - k = 1, then 2 of 3
    "laplace_ratio": (
        (1.0, 2.0),
        (2 / 3) ** 2 / 3 * np.sqrt(2 / 27) / (1 / 4 * np.sqrt(1 / 8)),
    ),
    # even odds, and a factor e between the evidences
    "evidence_probabilities": (
        (np.array([-9000.0, -9001.0]), np.array([0.5, 0.5])),
        [np.e / (1 + np.e), 1 / (1 + np.e)],
    ),
    # the third column is the sum of the first two
    "evidence_rank": (
        (-5.0, np.array([[1.0, 0, 1], [1, 2, 3], [1, 5, 6], [1, 1, 2]])),
        -5 - np.log(4),
    ),
    # of determinant 36, so that the inverse is (10, -2; -2, 4) / 36
    "bayes_logistic_width": (
        (np.ones(2), np.array([[4.0, 2], [2, 10]])),
        10 / 36,
    ),  # fmt: skip
    # Phi(0) = 1/2 against a sigmoid that ends at 10
    "bayes_logistic_slope": ((0.0,), special.expit(10) - 0.5),
    # half of 2/2 - 1 - 1 + 2
    "bayes_logistic_moving": (
        (2.0, np.array([1.0, 0]), np.eye(2) / 2, np.array([4.0, 1])),
        0.5,
    ),  # fmt: skip
    # one value at distance 1, and targets that are far from each other
    "gaussian_process_predict": (
        (np.eye(2), np.array([1.0, 2]), np.array([0.5, 0]), 1.0, 1.0),
        [0.25, 0.875],
    ),
    "gaussian_process_loo": (
        (np.array([[2.0, 1], [1, 4]]), np.array([1.0, 3])),
        [[0.75, 1.75], [0.5, 3.5]],
    ),
    "gaussian_process_markov": (
        (np.array([[2.0, 1, 0.5], [1, 4, 2], [0.5, 2, 3]]),),
        0.0,
    ),
    "gaussian_process_slopes": (
        (2.0, np.array([1.0]), np.array([0.0, 1])),
        [[np.exp(-1 / 8) / 4, 0.0]],
    ),
    # I + W C = [[3, 1], [1, 3]], against (4, 2)
    "gp_laplace_step": (
        (np.eye(2) + 1, np.ones(2), np.array([1.0, 0]), np.array([3.0, 2])),
        [1.25, 0.25],
    ),
    # C + 1 / W = [[3, 1], [1, 3]], c = (1, 1): 2 - 2 / 4
    "gp_laplace_variance": (
        (np.eye(2) + 1, np.ones(2), np.ones((2, 1)), np.array([2.0])),
        [1.5],
    ),
    # 3 / 2 - (2 - 1/2 - 1/4) / 2
    "gp_laplace_amplitude": (
        (np.array([1.0, 1]), np.array([1.0, 2]), np.diag([2.0, 4])),
        0.875,
    ),
    # at f = 0: p = 1 - 1/e, or 1/e
    "gp_laplace_cloglog": (
        (np.zeros(2), np.array([1.0, 0])),
        [
            [np.log(1 - np.exp(-1)), -1],
            [1 / np.expm1(1), -1],
            [-1 / np.expm1(1) ** 2, -1],
        ],
    ),
    "ep_site": ((1.0, 2.0, 1.0, 3.0), [-1 / 6, -1 / 6]),
    # mu = 0 and s2 = 1: Z = 1/2 and the density of the sum at 0
    "ep_flip": (
        (0.0, 1.0, 1.0),
        [np.log(0.5), 0.8 / np.sqrt(np.pi), -((0.8 / np.sqrt(np.pi)) ** 2)],
    ),
    # without clutter every site is its factor, from whatever cavity
    "ep_parallel": (
        (np.zeros(4), 0.5, np.array([[1.0], [3.0]]), clutter.World(w=0.0)),
        [0.5, 0.5, 0.5, 1.5],
    ),
    "gp_ep_site": ((1.0, 2.0, 0.5, -0.25), [0.5, 1.5]),
    # 2 - 1 / (2 + 1), from the site of the other value
    "gp_ep_variances": ((np.eye(2) + 1, np.ones(2)), [5 / 3, 5 / 3]),
    # Sigma = 1/2, mu = 1, b = 1
    "gp_ep_variance": (
        (np.ones((1, 1)), np.array([1.0]), np.array([2.0])),
        0.25,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_answer_is_right(name):
    """Where a student is sent wrong, no chapter notices."""
    arguments, answer = CASES[name]
    found = getattr(exercises, name)()["right"](*arguments)
    np.testing.assert_allclose(found, answer, rtol=1e-9)


def test_a_half_spent_twice_has_a_name():
    """1/2 ln |A| is the sum of ln L_ii: the likely slip is half of that."""

    def halved(top, A):
        L = np.linalg.cholesky(A)
        return top - np.log(np.diag(L) / (2 * np.pi)).sum() / 2

    said = check.attempt("half", halved, **exercises.laplace_evidence())
    assert "other half of 1/2 ln |A|" in str(said)


def test_one_pseudo_count_for_both_has_a_name():
    """At (0.5, 2) the reciprocal of one count was the other, and was blamed."""

    def alone(X, t, alpha, beta):
        ones = np.array([X[t == k].sum(axis=0) for k in (0, 1)])
        return (ones + alpha) / (np.bincount(t)[:, None] + 2 * alpha)

    said = check.attempt("both", alone, **exercises.naive_bayes_fit())
    assert "the first pseudo-count for both" in str(said)


def test_every_answer_has_a_case():
    """A function that no case calls may be wrong."""
    assert untested(exercises.__file__, CASES) == []


def test_an_answer_without_a_case_is_found(tmp_path):
    """The list above cannot be forgotten."""
    path = tmp_path / "exercises.py"
    path.write_text("def square():\n    return {}\n", "utf-8")
    assert untested(path, {}) == ["square"]
    assert untested(path, {"square": ((2.0,), 4.0)}) == []


def untested(path, cases):
    """The answers of a module that no case calls."""
    names = [node.name for node in public_functions(Path(path))]
    return [name for name in names if name not in cases]
