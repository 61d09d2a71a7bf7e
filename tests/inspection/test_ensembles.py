from functools import partial

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sk_han import (
    HierarchicalTokenizer,
    audit_labels,
    explain,
    explain_iter,
    faithfulness_report,
    report,
    summarize,
)
from tests import tiny_models

TEXTS = ["A good film. We laughed a lot!", "Bad, long and dull. We left.", "It was a film."] * 8
LABELS = ["pos", "neg", "so so"] * 8
TWO = [label for label in LABELS if label != "so so"]
OF_TWO = [text for text, label in zip(TEXTS, LABELS, strict=True) if label != "so so"]

tiny = partial(tiny_models.tiny, max_epochs=2, linear_ngrams=None, embedding_init="random")


def same(found, expected):
    assert [e.target for e in found] == [e.target for e in expected]
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours.contributions, theirs.contributions, atol=1e-6)
        np.testing.assert_allclose(ours.probabilities, theirs.probabilities, atol=1e-6)


@pytest.fixture(scope="module")
def search():
    return GridSearchCV(tiny(), {"lr": [0.01]}, cv=2).fit(OF_TWO, TWO)


@pytest.fixture(scope="module")
def calibration():
    return CalibratedClassifierCV(tiny(), cv=2).fit(OF_TWO, TWO)


@pytest.mark.parametrize("search", [GridSearchCV, RandomizedSearchCV])
def test_a_search_is_explained_by_its_best_estimator(search):
    options = {"n_iter": 1} if search is RandomizedSearchCV else {}
    pipeline = make_pipeline(HierarchicalTokenizer(), tiny())
    found = search(pipeline, {"hanclassifier__lr": [0.01]}, cv=2, **options).fit(TEXTS, LABELS)
    same(explain(found, TEXTS[:3]), explain(found.best_estimator_, TEXTS[:3]))
    within = make_pipeline(
        FunctionTransformer(), search(tiny(), {"lr": [0.01]}, cv=2, **options)
    ).fit(TEXTS, LABELS)
    same(explain(within, TEXTS[:3]), explain(within[-1].best_estimator_, TEXTS[:3]))


def test_a_search_without_a_best_estimator_is_refused():
    search = GridSearchCV(tiny(), {"lr": [0.01]}, cv=2, refit=False).fit(OF_TWO, TWO)
    with pytest.raises(TypeError, match=r"GridSearchCV holds no fitted model, since refit=False"):
        explain(search, TEXTS)


def test_a_frozen_classifier_is_explained_as_itself():
    classifier = tiny().fit(TEXTS, LABELS)
    same(explain(FrozenEstimator(classifier), TEXTS[:2]), explain(classifier, TEXTS[:2]))


def test_sums_of_a_search_are_those_of_the_probability(search):
    for explanation in explain(search, OF_TWO[:2]):
        odds = np.log(explanation.predicted_probability / (1 - explanation.predicted_probability))
        assert f"{odds:+.3f} with all sentences" in explanation.to_text()


def linear(*names):
    return [(name, make_pipeline(TfidfVectorizer(), LogisticRegression())) for name in names]


@pytest.mark.parametrize("kind", [VotingClassifier, StackingClassifier])
@pytest.mark.parametrize("before", [(), (FunctionTransformer(),)], ids=["", "pipeline"])
def test_members_of_votes_and_stacks_are_explained_by_themselves(kind, before):
    options = {"voting": "soft"} if kind is VotingClassifier else {"cv": 2}
    together = kind([("one", tiny(max_epochs=1))], **options)
    fitted = make_pipeline(*before, together).fit(OF_TWO, TWO)
    way = (
        r"Take one of its members, such as named_estimators_\['one'\]; there a class is its number"
    )
    for ask in (explain, explain_iter, summarize, faithfulness_report):
        with pytest.raises(TypeError, match=rf"got .*{kind.__name__}\. {way}"):
            ask(fitted, OF_TWO)
    assert explain(fitted[-1].named_estimators_["one"], OF_TWO[:1], target=1)[0].target == 1


@pytest.mark.parametrize("ask", [explain, explain_iter, summarize, faithfulness_report])
def test_a_calibration_is_explained_by_the_model_of_a_fold(calibration, ask):
    place = r"calibrated_classifiers_\[0\]\.estimator"
    within = make_pipeline(FunctionTransformer(), calibration)
    for together in (calibration, within):
        with pytest.raises(
            TypeError, match=rf"^{ask.__name__.removesuffix('_iter')} needs .* {place}"
        ):
            ask(together, OF_TWO)
    assert explain(calibration.calibrated_classifiers_[0].estimator, OF_TWO[:1])[0].words


@pytest.mark.parametrize("measure", [summarize, faithfulness_report])
def test_a_linear_model_is_refused_in_the_name_of_what_was_called(measure):
    fitted = linear("first")[0][1].fit(OF_TWO, TWO)
    with pytest.raises(TypeError, match=f"^{measure.__name__} needs a HANClassifier.* a search of"):
        measure(fitted, OF_TWO)


@pytest.mark.parametrize("ask", [explain, summarize])
def test_an_unfitted_model_of_another_kind_is_refused_for_its_kind(ask):
    for unfitted in (LogisticRegression(), linear("first")[0][1]):
        with pytest.raises(TypeError, match=f"^{ask.__name__} needs a HANClassifier"):
            ask(unfitted, OF_TWO)
    with pytest.raises(NotFittedError):
        ask(tiny(), OF_TWO)


def test_behind_a_threshold_the_model_inside_is_named():
    tuned = FixedThresholdClassifier(tiny(), threshold=0.4).fit(OF_TWO, TWO)
    with pytest.raises(TypeError, match=r"got FixedThreshold.* no score: explain its estimator_"):
        explain(tuned, OF_TWO)
    assert len(explain(tuned.estimator_, OF_TWO[:2])) == 2


def with_mistakes(estimator, texts):
    """Report with wrong labels, so that there are mistakes to explain."""
    predicted = estimator.predict(texts)
    labels = np.where(predicted == estimator.classes_[0], *estimator.classes_[[1, 0]])
    return report(estimator, texts, labels, baseline=None, n_mistakes=2)


def test_a_report_explains_mistakes_of_a_search(search):
    found = with_mistakes(search, OF_TWO)
    worst = [OF_TWO[row] for row in found.mistake_rows]
    same(found.mistakes, explain(search, worst))
    assert len(found.mistakes) == 2
    assert found.n_words[0] == 9  # as the models read it, with punctuation
    assert found.to_html()


def test_a_report_says_why_mistakes_are_not_explained():
    members = [("tiny", tiny()), *linear("linear")]
    vote = VotingClassifier(members, voting="soft").fit(TEXTS, LABELS)
    found = with_mistakes(vote, TEXTS)
    assert len(found.mistakes) == 0 < len(found.mistake_rows)
    assert any("not explained" in note and "named_estimators_" in note for note in found.notes)


def test_a_search_is_summarized_and_measured_as_its_best_estimator(search):
    best = search.best_estimator_
    assert summarize(search, OF_TWO, k=2) == summarize(best, OF_TWO, k=2)
    measured, alone = (
        faithfulness_report(each, OF_TWO, methods=["attention"], random_state=0)
        for each in (search, best)
    )
    assert measured.means == alone.means


def test_a_frozen_tokenizer_tells_the_words():
    tokenizer = HierarchicalTokenizer().fit(TEXTS)
    frozen = make_pipeline(FrozenEstimator(tokenizer), tiny()).fit(TEXTS, LABELS)
    found = explain(frozen, TEXTS[:2])
    same(found, explain(make_pipeline(tokenizer, frozen[-1]), TEXTS[:2]))
    assert found[0].text == TEXTS[0]


def test_probabilities_that_are_not_finite_are_refused():
    class Divided(LogisticRegression):
        def predict_proba(self, X):
            found = super().predict_proba(X)
            found[:2] = np.nan
            return found

    model = make_pipeline(TfidfVectorizer(), Divided()).fit(tiny_models.TEXTS, tiny_models.LABELS)
    message = "of Pipeline gives numbers that are not finite for 2 of 18 documents."
    with pytest.raises(ValueError, match=message):
        report(model, tiny_models.TEXTS, tiny_models.LABELS)
    with pytest.raises(ValueError, match="not finite for 2 of "):
        audit_labels(model, tiny_models.TEXTS, tiny_models.LABELS)


def test_the_share_of_the_network_is_that_of_its_centred_logits():
    alone = tiny().fit(TEXTS, LABELS)
    assert {e.network_share for e in explain(alone, TEXTS[:3])} == {1.0}
    both = tiny(linear_ngrams=(1, 1)).fit(TEXTS, LABELS)
    documents = both.tokenizer_.transform(TEXTS[:3])
    others = both.pool_.without({"network"}).logits(documents)
    network = both.pool_.logits(documents) - others
    network, others = (
        np.abs(z - z.mean(axis=1, keepdims=True)).sum(axis=1) for z in (network, others)
    )
    found = [e.network_share for e in explain(both, TEXTS[:3], method="attention")]
    np.testing.assert_allclose(found, network / (network + others))
    assert 0 < min(found) <= max(found) < 1


def test_several_labels_have_a_share_of_the_network_even_where_all_are_alike():
    both = tiny(linear_ngrams=(1, 1)).fit(TEXTS, [2 * [label == "pos"] for label in LABELS])
    documents = both.tokenizer_.transform(TEXTS[:3])
    others = both.pool_.without({"network"}).logits(documents)
    network = both.pool_.logits(documents) - others
    network, others = (np.abs(z).sum(axis=1) for z in (network, others))
    found = [e.network_share for e in explain(both, TEXTS[:3])]
    np.testing.assert_allclose(found, network / (network + others))
    assert max(found) < 1
