from functools import partial

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier, StackingClassifier, VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, RandomizedSearchCV
from sklearn.neighbors import KNeighborsClassifier
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


def voters(*seeds):
    return [(f"seed {seed}", tiny(random_state=seed)) for seed in seeds]


@pytest.fixture(scope="module")
def vote():
    return VotingClassifier(voters(0, 1), voting="soft", weights=[3, 1]).fit(TEXTS, LABELS)


@pytest.fixture(scope="module")
def stack():
    return StackingClassifier(voters(0, 1), cv=2).fit(OF_TWO, TWO)


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


def test_a_vote_is_explained_by_the_weighted_mean_of_its_members(vote):
    explanations = explain(vote, TEXTS[:3])
    for i, explanation in enumerate(explanations):
        number = vote.classes_.tolist().index(explanation.target)
        first, second = (
            explain(member, TEXTS[i : i + 1], target=number)[0] for member in vote.estimators_
        )
        mean = (3 * first.contributions + second.contributions) / 4
        np.testing.assert_allclose(explanation.contributions, mean, atol=1e-6)
        assert explanation.sentence_attention.sum() == pytest.approx(1, abs=1e-6)


def test_members_of_a_vote_compare_the_classes_that_the_vote_compares(vote):
    found = explain(vote, TEXTS[:3], against="neg")
    likeliest = vote.classes_[1 + vote.predict_proba(TEXTS[:3])[:, 1:].argmax(axis=1)]
    assert [(e.target, e.against) for e in found] == [(label, "neg") for label in likeliest]
    first, second = (
        explain(member, TEXTS[:1], target=found[0].classes.tolist().index(likeliest[0]), against=0)
        for member in vote.estimators_
    )
    mean = (3 * first[0].contributions + second[0].contributions) / 4
    np.testing.assert_allclose(found[0].contributions, mean, atol=1e-6)


def test_probabilities_and_labels_are_those_of_the_vote(vote):
    explanations = explain(vote, TEXTS)
    expected = vote.predict_proba(TEXTS)
    np.testing.assert_allclose([e.probabilities for e in explanations], expected, atol=1e-6)
    assert [e.predicted for e in explanations] == vote.predict(TEXTS).tolist()
    assert explanations[0].classes.tolist() == ["neg", "pos", "so so"]
    assert {e.target for e in explain(vote, TEXTS, target="neg")} == {"neg"}


def test_where_labels_are_counted_probabilities_are_the_shares_of_the_votes():
    hard = VotingClassifier([*voters(0, 1, 2), ("left out", "drop")], weights=[1, 2, 2, 9])
    hard.fit(TEXTS, LABELS)
    explanations = explain(make_pipeline(FunctionTransformer(), hard).fit(TEXTS, LABELS), TEXTS)
    assert [e.predicted for e in explanations] == hard.predict(TEXTS).tolist()
    shares = 5 * np.array([e.probabilities for e in explanations])
    np.testing.assert_allclose(shares, np.rint(shares), atol=1e-9)


def test_an_iterator_is_explained_portion_by_portion(vote):
    read = []
    texts = (read.append(text) or text for text in TEXTS)
    found = explain_iter(vote, texts, batch_size=4)
    first = next(found)
    assert len(read) == 4
    same([first, *found], explain(vote, TEXTS))


def test_random_numbers_and_attention_of_a_vote_are_means_too(vote):
    for method in ("attention", "random", "occlusion"):
        explanation = explain(vote, TEXTS[:1], method=method, random_state=0)[0]
        assert explanation.method == method
        assert explanation.contributions.shape == (len(explanation.words),)


def test_random_numbers_of_a_vote_do_not_depend_on_portions(vote):
    def scores(texts, size):
        found = explain_iter(vote, texts, method="random", random_state=0, batch_size=size)
        return [explanation.contributions.tolist() for explanation in found]

    one_by_one = scores(iter(TEXTS[:1] * 3), 1)
    assert one_by_one == scores(TEXTS[:1] * 3, 3) == scores(iter(TEXTS[:1] * 3), 2)
    assert one_by_one[0] != one_by_one[1]


def test_sums_are_shown_where_they_are_those_of_the_probability(vote, stack, search):
    for explanation in explain(search, OF_TWO[:2]):
        odds = np.log(explanation.predicted_probability / (1 - explanation.predicted_probability))
        assert f"{odds:+.3f} in sum" in explanation.to_text(color=False)
        assert "has changed the probability" not in explanation.to_html()
    hard = VotingClassifier(voters(0, 1), voting="hard").fit(OF_TWO, TWO)
    calibrated = CalibratedClassifierCV(tiny(), cv=2).fit(OF_TWO, TWO)
    for ensemble in (hard, calibrated, stack):
        for shown in (explain(ensemble, OF_TWO[:2]), explain(ensemble, OF_TWO[:1])[0]):
            written = shown.to_text(color=False) + shown.to_html()
            assert "in sum" not in written
            assert "has changed the probability that is shown" in written


@pytest.mark.parametrize("ensemble", [True, False])
def test_a_calibrated_classifier_is_explained_before_its_calibration(ensemble):
    calibrated = CalibratedClassifierCV(tiny(), cv=2, ensemble=ensemble).fit(OF_TWO, TWO)
    explanation = explain(calibrated, OF_TWO[:1], target="pos")[0]
    folds = [fold.estimator for fold in calibrated.calibrated_classifiers_]
    assert len(folds) == (2 if ensemble else 1)
    of_folds = [explain(fold, OF_TWO[:1], target="pos")[0].contributions for fold in folds]
    np.testing.assert_allclose(explanation.contributions, np.mean(of_folds, axis=0), atol=1e-6)
    np.testing.assert_allclose(explanation.probabilities, calibrated.predict_proba(OF_TWO[:1])[0])


def test_contributions_in_a_stack_count_by_how_far_the_stack_follows(stack):
    """Closed form: the coefficient times the slope of the member's probability."""
    explanation = explain(stack, OF_TWO[:1], target="pos")[0]
    expected = 0
    for coefficient, member in zip(stack.final_estimator_.coef_[0], stack.estimators_, strict=True):
        found = explain(member, OF_TWO[:1], target=1)[0]
        p = found.probabilities[1]
        expected += coefficient * p * (1 - p) * found.contributions
    np.testing.assert_allclose(explanation.contributions, expected, rtol=0.01, atol=1e-9)
    np.testing.assert_allclose(explanation.probabilities, stack.predict_proba(OF_TWO[:1])[0])


def test_a_stack_of_three_classes_follows_each_of_them():
    stack = StackingClassifier(voters(0), cv=2).fit(TEXTS, LABELS)
    for label in stack.classes_:
        explanation = explain(stack, TEXTS[:1], target=label)[0]
        alone = explain(stack.estimators_[0], TEXTS[:1], target=list(stack.classes_).index(label))
        ratio = explanation.contributions / alone[0].contributions
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-6)
        assert ratio[0] > 0
    for_one = explain(stack, TEXTS[:1], target="neg", against="pos")[0]
    for_other = explain(stack, TEXTS[:1], target="pos", against="neg")[0]
    np.testing.assert_allclose(for_one.contributions, -for_other.contributions, rtol=1e-5)
    assert np.abs(for_one.contributions).max() > 0


def test_stacks_that_cannot_be_followed_name_the_way_to_their_members():
    forest = StackingClassifier(voters(0), RandomForestClassifier(3, random_state=0), cv=2)
    with pytest.raises(ValueError, match=r"does not move.*explain\(stack.estimators_\[0\], X\)"):
        explain(forest.fit(OF_TWO, TWO), OF_TWO)
    labels = StackingClassifier(voters(0), cv=2, stack_method="predict").fit(OF_TWO, TWO)
    with pytest.raises(TypeError, match=r"hold a HANCl.*\(stack.estimators_\[i\]"):
        explain(labels, OF_TWO)


def linear(*names):
    return [(name, make_pipeline(TfidfVectorizer(), LogisticRegression())) for name in names]


def test_a_vote_with_other_models_names_the_members_that_can_be_explained():
    members = [*linear("first"), *voters(0), *linear("last")]
    vote = VotingClassifier(members, voting="soft").fit(TEXTS, LABELS)
    with pytest.raises(TypeError, match=r"The member named_estimators_\['first'\]") as raised:
        explain_iter(vote, TEXTS)
    way = "Explain those that can be: estimator.named_estimators_['seed 0']. Votes"
    assert way in str(raised.value)
    for measure in (summarize, faithfulness_report):
        with pytest.raises(TypeError, match=r"take estimator.named_estimators_\['seed 0'\]\.$"):
            measure(vote, TEXTS)


def test_a_model_in_an_ensemble_of_ensembles_is_named():
    vote = VotingClassifier([("one", tiny(max_epochs=1))], voting="soft")
    fitted = CalibratedClassifierCV(vote, cv=2).fit(TEXTS, LABELS)
    inside = r"calibrated_classifiers_\[0\]\.estimator\.named_estimators_\['one'\]"
    with pytest.raises(TypeError, match=rf"take estimator\.{inside}\.$"):
        summarize(fitted, TEXTS)


def test_a_stack_of_several_labels_is_refused_by_name():
    Y = np.column_stack([np.arange(len(TEXTS)) % 2, np.arange(len(TEXTS)) % 3 == 0]).astype(int)
    stack = StackingClassifier([("one", tiny(max_epochs=1))], KNeighborsClassifier(), cv=2)
    stack.fit(TEXTS, Y)
    with pytest.raises(TypeError, match="a stack of classifiers of one class a document"):
        explain(stack, TEXTS)
    with pytest.raises(TypeError, match="StackingClassifier returns no array"):
        report(stack, TEXTS, Y)


@pytest.mark.parametrize("ensemble", [VotingClassifier, StackingClassifier])
def test_where_no_member_can_be_explained_none_is_named(ensemble):
    fitted = ensemble(linear("first", "last")).fit(OF_TWO, TWO)
    with pytest.raises(TypeError, match=r"named_estimators_\['first'\] cannot be .*\.$") as raised:
        explain(fitted, OF_TWO)
    assert "last" not in str(raised.value)
    with pytest.raises(TypeError, match=r"a HANClassifier, and none is one\.$"):
        summarize(fitted, OF_TWO)


@pytest.mark.parametrize("measure", [summarize, faithfulness_report])
def test_a_linear_model_is_refused_in_the_name_of_what_was_called(measure):
    fitted = linear("first")[0][1].fit(OF_TWO, TWO)
    with pytest.raises(TypeError, match=f"^{measure.__name__} needs a HANClassifier.* a search of"):
        measure(fitted, OF_TWO)


def test_behind_a_threshold_the_model_inside_is_named():
    tuned = FixedThresholdClassifier(tiny(), threshold=0.4).fit(OF_TWO, TWO)
    with pytest.raises(TypeError, match=r"got FixedThreshold.* no score: explain its estimator_"):
        explain(tuned, OF_TWO)
    assert len(explain(tuned.estimator_, OF_TWO[:2])) == 2


def test_a_vote_of_another_package_is_not_opened():
    other = type("VotingClassifier", (LogisticRegression,), {})().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(TypeError, match="explain needs a HANClassifier"):
        explain(other, TEXTS)


def test_members_that_read_different_words_are_refused():
    short = make_pipeline(HierarchicalTokenizer(max_sentences=1), tiny())
    vote = VotingClassifier([*voters(0), ("short", short)], voting="soft")
    with pytest.raises(ValueError, match=r"named_estimators_\['short'\] read different words"):
        explain(vote.fit(TEXTS, LABELS), TEXTS)


def test_a_lone_string_wrong_targets_and_unfitted_votes_are_refused(vote):
    with pytest.raises(ValueError, match="string object received"):
        explain_iter(vote, TEXTS[0])
    with pytest.raises(ValueError, match="target has 2 labels"):
        explain_iter(vote, TEXTS, target=["pos", "neg"])
    with pytest.raises(ValueError, match="target is 0; the classes are"):
        explain_iter(vote, TEXTS, target=0)
    with pytest.raises(NotFittedError):
        explain(VotingClassifier(voters(0)), TEXTS)


def with_mistakes(estimator, texts):
    """Report with wrong labels, so that there are mistakes to explain."""
    predicted = estimator.predict(texts)
    labels = np.where(predicted == estimator.classes_[0], *estimator.classes_[[1, 0]])
    return report(estimator, texts, labels, baseline=None, n_mistakes=2)


@pytest.mark.parametrize("name", ["vote", "stack", "calibration", "search"])
def test_a_report_explains_mistakes_of_ensembles_and_searches(name, request):
    estimator = request.getfixturevalue(name)
    found = with_mistakes(estimator, OF_TWO)
    worst = [OF_TWO[row] for row in found.mistake_rows]
    same(found.mistakes, explain(estimator, worst))
    assert len(found.mistakes) == 2
    assert bool(found.history) == (name == "search")  # of several models there is no one history
    assert found.n_words[0] == 9  # as the models read it, with punctuation
    assert found.to_html()


def test_a_report_says_why_mistakes_are_not_explained():
    members = [*voters(0), *linear("linear")]
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


@pytest.mark.parametrize("measure", [summarize, faithfulness_report])
def test_what_measures_one_model_names_the_members_of_a_vote(vote, measure):
    with pytest.raises(TypeError, match=r"2 models.*estimator.named_estimators_\['seed 0'\]"):
        measure(vote, TEXTS)


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
