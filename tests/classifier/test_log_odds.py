"""Log-odds by each part as features of another model: `features="log_odds"`."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_han import HierarchicalTokenizer, load, save
from sk_han.fitting import text_features
from sk_han.targets import OneOfClasses
from tests import tiny_models
from tests.parts.ngrams.test_character_model import inflected
from tests.tiny_models import BAD, GOOD

TEXTS = 5 * (GOOD + BAD)
LABELS = np.array(5 * (3 * ["pos"] + 3 * ["neg"]))
THREE = np.array(5 * ["pos", "pos", "fair", "fair", "neg", "neg"])

tiny = partial(tiny_models.tiny, max_epochs=2, features="log_odds")


@pytest.fixture(scope="module")
def model():
    return tiny().fit(TEXTS, LABELS)


def test_columns_sum_to_the_log_odds_of_the_model(model):
    found = model.transform(TEXTS)
    assert found.shape == (30, 2)
    np.testing.assert_allclose(found.sum(axis=1), model.decision_function(TEXTS), atol=1e-9)
    names = ["hanclassifier_network", "hanclassifier_ngrams"]
    assert model.get_feature_names_out().tolist() == names


def test_no_model_has_read_a_copy_of_a_document_that_it_scores(monkeypatch):
    texts = [f"{text} {i % 20}" for i, text in enumerate(TEXTS)]  # ten have a copy
    texts, read = [texts[i % 20] if i < 25 else f"{text} x{i}" for i, text in enumerate(texts)], []

    def rows_of(values, rows):
        found = text_features.rows_of(values, rows)
        if values is texts:
            read.append(set(found))
        return found

    monkeypatch.setattr(text_features, "_rows", rows_of)
    tiny(max_epochs=1).fit_transform(texts, LABELS[np.arange(30) % 20])
    assert len(read) == 10
    for learnt, scored in zip(read[::2], read[1::2], strict=True):
        assert learnt.isdisjoint(scored)


def test_folds_have_the_parts_of_the_whole_fit():
    # All the words of a fifth less than 100 documents would not be tried for characters.
    texts, labels = inflected(110, seed=1)
    found = tiny(max_epochs=1, embedding_init="random").fit(texts, labels)
    assert "hanclassifier_characters" in found.get_feature_names_out()
    columns = clone(found).fit_transform(texts, labels)
    assert (columns[:, list(found.pool_.parts).index("characters")] != 0).all()


def test_several_classes_have_a_column_each():
    model = tiny().fit(TEXTS, THREE)
    found, z = model.transform(TEXTS), model.decision_function(TEXTS)
    assert model.get_feature_names_out().tolist() == [
        f"hanclassifier_{part}_{name}" for part in ("network", "ngrams") for name in model.classes_
    ]
    together = found.reshape(30, 2, 3).sum(axis=1)
    np.testing.assert_allclose(together, z - z.mean(axis=1, keepdims=True), atol=1e-9)


@pytest.mark.thorough
def test_several_labels_have_the_log_odds_of_each():
    y = np.column_stack([LABELS == "pos", THREE == "fair", np.arange(30) % 2])
    model = tiny().fit(TEXTS, y)
    together = model.transform(TEXTS).reshape(30, 2, 3).sum(axis=1)
    np.testing.assert_allclose(together, model.decision_function(TEXTS), atol=1e-9)
    assert tiny().fit_transform(TEXTS, y).shape == (30, 6)


@pytest.mark.thorough
def test_arrow_arrays_are_cross_fitted_as_lists_are():
    pyarrow = pytest.importorskip("pyarrow")
    texts, labels = (pyarrow.chunked_array([list(each)]) for each in (TEXTS, LABELS))
    expected = tiny().fit_transform(TEXTS, LABELS)
    np.testing.assert_array_equal(tiny().fit_transform(texts, labels), expected)


@pytest.mark.filterwarnings("default")
def test_folds_are_not_compared_by_their_index(monkeypatch):
    monkeypatch.setattr(OneOfClasses, "folds", lambda *args: iter([np.arange(1)]))
    # Without the first row, the labels have the index of the texts in another order.
    texts = pd.Series([f"{text} word{i}" for i, text in enumerate(TEXTS)], index=range(30, 0, -1))
    with warnings.catch_warnings(record=True) as told:
        tiny(validation_fraction=None).fit_transform(texts, pd.Series(LABELS))
    assert not [each for each in told if "in another order" in str(each.message)]


def test_training_documents_are_scored_by_models_that_do_not_know_them():
    texts = [f"word{i} again{i} once{i}." for i in range(30)]
    texts = [f"{text} {text}" for text in texts]  # each knows its own words only
    model = tiny(max_epochs=4, validation_fraction=None)
    found = model.fit_transform(texts, LABELS)
    folds = model.pool_.target.folds(model.pool_.target.encode(LABELS, 30))
    rows = next(iter(folds))
    others = np.setdiff1d(np.arange(30), rows)
    alone = clone(model).fit([texts[i] for i in others], LABELS[others])
    # The n-gram model may be missing in one of the two: the network has the first column.
    score = alone.transform([texts[i] for i in rows])[:, 0]
    np.testing.assert_array_equal(found[rows, 0], score)
    learnt_by_heart = model.transform(texts)[:, 0]
    assert not np.array_equal(found[:, 0], learnt_by_heart)


@pytest.mark.thorough
def test_weights_and_groups_go_with_their_documents():
    groups = np.arange(30) // 2
    model = tiny()
    found = model.fit_transform(TEXTS, LABELS, sample_weight=np.ones(30), groups=groups)
    plain = tiny().fit(TEXTS, LABELS, groups=groups)
    np.testing.assert_array_equal(model.transform(TEXTS), plain.transform(TEXTS))
    assert np.isfinite(found).all()


def test_validation_texts_of_an_iterator_serve_all_fits():
    found = tiny().fit_transform(TEXTS, LABELS, X_val=iter(TEXTS[:4]), y_val=LABELS[:4])
    again = tiny().fit_transform(TEXTS, LABELS, X_val=TEXTS[:4], y_val=LABELS[:4])
    np.testing.assert_array_equal(found, again)


@pytest.mark.thorough
def test_unlabelled_texts_of_an_iterator_serve_all_fits():
    found = tiny().fit_transform(TEXTS, LABELS, X_unlabelled=iter(TEXTS))
    again = tiny().fit_transform(TEXTS, LABELS, X_unlabelled=TEXTS)
    np.testing.assert_array_equal(found, again)


@pytest.mark.thorough
def test_the_only_document_of_a_class_has_zeros():
    with pytest.warns(UserWarning, match="rare"):
        found = tiny().fit_transform([*TEXTS, "once"], [*LABELS, "rare"])
    assert not found[-1].any()
    assert found[:-1].any(axis=1).all()


def test_a_class_whose_documents_share_a_group_is_refused():
    groups = np.where(LABELS == "pos", 0, 1 + np.arange(30))
    with pytest.raises(ValueError, match=r"class 'pos' are in the fifth.*features='vectors'"):
        tiny().fit_transform(TEXTS, LABELS, groups=groups)


@pytest.mark.thorough
def test_documents_of_a_tokenizer_give_the_same():
    pipeline = make_pipeline(HierarchicalTokenizer(), tiny())
    model = tiny()
    found, again = pipeline.fit_transform(TEXTS, LABELS), model.fit_transform(TEXTS, LABELS)
    np.testing.assert_allclose(pipeline.transform(TEXTS), model.transform(TEXTS))
    assert found.shape == again.shape


@pytest.mark.thorough
def test_a_frame_of_any_index_goes_in_and_out():
    frame = pd.DataFrame({"text": TEXTS, "stars": np.arange(30) % 5}, index=range(7, 37))
    columns = make_column_transformer((tiny(), ["text"]), (StandardScaler(), ["stars"]))
    columns.set_output(transform="pandas")
    found = columns.fit_transform(frame, LABELS)
    assert found.index.equals(frame.index)
    assert found.columns.tolist() == [
        "hanclassifier__hanclassifier_network",
        "hanclassifier__hanclassifier_ngrams",
        "standardscaler__stars",
    ]
    model = make_pipeline(columns, LogisticRegression())
    assert cross_val_score(model, frame, LABELS, cv=2).min() > 0.9


def test_a_saved_model_gives_the_same(model, tmp_path):
    save(model, tmp_path / "model.han")
    again = load(tmp_path / "model.han")
    np.testing.assert_array_equal(again.transform(TEXTS), model.transform(TEXTS))


def test_a_fit_that_goes_on_is_refused_since_its_copies_would_not():
    classifier = tiny(warm_start=True)
    classifier.fit_transform(TEXTS, LABELS)
    with pytest.raises(ValueError, match="Set warm_start=False"):
        classifier.fit_transform(TEXTS, LABELS)


@pytest.mark.thorough
def test_texts_of_an_iterator_are_read_twice():
    found = tiny().fit_transform(iter(TEXTS), LABELS)
    np.testing.assert_array_equal(found, tiny().fit_transform(TEXTS, LABELS))


def test_an_array_of_word_vectors_is_refused_beside_raw_texts():
    vectors = np.zeros((50, 7), dtype=np.float32)
    classifier = tiny(features="log_odds", embedding_dim=7, embedding_init=vectors)
    with pytest.raises(ValueError, match="Give a mapping from words to vectors"):
        classifier.fit_transform(TEXTS, LABELS)
