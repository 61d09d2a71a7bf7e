"""A model is served without PyTorch, scikit-learn and SciPy as the classifier predicts."""

import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

import sk_han
from sk_han import Attention, HierarchicalTokenizer, ModelFormatError, MultiHopAttention
from sk_han._storage.description import CLASSIFIER
from sk_han.serving import Scorer
from tests.crafted_files import WHOLE, archive_of, golden_parts
from tests.tiny_models import LABELS, TEXTS, UNSEEN, fitted_classifier, tiny, with_classes

ODD = [*UNSEEN, "\x00\u202e", "x" * 3000, "\ud800 bad", "Ünïcode.\n\n\n東京は晴れ。🙂"]
THREE = np.array(["a", "b", "c"] * 6)
TOKENIZERS = {
    "default": {},
    "web": {"tokens": "web"},
    "limits": {"max_words": 3, "max_sentences": 2},
    "english": {"stop_words": "english", "strip_accents": "unicode"},
    "own": {"stop_words": ["the", "a"], "strip_accents": "ascii", "token_pattern": r"\w+"},
    "given": {"vocabulary": ["good", "bad", "day"]},
}


# Tiny networks have a small share of the scores, of which attention warns.
pytestmark = pytest.mark.filterwarnings("ignore:method='attention' shows the network alone")

each_engine = pytest.mark.usefixtures("engine")


@pytest.fixture
def served(tmp_path):
    def serve(estimator):
        sk_han.save(estimator, tmp_path / "model.han")
        return Scorer.load(tmp_path / "model.han")

    return serve


@pytest.fixture(scope="module")
def two():
    return tiny(max_epochs=3, lr=0.05).fit(TEXTS, LABELS)


@pytest.fixture(scope="module")
def three():
    return tiny(max_epochs=3, lr=0.05).fit(TEXTS, THREE)


@pytest.fixture(scope="module", params=TOKENIZERS.values(), ids=TOKENIZERS)
def pipeline(request):
    return make_pipeline(HierarchicalTokenizer(**request.param), tiny()).fit(TEXTS, LABELS)


@each_engine
class TestPredictions:
    @pytest.mark.parametrize("fitted", ["two", "three"])
    def test_probabilities_and_labels_match_the_classifier(self, served, request, fitted):
        classifier = request.getfixturevalue(fitted)
        scorer = served(classifier)
        assert repr(scorer) == f"Scorer({len(scorer.classes_)} classes)"
        np.testing.assert_array_equal(scorer.classes_, classifier.classes_)
        expected = classifier.predict_proba(ODD)
        np.testing.assert_allclose(scorer.predict_proba(ODD), expected, atol=1e-6)
        np.testing.assert_array_equal(scorer.predict(ODD), classifier.predict(ODD))
        for scored in ("predict_log_proba", "decision_function"):
            found, expected = (getattr(each, scored)(ODD) for each in (scorer, classifier))
            np.testing.assert_allclose(found, expected, atol=1e-5)

    def test_texts_are_read_as_by_the_tokenizer(self, served, pipeline):
        expected = pipeline.predict_proba(ODD)
        np.testing.assert_allclose(served(pipeline).predict_proba(ODD), expected, atol=1e-6)

    def test_a_giant_document_is_scored_up_to_rounding(self, served, two):
        giants = ["word " * 5000, "A good day. " * 3000]
        found = served(two).predict_proba(giants)
        # PyTorch adds in single precision, one term after the other.
        np.testing.assert_allclose(found, two.predict_proba(giants), atol=1e-5)

    def test_a_scorer_uses_the_latent_model(self, served):
        unlabelled = [
            f"{text} It was {'bad' if i % 3 else 'good'}." for i, text in enumerate(TEXTS)
        ]
        classifier = tiny().fit(TEXTS, LABELS, X_unlabelled=unlabelled)
        assert classifier.latent_scale_ > 0
        expected = classifier.predict_proba(ODD)
        np.testing.assert_allclose(served(classifier).predict_proba(ODD), expected, atol=1e-6)

    def test_word_ids_are_scored_by_a_model_of_word_ids(self, served):
        documents = HierarchicalTokenizer().fit_transform(TEXTS)
        classifier = tiny().fit(documents, LABELS)
        found = served(classifier).predict_proba(documents)
        np.testing.assert_allclose(found, classifier.predict_proba(documents), atol=1e-6)

    def test_state_needed_only_for_training_is_dropped(self, served, two):
        assert two.ngram_model_.counts is not None
        assert served(two).model_.part("ngrams").counts is None


NUMBERS = ["word_spans", "sentence_spans", "word_attention", "sentence_attention"]
NUMBERS += ["contributions", "sentence_contributions", "ngram_contributions", "probabilities"]


@each_engine
class TestExplanations:
    @pytest.mark.parametrize("method", ["shapley", "gradient_attention", "attention"])
    def test_explanations_match_the_classifier(self, served, three, method):
        expected = three.explain(ODD[:8], method=method, target="b")
        found = served(three).explain(ODD[:8], method=method, target="b")
        for ours, theirs in zip(found, expected, strict=True):
            assert ours.words == theirs.words
            for name in ("text", "target", "predicted"):
                assert getattr(ours, name) == getattr(theirs, name)
            for name in NUMBERS:
                np.testing.assert_allclose(
                    getattr(ours, name), getattr(theirs, name), atol=1e-5, err_msg=name
                )
        assert found[0].to_html().startswith("<!DOCTYPE html>")

    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ({"method": "occlusion"}, "method must be one of"),
            ({"target": "neutral"}, "the classes are"),
            ({"target": ["pos"]}, "1 label for 8 documents"),
        ],
    )
    def test_wrong_parameters_are_named(self, served, two, params, message):
        with pytest.raises(ValueError, match=message):
            served(two).explain(UNSEEN, **params)


class TestRefused:
    def test_a_damaged_file_and_a_tokenizer_are_no_model(self, served, tmp_path):
        with pytest.raises(ModelFormatError, match="holds no classifier"):
            served(HierarchicalTokenizer().fit(TEXTS))
        (tmp_path / "model.han").write_bytes(WHOLE.replace(b"good", b"food"))
        with pytest.raises(ModelFormatError, match=r"model\.han cannot be loaded: it is damaged"):
            Scorer.load(tmp_path / "model.han")

    def test_tokenizer_parameters_missing_in_older_files_get_defaults(self, served, two, tmp_path):
        expected, path = served(two).predict_proba(ODD), tmp_path / "model.han"
        description, arrays = golden_parts(path.read_bytes())
        description["model"]["fitted"]["tokenizer"]["params"] = {}
        path.write_bytes(archive_of(description, arrays))
        np.testing.assert_array_equal(Scorer.load(path).predict_proba(ODD), expected)

    @pytest.mark.parametrize("reads", [sk_han.load, Scorer.load])
    def test_wrong_parameters_are_refused_even_if_unused(self, reads, tmp_path):
        description, arrays = golden_parts()
        path, model = tmp_path / "model.han", description["model"]
        requests = {name: {"requests": {"dict": [[name, -5]]}} for name in ("fit", "score")}
        params = {name: {"params": model["params"] | {name: -5}} for name in CLASSIFIER}
        for name, changed in (params | requests).items():  # none allows a negative number
            path.write_bytes(archive_of(description | {"model": model | changed}, arrays))
            with pytest.raises(ModelFormatError, match=rf"\b{name}\b"):
                reads(path)

    def test_another_network_is_named_and_loads(self, served, tmp_path):
        classifier = fitted_classifier(pooling=MultiHopAttention(size=4))
        with pytest.raises(ModelFormatError, match=r"MultiHopAttention\(.*: sk_han\.load reads it"):
            served(classifier)
        loaded = sk_han.load(tmp_path / "model.han")
        np.testing.assert_array_equal(loaded.predict(ODD), classifier.predict(ODD))


WITHOUT = """
import pickle
import sys
for name in ("torch", "skorch", "sklearn", "scipy", "joblib", "threadpoolctl", "pandas"):
    sys.modules[name] = None  # an import of it fails
from sk_han.serving import Scorer
scorer = pickle.loads(pickle.dumps(Scorer.load(sys.argv[1])))
texts = ["A good day. The sun shone.", "", "Bad!"] * 500
found = scorer.predict_proba(texts)
assert "sk_han.inspection._explanations" not in sys.modules  # predictions do without
scorer.explain(texts[:3])[0].to_html()
scorer.explain(texts[:3], method="attention")
scorer.summarize(texts[:9]).to_html()
print(",".join(f"{value:.6f}" for value in found[:3, 1]))
"""


@pytest.mark.parametrize("numba", [True, False], ids=["with Numba", "NumPy alone"])
def test_a_scorer_needs_neither_pytorch_nor_scikit_learn_nor_scipy(tmp_path, numba):
    model = make_pipeline(
        HierarchicalTokenizer(stop_words="english"), tiny(pooling=Attention(size=4))
    ).fit(TEXTS, LABELS)
    sk_han.save(model, tmp_path / "model.han")
    script = WITHOUT if numba else 'import sys; sys.modules["numba"] = None\n' + WITHOUT
    command = [sys.executable, "-W", "ignore:method=", "-c", script, str(tmp_path / "model.han")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert not done.stderr
    expected = model.predict_proba(["A good day. The sun shone.", "", "Bad!"])[:, 1]
    found = [float(value) for value in done.stdout.split(",")]
    np.testing.assert_allclose(found, expected, atol=2e-6)


def test_a_summary_matches_that_of_the_classifier(served, two):
    found = served(two).summarize(TEXTS, k=3, max_documents=9)
    expected = sk_han.summarize(two, TEXTS, k=3, max_documents=9)
    for of_class, same in zip(found.classes, expected.classes, strict=True):
        values = {(t.part, t.text): t for t in of_class.terms}
        assert values.keys() == {(t.part, t.text) for t in same.terms}
        for term in same.terms:
            other = values[term.part, term.text]
            assert other.contribution == pytest.approx(term.contribution, abs=1e-5)
            assert other.contexts == term.contexts
            assert other.decides == term.decides
    assert found.removal.fall == pytest.approx(expected.removal.fall, abs=1e-5)


# Decisions and probabilities as a table, for one partition of many.


@pytest.fixture
def scorer(served, two):
    return served(two)


@pytest.fixture
def of_labels(served):
    """Give a scorer of several labels, one of them with the name of a column."""
    indicator = pd.DataFrame({"prediction": LABELS == "pos", "a b": [len(t) > 14 for t in TEXTS]})
    return served(tiny(max_epochs=3, lr=0.05, threshold=[0.5, 0.3]).fit(TEXTS, indicator))


def test_predict_frame_agrees_with_predict_and_predict_proba(scorer):
    found = scorer.predict_frame(UNSEEN)
    assert list(found.columns) == ["prediction", "probability_neg", "probability_pos"]
    assert found["prediction"].tolist() == scorer.predict(UNSEEN).tolist()
    np.testing.assert_array_equal(found.iloc[:, 1:], scorer.predict_proba(UNSEEN))


def test_letters_in_other_forms_are_read_as_by_the_classifier(scorer, two):
    plain = [*TEXTS, *UNSEEN]
    forms = [
        "\u200b".join(re.split(r"(?<=[a-z])(?=[a-z]{3})", text)).replace("oo", "ｏｏ")
        for text in plain
    ]
    assert forms != plain
    for model in (scorer, two):
        assert model.predict_proba(forms).tolist() == model.predict_proba(plain).tolist()


def test_the_index_of_pandas_is_kept(scorer):
    index = pd.Index(["b", "a", "b", *range(5)], name="id")  # "b" comes twice
    for texts in (pd.Series(UNSEEN, index=index), pd.DataFrame({"text": UNSEEN}, index=index)):
        found = scorer.predict_frame(texts)
        pd.testing.assert_index_equal(found.index, index)
        assert found["prediction"].tolist() == scorer.predict(UNSEEN).tolist()


def test_a_threshold_marks_the_documents_that_are_accepted(scorer):
    confidence = scorer.predict_proba(UNSEEN).max(axis=1)
    threshold = float(np.median(confidence))
    found = scorer.predict_frame(pd.Series(UNSEEN, index=range(8, 0, -1)), threshold=threshold)
    assert list(found.columns)[:3] == ["prediction", "accepted", "probability_neg"]
    assert found["accepted"].tolist() == (confidence >= threshold).tolist()
    assert found["accepted"].nunique() == 2
    assert not scorer.predict_frame(UNSEEN, threshold=np.inf)["accepted"].any()
    blank = scorer.predict_frame(["Good.", " ", "", "\u2192\t"], threshold=0.0)  # an arrow
    assert blank["accepted"].tolist() == [True, False, False, False]
    none = scorer.predict_frame([], threshold=threshold)
    assert none.dtypes.tolist() == found.dtypes.tolist()


@pytest.mark.parametrize("threshold", [83, -0.1, np.nan, "0.83", True])
def test_a_threshold_that_is_no_probability_is_refused(scorer, threshold):
    with pytest.raises(ValueError, match="threshold must be a probability"):
        scorer.predict_frame(UNSEEN, threshold=threshold)


def test_predict_frame_refuses_what_predict_refuses(scorer, of_labels):
    with pytest.raises(TypeError, match=r"Document 1 is missing.*fillna\(''\)"):
        scorer.predict_frame(pd.Series(["Good.", None], dtype=object))
    with pytest.raises(ValueError, match=r"Put a single document into a list: \[text\]"):
        scorer.predict_frame("A good day.")
    with pytest.raises(ValueError, match="compare each probability with a threshold of its own"):
        of_labels.predict_frame(UNSEEN, threshold=0.5)


def test_each_of_several_labels_has_a_decision_and_a_probability(of_labels):
    found = of_labels.predict_frame(UNSEEN)
    names = ["prediction", "a b"]
    decisions, probabilities = (
        [f"{what}_{name}" for name in names] for what in ("prediction", "probability")
    )
    assert list(found.columns) == decisions + probabilities
    np.testing.assert_array_equal(found[decisions], of_labels.predict(UNSEEN))
    assert found[decisions].to_numpy().dtype == np.int64
    np.testing.assert_array_equal(found[probabilities], of_labels.predict_proba(UNSEEN))


@pytest.mark.parametrize(
    ("classes", "dtype"),
    [
        (["prediction", "probability_prediction"], pd.Series(["text"]).dtype),
        (["", "neg\ud800"], object),
        ([3, 10], np.int64),
        ([-0.5, 2.0], np.float64),
        ([False, True], bool),
    ],
    ids=str,
)
def test_classes_keep_their_type_and_name_the_columns(served, two, classes, dtype):
    scorer = served(with_classes(two, np.array(classes)))
    found = scorer.predict_frame(UNSEEN)
    names = ["prediction", *(f"probability_{label}" for label in classes)]
    assert list(found.columns) == names
    assert found["prediction"].dtype == dtype
    assert found["prediction"].tolist() == scorer.predict(UNSEEN).tolist()
    assert set(found.dtypes.iloc[1:]) == {np.dtype(np.float64)}


@pytest.mark.parametrize("model", ["scorer", "of_labels"])
@pytest.mark.parametrize("texts", [[], pd.Series([], dtype=float)])
def test_an_empty_partition_has_the_same_columns_and_dtypes(request, model, texts):
    scorer = request.getfixturevalue(model)
    found, expected = scorer.predict_frame(texts), scorer.predict_frame(UNSEEN)
    assert len(found) == 0
    pd.testing.assert_series_equal(found.dtypes, expected.dtypes)
