"""The methods of explain, each held against numbers found in another way."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.special import logsumexp

from sk_han import (
    RNN,
    ContextAttention,
    DocumentArray,
    HierarchicalTokenizer,
    MultiHopAttention,
)
from sk_han.documents import LabelledDocuments
from sk_han.inspection.methods.by_name import METHODS
from sk_han.parts import NgramModel
from sk_han.parts.ngrams.hashing import hash_ngrams
from sk_han.parts.pool import NETWORK, NGRAMS
from tests.ngram_models import fit_ngram_model
from tests.tiny_models import LABELS, TEXTS, UNSEEN, tiny
from tests.tiny_targets import classes

SPREADING = ("sentence_alone", "gradient_attention")
GRADIENTS = ("gradient_attention", "gradient_input", "integrated_gradients")
THREE = np.array(["a", "b", "c"] * 6)

each_method = pytest.mark.parametrize("method", METHODS)
by_gradients = pytest.mark.parametrize("method", GRADIENTS)


@pytest.fixture(scope="module")
def two():
    return tiny(max_epochs=3).fit(TEXTS, LABELS)


@pytest.fixture(scope="module")
def three():
    return tiny(max_epochs=3).fit(TEXTS, THREE)


@pytest.fixture(params=["two", "three"])
def either(request):
    return request.getfixturevalue(request.param)


def log_odds(classifier, texts, label):
    logits = np.log(classifier.predict_proba(texts))
    t = classifier.classes_.tolist().index(label)
    return logits[:, t] - logsumexp(np.delete(logits, t, axis=1), axis=1)


# What is spread over a sentence


def of_sentences(explanation, words):
    return np.bincount(explanation.sentence_of_word, words)


def test_spread_evens_its_share_of_what_the_network_brings(two):
    for published, spread in zip(
        two.explain(UNSEEN, method="gradient_attention", spread=0),
        two.explain(UNSEEN, method="gradient_attention", spread=0.25),
        strict=True,
    ):
        network = published.contributions - published.ngram_contributions
        even = of_sentences(published, network) / of_sentences(published, np.ones_like(network))
        expected = 0.75 * network + 0.25 * even[published.sentence_of_word]
        found = spread.contributions - spread.ngram_contributions
        np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("method", SPREADING)
def test_spread_leaves_sentences_and_ngrams_as_they_are(two, method):
    for published, spread in zip(
        two.explain(UNSEEN, method=method, spread=0),
        two.explain(UNSEEN, method=method, spread=1),
        strict=True,
    ):
        np.testing.assert_array_equal(spread.ngram_contributions, published.ngram_contributions)
        np.testing.assert_allclose(
            spread.sentence_contributions, published.sentence_contributions, atol=1e-12
        )


@each_method
def test_an_explanation_keeps_the_spread_and_the_error_of_its_method(two, method):
    explanation = two.explain(TEXTS[:1], method=method, spread=0.125)[0]
    assert explanation.spread == (0.125 if method in SPREADING else None)
    error = explanation.completeness_error
    assert (error is not None) == (method == "integrated_gradients")


# The n-gram model


@pytest.mark.parametrize("targets", [[0, 1] * 9, [0, 1, 2] * 6], ids=["two", "three"])
@pytest.mark.parametrize("ngram_range", [(1, 1), (1, 3), (2, 2)])
def test_parts_of_the_words_sum_to_the_logit_less_the_intercept(targets, ngram_range):
    documents = HierarchicalTokenizer().fit_transform(TEXTS)
    C = max(targets) + 1
    data = LabelledDocuments(documents, np.array(targets), np.ones(18))
    model = fit_ngram_model(data, classes(C), ngram_range)
    nothing = model.logits(DocumentArray.from_nested([[]]))[0]  # what the intercept gives
    for c in range(C):
        factors = np.tile(np.eye(C)[c], (18, 1))
        parts = model.attributions(documents, factors)
        sums = [p.sum() for p in np.split(parts, np.cumsum(documents.words_per_document)[:-1])]
        np.testing.assert_allclose(
            sums + nothing[c], model.logits(documents)[:, c], rtol=0, atol=1e-6
        )


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


def test_unknown_words_have_no_part(two):
    explanation = two.explain(["Zebra giraffe"])[0]
    # "<unknown> <unknown>" is in no training document.
    assert explanation.ngram_contributions.tolist() == [0, 0]


@pytest.mark.parametrize("method", sorted(METHODS.keys() - {"sentence_alone", "shapley"}))
def test_every_method_that_reads_documents_tells_what_the_ngrams_bring(two, method):
    expected = two.explain(TEXTS[:2], method="gradient_attention")
    found = two.explain(TEXTS[:2], method=method, steps=2)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.ngram_contributions, other.ngram_contributions)
        assert np.any(one.ngram_contributions)


@by_gradients
def test_contributions_add_what_network_and_ngrams_bring(two, method):
    explanation = two.explain(TEXTS[:1], method=method, target="pos")[0]
    pool = two.pool_
    two.pool_ = pool.only([NETWORK])
    network = two.explain(TEXTS[:1], method=method, target="pos")[0].contributions
    two.pool_ = pool
    np.testing.assert_allclose(
        explanation.contributions, network + explanation.ngram_contributions, atol=1e-6
    )


# The score


def test_contributions_of_three_classes_weigh_the_others_by_their_probability(three):
    model, documents = three.ngram_model_, three.tokenizer_.transform(TEXTS[:1])
    explanation = three.explain(TEXTS[:1], target="b", method="gradient_attention")[0]
    proba = explanation.probabilities
    q = np.array([proba[0], 0, proba[2]]) / (proba[0] + proba[2])
    factors = np.array([[0, 1, 0] - q])
    expected = three.ngram_scale_ * model.attributions(documents, factors)
    np.testing.assert_allclose(explanation.ngram_contributions, expected, atol=1e-12)


def test_integrated_gradients_sum_to_the_change_of_the_log_odds(either):
    label = either.classes_[-1]
    explanations = either.explain(TEXTS[:3], method="integrated_gradients", target=label)
    weight, ngrams = either.net_.module_.embedding.weight, either.ngram_model_
    whole = log_odds(either, TEXTS[:3], label)
    kept, pool = weight.detach().clone(), either.pool_
    try:  # a document of zero vectors, without n-grams
        with torch.no_grad():
            weight.zero_()
        either.net_.prepare_to_predict()
        nothing = ngrams.buckets[:0], ngrams.ratios[:0], ngrams.weights[:0], ngrams.intercept
        empty = NgramModel(ngrams.target, ngrams.ngram_range, *nothing)
        either.pool_ = replace(pool, parts={**pool.parts, NGRAMS: empty})
        start = log_odds(either, TEXTS[:3], label)
    finally:
        with torch.no_grad():
            weight.copy_(kept)
        either.net_.prepare_to_predict()
        either.pool_ = pool
    for explanation, change in zip(explanations, whole - start, strict=True):
        assert explanation.contributions.sum() == pytest.approx(change, abs=1e-5)
        assert explanation.completeness_error < 1e-5


def test_fewer_steps_leave_a_larger_completeness_error(two):
    errors = [
        max(
            e.completeness_error
            for e in two.explain(TEXTS, method="integrated_gradients", steps=steps)
        )
        for steps in (1, 3)
    ]
    assert errors[1] < errors[0] / 10


# Sentences alone

SENTENCES = ["It was a bad day.", "The rain fell.", "A good zebra!"]


def test_a_sentence_brings_what_the_classifier_says_to_it_alone(either):
    label = either.classes_[1]
    explanation = either.explain([" ".join(SENTENCES)], method="sentence_alone", target=label)[0]
    alone = log_odds(either, SENTENCES, label) - log_odds(either, [""], label)
    np.testing.assert_allclose(explanation.sentence_contributions, alone, atol=1e-5)


def test_sentences_around_it_change_no_contribution_of_a_sentence(either):
    label = either.classes_[1]
    whole = either.explain([" ".join(SENTENCES)], method="sentence_alone", target=label)[0]
    parts = either.explain(SENTENCES, method="sentence_alone", target=label)
    for name in ("contributions", "ngram_contributions", "word_attention"):
        together = np.concatenate([getattr(part, name) for part in parts])
        np.testing.assert_allclose(getattr(whole, name), together, atol=1e-6)
    assert whole.sentence_attention.max() < 1
    np.testing.assert_allclose(
        whole.probabilities, either.predict_proba([" ".join(SENTENCES)])[0], atol=1e-6
    )


def test_a_sentence_is_explained_toward_the_class_predicted_for_its_document(three):
    text = " ".join(SENTENCES)
    predicted = three.explain([text])[0]
    given = three.explain([text], target=predicted.predicted)[0]
    np.testing.assert_array_equal(predicted.contributions, given.contributions)


def test_words_of_a_sentence_alone_share_evenly_what_gradients_leave(two):
    by_gradients = two.explain(SENTENCES, method="gradient_attention", target="pos")
    alone = two.explain(SENTENCES, method="sentence_alone", target="pos")
    for one, other in zip(alone, by_gradients, strict=True):
        rest = one.contributions - other.contributions
        np.testing.assert_allclose(rest, rest[0], atol=1e-12)
        np.testing.assert_allclose(one.ngram_contributions, other.ngram_contributions, atol=1e-12)


# Occlusion


def test_occlusion_is_the_drop_without_the_word_or_the_sentence(either):
    sentences = [["it", "was", "a", "bad", "day"], ["the", "rain", "fell"], ["good"]]

    def text(sentences):
        return "<br>".join(" ".join(words) for words in sentences if words)

    label = either.classes_[1]
    explanation = either.explain([text(sentences)], method="occlusion", target=label)[0]
    whole = log_odds(either, [text(sentences)], label)[0]
    expected = []
    for i, words in enumerate(sentences):
        for j in range(len(words)):
            rest = [*sentences[:i], words[:j] + words[j + 1 :], *sentences[i + 1 :]]
            expected.append(whole - log_odds(either, [text(rest)], label)[0])
    np.testing.assert_allclose(explanation.contributions, expected, atol=1e-5)
    dropped = [
        whole - log_odds(either, [text(sentences[:i] + sentences[i + 1 :])], label)[0]
        for i in range(3)
    ]
    np.testing.assert_allclose(explanation.sentence_contributions, dropped, atol=1e-5)


# Sentences, attention, chance


@pytest.mark.parametrize("method", ["shapley", "sentence_alone", *GRADIENTS, "random"])
def test_a_sentence_has_the_sum_of_its_words(two, method):
    for e in two.explain(TEXTS[:3], method=method):
        sums = np.bincount(e.sentence_of_word, e.contributions)
        np.testing.assert_allclose(e.sentence_contributions, sums, atol=1e-12)


@pytest.mark.parametrize("combine", ["product", "sqrt"])
def test_contributions_of_attention_are_the_combined_attention(two, combine):
    explanation = two.explain(TEXTS[:1], method="attention", combine=combine)[0]
    np.testing.assert_allclose(explanation.contributions, explanation.combined_attention)
    assert (explanation.combined_attention.sum() > 1.1) == (combine == "sqrt")


def test_chance_depends_on_the_seed_alone(two):
    first, again, other = (
        two.explain(TEXTS, method="random", random_state=seed) for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other


def test_chance_does_not_depend_on_the_batch(two):
    whole = two.explain(TEXTS, method="random", random_state=0)
    parts = two.explain(TEXTS, method="random", random_state=0, batch_size=5)
    for one, other in zip(parts, whole, strict=True):
        np.testing.assert_array_equal(one.contributions, other.contributions)


def test_a_random_state_goes_on(two):
    random = np.random.RandomState(0)
    first, second = (two.explain(TEXTS[:2], method="random", random_state=random) for _ in "12")
    assert first != second


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
        {"pooling": ContextAttention(size=4, direction="bidirectional", gated=True)},
        {"embedding_dim": 1},
    ],
    ids=str,
)
def member(request):
    return tiny(linear_ngrams=None, **request.param).fit(TEXTS[:6], LABELS[:6])


@each_method
def test_every_member_of_the_family_is_explained_by_every_method(member, method):
    explanations = member.explain(UNSEEN, method=method, steps=2)
    assert [len(e.words) for e in explanations] == [len(e.contributions) for e in explanations]
    assert any(np.any(e.contributions) for e in explanations)
    assert not any(np.any(e.ngram_contributions) for e in explanations)


def test_integrated_gradients_of_every_member_sum_to_the_change(member):
    # Max pooling takes another state at some points of the way, where the gradient jumps: the error
    # falls as one over the number of points, and no faster.
    X, steps, tolerance = UNSEEN, 32, 1e-6
    if member.pooling == "max":
        X, steps, tolerance = UNSEEN[-1:], 512, 5e-3
    explanations = member.explain(X, method="integrated_gradients", steps=steps)
    assert max(e.completeness_error for e in explanations) < tolerance


@pytest.fixture(scope="module")
def one_class():
    with pytest.warns(UserWarning, match="single class"):
        return tiny().fit(TEXTS, np.repeat("pos", 18))


@each_method
def test_one_class_has_nothing_to_explain(one_class, method):
    explanation = one_class.explain(TEXTS[:2], method=method)[0]
    if method not in ("attention", "random"):
        assert not np.any(explanation.contributions)
    assert explanation.target == "pos"
