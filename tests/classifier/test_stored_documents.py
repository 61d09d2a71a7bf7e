"""A classifier learns from documents on the disk what it learns from the same in memory."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import cross_val_predict

from sk_han import DocumentArray, HierarchicalTokenizer
from sk_han.datasets import make_reviews
from sk_han.documents.folder import writing
from tests.tiny_models import tiny

TEXTS, LABELS = make_reviews(300, random_state=0)


def with_rare_words(documents: DocumentArray, first: int) -> DocumentArray:
    """Give every seventh word an id of its own from a document on."""
    ids = documents.word_ids.copy()
    ids[documents.sentence_starts[documents.document_starts[first]] :: 7] += 500
    return DocumentArray(ids, documents.sentence_starts, documents.document_starts)


IN_MEMORY = with_rare_words(HierarchicalTokenizer().fit_transform(TEXTS), 100)
X, Y = IN_MEMORY[:200], np.array(LABELS[:200])
UNSEEN, UNLABELLED = IN_MEMORY[180:220], IN_MEMORY[220:]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> DocumentArray:
    folder = tmp_path_factory.mktemp("stored") / "documents"
    IN_MEMORY.save(folder)
    return DocumentArray.open(folder)


def on_disk(opened: DocumentArray, given: Any) -> Any:
    """Return what stands on the disk for documents in memory, and anything else as it is."""
    for part, rows in [
        (X, slice(200)),
        (UNSEEN, slice(180, 220)),
        (UNLABELLED, slice(220, None)),
    ]:
        if given is part:
            return opened[rows]
    return given


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("params", "arguments"),
    [
        ({}, {}),
        ({"linear_ngrams": None}, {"sample_weight": np.arange(200) % 3}),
        ({"validation_fraction": None}, {"X_unlabelled": UNLABELLED}),
        ({"embedding_init": "random", "linear_ngrams": None}, {"X_val": UNSEEN, "y_val": Y[:40]}),
        ({"class_weight": "balanced"}, {"X_unlabelled": UNLABELLED}),
    ],
    ids=["defaults", "weights", "unlabelled", "validation documents", "balanced"],
)
def test_a_fit_on_the_disk_gives_the_bits_of_a_fit_in_memory(
    opened: DocumentArray, params: dict[str, Any], arguments: dict[str, Any]
) -> None:
    there = {name: on_disk(opened, value) for name, value in arguments.items()}
    fits = [
        tiny(**params).fit(X, Y, **arguments),
        tiny(**params).fit(opened[:200], Y, **there),
    ]
    np.testing.assert_array_equal(*(fit.predict_proba(UNSEEN) for fit in fits))
    assert fits[0].vocabulary_size_ == fits[1].vocabulary_size_


@pytest.mark.thorough
def test_a_network_is_pretrained_on_the_disk_as_in_memory(
    opened: DocumentArray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sk_han.fitting.linear._ENOUGH_TO_PRETRAIN", 50)
    monkeypatch.setattr("sk_han.fitting.network.PRETRAINING_STEPS", 5)
    fits = [
        tiny().fit(X, Y, X_unlabelled=UNLABELLED),
        tiny().fit(opened[:200], Y, X_unlabelled=opened[220:]),
    ]
    np.testing.assert_array_equal(*(fit.predict_proba(UNSEEN) for fit in fits))


def test_portions_on_the_disk_are_learnt_as_in_memory(opened: DocumentArray) -> None:
    fits = [tiny(), tiny()]
    for fit, documents in zip(fits, (IN_MEMORY, opened), strict=True):
        for rows in (slice(100), slice(100, 200)):  # the second has ids beyond the vocabulary
            fit.partial_fit(documents[rows], Y[rows], classes=np.unique(Y))
    np.testing.assert_array_equal(*(fit.predict_proba(UNSEEN) for fit in fits))
    assert fits[0].vocabulary_size_ <= IN_MEMORY.word_ids.max()


def test_predictions_and_explanations_are_those_in_memory(opened: DocumentArray) -> None:
    fitted = tiny(max_epochs=2).fit(IN_MEMORY[:40], Y[:40])
    assert fitted.vocabulary_size_ <= UNSEEN.word_ids.max()
    there = opened[180:220]
    for method in ("predict", "predict_proba", "decision_function", "transform"):
        found, expected = (getattr(fitted, method)(given) for given in (there, UNSEEN))
        np.testing.assert_array_equal(found, expected)
    assert fitted.score(opened[:200], Y) == fitted.score(X, Y)
    for found, expected in zip(
        fitted.explain(there[:5], batch_size=2),
        fitted.explain(UNSEEN[:5], batch_size=2),
        strict=True,
    ):
        assert found.words == expected.words
        np.testing.assert_array_equal(found.contributions, expected.contributions)


@pytest.mark.thorough
def test_cross_validation_in_processes_reads_the_folder(opened: DocumentArray) -> None:
    classifier = tiny(linear_ngrams=None)
    found, expected = (
        cross_val_predict(classifier, documents, Y, cv=2, n_jobs=n_jobs)
        for documents, n_jobs in ((opened[:200], 2), (X, None))
    )
    assert found.tolist() == expected.tolist()


def long_documents(folder: Path, n: int) -> DocumentArray:
    """Write documents of 2,000 words without holding them."""
    rng = np.random.default_rng(0)
    with writing(folder, overwrite=False) as writer:
        for _ in range(n):
            ids = rng.integers(1, 50, size=2_000, dtype=np.int32)
            writer.append(DocumentArray(ids, np.arange(0, 2_001, 20), [0, 100]))
    return DocumentArray.open(folder)


@pytest.mark.thorough
def test_memory_does_not_grow_with_the_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sk_han.documents.lazy._MOST_WORDS", 1 << 14)
    # Each thread keeps memory that it uses again, from when it first gets a task.
    params = {"linear_ngrams": None, "embedding_init": "random", "batch_size": 4, "n_threads": 1}
    peaks = []
    for n in (100, 100, 900):  # the first loads what is loaded once
        documents = long_documents(tmp_path / f"{n} {len(peaks)}", n)
        classifier = tiny(**params, net_params={"valid_batch_size": 8})
        tracemalloc.start()
        classifier.fit(documents, np.arange(n) % 2, sample_weight=1 + np.arange(n) % 3)
        classifier.predict_proba(documents)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    size_of_words = 4 * 2_000 * (900 - 100)
    assert peaks[2] - peaks[1] < size_of_words / 10
