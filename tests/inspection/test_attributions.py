"""Contributions of n-grams, and the sets of sentences of which Shapley values are made."""

import numpy as np
import pytest

from sk_han import (
    DocumentArray,
)
from sk_han._parts.ngram_model import NgramModel
from sk_han.inspection._contributions import _design
from tests.by_hand import by_all_orders
from tests.inspection.test_methods import ODD, large_error
from tests.ngram_models import hash_ngrams
from tests.tiny_models import LABELS, TEXTS, tiny
from tests.tiny_targets import classes


def test_parts_of_ngrams_worked_by_hand():
    x, y, both = (
        int(hash_ngrams(DocumentArray.from_nested([[ids]]), (len(ids),) * 2)[0][0])
        for ids in ([2], [3], [2, 3])
    )
    known = sorted([(x, 2, 3), (y, 1, 6), (both, 2, 12)])  # with ratio and weight
    buckets, ratios, weights = (np.array(column) for column in zip(*known, strict=True))
    model = NgramModel(
        classes(2),
        (1, 2),
        buckets,
        ratios[:, np.newaxis].astype(np.float32),
        weights[:, np.newaxis].astype(np.float32),
        np.array([5.0], dtype=np.float32),
    )
    documents = DocumentArray.from_nested([[[2, 3], [3, 2, 3]], [[4]]])  # "x y. y x y"
    parts = model.attributions(documents, np.array([[-1.0, 1.0], [-1.0, 1.0]]))
    # The length is 3: x brings 3 / 3 by 2 occurrences, y 6 / 3 by 3, "x y" 12 / 3 by 2 of 2 words.
    of_x, of_y, of_both = 1 / 2, 2 / 3, 1
    expected = [of_x + of_both, of_y + of_both, of_y, of_x + of_both, of_y + of_both, 0]
    np.testing.assert_allclose(parts, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("n", "rings"), [*((n, range(1)) for n in (1, 2, 5, 6)), (7, range(2, 4))], ids=str
)
def test_shapley_values_of_few_players_are_exact(n, rings):
    game = np.random.RandomState(n).normal(size=2**n)
    design = _design(n, rings)
    found = design.weights[0] @ game[design.sets @ (1 << np.arange(n))]
    expected = by_all_orders(lambda chosen: game[sum(1 << i for i in chosen)], n)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("rings", [range(1), range(1, 2), range(2, 4)], ids=str)
@pytest.mark.parametrize("n", [9, 40, 41, 64])
def test_sampled_orders_are_exact_if_players_interact_in_pairs(n, rings):
    random = np.random.RandomState(n)
    alone, pairs = random.normal(size=n), np.triu(random.normal(size=(n, n)), 1)
    design = _design(n, rings)
    sets = design.sets.astype(float)
    read = sets @ alone + ((sets @ pairs) * sets).sum(axis=1)
    # An order and its reverse put each of two players once before the other.
    expected = alone + (pairs.sum(axis=0) + pairs.sum(axis=1)) / 2
    for estimate in design.weights:
        np.testing.assert_allclose(estimate @ read, expected, atol=1e-10)
    assert len(design.weights) == len(rings) * (4 if n <= 40 else 2)
    assert not design.sets[0].any()
    assert design.sets[-1].all()


def test_a_long_document_gets_no_further_orders(monkeypatch):
    classifier = tiny(max_epochs=3, lr=0.05).fit(TEXTS, LABELS)
    texts = ["Good bad. The rain fell. " * 200, *ODD]
    long, *short = classifier.explain(texts)
    assert large_error(long) > 0.1
    monkeypatch.setattr("sk_han.inspection._contributions._MOST_WORDS", 0)
    long_again, *fewer_orders = classifier.explain(texts)
    assert long == long_again
    assert short != fewer_orders
