"""Documents on their way to the network."""

import numpy as np
import pytest

from sk_han import DocumentArray
from sk_han.documents import LabelledDocuments
from sk_han.training.net import Batches


@pytest.fixture
def data():
    """Twenty-three documents of one word, which is their number plus 2; so are target, weight."""
    numbers = np.arange(23)
    documents = DocumentArray.from_nested([[[number + 2]] for number in numbers])
    return LabelledDocuments(documents, numbers, numbers.astype(np.float64))


def numbers_of(batches):
    """Numbers of the documents in the order in which an epoch brings them."""
    return [number - 2 for X, _ in batches for number in X.documents.word_ids.tolist()]


def test_input_target_and_weight_of_a_batch_belong_together(data):
    for X, targets in Batches(data, 5, np.random.RandomState(0)):
        numbers = (X.documents.word_ids - 2).tolist()
        assert numbers == targets.tolist() == X.targets.tolist() == X.weights.tolist()


def test_every_document_comes_once_an_epoch_in_an_order_of_the_seed(data):
    assert numbers_of(Batches(data, 5)) == list(range(23))
    first, second = (Batches(data, 5, np.random.RandomState(7)) for _ in range(2))
    before = str(np.random.get_state(legacy=False))
    epochs = [numbers_of(first) for _ in range(3)]
    assert [sorted(numbers) for numbers in epochs] == 3 * [list(range(23))]
    assert epochs[0] != epochs[1]
    assert [numbers_of(second) for _ in range(3)] == epochs
    assert str(np.random.get_state(legacy=False)) == before


@pytest.mark.parametrize(
    ("n_documents", "batch_size", "sizes"),
    [(23, 5, [5, 5, 5, 5, 3]), (20, 5, [5, 5, 5, 5]), (23, 101, [23]), (0, 5, [])],
)
def test_the_last_batch_may_be_smaller_and_none_is_empty(data, n_documents, batch_size, sizes):
    batches = Batches(data[:n_documents], batch_size)
    assert [len(X) for X, _ in batches] == sizes
    assert len(batches) == len(sizes)
