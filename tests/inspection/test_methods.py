"""The methods of explain, each held against numbers found in another way."""

from functools import partial
from itertools import combinations

import numpy as np
import pytest

from sk_han import (
    RNN,
    MultiHopAttention,
)
from tests.by_hand import by_all_orders
from tests.tiny_models import LABELS, TEXTS, UNSEEN, tiny

# Tiny networks have a small share of the scores, of which attention warns.
pytestmark = pytest.mark.filterwarnings("ignore:method='attention' shows the network alone")
METHODS = ("shapley", "gradient_attention", "attention", "random")
THREE = np.array(["a", "b", "c"] * 6)

each_method = pytest.mark.parametrize("method", METHODS)


@pytest.fixture(scope="module")
def two():
    return tiny(max_epochs=3).fit(TEXTS, LABELS)


@pytest.fixture(scope="module")
def three():
    return tiny(max_epochs=3).fit(TEXTS, THREE)


# The n-gram model


@pytest.mark.parametrize("method", METHODS[1:])
def test_every_method_that_reads_documents_has_ngram_contributions(two, method):
    expected = two.explain(TEXTS[:2], method="gradient_attention")
    found = two.explain(TEXTS[:2], method=method)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.ngram_contributions, other.ngram_contributions)
        assert np.any(one.ngram_contributions)


# The score


def test_contributions_weigh_the_other_classes_by_their_probability(three):
    model, documents = three.ngram_model_, three.tokenizer_.transform(TEXTS[:1])
    explanation = three.explain(TEXTS[:1], target="b", method="gradient_attention")[0]
    proba = explanation.probabilities
    q = np.array([proba[0], 0, proba[2]]) / (proba[0] + proba[2])
    factors = np.array([[0, 1, 0] - q])
    expected = three.ngram_scale_ * model.attributions(documents, factors)
    np.testing.assert_allclose(explanation.ngram_contributions, expected, atol=1e-12)


# Sentences, attention, chance


def test_random_contributions_depend_on_the_seed_alone(two):
    draw = partial(two.explain, TEXTS, method="random")
    first = draw(random_state=0)
    assert first == draw(random_state=0) != draw(random_state=1)
    for one, other in zip(first, draw(random_state=0, batch_size=5), strict=True):
        np.testing.assert_array_equal(one.contributions, other.contributions)
    goes_on = np.random.RandomState(0)
    assert draw(random_state=goes_on) != draw(random_state=goes_on)


# All members


@pytest.fixture(
    scope="module",
    params=[
        {"rnn": RNN(cell="lstm", num_layers=2)},
        {"rnn": RNN(cell="rnn", bidirectional=False)},
        {"pooling": "mean"},
        {"pooling": "max"},
        {"pooling": "last"},
        {"pooling": MultiHopAttention(size=4, hops=3, per_label=True)},
        {"embedding_dim": 1},
    ],
    ids=str,
)
def member(request):
    return tiny(linear_ngrams=None, **request.param).fit(TEXTS[:6], LABELS[:6])


@each_method
def test_every_network_variant_is_explained_by_every_method(member, method):
    explanations = member.explain(UNSEEN, method=method, target="pos")
    assert [len(e.words) for e in explanations] == [len(e.contributions) for e in explanations]
    assert any(np.any(e.contributions) for e in explanations)
    assert not any(np.any(e.ngram_contributions) for e in explanations)
    if method == "shapley":
        sums = [e.base_value + e.sentence_contributions.sum() for e in explanations]
        np.testing.assert_allclose(sums, log_odds(member, UNSEEN, "pos"), atol=1e-5)


@pytest.fixture(scope="module")
def one_class():
    with pytest.warns(UserWarning, match="single class"):
        return tiny().fit(TEXTS, np.repeat("pos", 18))


@each_method
def test_a_single_class_has_zero_contributions(one_class, method):
    explanation = one_class.explain(TEXTS[:2], method=method)[0]
    if method not in ("attention", "random"):
        assert not np.any(explanation.contributions)
    assert explanation.target == "pos"


# Shapley values of sentences, held against games whose values are known.


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


def test_few_sentences_get_exact_shapley_values(classifier):
    label = classifier.classes_[1]
    sets = [s for k in range(5) for s in combinations(range(4), k)]
    texts = [" ".join(SENTENCES[i] for i in chosen) for chosen in sets]
    known = dict(zip(sets, log_odds(classifier, texts, label), strict=True))
    explanation = classifier.explain([" ".join(SENTENCES[:4])], target=label)[0]
    expected = by_all_orders(lambda chosen: known[tuple(chosen)], 4)
    np.testing.assert_allclose(explanation.sentence_contributions, expected, atol=1e-5)
    assert explanation.sentence_errors.tolist() == [0, 0, 0, 0]


def test_values_sum_to_log_odds_relative_to_an_empty_document(classifier):
    label = classifier.classes_[1]
    texts = [*TEXTS_OF_ALL_LENGTHS, LONG]
    whole, nothing = log_odds(classifier, texts, label), log_odds(classifier, [""], label)[0]
    for found, expected in zip(classifier.explain(texts, target=label), whole, strict=True):
        assert found.base_value == pytest.approx(nothing, abs=1e-5)
        total = found.base_value + found.sentence_contributions.sum()
        assert total == pytest.approx(expected, abs=1e-5)
        of_words = np.bincount(found.sentence_of_word, found.contributions, len(found.sentences))
        np.testing.assert_allclose(found.sentence_contributions, of_words, atol=1e-12)


def large_error(explanation):
    """Largest standard error, as a share of the largest contribution of a sentence."""
    return explanation.sentence_errors.max() / np.abs(explanation.sentence_contributions).max()


ODD = [" ".join((5 * SENTENCES)[i : i + n]) for n in (7, 9, 13) for i in range(6)]


def test_orders_are_sampled_until_the_error_is_a_tenth(classifier):
    explanations = classifier.explain(ODD)
    assert all(explanation.sentence_errors.max() > 0 for explanation in explanations[-6:])
    assert max(map(large_error, explanations)) <= 0.1


def test_a_document_is_explained_alike_alone_and_in_a_batch(classifier):
    for text, among in zip(ODD, classifier.explain(ODD), strict=True):
        alone = classifier.explain([text])[0]
        for name in ("contributions", "sentence_errors"):
            np.testing.assert_allclose(getattr(alone, name), getattr(among, name), atol=1e-5)


def test_neighbours_in_a_long_document_share_a_value(classifier):
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
