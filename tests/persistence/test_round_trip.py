"""What a saved and loaded model is, and which models cannot be saved."""

import tempfile
from copy import copy
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from skorch.callbacks import EpochTimer

from sk_han import HierarchicalTokenizer, load, save
from tests.tiny_models import (
    LABELS,
    TEXTS,
    UNSEEN,
    fitted_classifier,
    fitted_pipeline,
    tiny,
    with_classes,
    with_model,
)

# Lone surrogates, NUL and private characters too.
ANY_STRING = st.text(st.characters(codec=None, categories=None), max_size=8)
LABEL = ANY_STRING.filter(lambda label: not label.endswith("\0"))  # others are refused


@pytest.fixture(scope="module")
def fitted():
    return fitted_classifier()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.han"


def round_trip(estimator, path):
    save(estimator, path)
    return load(path)


class TestRoundTrip:
    def test_saving_again_gives_the_same_bytes(self, fitted, path, tmp_path):
        save(round_trip(fitted, path), tmp_path / "again.han")
        assert (tmp_path / "again.han").read_bytes() == path.read_bytes()

    def test_a_device_that_is_gone_becomes_the_cpu(self, fitted, path):
        classifier = with_model(copy(fitted), device="cuda:7")
        assert round_trip(classifier, path).device_ == "cpu"


class TestParameters:
    @pytest.mark.parametrize(
        "params",
        [
            {"class_weight": {"pos": 2.5, "neg": 1, np.int64(3): 1.0, 7: np.float32(2.5)}},
            {"class_weight": "balanced"},
            {"net_params": {"clip_norm": None}, "lr": 1e-5},
            {"net_params": {"module__max_words": 50, "valid_batch_size": 3}},
            {"callbacks": []},
            {"random_state": None, "max_epochs": np.int64(1), "lr": np.float64(0.01)},
        ],
        ids=str,
    )
    def test_plain_parameters_come_back(self, fitted, path, params):
        classifier = copy(fitted).set_params(word_hidden=11, **params)
        loaded = round_trip(classifier, path)
        assert loaded.get_params() == classifier.get_params()
        assert (type(loaded.max_epochs), type(loaded.lr)) == (int, float)


class TestLabels:
    KINDS: ClassVar = {
        "bool": LABELS == "pos",
        "int8": np.where(LABELS == "pos", 7, -2).astype(np.int8),
        "big-endian": np.where(LABELS == "pos", 7, 2).astype(">u4"),
        "float": np.where(LABELS == "pos", 7.0, -2.0),
    }

    @pytest.mark.parametrize("labels", KINDS.values(), ids=KINDS)
    def test_classes_come_back_with_their_type(self, fitted, path, labels):
        classifier = with_classes(fitted, np.unique(labels))
        loaded = round_trip(classifier, path)
        assert loaded.classes_.dtype == classifier.classes_.dtype.newbyteorder("=")
        assert loaded.classes_.tolist() == classifier.classes_.tolist()
        assert loaded.predict(UNSEEN).tolist() == classifier.predict(UNSEEN).tolist()

    @settings(max_examples=8)
    @example(labels=["\ud83d\ude00", 'an\0inner NUL, "quoted" \\'])
    @given(
        labels=st.lists(LABEL, min_size=2, max_size=2, unique=True)
        | st.lists(st.integers(-(2**63), 2**63 - 1), min_size=2, max_size=2, unique=True)
    )
    def test_arbitrary_classes_are_restored(self, fitted, labels):
        dtype = object if isinstance(labels[0], str) else None
        classifier = with_classes(fitted, np.array(sorted(labels), dtype=dtype))
        with tempfile.TemporaryDirectory() as folder:
            loaded = round_trip(classifier, Path(folder) / "model.han")
        assert loaded.classes_.dtype == classifier.classes_.dtype
        assert loaded.predict(UNSEEN).tolist() == classifier.predict(UNSEEN).tolist()

    @pytest.mark.thorough
    @given(words=st.lists(ANY_STRING.filter(len), min_size=1, max_size=6, unique=True))
    def test_arbitrary_words_are_restored(self, words):
        tokenizer = HierarchicalTokenizer(vocabulary=words).fit(["a"])
        with tempfile.TemporaryDirectory() as folder:
            loaded = round_trip(tokenizer, Path(folder) / "model.han")
        assert list(loaded.vocabulary_.items()) == list(tokenizer.vocabulary_.items())
        assert loaded.vocabulary == words


def lines(text):
    return text.splitlines()


def lowered(texts):
    return [text.lower() for text in texts]


class TestWhatCannotBeSaved:
    @pytest.mark.parametrize(
        ("name", "value", "repair"),
        [
            ("callbacks", [EpochTimer()], r"set_params\(callbacks=None\)"),
            ("optimizer", torch.optim.Adam, r"set_params\(optimizer='adamw'\)"),
            ("net_params", {"criterion": torch.nn.CrossEntropyLoss}, r"net_params=None"),
            ("random_state", np.random.RandomState(0), "another integer"),
            ("embedding_init", {"good": np.ones(7)}, r"embedding_init='coocc"),
        ],
    )
    def test_a_parameter_that_cannot_be_stored_is_named(self, fitted, path, name, value, repair):
        classifier = copy(fitted).set_params(**{name: value})
        with pytest.raises(TypeError, match=f"^{name} of the HANClassifier cannot.*{repair}"):
            save(classifier, path)
        assert not path.exists()

    @pytest.mark.parametrize(
        ("name", "value", "repair"),
        [("word_tokenizer", lines, "joblib.dump"), ("vocabulary", {"good", "bad"}, "list")],
    )
    def test_save_names_a_parameter_that_holds_a_function_or_set(self, path, name, value, repair):
        tokenizer = HierarchicalTokenizer(**{name: value}).fit(TEXTS)
        with pytest.raises(TypeError, match=f"^{name} of the HierarchicalTokenizer.*{repair}"):
            save(tokenizer, path)

    def test_other_estimators_are_refused_with_advice(self, fitted, path, tmp_path):
        class Mine(HierarchicalTokenizer):
            pass

        other = make_pipeline(HierarchicalTokenizer(), FunctionTransformer())
        days = np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[D]")
        refused = [
            (Mine().fit(TEXTS), "got Mine"),
            (GridSearchCV(tiny(), {"lr": [0.1]}), r"or a search of one; got GridSearchCV"),
            (other.fit(TEXTS), r"^(?!.*pipeline\[).*joblib"),
            (make_pipeline(FunctionTransformer(), fitted), r"Save pipeline\[-1\].*joblib"),
            (with_classes(fitted, days), r"classes_ of dtype datetime64\[D\]"),
        ]
        for estimator, message in refused:
            with pytest.raises(TypeError, match=message):
                save(estimator, path)
        with pytest.raises(TypeError, match=r"name of a file, after the model; got a HANClass"):
            save(path, tiny())
        with pytest.raises(ValueError, match="'lr' parameter of HANClassifier"):  # as load would
            save(copy(fitted).set_params(lr=-1.0), path)

    def test_a_folder_of_this_machine_is_in_no_file(self, path):
        save(fitted_pipeline().set_params(memory="cache"), path)
        assert load(path).memory is None

    def test_pipelines_with_further_steps_are_refused_with_the_repair(self, path):
        steps = [FunctionTransformer(lowered), HierarchicalTokenizer(lowercase=False), tiny()]
        pipeline = make_pipeline(*steps).fit(TEXTS, LABELS)
        with pytest.raises(TypeError, match=r"FunctionTransformer.*Save pipeline\[-2:\].*joblib"):
            save(pipeline, path)
        loaded = round_trip(pipeline[-2:], path)
        assert isinstance(loaded, Pipeline)
        prepared = pipeline[:-2].transform(UNSEEN)
        np.testing.assert_array_equal(
            loaded.predict_proba(prepared), pipeline.predict_proba(UNSEEN)
        )
        assert np.any(loaded.predict_proba(UNSEEN) != pipeline.predict_proba(UNSEEN))

    @pytest.mark.parametrize(
        "estimator",
        [tiny(), HierarchicalTokenizer(), make_pipeline(HierarchicalTokenizer(), tiny())],
        ids=lambda estimator: type(estimator).__name__,
    )
    def test_an_unfitted_estimator_is_refused(self, path, estimator):
        with pytest.raises(NotFittedError):
            save(estimator, path)
        assert not path.exists()
