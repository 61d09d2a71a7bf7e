"""What a new target and a new part cost: they are written here, and no file of the package knows.

The target has the same labels as usual, each with a sigmoid of its own; encoded labels are rows of
an indicator. The part scores a document by its length.
"""

import numpy as np
import pytest

import sk_han
from sk_han import HANClassifier, explain, report, summarize
from sk_han._fitting import fit
from sk_han._fitting.scales import FittedParts, HeldOutLogits, ScalePrior
from sk_han._parts import PARTS, Part, Pool
from sk_han._storage.schema import Array, Field, Schema, labels
from sk_han._targets import TARGETS, Target
from sk_han._targets.target import one_problem_each
from sk_han.datasets import make_reviews
from sk_han.serving import Scorer


class Stars(list):
    """Labels that the target below takes."""


class SigmoidEach(Target):
    kind = "sigmoid_each"
    SCHEMA = Schema((Field("names", labels),), rules=(one_problem_each,))

    def __init__(self, names):
        self.names = names

    @classmethod
    def accepts(cls, y):
        return isinstance(y, Stars)

    @classmethod
    def from_labels(cls, y, n_documents, classes):
        target = cls(np.unique(y) if classes is None else classes)
        return target, target.encode(y, n_documents)

    @classmethod
    def read_classes(cls, classes):
        return np.unique(classes)

    def encode(self, y, n_documents, name="y"):
        assert len(y) == n_documents
        return np.asarray(y)[:, np.newaxis] == self.names

    def decide_by_proba(self, p):
        return np.arange(self.n_scores) == p.argmax(axis=1)[:, np.newaxis]

    def decode(self, t):
        return self.names[t.argmax(axis=1)]

    def codes(self, t):
        return t.argmax(axis=1)

    def weigh(self, t, sample_weight, class_weight):
        return self, np.ones(len(t)) if sample_weight is None else np.asarray(sample_weight, float)

    def is_learnable(self, t):
        return t.any(axis=0).all() and not t.all(axis=0).any()

    def criterion(self):
        import torch

        class SumOfBinary(torch.nn.Module):
            def __init__(self, reduction):
                super().__init__()

            def forward(self, z, t):
                loss = torch.nn.functional.binary_cross_entropy_with_logits
                return loss(z, t.to(z), reduction="none").sum(dim=1)

        return SumOfBinary

    def loss(self, z, t, w):
        signs = np.where(t, -1.0, 1.0)
        values = np.logaddexp(0, signs * z).sum(axis=1)
        return w * values, w[:, np.newaxis] * (self.probabilities(z) - t)

    def prior_loss(self, t, w):
        shares = np.clip(w @ t / w.sum(), 1e-9, 1 - 1e-9)
        return -float((shares * np.log(shares) + (1 - shares) * np.log(1 - shares)).sum())

    def probabilities(self, z):
        return 1 / (1 + np.exp(-z))

    def log_probabilities(self, z):
        return -np.logaddexp(0, -z)

    def soft(self, t):
        return t.astype(np.float32)

    def log_odds(self, z, of, against=-1):
        return z[np.arange(len(z)), of]

    def factors(self, z, of, against=-1):
        return (np.arange(self.n_scores) == of[:, np.newaxis]).astype(float)

    def to_state(self):
        return {"kind": self.kind, "names": self.names}

    @classmethod
    def from_state(cls, state):
        return cls(state["names"].copy())


class LengthPart(Part):
    kind = "length"
    SCHEMA = Schema((Field("slopes", Array("float64", "K")),))

    def __init__(self, slopes):
        self.slopes = slopes

    def logits(self, documents):
        return documents.words_per_document[:, np.newaxis] / 100 * self.slopes

    def attributions(self, documents, factors):
        return np.repeat(factors @ self.slopes / 100, documents.words_per_document)

    def to_state(self):
        return {"slopes": self.slopes}

    @classmethod
    def from_state(cls, state, target, device):
        return cls(state["slopes"].copy())


def fit_length_part(state):
    positive = state.target.soft(state.labelled.targets) - 0.5
    lengths = state.labelled.documents.words_per_document / 100
    part = LengthPart((lengths - lengths.mean()) @ positive.astype(float) / len(lengths))
    pool = Pool(state.target, {"length": part}, {"length": 1.0})
    scored = HeldOutLogits.from_pool(pool, state.validation)
    return FittedParts(pool, "length", scored, ScalePrior(1.0, 0.5))


def register(patch):
    """Register the target, the part, and its step of the fit."""
    fit_linear_models = fit.fit_linear_models

    def with_length(state, *others):
        return [*fit_linear_models(state, *others), fit_length_part(state)]

    patch.setitem(TARGETS, SigmoidEach.kind, SigmoidEach)
    patch.setitem(PARTS, LengthPart.kind, LengthPart)
    patch.setattr(fit, "fit_linear_models", with_length)


TEXTS, LABELS = make_reviews(200, random_state=0)
STARS = Stars(np.where(np.arange(200) % 5 == 0, "so so", LABELS).tolist())


@pytest.fixture(autouse=True)
def known(monkeypatch):
    register(monkeypatch)


@pytest.fixture(scope="module")
def fitted():
    with pytest.MonkeyPatch.context() as patch:
        register(patch)
        params = {"embedding_dim": 8, "word_hidden": 4, "sentence_hidden": 4, "max_epochs": 2}
        return HANClassifier(**params, random_state=0).fit(TEXTS[:150], Stars(STARS[:150]))


def test_all_parts_are_fitted_by_the_new_loss(fitted):
    assert [*fitted.pool_.parts] == ["network", "ngrams", "length"]
    assert fitted.ngram_model_.weights.shape[1] == 3
    assert fitted.classes_.tolist() == ["negative", "positive", "so so"]
    assert fitted.fit_summary_.n_scored == 15
    assert set(fitted.fit_summary_.shares) == {"network", "n-gram model", "length"}
    # Three sigmoids that know nothing lose 3 log 2; a softmax would lose log 3.
    assert fitted.history_[0]["train_loss"] > 1.4


def test_the_target_maps_the_scaled_sum_of_logits_to_predictions(fitted):
    documents = fitted.tokenizer_.transform(TEXTS[150:])
    pool = fitted.pool_
    z = sum(pool.scales[name] * pool.parts[name].logits(documents) for name in pool.parts)
    np.testing.assert_allclose(fitted.decision_function(TEXTS[150:]), z, atol=1e-6)
    np.testing.assert_allclose(fitted.predict_proba(TEXTS[150:]), 1 / (1 + np.exp(-z)), atol=1e-6)
    assert set(fitted.predict(TEXTS[150:])) <= set(STARS)


@pytest.mark.parametrize("method", ["shapley", "gradient_attention"])
def test_explanations_include_contributions_of_the_new_part(fitted, method):
    (explanation,) = explain(fitted, TEXTS[:1], target="so so", method=method)
    assert explanation.target == "so so"
    assert np.isfinite(explanation.contributions).all()
    others, documents = fitted.pool_.others, fitted.tokenizer_.transform(TEXTS[:1])
    assert others.scales["length"] > 0
    if method == "gradient_attention":
        expected = others.attributions(documents, np.array([[0.0, 0.0, 1.0]]))
        np.testing.assert_allclose(explanation.ngram_contributions, expected)


def test_summaries_and_reports_are_made(fitted):
    assert "so so" in summarize(fitted, TEXTS[:40], k=3).to_text()
    assert "so so" in report(fitted, TEXTS[150:], STARS[150:]).to_text()


def test_files_and_scorers_restore_the_new_target(fitted, tmp_path):
    sk_han.save(fitted, tmp_path / "model.han")
    for load in (sk_han.load, Scorer.load):
        loaded = load(tmp_path / "model.han")
        expected = fitted.predict_proba(TEXTS[150:])
        np.testing.assert_allclose(loaded.predict_proba(TEXTS[150:]), expected, atol=1e-6)
        assert loaded.predict(TEXTS[150:]).tolist() == fitted.predict(TEXTS[150:]).tolist()


@pytest.mark.parametrize(("registry", "what"), [(TARGETS, "target"), (PARTS, "part")])
@pytest.mark.parametrize("load", [sk_han.load, Scorer.load])
def test_files_with_an_unknown_kind_are_refused_by_name(
    fitted, tmp_path, monkeypatch, registry, what, load
):
    sk_han.save(fitted, tmp_path / "model.han")
    kind = {"target": "sigmoid_each", "part": "length"}[what]
    monkeypatch.delitem(registry, kind)
    with pytest.raises(sk_han.ModelFormatError, match=f"its {what}.*{kind}"):
        load(tmp_path / "model.han")


def test_the_new_target_supports_partial_fit_and_warm_start(fitted):
    params = {"embedding_dim": 8, "word_hidden": 4, "sentence_hidden": 4, "random_state": 0}
    classifier = HANClassifier(**params)
    for rows in (slice(0, 100), slice(100, 200)):
        classifier.partial_fit(TEXTS[rows], Stars(STARS[rows]), classes=np.unique(STARS))
    assert classifier.n_iter_ == 2
    assert classifier.predict_proba(TEXTS[:2]).shape == (2, 3)
