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

    def test_hash_values_are_those_of_all_releases(self):
        # Stored models know n-grams by them alone.
        documents = DocumentArray.from_nested([[[2, 3, 4], [1]], [], [[49_999, 2]]])
        assert hash_ngrams(documents, (1, 3))[0].tolist() == HASH_VALUES

    def test_the_order_of_words_counts(self):
        assert bucket_of(4, 5) != bucket_of(5, 4)

    def test_few_ngrams_share_a_bucket(self):
        ids = np.arange(2, 30_002)
        buckets, _ = hash_ngrams(DocumentArray.from_nested([[ids]]), (1, 2))
        # 60,000 balls fall into 2 ** 22 urns: 427 are expected to meet another.
        assert len(buckets) - len(np.unique(buckets)) < 600

    @pytest.mark.parametrize("nested", [[], [[]], [[[7]]]])
    def test_documents_may_hold_no_ngram(self, nested):
        buckets, first_words = hash_ngrams(DocumentArray.from_nested(nested), (2, 3))
        assert len(buckets) == len(first_words) == 0

    def test_no_ngram_is_longer_than_a_sentence(self):
        documents = DocumentArray.from_nested(NESTED)
        found, expected = hash_ngrams(documents, (1, 10**12)), hash_ngrams(documents, (1, 3))
        np.testing.assert_array_equal(found[0], expected[0])


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
    def test_they_are_those_worked_by_hand(self, model, document, log_odds):
        logits = model.logits(DocumentArray.from_nested([document]))
        np.testing.assert_allclose(logits, [[-log_odds / 2, log_odds / 2]], rtol=1e-6)

    def test_a_document_does_not_depend_on_its_neighbours(self, monkeypatch):
        model = fit_ngram_model(labelled(), classes(2), (1, 2))
        documents = DocumentArray.from_nested(NESTED)
        together = model.logits(documents)
        alone = [model.logits(documents[i : i + 1])[0] for i in range(len(documents))]
        np.testing.assert_allclose(together, alone, rtol=1e-6)
        monkeypatch.setattr("sk_han._parts.ngrams.BATCH_SIZE", 4)
        np.testing.assert_array_equal(model.logits(documents), together)


def checked(state, n_classes=2):
    problems = 1 if n_classes == 2 else n_classes
    check(NgramModel.SCHEMA, state, "ngram_model", K=n_classes, B=problems)


def changed(state, part, value):
    """Give a state with another value of a part, which may be one of its counts."""
    if part in state:
        return state | {part: value}
    return state | {"counts": state["counts"] | {part: value}}


COUNTS = ["n_seen", "inside", "outside", "n_documents"]


class TestState:
    @pytest.fixture
    def model(self):
        return fit_ngram_model(labelled(), classes(2), (1, 2))

    @pytest.fixture
    def state(self, model):
        return model.to_state()

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_a_model_comes_back_from_its_state(self, n_classes):
        model = fit_ngram_model(
            labelled(targets=np.arange(6) % n_classes), classes(n_classes), (1, 2)
        )
        checked(model.to_state(), n_classes)
        found = NgramModel.from_state(model.to_state(), classes(n_classes))
        documents = DocumentArray.from_nested(NESTED)
        np.testing.assert_array_equal(found.logits(documents), model.logits(documents))
        for one, other in zip(found.counts, model.counts, strict=True):
            np.testing.assert_array_equal(one, other)

    def test_its_arrays_are_copies(self, state):
        found = NgramModel.from_state(state, classes(2))
        parts = [*state.values(), *state["counts"].values()]
        arrays = [part for part in parts if isinstance(part, np.ndarray)]
        for array in (found.weights, found.buckets, found.counts.inside):
            assert array.flags.writeable
            assert not any(np.shares_memory(array, part) for part in arrays)

    @pytest.mark.parametrize(
        "change",
        [
            lambda array: array[:-1],
            lambda array: array[..., np.newaxis],
            lambda array: array.astype(np.float16),
            lambda array: array.tolist(),
            lambda array: None,
        ],
        ids=["shorter", "more axes", "half", "list", "None"],
    )
    @pytest.mark.parametrize("part", ["ratios", "weights", "intercept", *COUNTS])
    def test_another_shape_or_dtype_is_named(self, state, part, change):
        array = state[part] if part in state else state["counts"][part]
        with pytest.raises(ValueError, match=rf"its ngram_model\..*{part} has the shape"):
            checked(changed(state, part, change(array)))

    @pytest.mark.parametrize(("n_classes", "message"), [(1, "single class"), (3, "has the shape")])
    def test_another_number_of_classes_is_refused(self, state, n_classes, message):
        with pytest.raises(ValueError, match=message):
            checked(state, n_classes)

    @pytest.mark.parametrize(
        "change",
        [
            lambda buckets: buckets[::-1].copy(),
            lambda buckets: np.repeat(buckets[:1], len(buckets)),
            lambda buckets: buckets - buckets[-1] - 1,
            lambda buckets: buckets + 2**22,
        ],
        ids=["falling", "equal", "negative", "too large"],
    )
    def test_buckets_that_are_none_are_refused(self, state, change):
        with pytest.raises(ValueError, match=r"buckets (does not rise|holds values beyond 0 to 4)"):
            checked(state | {"buckets": change(state["buckets"])})

    @pytest.mark.parametrize("part", COUNTS)
    def test_negative_counts_are_refused(self, state, part):
        array = state["counts"][part].copy()
        array.flat[0] = -1
        with pytest.raises(ValueError, match=f"counts.{part} holds values beyond 0 to inf"):
            checked(changed(state, part, array))

    def test_counts_of_no_documents_are_refused(self, state):
        with pytest.raises(ValueError, match="counts are of no documents"):
            checked(changed(state, "n_documents", 0 * state["counts"]["n_documents"]))

    @pytest.mark.parametrize("ngram_range", [[2, 1], [0, 1], [1], 3, None, ["1", "2"], [1, 2.5]])
    def test_a_wrong_range_is_refused(self, state, ngram_range):
        with pytest.raises(ValueError, match="ngram_range is no range"):
            checked(state | {"ngram_range": ngram_range})


class TestFit:
    def test_ngrams_of_a_single_document_are_left_out(self):
        model = fit_ngram_model(labelled(), classes(2), (1, 2))
        shared = [(2,), (3,), (4,), (5,), (2, 3)]
        assert model.buckets.tolist() == sorted(bucket_of(*ngram) for ngram in shared)

    def test_ratios_are_those_worked_by_hand(self):
        # The word 2 is in both documents of class 1, the word 3 in one of each.
        data = labelled([[[2]], [[2, 3]], [[3]]], np.array([1, 1, 0]))
        model = fit_ngram_model(data, classes(2), (1, 1))
        smoothing, share = 8, 2 / 3
        inside = np.array([2, 1]) + smoothing * share
        outside = np.array([0, 1]) + smoothing * (1 - share)
        expected = np.log(inside / inside.sum()) - np.log(outside / outside.sum())
        order = np.argsort([bucket_of(2), bucket_of(3)])
        np.testing.assert_allclose(model.ratios[:, 0], expected[order], rtol=1e-5)

    def test_what_tells_classes_apart_is_learnt(self):
        nested = [[[2, 3]], [[2, 4]], [[5, 3]], [[5, 4]], [[6, 3]], [[6, 4]]]
        targets = np.array([0, 0, 1, 1, 2, 2])
        model = fit_ngram_model(labelled(nested, targets), classes(3), (1, 2))
        logits = model.logits(DocumentArray.from_nested(nested))
        assert logits.argmax(axis=1).tolist() == targets.tolist()

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
    def test_there_may_be_nothing_to_learn(self, nested, targets, n_classes):
        assert (
            fit_ngram_model(labelled(nested, np.array(targets)), classes(n_classes), (1, 2)) is None
        )


class TestRange:
    @pytest.mark.parametrize("ngram_range", [None, (1, 1), (2, 3), (1, np.int64(2))])
    def test_these_are_taken(self, ngram_range):
        check_ngram_range(ngram_range)

    @pytest.mark.parametrize(
        "ngram_range", [(0, 1), (2, 1), (1,), (1, 2, 3), (1, 1.5), ("1", 2), (True, 2)]
    )
    def test_these_are_refused(self, ngram_range):
        with pytest.raises(ValueError, match="linear_ngrams is"):
            check_ngram_range(ngram_range)


class TestNgramAttributions:
    @pytest.fixture
    def model(self):
        return fit_ngram_model(labelled(), classes(2), (1, 3))

    def test_they_sum_to_the_attributions_of_words(self, model):
        documents = DocumentArray.from_nested(NESTED)
        factors = np.random.default_rng(0).normal(size=(len(documents), 2))
        found = model.ngram_attributions(documents, factors)
        words = np.zeros(documents.n_words)
        for first, size, value in zip(found.first_words, found.sizes, found.values, strict=True):
            words[first : first + size] += value / size
        np.testing.assert_allclose(words, model.attributions(documents, factors), atol=1e-12)

    def test_keys_tell_ngrams_apart(self):
        documents = DocumentArray.from_nested(NESTED)
        keys, first, sizes = keyed_ngrams(documents, (1, 3))
        ids = documents.word_ids
        ngrams = {tuple(ids[a : a + n].tolist()) for a, n in zip(first, sizes, strict=True)}
        assert len(ngrams) == len(np.unique(keys))

    def test_weights_of_two_classes_are_opposite_and_those_of_unknown_ngrams_zero(self, model):
        known = keyed_ngrams(DocumentArray.from_nested([[[2]]]), (1, 1))[0]
        unknown = keyed_ngrams(DocumentArray.from_nested([[[99]]]), (1, 1))[0]
        column = np.searchsorted(model.buckets, bucket_of(2))
        weight = model.weights[column, 0]
        assert weight != 0
        found = model.class_weights(np.concatenate([known, unknown]))
        np.testing.assert_array_equal(found, [[-weight, weight], [0, 0]])

    def test_weights_of_three_classes_are_those_of_the_model(self):
        model = fit_ngram_model(labelled(targets=np.array([0, 0, 1, 2, 1, 2])), classes(3), (1, 1))
        keys = keyed_ngrams(DocumentArray.from_nested([[[4], [99]]]), (1, 1))[0]
        column = np.searchsorted(model.buckets, bucket_of(4))
        expected = [model.weights[column], np.zeros(3)]
        np.testing.assert_array_equal(model.class_weights(keys), expected)
