"""Every function takes the model inside a search, a FrozenEstimator, a Pipeline or a Scorer."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline

import sk_han
from sk_han import (
    audit_labels,
    drift,
    estimate_priors,
    explain,
    faithfulness_report,
    report,
    selective_threshold,
    summarize,
    with_priors,
)
from sk_han.inspection import plot_history
from sk_han.serving import Scorer
from tests.tiny_models import LABELS, TEXTS, fitted_classifier, tiny

PRIORS = {"neg": 0.2, "pos": 0.8}
X = [f"{text} Then it was day {i}." for i, text in enumerate(TEXTS * 6)]
Y = np.tile(LABELS, 6)


class Sampler(BaseEstimator):
    """What a Pipeline of imbalanced-learn calls in a fit, and leaves out in a prediction."""

    def fit_resample(self, X, y):
        return X, y


class SamplingPipeline(Pipeline):
    """What a Pipeline of imbalanced-learn does."""

    def fit(self, X, y):
        (_, sampler), (_, classifier) = self.steps
        classifier.fit(*sampler.fit_resample(X, y))
        return self

    def predict(self, X):
        return self[-1].predict(X)

    def predict_proba(self, X):
        return self[-1].predict_proba(X)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    classifier = fitted_classifier()
    path = tmp_path_factory.mktemp("models") / "model.han"
    sk_han.save(classifier, path, text_hashes=True)
    search = GridSearchCV(tiny(), {"lr": [tiny().lr]}, cv=2).fit(TEXTS, LABELS)
    search.best_estimator_ = classifier
    return {
        "search": search,
        "frozen": FrozenEstimator(search),
        "Pipeline of a search": make_pipeline("passthrough", search),
        "Pipeline with a sampler": SamplingPipeline([("more", Sampler()), ("han", classifier)]),
        "Scorer": Scorer.load(path),
    }


FOUND = {
    explain: lambda model: explain(model, TEXTS[:2])[0].contributions,
    summarize: lambda model: [t.contribution for t in summarize(model, TEXTS, k=2)["pos"].terms],
    faithfulness_report: lambda model: list(
        faithfulness_report(model, TEXTS[:4], methods=["attention"], random_state=0)
        .means["sufficiency"]
        .values()
    ),
    report: lambda model: [
        mistake.contributions.sum()
        for mistake in report(model, X, np.roll(Y, 1), baseline=None, n_mistakes=2).mistakes
    ],
    selective_threshold: lambda model: selective_threshold(model, X, Y, max_error=0.4).upper_bounds,
    with_priors: lambda model: with_priors(model, PRIORS).predict_proba(TEXTS),
    estimate_priors: lambda model: estimate_priors(model, X).shares,
    drift: lambda model: [c.value for c in drift(model, X).comparisons[:2]],
    plot_history: lambda model: plot_history(model, Figure().subplots()).lines[0].get_ydata(),
}


@pytest.mark.parametrize("function", FOUND, ids=lambda function: function.__name__)
def test_every_function_uses_the_model_inside_meta_estimators(models, function):
    expected = FOUND[function](fitted_classifier())
    for name, model in models.items():
        found = FOUND[function](model)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5, err_msg=name)


def test_searches_and_frozen_estimators_are_saved_as_the_model_inside(models, tmp_path):
    for name in ("search", "frozen"):
        sk_han.save(models[name], tmp_path / "model.han")
        found = sk_han.load(tmp_path / "model.han").predict_proba(TEXTS)
        np.testing.assert_array_equal(found, fitted_classifier().predict_proba(TEXTS))


def test_other_priors_do_not_change_the_pipeline(models):
    sampling = models["Pipeline with a sampler"]
    changed = with_priors(sampling, PRIORS)
    assert [type(step) for _, step in changed.steps] == [Sampler, type(fitted_classifier())]
    np.testing.assert_array_equal(
        with_priors(changed, None).predict_proba(TEXTS), sampling.predict_proba(TEXTS)
    )


def test_an_audit_fits_clones_of_what_is_frozen(models):
    expected = audit_labels(tiny(), TEXTS, LABELS, n_explained=1)
    for name in ("frozen", "Pipeline with a sampler"):
        found = audit_labels(models[name], TEXTS, LABELS, n_explained=1)
        np.testing.assert_array_equal(found.probabilities, expected.probabilities)
        assert len(found.explanations) == 1


def test_an_audit_refuses_what_cannot_be_fitted(models):
    with pytest.raises(TypeError, match="audit_labels needs a classifier with fit; Scorer has"):
        audit_labels(models["Scorer"], TEXTS, LABELS)
