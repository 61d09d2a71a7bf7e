"""Another mix of classes: given shares, estimated ones, and every door through which they go."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import sk_han
from sk_han import HierarchicalTokenizer, estimate_priors, explain, with_priors
from sk_han.serving import Scorer
from tests.tiny_models import LABELS, TEXTS, UNSEEN, fitted_classifier, tiny

PRIORS = {"neg": 0.2, "pos": 0.8}


def logit(p):
    return np.log(p) - np.log1p(-p)


@pytest.fixture(scope="module")
def fitted():
    return fitted_classifier()


@pytest.fixture(scope="module")
def of_labels():
    y = np.column_stack([LABELS == "pos", [len(text) % 3 == 0 for text in TEXTS]])
    return tiny().fit(TEXTS, y.astype(int))


class TestGivenShares:
    def test_log_odds_are_shifted_by_the_change_of_priors(self, fitted):
        implied = fitted.model_.reference.implied
        expected = fitted.decision_function(UNSEEN) + logit(0.8) - logit(implied[1])
        changed = with_priors(fitted, PRIORS)
        np.testing.assert_allclose(changed.decision_function(UNSEEN), expected)
        np.testing.assert_allclose(logit(changed.predict_proba(UNSEEN)[:, 1]), expected)

    def test_with_priors_returns_a_copy_and_none_restores_the_probabilities(self, fitted):
        before = fitted.predict_proba(UNSEEN)
        changed = with_priors(fitted, PRIORS)
        assert np.abs(changed.predict_proba(UNSEEN) - before).max() > 0.01
        np.testing.assert_array_equal(fitted.predict_proba(UNSEEN), before)
        np.testing.assert_array_equal(with_priors(changed, None).predict_proba(UNSEEN), before)
        assert changed.net_ is fitted.net_
        assert (fitted.priors, changed.priors) == (None, PRIORS)

    def test_a_fit_with_priors_equals_with_priors_after_the_fit(self, fitted):
        learnt = clone(fitted).set_params(priors=PRIORS).fit(TEXTS, LABELS)
        expected = with_priors(fitted, PRIORS).predict_proba(UNSEEN)
        np.testing.assert_array_equal(learnt.predict_proba(UNSEEN), expected)
        np.testing.assert_array_equal(
            with_priors(learnt, None).predict_proba(UNSEEN), fitted.predict_proba(UNSEEN)
        )

    def test_priors_shift_the_base_value_and_not_the_words(self, fitted):
        changed = with_priors(fitted, PRIORS)
        shift = logit(0.8) - logit(fitted.model_.reference.implied[1])
        plain, shifted = (explain(model, UNSEEN, target="pos") for model in (fitted, changed))
        for before, after in zip(plain, shifted, strict=True):
            np.testing.assert_allclose(after.contributions, before.contributions, atol=1e-9)
            np.testing.assert_allclose(after.network_share, before.network_share)
            assert after.base_value == pytest.approx(before.base_value + shift)
        proba = [explanation.probabilities for explanation in shifted]
        np.testing.assert_allclose(proba, changed.predict_proba(UNSEEN), atol=1e-9)

    def test_labels_without_a_given_prior_keep_their_probabilities(self, of_labels):
        changed = with_priors(of_labels, {1: 0.7})
        before, after = (logit(each.predict_proba(UNSEEN)) for each in (of_labels, changed))
        np.testing.assert_array_equal(after[:, 0], before[:, 0])
        shifts = after[:, 1] - before[:, 1]
        np.testing.assert_allclose(shifts, shifts[0], rtol=1e-6)
        assert shifts[0] != 0

    def test_classes_are_matched_by_their_values(self):
        model = tiny().fit(TEXTS, [int(label == "pos") for label in LABELS])
        by_text, by_number = ({zero: 0.3, one: 0.7} for zero, one in (("0", "1"), (0, 1)))
        np.testing.assert_array_equal(
            with_priors(model, by_text).predict_proba(UNSEEN),
            with_priors(model, by_number).predict_proba(UNSEEN),
        )

    def test_training_class_shares_include_class_weights(self):
        y = [*LABELS[:-2], *LABELS[:2]]
        weighted = tiny(class_weight={"neg": 3, "pos": 1}).fit(TEXTS, y)
        n_neg = y.count("neg")
        share = 3 * n_neg / (3 * n_neg + y.count("pos"))
        assert weighted.model_.reference.shares[0] == pytest.approx(share)

    @pytest.mark.parametrize(
        ("priors", "message"),
        [
            ({"neg": 0.2}, r"lacks 'pos'"),
            ({"neg": 0.2, "pso": 0.8}, r"'pso'.*'neg', 'pos'.*Did you mean 'pos'\?"),
            ({"neg": 0.2, "pos": 0.9}, r"sum to 1\.1"),
            ({"neg": 0.0, "pos": 1.0}, r"'neg' is 0\.0"),
            ({"neg": "a", "pos": 1.0}, r"'neg' is 'a'"),
            (0.3, r"0\.3; it takes a dict"),
        ],
    )
    def test_invalid_priors_are_refused(self, fitted, priors, message):
        with pytest.raises(ValueError, match=message):
            with_priors(fitted, priors)
        if not isinstance(priors, float):
            with pytest.raises(ValueError, match=message):
                tiny(priors=priors).fit(TEXTS, LABELS)

    def test_a_model_of_portions_refuses_priors(self):
        model = tiny().partial_fit(TEXTS, LABELS, classes=["neg", "pos"])
        with pytest.raises(ValueError, match="partial_fit sees portions"):
            with_priors(model, PRIORS)
        with pytest.raises(ValueError, match="partial_fit sees a portion, and priors"):
            tiny(priors=PRIORS).partial_fit(TEXTS, LABELS, classes=["neg", "pos"])


def _saved(model, folder):
    sk_han.save(model, folder / "model.han")
    return folder / "model.han"


DOORS = {
    "pickle": lambda model, folder: pickle.loads(pickle.dumps(model)),
    "file": lambda model, folder: sk_han.load(_saved(model, folder)),
    "Scorer": lambda model, folder: Scorer.load(_saved(model, folder)),
    "Pipeline": lambda model, folder: with_priors(
        make_pipeline(model.tokenizer_, with_priors(model, None)), model.priors
    ),
    "Scorer of a plain model": lambda model, folder: with_priors(
        Scorer.load(_saved(with_priors(model, None), folder)), model.priors
    ),
}


@pytest.mark.parametrize("door", DOORS)
def test_every_interface_applies_priors_alike(fitted, tmp_path, door):
    model = with_priors(fitted, PRIORS)
    other = DOORS[door](model, tmp_path)
    many = 120 * ["good good film"]
    for X in (UNSEEN, many):
        np.testing.assert_allclose(other.predict_proba(X), model.predict_proba(X), atol=1e-6)
    if hasattr(other, "get_params"):
        assert (other[-1] if door == "Pipeline" else other).priors == PRIORS
    undone = with_priors(other, None).predict_proba(UNSEEN)
    np.testing.assert_allclose(undone, fitted.predict_proba(UNSEEN), atol=1e-6)


class TestEstimatedShares:
    def test_given_priors_do_not_change_the_estimate(self, fitted):
        X = [text for text, label in zip(TEXTS, LABELS, strict=True) if label == "pos"]
        X = (200 * X)[:200]
        found = estimate_priors(fitted, X)
        assert found.moved
        assert estimate_priors(with_priors(fitted, PRIORS), X).text == found.text
        assert found.to_dict()["n_documents"] == 200
        assert "at most (95 %)" in found.to_text()

    def test_validation_documents_are_reweighted_to_the_training_mix(self):
        many = [*TEXTS, *[text for text, y in zip(TEXTS, LABELS, strict=True) if y == "pos"] * 3]
        y = np.append(LABELS, ["pos"] * (len(many) - len(TEXTS)))
        many = [f"{text} Then it was day {i}." for i, text in enumerate(many)]
        classifier = tiny().fit(TEXTS, LABELS, X_val=many, y_val=y)
        p = classifier.predict_proba(many)
        by_class = [p[y == label].mean(axis=0) for label in classifier.classes_]
        predicted = classifier.model_.reference.predicted
        np.testing.assert_allclose(predicted, np.mean(by_class, axis=0), atol=1e-5)

    def test_other_models_and_unfitted_ones_are_refused(self):
        with pytest.raises(TypeError, match=r"with_priors needs a HANClassifier.*got Hierarch"):
            with_priors(HierarchicalTokenizer().fit(TEXTS), PRIORS)
        with pytest.raises(NotFittedError):
            with_priors(tiny(), PRIORS)

    def test_blank_texts_do_not_count(self, fitted):
        texts = [*TEXTS * 7, *[""] * 300]
        without, with_blank = (estimate_priors(fitted, X) for X in (TEXTS * 7, texts))
        assert with_blank.n_documents == len(TEXTS) * 7
        np.testing.assert_allclose(with_blank.shares, without.shares, atol=1e-6)
        with pytest.raises(ValueError, match="has a word"):
            estimate_priors(fitted, [""] * 200)

    def test_priors_do_not_change_an_audit(self):
        audits = [
            sk_han.audit_labels(tiny(priors=priors), TEXTS * 2, [*LABELS, *LABELS])
            for priors in (None, {"neg": 0.02, "pos": 0.98})
        ]
        np.testing.assert_array_equal(audits[0].probabilities, audits[1].probabilities)
