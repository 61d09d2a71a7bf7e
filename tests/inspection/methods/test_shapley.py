"""Shapley values of sentences, held against games whose values are known."""

from itertools import combinations, permutations

import numpy as np
import pytest

from sk_han import RNN, ContextAttention, load, save
from sk_han.inspection.contributions import _design
from sk_han.serving import Scorer
from tests.tiny_models import LABELS, TEXTS, tiny

THREE = np.array(["a", "b", "c"] * 6)
SENTENCES = [
    "It was a bad day.",
    "The rain fell.",
    "A good zebra!",
    "Good.",
    "We came late.",
    "Bad.",
]
LONG = " ".join(SENTENCES[i % 6] for i in range(70))
TEXTS_OF_ALL_LENGTHS = [" ".join(SENTENCES[:n]) for n in range(7)] + [
    " ".join((5 * SENTENCES)[:n]) for n in (7, 20, 41)
]


@pytest.fixture(scope="module", params=["two", "three", "labels"])
def classifier(request):
    labels = {
        "two": LABELS,
        "three": THREE,
        "labels": np.stack([LABELS == "pos", THREE == "a"], axis=1),
    }
    return tiny(max_epochs=3, lr=0.05).fit(TEXTS, labels[request.param])


def log_odds(classifier, texts, label):
    pool = classifier.pool_
    t = np.full(len(texts), pool.target.names.tolist().index(label))
    return pool.target.log_odds(pool.logits(classifier.tokenizer_.transform(texts)), t)


def by_all_orders(value, n):
    """Average what each of n players adds over all orders of putting them in."""
    added = np.zeros(n)
    orders = list(permutations(range(n)))
    for order in orders:
        for place, player in enumerate(order):
            before, after = sorted(order[:place]), sorted(order[: place + 1])
            added[player] += value(after) - value(before)
    return added / len(orders)


def test_few_sentences_have_the_mean_of_what_they_add_in_all_orders(classifier):
    label = classifier.classes_[1]
    sets = [s for k in range(5) for s in combinations(range(4), k)]
    texts = [" ".join(SENTENCES[i] for i in chosen) for chosen in sets]
    known = dict(zip(sets, log_odds(classifier, texts, label), strict=True))
    explanation = classifier.explain([" ".join(SENTENCES[:4])], target=label)[0]
    expected = by_all_orders(lambda chosen: known[tuple(chosen)], 4)
    np.testing.assert_allclose(explanation.sentence_contributions, expected, atol=1e-5)
    assert explanation.sentence_errors.tolist() == [0, 0, 0, 0]


def test_values_sum_to_the_log_odds_less_those_without_words(classifier):
    label = classifier.classes_[1]
    texts = [*TEXTS_OF_ALL_LENGTHS, LONG]
    whole, nothing = log_odds(classifier, texts, label), log_odds(classifier, [""], label)[0]
    for found, expected in zip(classifier.explain(texts, target=label), whole, strict=True):
        assert found.base_value == pytest.approx(nothing, abs=1e-5)
        total = found.base_value + found.sentence_contributions.sum()
        assert total == pytest.approx(expected, abs=1e-5)
        of_words = np.bincount(found.sentence_of_word, found.contributions, len(found.sentences))
        np.testing.assert_allclose(found.sentence_contributions, of_words, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_all_sets_of_few_players_give_the_exact_values_of_any_game(n):
    game = np.random.RandomState(n).normal(size=2**n)
    design = _design(n)
    found = design.weights[0] @ game[design.sets @ (1 << np.arange(n))]
    expected = by_all_orders(lambda chosen: game[sum(1 << i for i in chosen)], n)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("n", [7, 40, 41, 64])
def test_orders_give_the_exact_values_where_players_meet_in_pairs(n):
    random = np.random.RandomState(n)
    alone, pairs = random.normal(size=n), np.triu(random.normal(size=(n, n)), 1)
    design = _design(n)
    sets = design.sets.astype(float)
    read = sets @ alone + ((sets @ pairs) * sets).sum(axis=1)
    # An order and its reverse put each of two players once before the other.
    expected = alone + (pairs.sum(axis=0) + pairs.sum(axis=1)) / 2
    for estimate in design.weights:
        np.testing.assert_allclose(estimate @ read, expected, atol=1e-10)
    assert not design.sets[0].any()
    assert design.sets[-1].all()


def test_of_more_sentences_the_error_is_told(classifier):
    *few, many = classifier.explain(TEXTS_OF_ALL_LENGTHS[1:8])
    assert all(not explanation.sentence_errors.any() for explanation in few)
    assert many.sentence_errors.max() > 0


def test_neighbours_in_a_long_document_share_the_value_of_their_group(classifier):
    explanation = classifier.explain([LONG])[0]
    group = np.arange(70) * 64 // 70
    # Of a group, all sentences have the error of the group.
    for number in np.flatnonzero(np.bincount(group) > 1):
        assert len(set(explanation.sentence_errors[group == number])) == 1


def test_a_label_of_no_document_has_values_of_0():
    rng = np.random.RandomState(0)
    labels = np.stack([LABELS == "pos", rng.rand(len(LABELS)) < 0.5, np.zeros(len(LABELS))], axis=1)
    with pytest.warns(UserWarning, match="cannot be learnt"):
        classifier = tiny(max_epochs=3, lr=0.05).fit(TEXTS, labels.astype(int))
    for explanation in classifier.explain(TEXTS_OF_ALL_LENGTHS, target=2):
        assert not explanation.contributions.any()
        assert not explanation.sentence_contributions.any()


def test_a_file_and_a_scorer_give_the_same_values(classifier, tmp_path):
    save(classifier, tmp_path / "model.han")
    expected = classifier.explain(TEXTS_OF_ALL_LENGTHS)
    for other in (load(tmp_path / "model.han"), Scorer.load(tmp_path / "model.han")):
        for found, wanted in zip(other.explain(TEXTS_OF_ALL_LENGTHS), expected, strict=True):
            for name in ("contributions", "sentence_contributions", "sentence_errors"):
                np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), atol=1e-4)
            assert found.base_value == pytest.approx(wanted.base_value, abs=1e-5)


@pytest.mark.parametrize(
    "params",
    [
        {"attention": ContextAttention()},
        {"rnn": "lstm"},
        {"rnn": RNN(bidirectional=False)},
        {"pooling": "max"},
        {"linear_ngrams": None},
        {"engine": "torch"},
    ],
    ids=str,
)
def test_every_network_has_values_that_sum_to_the_log_odds(params):
    pooling = {"pooling": params["attention"]} if "attention" in params else params
    classifier = tiny(max_epochs=2, **pooling).fit(TEXTS, LABELS)
    texts = TEXTS_OF_ALL_LENGTHS[:8]
    whole = log_odds(classifier, texts, "pos")
    for found, expected in zip(classifier.explain(texts, target="pos"), whole, strict=True):
        total = found.base_value + found.sentence_contributions.sum()
        assert total == pytest.approx(expected, abs=1e-5)
