"""Logistic regression of binary problems, by a kernel and by scikit-learn."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse import random as random_matrix
from sklearn.linear_model import LogisticRegression

from sk_han._kernels.engine import using_engine, using_threads
from sk_han._parts.one_vs_rest import (
    Features,
    dense_one_vs_rest,
    logistic_regression,
    one_vs_rest,
)

D, F, STRENGTH = 211, 47, 10.0
VECTORS = Features(
    random_matrix(D, F, 0.2, "csr", dtype=np.float32, random_state=0), np.ones((F, 1), np.float32)
)
FEATURES = VECTORS.of_problem(0).copy()  # (D, F)
SHARES = [0.05, 0.5, 0.3]
IS_POSITIVE = (np.random.RandomState(0).uniform(size=(D, 3)) < SHARES).astype(np.float32)
WEIGHTS = np.random.RandomState(1).uniform(0, 3, size=(D, 3))


def solved(is_positive=IS_POSITIVE, weights=WEIGHTS, tolerance=1e-7, engine="numba"):
    """Weights (F + 1,) of each problem, the intercept last."""
    pytest.importorskip("numba")
    with using_engine(engine):
        found = list(one_vs_rest(VECTORS, is_positive, weights, STRENGTH, tolerance))
    return np.array([np.append(coefficients, intercept) for coefficients, intercept in found])


def minimum(b, weights=WEIGHTS, rows=slice(None)):
    """The weights (F + 1,) that scikit-learn finds for a problem, in double precision."""
    model = LogisticRegression(C=STRENGTH, solver="newton-cholesky", tol=1e-10)
    model.fit(FEATURES.astype(float)[rows], IS_POSITIVE[rows, b], weights[rows, b])
    return np.append(model.coef_[0], model.intercept_)


def test_the_kernel_finds_the_minimum_that_scikit_learn_finds():
    np.testing.assert_allclose(solved(), [minimum(b) for b in range(3)], atol=1e-4)


def objective(found, b):
    """What a solution (F + 1,) of problem b shall minimize."""
    margins = (FEATURES @ found[:-1] + found[-1]) * np.where(IS_POSITIVE[:, b] > 0, 1, -1)
    return found[:-1] @ found[:-1] / 2 + STRENGTH * WEIGHTS[:, b] @ np.logaddexp(0, -margins)


@pytest.mark.parametrize("engine", ["numba", "torch"])
def test_the_default_tolerance_comes_near_the_minimum(engine):
    with using_engine(engine):
        quick = list(one_vs_rest(VECTORS, IS_POSITIVE, WEIGHTS, STRENGTH))
    for b, (lowest, found) in enumerate(zip(solved(), quick, strict=True)):
        assert objective(lowest, b) < objective(np.append(*found), b) < 1.03 * objective(lowest, b)


def test_sample_weights_equal_repetition():
    weights = np.ones((D, 3))
    weights[:20], weights[20:40] = 0, 2
    expected = [minimum(b, np.ones((D, 3)), np.r_[20:D, 20:40]) for b in range(3)]
    np.testing.assert_allclose(solved(weights=weights), expected, atol=1e-4)


def test_a_solution_does_not_depend_on_threads_or_other_problems():
    alone = [solved(IS_POSITIVE[:, [b]], WEIGHTS[:, [b]])[0] for b in range(3)]
    np.testing.assert_array_equal(solved(), alone)
    with using_threads(2):
        np.testing.assert_array_equal(solved(), alone)


@pytest.mark.parametrize("engine", ["numba", "torch"])
def test_a_one_sided_problem_has_only_an_intercept(engine):
    one_sided = IS_POSITIVE.copy()
    one_sided[:, 1] = 0
    solutions = solved(one_sided, engine=engine)
    np.testing.assert_array_equal(solutions[1, :-1], 0)
    np.testing.assert_allclose(solutions[1, -1], np.log(0.5 / (D + 0.5)))
    assert np.abs(solutions[[0, 2], :-1]).max(axis=1).min() > 1
    for solution in solved(weights=np.where(IS_POSITIVE > 0, WEIGHTS, 0), engine=engine):
        assert not solution[:-1].any()
        assert 0 < solution[-1] < 10


def random_rows(n, n_features, share):
    """Rows of length 1, most of them of few features."""
    rows = random_matrix(n, n_features, share, "csr", dtype=np.float32, random_state=1)
    return Features(rows, np.ones((n_features, 1), np.float32)).of_problem(0)


HARD = {  # rows, number of positive ones, weights, C
    "rare": (random_rows(600, 3_000, 0.003), 4, np.ones(600), 10.0),
    "rare and little": (random_rows(600, 800, 0.01), 30, np.ones(600), 0.1),
    "empty, one positive": (csr_matrix((300, 5), dtype=np.float32), 1, np.ones(300), 10.0),
    "empty, half positive": (csr_matrix((300, 5), dtype=np.float32), 150, np.ones(300), 10.0),
    "few": (random_rows(20, 5, 0.6), 9, np.ones(20), 10.0),
    "one heavy": (random_rows(600, 3_000, 0.003), 300, np.append(np.ones(599), 1e5), 10.0),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # already there
@pytest.mark.parametrize("name", HARD)
def test_the_intercept_of_hard_problems_is_found(name):
    rows, n_positive, weights, strength = HARD[name]
    sides = np.zeros((rows.shape[0], 1), dtype=np.float32)
    sides[:n_positive] = 1
    weights = (weights / weights.mean())[:, np.newaxis]

    def value(coefficients, intercept):
        margins = (rows @ coefficients + intercept) * np.where(sides[:, 0] > 0, 1, -1)
        loss = strength * weights[:, 0] @ np.logaddexp(0, -margins)
        return coefficients @ coefficients / 2 + loss

    pytest.importorskip("numba")
    vectors = Features(rows, np.ones((rows.shape[1], 1), np.float32))
    with using_engine("numba"):
        (found,) = one_vs_rest(vectors, sides, weights, strength)
    model = LogisticRegression(C=strength, solver="newton-cg", tol=1e-10, max_iter=1000)
    model.fit(rows.astype(float), sides[:, 0], weights[:, 0])
    assert value(*found) < 1.03 * value(model.coef_[0], model.intercept_[0])


def test_a_penalized_intercept_matches_liblinear():
    pytest.importorskip("numba")
    with using_engine("numba"):
        given = VECTORS, IS_POSITIVE, WEIGHTS, STRENGTH, 1e-7
        found = list(one_vs_rest(*given, is_penalized=True))
    for b, (coefficients, intercept) in enumerate(found):
        model = LogisticRegression(C=STRENGTH, solver="liblinear", tol=1e-9, max_iter=10_000)
        model.fit(FEATURES, IS_POSITIVE[:, b], WEIGHTS[:, b])
        np.testing.assert_allclose(coefficients, model.coef_[0], atol=2e-3)
        np.testing.assert_allclose(intercept, model.intercept_, atol=2e-3)


def test_weights_of_all_sizes_learn_without_a_warning():
    random = np.random.RandomState(0)
    points, is_positive = random.rand(60, 5), (random.rand(60) > 0.5).astype(np.float32)
    weights = np.geomspace(1e-6, 1e6, 60)
    coefficients, intercept = logistic_regression(points, is_positive, weights, STRENGTH)
    heaviest = slice(-10, None)
    right = (points @ coefficients + intercept > 0) == is_positive.astype(bool)
    assert right[heaviest].mean() > 0.5


def test_dense_solutions_match_scikit_learn():
    points, is_positive = FEATURES.toarray().astype(float), IS_POSITIVE.copy()
    is_positive[:, 1] = 0
    weights = WEIGHTS * 7
    coefficients, intercept = dense_one_vs_rest(points, is_positive, weights, STRENGTH)
    for b in (0, 2):
        model = LogisticRegression(C=STRENGTH, max_iter=1000)
        model.fit(points, is_positive[:, b], weights[:, b])
        np.testing.assert_allclose(coefficients[:, b], model.coef_[0], atol=1e-9)
        np.testing.assert_allclose(intercept[b], model.intercept_[0], atol=1e-9)
    assert not coefficients[:, 1].any()
    np.testing.assert_allclose(intercept[1], np.log(0.5 / (D + 0.5)))
