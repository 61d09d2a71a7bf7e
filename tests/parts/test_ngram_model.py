"""The n-gram model: hash values of n-grams, scores, and fits of all documents at once."""

import numpy as np
import pytest

from sk_han import DocumentArray
from sk_han._documents import LabelledDocuments
from sk_han._parts.ngram_model import NgramModel
from sk_han._parts.ngrams import check_ngram_range, keyed_ngrams
from sk_han._storage.schema import check
from tests.ngram_models import fit_ngram_model, hash_ngrams
from tests.tiny_targets import classes

pytestmark = pytest.mark.usefixtures("engine")

# In two sentences, in one, twice the same, empty, with a word that no other has.
NESTED = [[[2, 3], [4]], [[2, 3, 4]], [[5, 4], [5, 4]], [], [[4, 5], [6]], [[2, 4]]]
TARGETS = np.array([1, 1, 0, 0, 0, 1])


HASH_VALUES = [
    *(1395877, 130002, 1189673, 3549663, 202118, 1395877, 3459346, 2335203, 513389, 66644)
]


def labelled(nested=NESTED, targets=TARGETS, weights=None):
    weights = np.ones(len(targets)) if weights is None else weights
    return LabelledDocuments(DocumentArray.from_nested(nested), targets, weights)


def bucket_of(*word_ids):
    buckets, _ = hash_ngrams(DocumentArray.from_nested([[word_ids]]), (len(word_ids),) * 2)
    return int(buckets[0])


class TestHashing:
    def test_ngrams_stay_within_a_sentence(self):
        buckets, first_words = hash_ngrams(DocumentArray.from_nested(NESTED[:2]), (1, 3))
        expected = [(2,), (3,), (4,), (2,), (3,), (4,), (2, 3), (2, 3), (3, 4), (2, 3, 4)]
        assert buckets.tolist() == [bucket_of(*ngram) for ngram in expected]
        assert first_words.tolist() == [0, 1, 2, 3, 4, 5, 0, 3, 4, 3]

    def test_hash_values_never_change_between_releases(self):
        # Stored models know n-grams by them alone.
        documents = DocumentArray.from_nested([[[2, 3, 4], [1]], [], [[49_999, 2]]])
        assert hash_ngrams(documents, (1, 3))[0].tolist() == HASH_VALUES

    def test_few_ngrams_share_a_bucket(self):
        ids = np.arange(2, 30_002)
        buckets, _ = hash_ngrams(DocumentArray.from_nested([[ids]]), (1, 2))
        # 60,000 balls fall into 2 ** 22 urns: 427 are expected to meet another.
        assert len(buckets) - len(np.unique(buckets)) < 600


class TestLogits:
    @pytest.fixture
    def model(self):
        """Two classes, three n-grams; numbers chosen so that lengths are 5 and 13."""
        known = {(2,): (3.0, 1.0), (2, 3): (4.0, -2.0), (4,): (12.0, 6.0)}
        order = sorted(known, key=lambda ngram: bucket_of(*ngram))
        return NgramModel(
            target=classes(2),
            ngram_range=(1, 2),
            buckets=np.array([bucket_of(*ngram) for ngram in order]),
            ratios=np.array([[known[ngram][0]] for ngram in order], dtype=np.float32),
            weights=np.array([[known[ngram][1]] for ngram in order], dtype=np.float32),
            intercept=np.array([0.5], dtype=np.float32),
        )

    @pytest.mark.parametrize(
        ("document", "log_odds"),
        [
            ([[2, 3]], 0.5 + (1 - 2) / 5),
            ([[2, 3], [4]], 0.5 + (1 - 2 + 6) / 13),
            ([[2], [2], [4, 4]], 0.5 + (1 + 6) / np.sqrt(9 + 144)),  # each counts once
            ([[7, 8]], 0.5),
            ([], 0.5),
        ],
    )
    def test_logits_worked_by_hand(self, model, document, log_odds):
        logits = model.logits(DocumentArray.from_nested([document]))
        np.testing.assert_allclose(logits, [[-log_odds / 2, log_odds / 2]], rtol=1e-6)


def checked(state, n_classes=2):
    problems = 1 if n_classes == 2 else n_classes
    check(NgramModel.SCHEMA, state, "ngram_model", K=n_classes, B=problems)


def first_negative(array):
    array = array.copy()
    array.flat[0] = -1
    return array


COUNTS = ["n_seen", "inside", "outside", "n_documents"]
DAMAGES = [
    *((part, lambda a: a[:-1], "has the shape") for part in ["weights", "intercept", *COUNTS]),
    *((part, first_negative, f"counts.{part} holds values beyond 0 to inf") for part in COUNTS),
    ("n_documents", lambda a: 0 * a, "counts are of no documents"),
    ("ratios", lambda a: a.astype(np.float16), "has the shape"),
    ("buckets", lambda a: a[::-1].copy(), "does not rise"),
    ("buckets", lambda a: np.repeat(a[:1], len(a)), "does not rise"),
    ("buckets", lambda a: a - a[-1] - 1, "holds values beyond 0 to 4"),
    ("buckets", lambda a: a + 2**22, "holds values beyond 0 to 4"),
    *(("ngram_range", lambda _, r=r: r, "is no range") for r in ([2, 1], [0, 1], 3, [1, 2.5])),
]


class TestState:
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_a_model_is_restored_from_its_state(self, n_classes):
        targets = np.arange(6) % n_classes
        model = fit_ngram_model(labelled(targets=targets), classes(n_classes), (1, 2))
        checked(model.to_state(), n_classes)
        restored = NgramModel.from_state(model.to_state(), classes(n_classes))
        documents = DocumentArray.from_nested(NESTED)
        np.testing.assert_array_equal(restored.logits(documents), model.logits(documents))
        for one, other in zip(restored.counts, model.counts, strict=True):
            np.testing.assert_array_equal(one, other)

    @pytest.mark.parametrize(("part", "change", "message"), DAMAGES)
    def test_a_damaged_state_is_refused_by_entry(self, part, change, message):
        state = fit_ngram_model(labelled(), classes(2), (1, 2)).to_state()
        place = state["counts"] if part in COUNTS else state
        place[part] = change(place[part])
        with pytest.raises(ValueError, match=message):
            checked(state)

    @pytest.mark.parametrize(("n_classes", "message"), [(1, "single class"), (3, "has the shape")])
    def test_another_number_of_classes_is_refused(self, n_classes, message):
        with pytest.raises(ValueError, match=message):
            checked(fit_ngram_model(labelled(), classes(2), (1, 2)).to_state(), n_classes)


class TestFit:
    def test_ngrams_of_a_single_document_are_left_out(self):
        model = fit_ngram_model(labelled(), classes(2), (1, 2))
        shared = [(2,), (3,), (4,), (5,), (2, 3)]
        assert model.buckets.tolist() == sorted(bucket_of(*ngram) for ngram in shared)

    def test_ratios_worked_by_hand(self):
        # The word 2 is in both documents of class 1, the word 3 in one of each.
        data = labelled([[[2]], [[2, 3]], [[3]]], np.array([1, 1, 0]))
        model = fit_ngram_model(data, classes(2), (1, 1))
        smoothing, share = 8, 2 / 3
        inside = np.array([2, 1]) + smoothing * share
        outside = np.array([0, 1]) + smoothing * (1 - share)
        expected = np.log(inside / inside.sum()) - np.log(outside / outside.sum())
        order = np.argsort([bucket_of(2), bucket_of(3)])
        np.testing.assert_allclose(model.ratios[:, 0], expected[order], rtol=1e-5)

    def test_negation_is_learnt_from_pairs(self):
        nested = [[[2, 3]], [[4, 3]], [[2, 5]], [[4, 5]]] * 3  # class 1: 2 with 3, or 4 with 5
        targets = np.array([1, 0, 0, 1] * 3)
        documents = DocumentArray.from_nested(nested)
        pairs = fit_ngram_model(labelled(nested, targets), classes(2), (1, 2)).logits(documents)
        assert pairs.argmax(axis=1).tolist() == targets.tolist()
        assert np.abs(pairs[:, 0] - pairs[:, 1]).min() > 0.2
        words = fit_ngram_model(labelled(nested, targets), classes(2), (1, 1)).logits(documents)
        np.testing.assert_allclose(words[:, 0], words[:, 1], atol=0.01)

    def test_a_heavy_document_decides(self):
        nested, targets = [[[2, 3]], [[2, 3]]], np.array([0, 1])
        data = labelled(nested, targets, np.array([1.0, 9.0]))
        logits = fit_ngram_model(data, classes(2), (1, 2)).logits(data.documents)
        assert logits.argmax(axis=1).tolist() == [1, 1]

    def test_only_ratios_of_weights_matter(self):
        weights = np.arange(1.0, 7.0)
        one = fit_ngram_model(labelled(weights=weights), classes(2), (1, 2))
        other = fit_ngram_model(labelled(weights=1e6 * weights), classes(2), (1, 2))
        np.testing.assert_allclose(one.weights, other.weights, atol=1e-5)

    @pytest.mark.parametrize(
        ("nested", "targets", "n_classes"),
        [
            ([[[2]], [[3]]], [0, 1], 2),
            ([[], []], [0, 1], 2),
            ([[[2]], [[2]]], [0, 1], 3),
            ([[[2]], [[2]]], [0, 0], 1),
        ],
        ids=["nothing twice", "no words", "a class without documents", "one class"],
    )
    def test_without_repeated_ngrams_or_classes_there_is_no_model(self, nested, targets, n_classes):
        assert (
            fit_ngram_model(labelled(nested, np.array(targets)), classes(n_classes), (1, 2)) is None
        )


@pytest.mark.parametrize("ngram_range", [(0, 1), (2, 1), (1, 2, 3), (1, 1.5), ("1", 2), (True, 2)])
def test_a_wrong_range_is_refused(ngram_range):
    check_ngram_range((1, np.int64(2)))
    with pytest.raises(ValueError, match="linear_ngrams is"):
        check_ngram_range(ngram_range)


def test_attributions_of_ngrams_sum_to_those_of_words():
    model = fit_ngram_model(labelled(), classes(2), (1, 3))
    documents = DocumentArray.from_nested(NESTED)
    factors = np.random.default_rng(0).normal(size=(len(documents), 2))
    ngrams = model.ngram_attributions(documents, factors)
    words = np.zeros(documents.n_words)
    for first, size, value in zip(ngrams.first_words, ngrams.sizes, ngrams.values, strict=True):
        words[first : first + size] += value / size
    np.testing.assert_allclose(words, model.attributions(documents, factors), atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_class_weights_are_zero_for_unknown_ngrams(n_classes):
    targets = np.array([0, 0, 1, 2, 1, 2]) % n_classes
    model = fit_ngram_model(labelled(targets=targets), classes(n_classes), (1, 1))
    keys, *_ = keyed_ngrams(DocumentArray.from_nested([[[2], [99]]]), (1, 1))
    weights = model.weights[np.searchsorted(model.buckets, bucket_of(2))]
    assert weights.any()
    expected = np.append(-weights, weights) if n_classes == 2 else weights
    np.testing.assert_array_equal(model.class_weights(keys), [expected, np.zeros(n_classes)])
