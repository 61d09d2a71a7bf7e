"""Documents on their way to the network."""

from __future__ import annotations

import numpy as np
import pytest

from sk_han import DocumentArray
from sk_han.documents import LabelledDocuments
from sk_han.training.batches import Batches


@pytest.fixture
def data() -> LabelledDocuments:
    """Twenty-three documents of one word, which is their number plus 2; so are target, weight."""
    numbers = np.arange(23)
    documents = DocumentArray.from_nested([[[number + 2]] for number in numbers])
    return LabelledDocuments(documents, numbers, numbers.astype(np.float64))


def numbers_of(batches: Batches) -> list[int]:
    """Numbers of the documents in the order in which an epoch brings them."""
    return [number - 2 for X, _ in batches for number in X.documents.word_ids.tolist()]


def test_rows_keep_documents_targets_and_weights_together(data: LabelledDocuments) -> None:
    rows = data[[7, 3, 11]]
    assert len(rows) == 3
    assert rows.documents.word_ids.tolist() == [9, 5, 13]
    assert rows.targets.tolist() == rows.weights.tolist() == [7, 3, 11]


@pytest.mark.parametrize("shuffle", [None, np.random.RandomState(0)])
def test_input_and_target_of_a_batch_belong_together(
    data: LabelledDocuments, shuffle: np.random.RandomState | None
) -> None:
    for X, targets in Batches(data, 5, shuffle):
        numbers = (X.documents.word_ids - 2).tolist()
        assert numbers == targets.tolist() == X.targets.tolist() == X.weights.tolist()


def test_order_stays_without_a_shuffle(data: LabelledDocuments) -> None:
    assert numbers_of(Batches(data, 5)) == list(range(23))


def test_every_document_comes_once_an_epoch(data: LabelledDocuments) -> None:
    batches = Batches(data, 5, np.random.RandomState(0))
    for _ in range(3):
        assert sorted(numbers_of(batches)) == list(range(23))


def test_last_batch_is_smaller(data: LabelledDocuments) -> None:
    batches = Batches(data, 5)
    assert [len(X) for X, _ in batches] == [5, 5, 5, 5, 3]
    assert len(batches) == 5


def test_full_batches_leave_no_empty_one(data: LabelledDocuments) -> None:
    batches = Batches(data[:20], 5)
    assert [len(X) for X, _ in batches] == [5, 5, 5, 5]
    assert len(batches) == 4


def test_a_batch_may_hold_everything(data: LabelledDocuments) -> None:
    assert [len(X) for X, _ in Batches(data, 101)] == [23]


def test_no_documents_make_no_batches(data: LabelledDocuments) -> None:
    batches = Batches(data[:0], 5)
    assert len(batches) == 0
    assert list(batches) == []


def test_every_epoch_has_a_new_order(data: LabelledDocuments) -> None:
    batches = Batches(data, 5, np.random.RandomState(0))
    assert numbers_of(batches) != numbers_of(batches)


def test_batches_that_are_left_out_change_no_other(data: LabelledDocuments) -> None:
    whole = [X.targets.tolist() for X, _ in Batches(data, 5, np.random.RandomState(0))]
    for first in range(6):
        batches = Batches(data, 5, np.random.RandomState(0), first)
        assert [X.targets.tolist() for X, _ in batches] == whole[first:]


def test_same_seed_gives_the_same_orders(data: LabelledDocuments) -> None:
    first, second = (Batches(data, 5, np.random.RandomState(7)) for _ in range(2))
    for _ in range(3):
        assert numbers_of(first) == numbers_of(second)


def test_global_random_state_is_left_alone(data: LabelledDocuments) -> None:
    before = str(np.random.get_state(legacy=False))
    numbers_of(Batches(data, 5, np.random.RandomState(0)))
    assert str(np.random.get_state(legacy=False)) == before
