"""HANClassifier with several labels a document, through every door."""

import pickle

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from skorch.callbacks import EpochScoring

import sk_han
from sk_han import HANClassifier, ModelFormatError, SentenceArray
from sk_han.serving import Scorer
from tests.labelled_reviews import HAS, OPINIONS, SMALL, TEST, TRAIN, N, X, Y, pandas


@pytest.fixture(scope="module")
def fitted():
    return HANClassifier(**SMALL, max_epochs=3).fit(X[TRAIN], Y[TRAIN])


def test_predictions_have_a_column_for_each_label(fitted):
    assert fitted.classes_.tolist() == ["late", "broken", "good"]
    proba, decided = fitted.predict_proba(X[TEST]), fitted.predict(X[TEST])
    assert proba.shape == decided.shape == (40, 3)
    np.testing.assert_array_equal(decided, proba >= 0.5)
    assert decided.dtype == np.int64
    z = fitted.decision_function(X[TEST])
    np.testing.assert_allclose(proba, 1 / (1 + np.exp(-z)))
    np.testing.assert_allclose(fitted.predict_log_proba(X[TEST]), np.log(proba))


def test_marked_labels_are_learnt(fitted):
    proba = fitted.predict_proba(X[TEST])
    for label in (0, 1):
        has = HAS[TEST][:, label]
        assert proba[has, label].min() > proba[~has, label].max()


def test_score_is_the_subset_accuracy_whatever_the_order_of_columns(fitted):
    expected = accuracy_score(Y[TEST], fitted.predict(X[TEST]))
    assert fitted.score(X[TEST], Y[TEST]) == expected
    assert fitted.score(X[TEST], Y[TEST][["good", "late", "broken"]]) == expected


def test_files_pickles_and_the_scorer_give_the_same(fitted, tmp_path):
    path = tmp_path / "model.han"
    sk_han.save(fitted, path)
    expected = fitted.predict_proba(X[TEST])
    for model in (sk_han.load(path), pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(model.predict_proba(X[TEST]), expected)
    scorer = Scorer.load(path)
    np.testing.assert_allclose(scorer.predict_proba(X[TEST]), expected, atol=1e-6)
    np.testing.assert_array_equal(scorer.predict(X[TEST]), fitted.predict(X[TEST]))


def test_the_network_counts_less_for_rare_labels_and_the_linear_model_more(fitted):
    network, linear = fitted.network_scale_, fitted.ngram_scale_
    by_frequency = Y[TRAIN].sum().to_numpy().argsort()
    assert (np.diff(network[by_frequency]) > 0).all()
    assert np.corrcoef(network, linear)[0, 1] == pytest.approx(-1)


@pytest.mark.parametrize("scale", [np.ones(2), np.ones(3, dtype=int), -np.ones(3), np.full(3, 1e7)])
def test_stored_scales_that_are_not_one_for_each_label_are_refused(fitted, scale):
    state = fitted.to_state()
    state["parts"]["network"]["scale"] = scale
    with pytest.raises(ModelFormatError, match=r"parts\.network\.scale"):
        HANClassifier(**SMALL).from_state(state)


def test_thresholds_of_one_class_a_document_are_missing():
    assert not hasattr(HANClassifier(**SMALL).fit(X[TRAIN], HAS[TRAIN][:, 0]), "thresholds_")


@pytest.mark.parametrize("threshold", ["f1", 0.2, [0.2, 0.9, 0.4]])
def test_thresholds_decide_and_are_stored(threshold, tmp_path):
    model = HANClassifier(**SMALL, max_epochs=1, threshold=threshold).fit(X[TRAIN], Y[TRAIN])
    thresholds = model.thresholds_
    if threshold != "f1":
        np.testing.assert_array_equal(thresholds, np.broadcast_to(threshold, 3))
    decided = model.predict_proba(X[TEST]) >= thresholds
    np.testing.assert_array_equal(model.predict(X[TEST]), decided)
    sk_han.save(model, tmp_path / "model.han")
    loaded = sk_han.load(tmp_path / "model.han")
    np.testing.assert_array_equal(loaded.predict(X[TEST]), decided)


@pytest.mark.parametrize(
    "threshold", [[0.1, 0.2], [0.1, 0.2, 1.3], [0.1, 0.2, float("nan")], {"late": 0.3}, ["a"] * 3]
)
def test_other_thresholds_are_refused_before_the_fit(threshold):
    model = HANClassifier(**SMALL, threshold=threshold)
    with pytest.raises(ValueError, match="one for each of the 3 labels"):
        model.fit(X[TRAIN], Y[TRAIN])


def test_portions_know_all_labels_by_name_or_number():
    model = HANClassifier(**SMALL)
    for rows in (slice(0, 60), slice(60, 120)):
        model.partial_fit(X[rows], Y[rows], classes=["good", "late", "broken"])
    assert model.classes_.tolist() == ["good", "late", "broken"]
    assert model.predict(X[TEST]).shape == (40, 3)
    numbered = HANClassifier(**SMALL).partial_fit(X[TRAIN], Y[TRAIN].to_numpy(), classes=3)
    assert numbered.classes_.tolist() == [0, 1, 2]


def test_a_warm_start_and_validation_documents_find_columns_by_name():
    model = HANClassifier(**SMALL, max_epochs=1, warm_start=True).fit(X[TRAIN], Y[TRAIN])
    other = ["broken", "good", "late"]
    model.fit(X[TRAIN], Y[TRAIN][other], X_val=X[TEST], y_val=Y[TEST][other])
    assert model.classes_.tolist() == ["late", "broken", "good"]
    proba = model.predict_proba(X[TEST])
    assert proba[HAS[TEST][:, 1], 1].mean() > proba[~HAS[TEST][:, 1], 1].mean()


def test_a_fit_that_goes_on_keeps_the_kind_of_labels():
    several = HANClassifier(**SMALL, max_epochs=1, warm_start=True).fit(X[TRAIN], Y[TRAIN])
    with pytest.raises(ValueError, match=r"y has one class a document, .* several labels a docu"):
        several.fit(X[TRAIN], HAS[TRAIN][:, 0])
    one = HANClassifier(**SMALL, max_epochs=1, warm_start=True).fit(X[TRAIN], HAS[TRAIN][:, 0])
    with pytest.raises(ValueError, match=r"several labels .* one class .* Fit a new HANClass"):
        one.fit(X[TRAIN], Y[TRAIN])


def test_a_label_without_any_weight_is_refused_by_its_name():
    weights = [{}, {0: 0, 1: 0}, {}]
    with pytest.raises(ValueError, match=r"class_weight of 'broken' is 0 for documents with the"):
        HANClassifier(**SMALL, class_weight=weights).fit(X[TRAIN], Y[TRAIN])


@pytest.mark.thorough
def test_a_larger_weight_of_a_label_raises_its_probability():
    plain, weighted = (
        HANClassifier(**SMALL, max_epochs=2, class_weight=weight).fit(X[TRAIN], Y[TRAIN])
        for weight in (None, {"broken": 20.0})
    )
    difference = weighted.predict_proba(X[TEST]) - plain.predict_proba(X[TEST])
    assert difference[:, 1].mean() > 0.02


def test_scoring_callbacks_of_skorch_see_the_labels():
    scoring = EpochScoring("accuracy", name="share", lower_is_better=False)
    model = HANClassifier(**SMALL, max_epochs=2, callbacks=[scoring])
    history = model.fit(X[TRAIN], Y[TRAIN], X_val=X[TEST], y_val=Y[TEST]).history_
    assert [epoch["share"] for epoch in history] == [epoch["valid_accuracy"] for epoch in history]


def test_text_without_labels_works_as_for_classes():
    model = HANClassifier(**SMALL, max_epochs=1)
    model.fit(X[TRAIN], Y[TRAIN], X_unlabelled=X[TEST] * 3)
    assert model.latent_model_ is not None
    assert model.predict_proba(X[TEST]).shape == (40, 3)


def test_sentence_vectors_learn_labels_too():
    vectors = np.random.RandomState(0).normal(size=(N, 4, 5)).astype(np.float32)
    vectors[:, :, 0] += 2 * HAS[:, :1]
    vectors[:, :, 1] += 2 * HAS[:, 1:]
    documents = SentenceArray.from_vectors(vectors)
    model = HANClassifier(**SMALL, max_epochs=2, linear_ngrams=None)
    model.fit(documents[TRAIN], Y[TRAIN])
    proba = model.predict_proba(documents[TEST])
    for label in (0, 1):
        assert roc_auc_score(HAS[TEST][:, label], proba[:, label]) > 0.9


@pytest.mark.parametrize(
    ("groups", "message"), [([1, 2], "2 groups"), ([None] * 120, "missing value at position 0")]
)
def test_groups_that_are_not_one_for_each_document_are_refused(groups, message):
    with pytest.raises(ValueError, match=message):
        HANClassifier(**SMALL).fit(X[TRAIN], Y[TRAIN], groups=groups)


def test_one_group_of_all_documents_is_told():
    with pytest.warns(UserWarning, match="none can be held out"):
        model = HANClassifier(**SMALL, max_epochs=1).fit(
            X[TRAIN], OPINIONS[TRAIN], groups=["a"] * 120
        )
    assert model.best_epoch_ is None


def test_one_group_is_no_matter_where_none_need_be_held_out():
    given = {"groups": ["a"] * 120, "X_val": X[TEST], "y_val": OPINIONS[TEST]}
    model = HANClassifier(**SMALL, max_epochs=1).fit(X[TRAIN], OPINIONS[TRAIN], **given)
    assert model.best_epoch_ == 1
    alone = HANClassifier(**SMALL, max_epochs=1, validation_fraction=None)
    assert alone.fit(X[TRAIN], OPINIONS[TRAIN], groups=["a"] * 120).best_epoch_ is None


def test_groups_of_documents_without_weight_are_none():
    weights = np.ones(120)
    weights[:5] = 0
    with pytest.warns(UserWarning, match="none can be held out") as told:
        HANClassifier(**SMALL, max_epochs=1).fit(
            X[TRAIN], OPINIONS[TRAIN], sample_weight=weights, groups=weights
        )
    assert len(told) == 1


def test_groups_that_are_too_large_to_be_held_out_are_told():
    groups = np.arange(120) // 24
    with pytest.warns(UserWarning, match=r"120 documents in 5 groups, which stay whole.*larger"):
        model = HANClassifier(**SMALL, max_epochs=1).fit(X[TRAIN], OPINIONS[TRAIN], groups=groups)
    assert model.best_epoch_ is None
    with pytest.warns(UserWarning, match="no effect without held-out documents, and 120.*5 groups"):
        model.set_params(n_iter_no_change=1).fit(X[TRAIN], OPINIONS[TRAIN], groups=groups)


@pytest.mark.filterwarnings("ignore:The network is useless")
def test_there_may_be_more_labels_than_documents():
    y = np.eye(40, 60, dtype=int) | np.eye(40, 60, 20, dtype=int)
    model = HANClassifier(**SMALL, max_epochs=1).fit(X[:40], y)
    proba = model.predict_proba(X[TEST])
    assert proba.shape == (40, 60)
    assert np.isfinite(proba).all()


def test_labels_whose_index_is_that_of_the_documents_in_another_order_are_told():
    texts = pandas.Series(X[TRAIN])
    with pytest.warns(UserWarning, match=r"X and y have the same index in another order.*y\.loc"):
        HANClassifier(**SMALL, max_epochs=1).fit(texts, Y[TRAIN][::-1])


@pytest.mark.thorough
def test_searches_and_scores_of_scikit_learn_take_it():
    model = HANClassifier(**SMALL, max_epochs=1)
    texts, y = np.array(X[TRAIN], dtype=object), Y[TRAIN].to_numpy()
    assert cross_val_predict(model, texts, y, cv=2, method="predict_proba").shape == (120, 3)
    assert len(cross_val_score(model, texts, y, cv=2, scoring="f1_micro")) == 2
    search = GridSearchCV(model, {"dropout": [0.1, 0.3]}, cv=2, scoring="roc_auc")
    assert 0 <= search.fit(texts, y).best_score_ <= 1


def test_the_highest_f1_without_new_documents_is_warned_of():
    model = HANClassifier(**SMALL, max_epochs=1, threshold="f1", validation_fraction=None)
    with pytest.warns(UserWarning, match=r"threshold='f1' needs documents.*from .* 0\.5 on"):
        model.fit(X, Y)
    np.testing.assert_array_equal(model.pool_.target.thresholds, 0.5)
