"""export_onnx: the graph of a classifier computes what the classifier does."""

import hashlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from sk_han import (
    RNN,
    Attention,
    ContextAttention,
    DocumentArray,
    HANClassifier,
    HierarchicalTokenizer,
    MultiHopAttention,
    explain,
)
from sk_han.persistence import export_onnx
from sk_han.persistence.onnx import network
from sk_han.persistence.onnx.parity import feeds
from tests.thorough import first_fast
from tests.tiny_models import LABELS, TEXTS, UNSEEN, fitted_classifier, fitted_pipeline, tiny

ODD = [
    *UNSEEN,
    "word",
    "Good good good bad. Good good good bad.",
    "!!!",
    "One. Two. Three. Four. Five. It was a good day, and a bad day, and a good meal. Six. Seven.",
]


@pytest.fixture(scope="module")
def runtime():
    pytest.importorskip("onnx", reason="the extra onnx is not installed")
    return pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")


@pytest.fixture
def exported(runtime, tmp_path):
    """Export a model; return a session, and what stands beside the graph."""

    def export(model):
        path = tmp_path / "model.onnx"
        export_onnx(model, path)
        session = runtime.InferenceSession(path.read_bytes())
        return session, json.loads((tmp_path / "model.onnx.json").read_text("ascii"))

    return export


@pytest.fixture(scope="module")
def classifier():
    return fitted_classifier()


@pytest.fixture(scope="module")
def path(runtime, classifier, tmp_path_factory):
    """Give the file of the graph of the classifier."""
    path = tmp_path_factory.mktemp("graphs") / "model.onnx"
    export_onnx(classifier, path)
    return path


@pytest.fixture
def session(runtime, path):
    return runtime.InferenceSession(path.read_bytes())


def assert_equal_results(session, classifier, documents):
    probabilities, words, sentences = session.run(None, feeds(documents))
    expected = explain(classifier, documents, method="attention")
    np.testing.assert_allclose(probabilities, classifier.predict_proba(documents), atol=1e-5)
    for found, name in ((words, "word_attention"), (sentences, "sentence_attention")):
        wanted = np.concatenate([getattr(each, name) for each in expected])
        np.testing.assert_allclose(found, wanted, atol=1e-5)


FAMILY = {
    "as published": {},
    "layers of LSTM": {"rnn": RNN(cell="lstm", num_layers=3)},
    "network alone": {"linear_ngrams": None},
    "single words": {"linear_ngrams": (1, 1)},
    "longer n-grams": {"linear_ngrams": (2, 4)},
    "LSTM": {"rnn": "lstm"},
    "simple cells": {"rnn": "rnn"},
    "layers in one direction": {"rnn": RNN(num_layers=2, bidirectional=False)},
    "hops": {"pooling": MultiHopAttention(size=4, hops=3)},
    "mean": {"pooling": "mean"},
}


class TestParity:
    @pytest.mark.parametrize("name", first_fast(FAMILY, 2))
    def test_the_graph_computes_what_the_classifier_does(self, exported, name):
        classifier = fitted_classifier(**FAMILY[name])
        session, _ = exported(classifier)
        documents = classifier.tokenizer_.transform(ODD)
        assert_equal_results(session, classifier, documents)
        assert_equal_results(session, classifier, documents[::-1])

    def test_many_classes_have_a_column_each(self, exported):
        labels = np.arange(len(TEXTS)) % 5
        classifier = tiny().fit(TEXTS, labels)
        session, beside = exported(classifier)
        assert beside["classes"] == [0, 1, 2, 3, 4]
        assert_equal_results(session, classifier, classifier.tokenizer_.transform(ODD))

    @pytest.mark.thorough
    def test_a_latent_model_counts(self, exported):
        unlabelled = [
            f"{text} It was {'bad' if i % 3 else 'good'}." for i, text in enumerate(TEXTS)
        ]
        classifier = tiny().fit(TEXTS, LABELS, X_unlabelled=unlabelled)
        assert classifier.latent_scale_ > 0
        session, _ = exported(classifier)
        assert_equal_results(session, classifier, classifier.tokenizer_.transform(ODD))

    def test_a_single_class_is_certain(self, exported):
        with pytest.warns(UserWarning, match="class"):
            classifier = tiny().fit(TEXTS[:3], ["only"] * 3)
        session, beside = exported(classifier)
        documents = classifier.tokenizer_.transform(["", "A good day."])
        assert session.run(None, feeds(documents))[0].tolist() == [[1.0], [1.0]]
        assert beside["classes"] == ["only"]

    def test_a_giant_is_read_as_the_classifier_reads_it(self, session, classifier):
        giants = ["word " * 3000 + "good", "A good day. " * 2000, "It was a bad day " * 700]
        for giant in giants:
            documents = classifier.tokenizer_.transform([giant])
            found = session.run(None, feeds(documents))[0]
            np.testing.assert_allclose(found, classifier.predict_proba(documents), atol=1e-5)

    def test_an_id_beyond_the_vocabulary_is_the_unknown_word(self, session):
        beyond, unknown = (
            feeds(DocumentArray.from_nested([[[2, number, 3]]])) for number in (10**6, 1)
        )
        for found, expected in zip(
            *(session.run(None, each) for each in (beyond, unknown)), strict=True
        ):
            np.testing.assert_array_equal(found, expected)

    def test_another_model_is_not_written(self, runtime, classifier, tmp_path, monkeypatch):
        monkeypatch.setitem(network._GATES, "gru", [0, 1, 2])  # PyTorch's own order
        (tmp_path / "model.onnx").write_text("as before")
        with pytest.raises(RuntimeError, match=r"differ from the classifier's.*of onnxruntime"):
            export_onnx(classifier, tmp_path / "model.onnx")
        assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]
        assert (tmp_path / "model.onnx").read_text() == "as before"


# What a process of its own prints for inputs that have ended other graphs' processes.
_SCORE = """
import json, sys
import numpy as np, onnxruntime
options = onnxruntime.SessionOptions()
options.log_severity_level = 4
session = onnxruntime.InferenceSession(sys.argv[1], options)
names = [each.name for each in session.get_inputs()]
for values in json.loads(sys.argv[2]):
    arrays = [np.array(each, dtype=np.int64) for each in values]
    try:
        print(json.dumps([r.tolist() for r in session.run(None, dict(zip(names, arrays)))]))
    except Exception as error:
        print(json.dumps(str(error)))
"""


class TestNothing:
    """ONNX Runtime ends the process where a recurrent network is given nothing."""

    @pytest.fixture
    def results(self):
        def score(path, *inputs):
            command = [sys.executable, "-c", _SCORE, str(path), json.dumps(inputs)]
            done = subprocess.run(
                command,
                check=True,
                capture_output=True,
                text=True,
                timeout=120,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            )
            return [json.loads(line) for line in done.stdout.splitlines()]

        return score

    @pytest.mark.parametrize("rnn", first_fast(["gru", "lstm"]))
    def test_nothing_is_scored_without_harm(self, results, rnn, classifier, path, tmp_path):
        if rnn == "lstm":
            classifier = fitted_classifier(rnn="lstm", linear_ngrams=None)
            path = tmp_path / "model.onnx"
            export_onnx(classifier, path)
        none, one, two, sentence = results(
            path, ([], [], []), ([], [], [0]), ([], [], [0, 0]), ([2], [1], [0, 1, 0])
        )
        (expected,) = classifier.predict_proba([""])
        assert none == [[], [], []]
        assert one[1:] == two[1:] == [[], []]
        np.testing.assert_allclose(one[0] + two[0], [expected] * 3, atol=1e-6)
        np.testing.assert_allclose([sentence[0][0], sentence[0][2]], [expected] * 2, atol=1e-6)
        assert sentence[1:] == [[1.0], [1.0]]

    def test_lengths_that_do_not_fit_are_an_error(self, results, path):
        found = results(
            path,
            ([2], [2], [1]),
            ([2, 3], [1], [1]),
            ([2], [1], [2]),
            ([2, 3], [3, -1], [2]),
            ([], [], [-1]),
            ([2], [0, 1], [2]),
        )
        assert ["Reshape" in each for each in found[:5]] == [True] * 5
        assert np.isfinite(np.concatenate([np.ravel(part) for part in found[5]])).all()


class TestFiles:
    def test_the_rules_know_their_graph(self, session, classifier, path):
        beside = json.loads(path.with_name("model.onnx.json").read_text("ascii"))
        assert beside["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
        assert beside["classes"] == ["neg", "pos"]
        assert beside["tokenizer"]["vocabulary"] == classifier.tokenizer_.vocabulary_
        assert list(beside["inputs"]) == [each.name for each in session.get_inputs()]
        assert list(beside["outputs"]) == [each.name for each in session.get_outputs()]

    def test_a_pipeline_brings_its_tokenizer(self, exported):
        pipeline = fitted_pipeline()
        session, beside = exported(pipeline)
        documents = pipeline[0].transform(ODD)
        found = session.run(None, feeds(documents))[0]
        np.testing.assert_allclose(found, pipeline.predict_proba(ODD), atol=1e-5)
        assert beside["tokenizer"]["vocabulary"] == pipeline[0].vocabulary_

    def test_a_model_of_word_ids_has_no_rules(self, exported):
        documents = HierarchicalTokenizer().fit_transform(TEXTS)
        classifier = tiny().fit(documents, LABELS)
        session, beside = exported(classifier)
        assert beside["tokenizer"] is None
        assert_equal_results(session, classifier, documents)


REFUSED = {
    "normalizer='sparsemax'": {"pooling": Attention(size=4, normalizer="sparsemax")},
    "normalizer='entmax15'": {"pooling": MultiHopAttention(size=4, normalizer="entmax15")},
    "ContextAttention": {"pooling": ContextAttention(size=4)},
    r"Attention\(per_label=True\)": {"pooling": Attention(size=4, per_label=True)},
    "pooling='max'": {"pooling": "max"},
    "pooling='last'": {"pooling": "last"},
    r"linear_ngrams=\(1, 17\)": {"linear_ngrams": (1, 17)},
}


class TestRefusals:
    @pytest.mark.parametrize(("name", "params"), first_fast(REFUSED.items(), 2), ids=REFUSED)
    def test_what_is_not_covered_is_refused_by_name(self, runtime, tmp_path, name, params):
        with pytest.raises(ValueError, match=f"{name}.*serving.Scorer covers all"):
            export_onnx(fitted_classifier(**params), tmp_path / "model.onnx")
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("name", ["sentence_splitter", "word_tokenizer"])
    def test_a_function_of_the_tokenizer_is_refused(self, runtime, tmp_path, name):
        pipeline = make_pipeline(HierarchicalTokenizer(**{name: str.split}), tiny())
        with pytest.raises(TypeError, match=f"{name} of the tokenizer is a function"):
            export_onnx(pipeline.fit(TEXTS, LABELS), tmp_path / "model.onnx")

    @pytest.mark.parametrize(
        "model", [HierarchicalTokenizer(), make_pipeline(HANClassifier()), None]
    )
    def test_what_is_no_classifier_is_refused(self, runtime, tmp_path, model):
        with pytest.raises(TypeError, match=f"got {type(model).__name__}"):
            export_onnx(model, tmp_path / "model.onnx")

    def test_a_classifier_without_a_fit_is_refused(self, runtime, tmp_path):
        with pytest.raises(NotFittedError):
            export_onnx(tiny(), tmp_path / "model.onnx")

    @pytest.mark.parametrize("package", ["onnx", "onnxruntime"])
    def test_a_missing_package_is_named(self, monkeypatch, tmp_path, package):
        others = {"onnx", "onnxruntime"} - {package}
        for name in others:
            monkeypatch.setitem(sys.modules, name, sys)
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(ModuleNotFoundError, match=rf'{package}: pip install "sk-han\[onnx\]"'):
            export_onnx(tiny(), tmp_path / "model.onnx")
