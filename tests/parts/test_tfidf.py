"""The n-gram model of many classes or labels."""

import numpy as np
import pytest

from sk_han import HierarchicalTokenizer
from sk_han._documents import LabelledDocuments
from sk_han._parts.ngram_fitting import NgramLearner
from sk_han._parts.ngram_model import NgramModel
from sk_han._parts.ngrams import keyed_ngrams, to_buckets
from sk_han._storage.schema import check
from sk_han._targets import AnyOfLabels, OneOfClasses

K = 37
NAMES = np.arange(K)
RNG = np.random.RandomState(0)
NUMBERS = RNG.permutation(np.arange(5 * K) % K)
# Each class has a word of its own, and each document words of any.
TEXTS = [
    f"topic{k} is here, said word{RNG.randint(20)}. More of word{RNG.randint(20)} topic{k}."
    for k in NUMBERS
]
DOCUMENTS = HierarchicalTokenizer().fit_transform(TEXTS)
WEIGHTS = np.ones(len(TEXTS))
EMPTY_AND_OTHERS = HierarchicalTokenizer().fit(TEXTS).transform(["", "topic3 zebra topic3 is"])


@pytest.fixture(scope="module", params=[OneOfClasses, AnyOfLabels])
def model(request):
    if request.param is OneOfClasses:
        target, targets = OneOfClasses(NAMES), NUMBERS
    else:
        target, targets = AnyOfLabels(NAMES, np.full(K, 0.5)), NUMBERS[:, np.newaxis] == NAMES
    learner = NgramLearner(LabelledDocuments(DOCUMENTS, targets, WEIGHTS), target, (1, 3))
    learner.choose_strength(np.arange(4 * K), np.arange(4 * K, 5 * K))
    return learner.fit(np.arange(4 * K))


def dense(model):
    """Return the weights as (F, B)."""
    weights = np.zeros((len(model.buckets), K))
    weights[np.repeat(np.arange(len(model.buckets)), model.n_weights), model.problems] = (
        model.weights
    )
    return weights


def columns_of(model, documents):
    """Return the columns of the occurrences of known n-grams, and the keys of these."""
    keys = keyed_ngrams(documents, model.ngram_range)[0]
    known = np.isin(to_buckets(keys), model.buckets)
    return np.searchsorted(model.buckets, to_buckets(keys[known])), keys[known]


def test_new_documents_are_classified(model):
    logits = model.logits(DOCUMENTS[4 * K :])
    assert (logits.argmax(axis=1) == NUMBERS[4 * K :]).mean() > 0.9


def test_scores_match_a_dense_computation(model):
    document = EMPTY_AND_OTHERS[1:]
    columns, counts = np.unique(columns_of(model, document)[0], return_counts=True)
    values = 1 + np.log(counts)
    length = np.linalg.norm(values * model.ratios[columns, 0])
    expected = values @ dense(model)[columns] / length + model.intercept
    np.testing.assert_allclose(model.logits(document)[0], expected, atol=1e-6)


def test_scores_do_not_depend_on_the_batch(model):
    alone = np.concatenate([model.logits(DOCUMENTS[i : i + 1]) for i in range(7)])
    np.testing.assert_allclose(model.logits(DOCUMENTS)[:7], alone, atol=1e-12)
    np.testing.assert_allclose(model.logits(EMPTY_AND_OTHERS)[0], model.intercept)


def test_contributions_of_words_sum_to_the_score(model):
    factors = np.eye(K)[NUMBERS]
    words = model.attributions(DOCUMENTS, factors)
    starts = np.append(0, np.cumsum(DOCUMENTS.words_per_document))
    sums = np.add.reduceat(words, starts[:-1])
    expected = (model.logits(DOCUMENTS) - model.intercept)[np.arange(len(NUMBERS)), NUMBERS]
    np.testing.assert_allclose(sums, expected, atol=1e-6)


def test_class_weights_returns_the_weights_of_terms(model):
    columns, keys = columns_of(model, DOCUMENTS[:5])
    np.testing.assert_array_equal(model.class_weights(keys), dense(model)[columns])


def test_small_weights_are_left_out(model):
    assert len(model.weights) < 0.5 * len(model.buckets) * K
    np.testing.assert_array_equal(np.count_nonzero(dense(model), axis=1), model.n_weights)


def test_a_stored_model_is_the_same_and_damage_is_refused(model):
    state = model.to_state()
    check(NgramModel.SCHEMA, state, "part", K=K, B=K)
    again = NgramModel.from_state(state, model.target)
    np.testing.assert_array_equal(again.logits(DOCUMENTS), model.logits(DOCUMENTS))
    F = len(state["buckets"])
    ones = np.ones((F, K), np.float32)
    counts = {"n_seen": ones[:, 0].copy(), "inside": ones, "outside": ones}
    for damage in (
        {"n_weights": state["n_weights"] + np.int32(1)},
        {"problems": np.full_like(state["problems"], K)},
        {"problems": None},
        {"n_weights": None},
        {"ratios": -state["ratios"]},
        {"counts": counts | {"n_documents": np.ones(1 + K)}},
        {"weights": 0 * ones},
    ):
        with pytest.raises(ValueError, match=r"its part"):
            check(NgramModel.SCHEMA, state | damage, "part", K=K, B=K)


def test_n_grams_of_many_words_can_be_stored():
    documents = HierarchicalTokenizer().fit_transform([f"topic{k} is here " * 25 for k in NUMBERS])
    data = LabelledDocuments(documents, NUMBERS, WEIGHTS)
    model = NgramLearner(data, OneOfClasses(NAMES), (25, 25)).fit(np.arange(len(NUMBERS)))
    check(NgramModel.SCHEMA, model.to_state(), "part", K=K, B=K)
    assert (model.logits(documents).argmax(axis=1) == NUMBERS).all()


def test_a_label_of_no_document_has_a_low_constant_score():
    targets = NUMBERS[:, np.newaxis] == NAMES
    targets[:, 5] = False
    target = AnyOfLabels(NAMES, np.full(K, 0.5))
    learner = NgramLearner(LabelledDocuments(DOCUMENTS, targets, WEIGHTS), target, (1, 1))
    model = learner.fit(np.arange(len(NUMBERS)))
    scores = model.logits(DOCUMENTS)[:, 5]
    assert np.ptp(scores) == 0
    assert scores[0] < -4


def test_solutions_of_the_choice_are_reused_for_equal_rows():
    data, target = LabelledDocuments(DOCUMENTS, NUMBERS, WEIGHTS), OneOfClasses(NAMES)
    learner, afresh = (NgramLearner(data, target, (1, 2)) for _ in range(2))
    assert np.unique(learner.values.data)[:2] == pytest.approx([1, 1 + np.log(2)])
    rows = np.arange(4 * K)
    learner.choose_strength(rows, np.arange(4 * K, 5 * K))
    assert 0 < len(learner.solved[1]) < K
    afresh.strength = learner.strength
    for some in (rows, np.arange(5 * K)):
        model, expected = learner.fit(some), afresh.fit(some)
        np.testing.assert_array_equal(dense(model), dense(expected))
        np.testing.assert_array_equal(model.intercept, expected.intercept)
