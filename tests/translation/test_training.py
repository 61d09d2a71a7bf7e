"""Batches of pairs: targets with end marks, and orders by length."""

import numpy as np

from sk_han import DocumentArray
from sk_han.training.net import Batches
from sk_han.translation.fit import TextPairs, with_end_marks


def documents(*lengths):
    nested = [[list(range(2, 2 + n))] if n else [] for n in lengths]
    return DocumentArray.from_nested(nested)


def test_end_marks_stand_behind_and_in_front_of_each_text():
    texts = documents(2, 0, 1)
    assert with_end_marks(texts).tolist() == [2, 3, 0, 0, 2, 0]
    assert with_end_marks(texts, in_front=True).tolist() == [0, 2, 3, 0, 0, 2]


def test_each_word_of_a_target_has_the_weight_of_its_pair():
    pairs = TextPairs(documents(1, 1), documents(2, 0), np.array([0.5, 3.0]))
    assert pairs.targets.tolist() == [2, 3, 0, 0]
    assert pairs.weights.tolist() == [0.5, 0.5, 0.5, 3.0]
    assert pairs[[1]].weights.tolist() == [3.0]


def test_batches_have_targets_of_similar_length_and_every_pair_once():
    lengths = np.random.RandomState(0).permutation(np.repeat(np.arange(1, 12), 10))
    numbers = np.arange(len(lengths)).astype(float) + 1
    pairs = TextPairs(documents(*lengths), documents(*lengths), numbers)
    batches = Batches(pairs, 7, np.random.RandomState(1))
    drawn = [batch for batch, _ in batches]
    assert len(drawn) == len(batches) == 16
    seen = np.concatenate([batch.pair_weights for batch in drawn])
    assert np.array_equal(np.sort(seen), numbers)
    assert max(np.ptp(batch.translations.words_per_document) for batch in drawn) <= 1
    first = [int(batch.translations.words_per_document[0]) for batch in drawn]
    assert first != sorted(first)
    again = next(iter(batches))[0].pair_weights
    assert not np.array_equal(again, drawn[0].pair_weights)
