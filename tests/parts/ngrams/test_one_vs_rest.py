"""Logistic regression of many binary problems, by a kernel and by LIBLINEAR."""

import numpy as np
import pytest
from scipy.sparse import random as random_matrix
from sklearn.linear_model import LogisticRegression

from sk_han.engines.engine_choice import using_engine
from sk_han.engines.tasks import using_threads
from sk_han.parts.ngrams.one_vs_rest import one_vs_rest

D, F, STRENGTH = 211, 47, 10.0
FEATURES = random_matrix(D, F, 0.2, "csr", dtype=np.float32, random_state=0)
SHARES = [0.05, 0.5, 0.3]
IS_POSITIVE = (np.random.RandomState(0).uniform(size=(D, 3)) < SHARES).astype(np.float32)
WEIGHTS = np.random.RandomState(1).uniform(0, 3, size=(D, 3))


def solved(is_positive=IS_POSITIVE, weights=WEIGHTS, tolerance=1e-7, engine="numba"):
    """Weights (F + 1,) of each problem, the intercept last."""
    pytest.importorskip("numba")
    with using_engine(engine):
        found = list(one_vs_rest(FEATURES, is_positive, weights, STRENGTH, tolerance))
    return np.array([np.append(coefficients, intercept) for coefficients, intercept in found])


def test_the_kernel_finds_the_minimum_that_scikit_learn_finds():
    for b, found in enumerate(solved()):
        model = LogisticRegression(C=STRENGTH, solver="liblinear", tol=1e-9, max_iter=10_000)
        model.fit(FEATURES, IS_POSITIVE[:, b], WEIGHTS[:, b])
        np.testing.assert_allclose(found[:-1], model.coef_[0], atol=2e-3)
        np.testing.assert_allclose(found[-1], model.intercept_, atol=2e-3)


def objective(found, b):
    """What a solution (F + 1,) of problem b shall minimize."""
    margins = (FEATURES @ found[:-1] + found[-1]) * np.where(IS_POSITIVE[:, b] > 0, 1, -1)
    return found @ found / 2 + STRENGTH * WEIGHTS[:, b] @ np.logaddexp(0, -margins)


@pytest.mark.parametrize("engine", ["numba", "torch"])
def test_the_default_tolerance_comes_near_the_minimum(engine):
    with using_engine(engine):
        quick = list(one_vs_rest(FEATURES, IS_POSITIVE, WEIGHTS, STRENGTH))
    for b, (lowest, found) in enumerate(zip(solved(), quick, strict=True)):
        assert objective(lowest, b) < objective(np.append(*found), b) < 1.03 * objective(lowest, b)


def test_a_document_of_weight_0_is_left_out_and_one_of_weight_2_counts_twice():
    weights = np.ones((D, 3))
    weights[:20], weights[20:40] = 0, 2
    rows = np.r_[20:D, 20:40]
    expected = [
        LogisticRegression(C=STRENGTH, solver="liblinear", tol=1e-9, max_iter=10_000).fit(
            FEATURES[rows], IS_POSITIVE[rows, b]
        )
        for b in range(3)
    ]
    found = solved(weights=weights)
    np.testing.assert_allclose(found[:, :-1], [m.coef_[0] for m in expected], atol=2e-3)


def test_a_problem_has_the_same_solution_alone_among_others_and_on_two_threads():
    alone = [solved(IS_POSITIVE[:, [b]], WEIGHTS[:, [b]])[0] for b in range(3)]
    np.testing.assert_array_equal(solved(), alone)
    with using_threads(2):
        np.testing.assert_array_equal(solved(), alone)


@pytest.mark.parametrize("engine", ["numba", "torch"])
def test_a_problem_of_one_side_has_log_odds_alone(engine):
    one_sided = IS_POSITIVE.copy()
    one_sided[:, 1] = 0
    found = solved(one_sided, engine=engine)
    np.testing.assert_array_equal(found[1, :-1], 0)
    np.testing.assert_allclose(found[1, -1], np.log(0.5 / (D + 0.5)))
    assert np.abs(found[[0, 2], :-1]).max(axis=1).min() > 1


def test_very_large_weights_give_finite_solutions():
    found = solved(weights=WEIGHTS * 1e8, tolerance=1e-3)
    assert np.isfinite(found).all()
    assert (FEATURES @ found[0, :-1] + found[0, -1] > 0)[IS_POSITIVE[:, 0] > 0].mean() > 0.9
