"""Files and states of a SequenceTagger: the same bits come back, damaged ones are refused."""

import copy

import numpy as np
import pytest

from sk_han import ModelFormatError, SequenceTagger, load, save
from tests.crafted_files import archive_of, golden_parts
from tests.tiny_sentences import UNSEEN, X, Y, tiny_tagger, with_columns


@pytest.fixture(scope="module")
def fitted():
    return tiny_tagger(scheme="iob2", max_epochs=2, validation_fraction=0.4).fit(X, Y)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "tagger.han"


def assert_equal_predictions(tagger, other, sentences=UNSEEN):
    assert tagger.predict(sentences) == other.predict(sentences)
    for a, b in zip(tagger.predict_proba(sentences), other.predict_proba(sentences), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_loaded_tagger_predicts_the_same_bits(fitted, path):
    save(fitted, path)
    loaded = load(path)
    assert type(loaded) is SequenceTagger
    assert_equal_predictions(loaded, fitted)
    assert loaded.get_params() == fitted.get_params()
    assert loaded.history_ == fitted.history_
    assert (loaded.best_epoch_, loaded.best_score_) == (fitted.best_epoch_, fitted.best_score_)
    assert loaded.fit_summary_ == fitted.fit_summary_ is not None


@pytest.mark.parametrize("params", [{"crf": False}, {"scheme": "iob2"}])
def test_columns_and_integers_are_kept(params, path):
    labels = Y if params.get("scheme") else [[len(tag) for tag in tags] for tags in Y]
    tagger = tiny_tagger(max_epochs=1, **params).fit(with_columns(X), labels)
    save(tagger, path)
    assert_equal_predictions(load(path), tagger, with_columns(UNSEEN))


def changed(state, *keys, value):
    *inner, last = keys
    for key in inner:
        state = state[key]
    state[last] = value


DAMAGES = {
    "lacks": lambda s: s.pop("classes"),
    "classes are not sorted": lambda s: changed(s, "classes", value=s["classes"][::-1]),
    "n_columns must be an integer of at least 1": lambda s: changed(s, "n_columns", value=0),
    "vocabularies must be a list of 9": lambda s: s["vocabularies"].pop(),
    "vocabularies.2. is no dict": lambda s: changed(s, "vocabularies", 2, value=[["a", 2]]),
    "has an id beyond": lambda s: changed(s, "vocabularies", 0, "Anna", value=10**6),
    "scheme must be": lambda s: changed(s, "scheme", value="iob1"),
    "needs the labels 'O'": lambda s: changed(
        s, "classes", value=np.array(["A", "B", "C"], dtype=object)
    ),
    "encoder.gru.weight_ih_l0 has the shape": lambda s: changed(
        s, "network", "options", "hidden_size", value=10**6
    ),
    "too many": lambda s: changed(s, "network", "options", "crf", value=False),
    "n_trained in the summary": lambda s: changed(s, "fit_summary", "n_trained", value=0.5),
}


@pytest.mark.parametrize("message", DAMAGES)
def test_a_damaged_state_is_refused(fitted, message):
    state = copy.deepcopy(fitted.to_state())
    DAMAGES[message](state)
    with pytest.raises(ModelFormatError, match=message):
        SequenceTagger().from_state(state)


def test_a_state_without_a_summary_is_not_damaged(fitted):
    restored = SequenceTagger().from_state(fitted.to_state() | {"fit_summary": None})
    assert restored.fit_summary_ is None


def test_a_file_with_a_changed_description_is_refused(fitted, path):
    save(fitted, path)
    description, arrays = golden_parts(path.read_bytes())
    changes = {"params": {"surprise": 1}, "fitted": {"surprise": 1}, "class": "HANClassifier"}
    for field, value in changes.items():
        wrong = copy.deepcopy(description)
        wrong["model"][field] = value
        path.write_bytes(archive_of(wrong, dict(arrays)))
        with pytest.raises(ModelFormatError):
            load(path)
