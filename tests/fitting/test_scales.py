"""Scales of the network's logits and of the n-gram model's."""

from functools import partial

import numpy as np
import pytest

from sk_han import DocumentArray, load, save
from sk_han._fitting.scales import fit_scales
from sk_han._parts import Part, Pool
from sk_han._targets.one_of_classes import softmax
from sk_han.datasets import make_reviews
from tests.tiny_models import tiny
from tests.tiny_targets import classes


def sure(targets, n_classes, scale):
    """Give logits that lean towards the right class, with noise, and are scaled."""
    noise = np.random.RandomState(1).normal(size=(len(targets), n_classes))
    return scale * (2 * np.eye(n_classes)[targets] + noise)


def fitted_scales(logits, targets, weights=None):
    """Fit scales beside a prior of ones, to two classes or to as many as logits have."""
    weights = np.ones(len(targets)) if weights is None else weights
    n_classes = logits[0].shape[1]
    return fit_scales(classes(n_classes), logits, targets, weights, np.ones(len(logits)))


class TestFitScales:
    def test_a_temperature_takes_overconfidence_back(self):
        targets = np.random.RandomState(0).randint(3, size=2000)
        calibrated = fitted_scales([sure(targets, 3, 1.0)], targets)
        too_sure = fitted_scales([sure(targets, 3, 5.0)], targets)
        assert too_sure == pytest.approx(calibrated / 5, rel=0.01)

    def test_the_probability_is_the_share_of_right_documents(self):
        # Logits of a coin that is right in 3 of 4 cases: log 3 is the calibrated log-odds.
        targets = np.array([1, 1, 1, 0] * 500)
        logits = np.tile([0.0, 10.0], (2000, 1))
        scale = fitted_scales([logits], targets)
        assert softmax(scale * logits)[0, 1] == pytest.approx(0.75, abs=1e-3)

    def test_logits_that_know_nothing_are_left_out(self):
        targets = np.random.RandomState(0).randint(2, size=2000)
        noise = 9 * np.random.RandomState(2).normal(size=(2000, 2))
        scales = fitted_scales([noise, sure(targets, 2, 1.0)], targets)
        assert scales[0] < 0.02
        assert scales[1] > 0.5

    def test_wrong_logits_are_not_turned_round(self):
        targets = np.random.RandomState(0).randint(2, size=500)
        wrong, right = sure(1 - targets, 2, 1.0), sure(targets, 2, 1.0)
        assert fitted_scales([wrong, right], targets)[0] == 0

    def test_logits_alone_are_never_taken_away(self):
        targets = np.random.RandomState(0).randint(2, size=500)
        assert fitted_scales([sure(1 - targets, 2, 9.0)], targets) == 0.01

    def test_sure_logits_underflow_in_silence(self):
        logits = np.array([[0.0, 2000.0], [2000.0, 0.0], [0.0, 1500.0]])
        with np.errstate(all="raise"):
            fitted_scales([logits], np.array([1, 0, 1]))

    def test_a_single_document_leads_not_far_away(self):
        scales = fitted_scales([np.array([[0.0, 1.0]])], np.array([1]))
        assert 1 < scales[0] < 1.3

    def test_a_weight_counts_as_repetition(self):
        targets = np.array([0, 1, 1, 0, 1])
        logits, weights = sure(targets, 2, 1.0), np.array([3.0, 1.0, 1.0, 1.0, 1.0])
        rows = [0, 0, 0, 1, 2, 3, 4]
        # The prior counts as one document, so both are repeated until it counts for little.
        many, more = [np.tile(logits, (999, 1))], [np.tile(logits[rows], (999, 1))]
        weighted = fitted_scales(many, np.tile(targets, 999), np.tile(weights, 999))
        repeated = fitted_scales(more, np.tile(targets[rows], 999))
        assert weighted == pytest.approx(repeated, rel=1e-2)


@pytest.fixture(scope="module")
def reviews():
    return make_reviews(200, random_state=0)


small = partial(tiny, max_epochs=2)


def scales_of(classifier):
    return classifier.network_scale_, classifier.ngram_scale_


class TestClassifier:
    def test_its_logits_are_the_scaled_sum(self, reviews):
        texts, labels = reviews
        classifier = small().fit(texts, labels)
        documents = classifier.tokenizer_.transform(texts)
        logits = classifier.network_scale_ * classifier.net_.outputs(documents).astype(float)
        logits += classifier.ngram_scale_ * classifier.ngram_model_.logits(documents)
        np.testing.assert_allclose(classifier.predict_proba(texts), softmax(logits))

    def test_without_an_ngram_model_there_is_a_temperature(self, reviews):
        classifier = small(linear_ngrams=None).fit(*reviews)
        assert classifier.ngram_model_ is None
        assert classifier.ngram_scale_ == 0
        assert classifier.network_scale_ != 1

    @pytest.mark.thorough
    def test_the_network_does_not_depend_on_the_ngram_model(self, reviews):
        texts, labels = reviews
        documents = DocumentArray.from_nested([[[2, 3], [4]], [[5]]])
        network, both = (small(linear_ngrams=r).fit(texts, labels) for r in (None, (1, 2)))
        np.testing.assert_array_equal(network.net_.outputs(documents), both.net_.outputs(documents))

    @pytest.mark.thorough
    def test_the_ngram_model_learns_from_the_held_out_documents_too(self, reviews):
        texts, labels = reviews
        held_out, given = (
            small().fit(texts, labels),
            small(validation_fraction=None).fit(texts, labels),
        )
        np.testing.assert_array_equal(held_out.ngram_model_.weights, given.ngram_model_.weights)

    @pytest.mark.thorough
    def test_documents_given_for_validation_are_not_learnt_from(self, reviews):
        texts, labels = reviews
        given = small().fit(texts[:150], labels[:150], X_val=texts[150:], y_val=labels[150:])
        alone = small(validation_fraction=None).fit(texts[:150], labels[:150])
        np.testing.assert_array_equal(given.ngram_model_.weights, alone.ngram_model_.weights)
        assert scales_of(given) != scales_of(alone)

    @pytest.mark.thorough
    def test_a_fit_that_goes_on_keeps_the_scales(self, reviews):
        # Held-out documents are drawn anew, and the network has learnt from most of them.
        texts, labels = reviews
        classifier = small(warm_start=True, random_state=None).fit(texts, labels)
        scales = scales_of(classifier)
        assert scales_of(classifier.fit(texts, labels)) == scales
        classifier.fit(texts[:150], labels[:150], X_val=texts[150:], y_val=labels[150:])
        assert scales_of(classifier) != scales

    @pytest.mark.parametrize("size", [2.0**-1020, 2.0**1020])
    @pytest.mark.parametrize("name", ["sample_weight", "class_weight"])
    def test_weights_may_be_of_any_size(self, reviews, name, size):
        """Of a power of two, by which numbers are multiplied without rounding."""
        texts, labels = (each[:80] for each in reviews)  # of more it takes seconds
        found = []
        for factor in (1.0, size):
            of_class = {label: factor * (1 + n) for n, label in enumerate(np.unique(labels))}
            weights = np.array([of_class[label] for label in labels.tolist()])
            given = {"X_val": reviews[0][80:100], "y_val": reviews[1][80:100]}
            if name == "class_weight":
                model = small(class_weight=of_class).fit(texts, labels, **given)
            else:
                model = small().fit(texts, labels, weights, **given)
            found.append(model.predict_proba(texts))
        np.testing.assert_array_equal(*found)

    @pytest.mark.parametrize("size", [1e-50, 1e99])
    def test_weights_may_differ_widely(self, reviews, size):
        texts, labels = (each[:80] for each in reviews)  # of more it takes seconds
        weights = np.where(labels == labels[0], size, 1.0)
        assert np.isfinite(small().fit(texts, labels, weights).predict_proba(texts)).all()

    def test_sizes_of_ngrams_may_be_numpy_integers(self, reviews, tmp_path):
        classifier = small(linear_ngrams=(np.int64(1), np.int64(2))).fit(*reviews)
        save(classifier, tmp_path / "model.han")
        assert load(tmp_path / "model.han").ngram_model_.ngram_range == (1, 2)

    def test_a_wrong_range_is_named(self, reviews):
        with pytest.raises(ValueError, match="linear_ngrams"):
            small(linear_ngrams=(2, 1)).fit(*reviews)


class Constant(Part):
    """A part of a prediction that gives the same logits for every document."""

    kind = "constant"

    def __init__(self, *logits):
        self.row = np.array([logits], dtype=np.float32)

    def logits(self, documents):
        return np.repeat(self.row, len(documents), axis=0)

    def attributions(self, documents, factors):
        return np.zeros(documents.n_words)

    def to_state(self):
        return {"row": self.row}

    @classmethod
    def from_state(cls, state, target, device):
        return cls(*state["row"][0])


def pooled(*parts):
    """Give the logits of two documents by parts with scales."""
    scales = {str(number): scale for number, (scale, _) in enumerate(parts)}
    pool = Pool(classes(2), dict(zip(scales, [part for _, part in parts], strict=True)), scales)
    return pool.logits(DocumentArray.from_nested([[[2]], []]))


class TestPooledLogits:
    def test_a_part_alone_is_scaled(self):
        assert pooled((3.0, Constant(1, 2))).tolist() == [[3, 6], [3, 6]]

    def test_scaled_parts_are_added(self):
        parts = (3.0, Constant(1, 2)), (0.5, Constant(4, -2)), (0.0, Constant(9, 9))
        assert pooled(*parts).tolist() == [[5, 5], [5, 5]]

    def test_they_are_in_double_precision(self):
        # In single precision 2 ** 24 + 1 is 2 ** 24.
        assert pooled((1.0, Constant(2.0**24, 0)), (1.0, Constant(1, 0)))[0, 0] == 2**24 + 1

    def test_no_parts_have_no_opinion(self):
        assert pooled().tolist() == [[0, 0], [0, 0]]
