"""What the fits of a search share, and that their results stay those of fits alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, ParameterGrid, cross_val_predict
from sklearn.pipeline import make_pipeline

from sk_han import HANClassifier, HierarchicalTokenizer
from sk_han.datasets import make_reviews
from sk_han.embeddings import cooccurrence
from sk_han.fitting import sharing
from sk_han.parts import ngram_fitting

TEXTS, LABELS = make_reviews(80, random_state=0)
FOLDS = KFold(2)
SMALL = {"embedding_dim": 8, "word_hidden": 4, "sentence_hidden": 4, "batch_size": 32}
SMALL |= {"max_epochs": 1, "random_state": 0, "device": "cpu", "n_threads": 1}


def small(**params: Any) -> HANClassifier:
    return HANClassifier(**{**SMALL, **params})


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, int]]:
    """Count how often word vectors are learnt, and sets of linear problems solved."""
    counts = {"vectors": 0, "linear": 0}

    def counted(module: Any, name: str, key: str) -> None:
        function: Callable[..., Any] = getattr(module, name)

        def call(*arguments: Any, **options: Any) -> Any:
            counts[key] += 1
            return function(*arguments, **options)

        monkeypatch.setattr(module, name, call)

    counted(cooccurrence, "cooccurrence_vectors", "vectors")
    counted(ngram_fitting, "one_vs_rest", "linear")
    return counts


def scored(estimator: Any, X: Any, y: Any) -> float:
    """Score so that any other bit of a probability is another score."""
    return float(np.ravel(estimator.predict_proba(X)) @ np.arange(1, 1 + y.size * 2 // y.ndim))


def take(X: Any, rows: Any) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else [X[row] for row in rows]


def alone(estimator: Any, grid: dict[str, list[Any]], X: Any, y: Any, **given: Any) -> list[Any]:
    """Score each setting in each fold by a fit that shares nothing."""
    found = []
    for setting in ParameterGrid(grid):
        for train, test in FOLDS.split(X):
            sharing.forget_shared_results()
            model = clone(estimator).set_params(**clone(setting, safe=False))
            model.fit(take(X, train), y[train], **given)
            found.append(scored(model, take(X, test), y[test]))
    return found


def searched(
    estimator: Any, grid: dict[str, list[Any]], X: Any, y: Any, n_jobs: int = 1, **given: Any
) -> list[Any]:
    search = GridSearchCV(estimator, grid, cv=FOLDS, scoring=scored, n_jobs=n_jobs, refit=False)
    results = search.fit(X, y, **given).cv_results_
    return np.ravel([results[f"split{k}_test_score"] for k in range(2)], "F").tolist()


TABLE_OF_FOLDS = [np.random.RandomState(0).rand(80) < 0.5, LABELS == "positive"]


@pytest.mark.parametrize(
    ("params", "grid"),
    [
        ({"max_epochs": 2}, {"lr": [0.01, 0.003], "random_state": [np.random.RandomState(2)]}),
        ({"linear_chars": (1, 3)}, {"linear_ngrams": [(1, 1), (1, 2), None]}),
        ({}, {"class_weight": [None, "balanced", {"negative": 3.0}], "word_hidden": [5]}),
        ({"tokenizer": HierarchicalTokenizer()}, {"tokenizer__min_df": [1, 2]}),
        ({"validation_fraction": None}, {"embedding_init": ["random", "cooccurrence"]}),
        ({}, {"engine": ["torch", "auto"]}),
    ],
)
def test_a_search_has_the_bits_of_fits_alone(params: Any, grid: Any) -> None:
    model = small(**params)
    assert searched(model, grid, TEXTS, LABELS) == alone(model, grid, TEXTS, LABELS)


def test_a_search_over_several_labels_has_the_bits_of_fits_alone() -> None:
    y, grid = np.stack(TABLE_OF_FOLDS, axis=1).astype(int), {"threshold": [0.5, "f1"], "lr": [0.01]}
    assert searched(small(), grid, TEXTS, y) == alone(small(), grid, TEXTS, y)


def test_a_search_over_columns_has_the_bits_of_fits_alone() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"body": TEXTS, "size": np.arange(80) % 7, "odd": TABLE_OF_FOLDS[0]})
    model, grid = small(text_column="body"), {"columns": [None, ["size"]]}
    assert searched(model, grid, table, LABELS) == alone(model, grid, table, LABELS)


def test_a_search_with_texts_without_labels_has_the_bits_of_fits_alone() -> None:
    others, grid = make_reviews(60, random_state=1)[0], {"lr": [0.01, 0.003]}
    given = {"X_unlabelled": others}
    found = searched(small(), grid, TEXTS, LABELS, **given)
    assert found == alone(small(), grid, TEXTS, LABELS, **given)


class TestWhatIsShared:
    def test_settings_of_the_network_share_linear_models_and_vectors(self, calls) -> None:
        searched(small(linear_chars=None), {"lr": [0.01]}, TEXTS, LABELS)
        once = calls.copy()
        sharing.forget_shared_results()
        searched(small(linear_chars=None), {"lr": [0.01, 0.006, 0.003]}, TEXTS, LABELS)
        assert calls == {key: 2 * n for key, n in once.items()}
        assert once["vectors"] == 2  # a fold each

    def test_the_trial_of_characters_is_shared(self, calls) -> None:
        texts, labels = make_reviews(260, random_state=0)
        searched(small(linear_ngrams=(1, 1)), {"lr": [0.01]}, texts, labels)
        once = calls["linear"]
        searched(small(linear_ngrams=(1, 1)), {"lr": [0.02, 0.03]}, texts, labels)
        assert calls["linear"] == once

    def test_fits_without_a_seed_share_linear_models_alone(self, calls) -> None:
        model = small(random_state=None, linear_chars=None)
        searched(model, {"lr": [0.01]}, TEXTS, LABELS)
        once = calls.copy()
        searched(model, {"lr": [0.02]}, TEXTS, LABELS)
        assert calls == {"vectors": 2 * once["vectors"], "linear": once["linear"]}

    def test_other_tokens_share_nothing(self, calls) -> None:
        pipeline = make_pipeline(HierarchicalTokenizer(), small(linear_chars=None))
        searched(pipeline, {"hierarchicaltokenizer__tokens": ["words+marks"]}, TEXTS, LABELS)
        once = calls.copy()
        searched(pipeline, {"hierarchicaltokenizer__tokens": ["words"]}, TEXTS, LABELS)
        assert calls == {key: 2 * n for key, n in once.items()}

    def test_cross_validations_and_fits_one_after_the_other_share(self, calls) -> None:
        model = small(linear_chars=None)
        for lr in (0.01, 0.003):
            cross_val_predict(model.set_params(lr=lr), TEXTS, LABELS, cv=FOLDS)
        assert calls["vectors"] == 2
        for _ in range(2):
            model.fit(TEXTS, LABELS)
        assert calls["vectors"] == 3


class TestWhatIsKept:
    def test_a_changed_result_changes_no_other_one(self) -> None:
        found = []

        def change(estimator: Any, X: Any, y: Any) -> float:
            model = estimator.ngram_model_
            found.append(model.weights.copy())
            model.weights[:] = 0
            estimator.net_.module_.embedding.weight.data.zero_()
            return 0.0

        search = GridSearchCV(small(), {"lr": [0.01, 0.01]}, cv=FOLDS, scoring=change, refit=False)
        search.fit(TEXTS, LABELS)
        np.testing.assert_array_equal(found[0], found[2])
        assert found[0].any()

    def test_the_latest_results_are_kept_up_to_the_bound(self, calls, monkeypatch) -> None:
        model = small(linear_chars=None)
        searched(model, {"lr": [0.01]}, TEXTS, LABELS)
        size = sum(result.size for result in sharing._kept.values())
        for most, n_learnt in ((size, 2), (size // 2, 4)):
            monkeypatch.setattr(sharing, "_MOST_KEPT", most)
            calls["vectors"] = 0
            sharing.forget_shared_results()
            searched(model, {"lr": [0.01, 0.003]}, TEXTS, LABELS)
            assert sum(result.size for result in sharing._kept.values()) <= most
            assert calls["vectors"] == n_learnt

    def test_a_result_beyond_the_bound_is_not_kept(self, monkeypatch) -> None:
        monkeypatch.setattr(sharing, "_MOST_KEPT", 100)
        small().fit(TEXTS, LABELS)
        assert not sharing._kept

    def test_threads_have_the_bits_of_fits_alone(self) -> None:
        grid = {"lr": [0.01, 0.003]}
        with joblib.parallel_config("threading"):
            found = searched(small(), grid, TEXTS, LABELS, n_jobs=4)
        assert found == alone(small(), grid, TEXTS, LABELS)

    @pytest.mark.thorough
    def test_processes_have_the_bits_of_fits_alone(self) -> None:
        grid = {"lr": [0.01, 0.003]}
        found = searched(small(), grid, TEXTS, LABELS, n_jobs=2)
        assert found == alone(small(), grid, TEXTS, LABELS)
