"""The methods of explain, each held against numbers found in another way."""

import numpy as np
import pytest

from sk_han import (
    RNN,
    ContextAttention,
    DocumentArray,
    HierarchicalTokenizer,
    MultiHopAttention,
)
from sk_han.documents import LabelledDocuments
from sk_han.inspection.contributions import METHODS
from sk_han.parts import NgramModel
from sk_han.parts.ngrams.hashing import hash_ngrams
from sk_han.parts.pool import NETWORK
from tests.ngram_models import fit_ngram_model
from tests.tiny_models import LABELS, TEXTS, UNSEEN, tiny
from tests.tiny_targets import classes

THREE = np.array(["a", "b", "c"] * 6)

each_method = pytest.mark.parametrize("method", METHODS)


@pytest.fixture(scope="module")
def two():
    return tiny(max_epochs=3).fit(TEXTS, LABELS)


@pytest.fixture(scope="module")
def three():
    return tiny(max_epochs=3).fit(TEXTS, THREE)


@pytest.fixture(params=["two", "three"])
def either(request):
    return request.getfixturevalue(request.param)


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


@pytest.mark.parametrize("method", METHODS[1:])
def test_every_method_that_reads_documents_tells_what_the_ngrams_bring(two, method):
    expected = two.explain(TEXTS[:2], method="gradient_attention")
    found = two.explain(TEXTS[:2], method=method)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.ngram_contributions, other.ngram_contributions)
        assert np.any(one.ngram_contributions)


def test_contributions_add_what_network_and_ngrams_bring(two):
    how = {"method": "gradient_attention", "target": "pos"}
    explanation = two.explain(TEXTS[:1], **how)[0]
    pool = two.pool_
    two.pool_ = pool.only([NETWORK])
    network = two.explain(TEXTS[:1], **how)[0].contributions
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


def test_a_sentence_is_explained_toward_the_class_predicted_for_its_document(three):
    text = "It was a bad day. The rain fell. A good zebra!"
    predicted = three.explain([text])[0]
    given = three.explain([text], target=predicted.predicted)[0]
    np.testing.assert_array_equal(predicted.contributions, given.contributions)


# Sentences, attention, chance


@pytest.mark.parametrize("method", ["shapley", "gradient_attention", "random"])
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
    explanations = member.explain(UNSEEN, method=method)
    assert [len(e.words) for e in explanations] == [len(e.contributions) for e in explanations]
    assert any(np.any(e.contributions) for e in explanations)
    assert not any(np.any(e.ngram_contributions) for e in explanations)


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
