"""HANClassifier with several labels a document, through every door."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score

import sk_han
from sk_han import HANClassifier, ModelFormatError
from tests.labelled_reviews import HAS, OPINIONS, SMALL, TEST, TRAIN, X, Y


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


def test_labels_with_cue_words_are_learnt(fitted):
    proba = fitted.predict_proba(X[TEST])
    for label in (0, 1):
        has = HAS[TEST][:, label]
        assert proba[has, label].min() > proba[~has, label].max()


def test_score_is_subset_accuracy_in_any_column_order(fitted):
    expected = accuracy_score(Y[TEST], fitted.predict(X[TEST]))
    assert fitted.score(X[TEST], Y[TEST]) == expected
    assert fitted.score(X[TEST], Y[TEST][["good", "late", "broken"]]) == expected


def test_rare_labels_rely_less_on_the_network(fitted):
    network, linear = fitted.network_scale_, fitted.ngram_scale_
    by_frequency = Y[TRAIN].sum().to_numpy().argsort()
    assert (np.diff(network[by_frequency]) > 0).all()
    assert np.corrcoef(network, linear)[0, 1] == pytest.approx(-1)


@pytest.mark.parametrize("scale", [np.ones(2), -np.ones(3)])
def test_stored_scales_of_another_shape_or_sign_are_refused(fitted, scale):
    state = fitted.to_state()
    state["parts"]["network"]["scale"] = scale
    with pytest.raises(ModelFormatError, match=r"parts\.network\.scale"):
        HANClassifier(**SMALL).from_state(state)


@pytest.mark.parametrize("threshold", ["f1", 0.2, [0.2, 0.9, 0.4]])
def test_thresholds_decide_predictions_and_are_stored(threshold, tmp_path):
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
def test_invalid_thresholds_are_refused(threshold):
    model = HANClassifier(**SMALL, threshold=threshold)
    with pytest.raises(ValueError, match="one for each of the 3 labels"):
        model.fit(X[TRAIN], Y[TRAIN])


def test_partial_fit_takes_label_names_or_their_number():
    model = HANClassifier(**SMALL)
    for rows in (slice(0, 60), slice(60, 120)):
        model.partial_fit(X[rows], Y[rows], classes=["good", "late", "broken"])
    assert model.classes_.tolist() == ["good", "late", "broken"]
    assert model.predict(X[TEST]).shape == (40, 3)
    numbered = HANClassifier(**SMALL).partial_fit(X[TRAIN], Y[TRAIN].to_numpy(), classes=3)
    assert numbered.classes_.tolist() == [0, 1, 2]


def test_continued_fits_keep_the_kind_of_labels():
    several = HANClassifier(**SMALL, max_epochs=1, warm_start=True).fit(X[TRAIN], Y[TRAIN])
    with pytest.raises(ValueError, match=r"y has one class a document, .* several labels a docu"):
        several.fit(X[TRAIN], HAS[TRAIN][:, 0])
    one = HANClassifier(**SMALL, max_epochs=1, warm_start=True).fit(X[TRAIN], HAS[TRAIN][:, 0])
    with pytest.raises(ValueError, match=r"several labels .* one class .* Fit a new HANClass"):
        one.fit(X[TRAIN], Y[TRAIN])


def test_a_label_without_any_weight_is_named_in_the_error():
    weights = [{}, {0: 0, 1: 0}, {}]
    with pytest.raises(ValueError, match=r"class_weight of 'broken' is 0 for documents with the"):
        HANClassifier(**SMALL, class_weight=weights).fit(X[TRAIN], Y[TRAIN])


@pytest.mark.parametrize(
    ("groups", "message"), [([1, 2], "2 groups"), ([None] * 120, "missing value at position 0")]
)
def test_groups_of_another_length_are_refused(groups, message):
    with pytest.raises(ValueError, match=message):
        HANClassifier(**SMALL).fit(X[TRAIN], Y[TRAIN], groups=groups)


FIRST_WITHOUT_WEIGHT = (np.arange(120) >= 5).astype(float)


@pytest.mark.parametrize(
    ("groups", "params", "weights", "message"),
    [
        (["a"] * 120, {}, None, "none can be held out"),
        (FIRST_WITHOUT_WEIGHT, {}, FIRST_WITHOUT_WEIGHT, "none can be held out"),
        (np.arange(120) // 24, {}, None, "120 documents in 5 groups, which stay whole.*larger"),
        (np.arange(120) // 24, {"n_iter_no_change": 1}, None, "no effect .*120.*5 groups"),
    ],
    ids=["one", "one of those with weight", "too large", "too large to stop"],
)
def test_groups_that_cannot_be_held_out_warn(groups, params, weights, message):
    model = HANClassifier(**SMALL, max_epochs=1, **params)
    with pytest.warns(UserWarning, match=message) as warned:
        model.fit(X[TRAIN], OPINIONS[TRAIN], sample_weight=weights, groups=groups)
    assert len(warned) == 1
    assert model.best_epoch_ is None


def test_a_single_group_is_allowed_if_nothing_is_held_out():
    given = {"groups": ["a"] * 120, "X_val": X[TEST], "y_val": OPINIONS[TEST]}
    model = HANClassifier(**SMALL, max_epochs=1).fit(X[TRAIN], OPINIONS[TRAIN], **given)
    assert model.best_epoch_ == 1
    alone = HANClassifier(**SMALL, max_epochs=1, validation_fraction=None)
    assert alone.fit(X[TRAIN], OPINIONS[TRAIN], groups=["a"] * 120).best_epoch_ is None


def test_thresholds_by_f1_warn_without_held_out_documents():
    model = HANClassifier(**SMALL, max_epochs=1, threshold="f1", validation_fraction=None)
    with pytest.warns(UserWarning, match=r"threshold='f1' needs documents.*from .* 0\.5 on"):
        model.fit(X, Y)
    np.testing.assert_array_equal(model.pool_.target.thresholds, 0.5)
