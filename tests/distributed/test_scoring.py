"""Documents in collections of Dask are scored as the model scores them."""

import pickle
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import sk_han
from sk_han import HierarchicalTokenizer
from sk_han.datasets import make_reviews
from sk_han.distributed import predict, predict_proba, scoring
from sk_han.serving import Scorer
from tests.tiny_models import LABELS, TEXTS, UNSEEN, fitted_classifier, fitted_pipeline, tiny

pytest.importorskip("distributed", reason="the extra dask is not installed")

import dask
import dask.bag as db
import dask.dataframe as dd
import pandas as pd

EXACT = {"rtol": 0, "atol": 1e-6}


@pytest.fixture(scope="module")
def classifier():
    return fitted_classifier()


@pytest.fixture(autouse=True)
def one_process():
    with dask.config.set(scheduler="threads"):
        yield


def series(texts=UNSEEN):
    return dd.from_pandas(pd.Series(texts, index=range(50, 50 + len(texts))), npartitions=3)


class TestBags:
    def test_a_part_that_is_an_iterator_is_read(self, classifier):
        bag = db.from_sequence([{"text": text} for text in UNSEEN], npartitions=2)
        found = predict_proba(classifier, bag.map(lambda record: record["text"])).compute()
        np.testing.assert_allclose(found, classifier.predict_proba(UNSEEN), **EXACT)

    def test_a_part_without_documents_has_no_rows(self, classifier):
        bag = db.from_sequence(UNSEEN, npartitions=4).filter(lambda text: "zebra" in text)
        found = predict_proba(classifier, bag).compute()
        np.testing.assert_allclose(found, classifier.predict_proba(UNSEEN[-1:]), **EXACT)
        assert predict(classifier, bag.filter(lambda text: False)).compute().shape == (0,)

    def test_rows_and_labels_are_those_of_the_model_of_a_known_shape_and_dtype(self, classifier):
        bag = db.from_sequence(UNSEEN, npartitions=3)
        probabilities, labels = predict_proba(classifier, bag), predict(classifier, bag)
        assert probabilities.shape[1] == 2
        assert np.isnan(probabilities.shape[0])
        assert probabilities.dtype == probabilities.compute().dtype == np.float64
        assert labels.ndim == 1
        assert labels.dtype == labels.compute().dtype
        expected = classifier.predict_proba(UNSEEN)
        np.testing.assert_allclose(probabilities.compute(), expected, **EXACT)
        np.testing.assert_array_equal(labels.compute(), classifier.predict(UNSEEN))


class TestSeries:
    def test_a_frame_has_a_column_for_each_class_and_the_index(self, classifier):
        documents = series()
        found = predict_proba(classifier, documents)
        assert found.divisions == documents.divisions
        computed = found.compute()
        assert list(found.columns) == list(computed.columns) == ["neg", "pos"]
        assert computed.index.tolist() == list(range(50, 50 + len(UNSEEN)))
        np.testing.assert_allclose(computed, classifier.predict_proba(UNSEEN), **EXACT)

    def test_labels_may_hold_what_utf8_cannot(self):
        model = SimpleNamespace(classes_=np.array(["neg", "pos\ud800"], dtype=object))
        labels = scoring._as_pandas(model.classes_, model, [0, 1])
        assert labels.tolist() == ["neg", "pos\ud800"]
        probabilities = scoring._as_pandas(np.eye(2), model, [0, 1])
        assert list(probabilities.columns) == ["neg", "pos\ud800"]

    @pytest.mark.filterwarnings("ignore:The inplace keyword")
    def test_labels_stay_beside_texts_of_files_that_dask_reads_together(self, classifier, tmp_path):
        texts = 20 * UNSEEN
        table = pd.DataFrame({"text": texts, "stars": 1.0, "id": range(len(texts))})
        dd.from_pandas(table, npartitions=10).to_parquet(tmp_path / "table")
        read = dd.read_parquet(tmp_path / "table")
        assert read["text"].optimize().npartitions < read.npartitions
        read["label"] = predict(classifier, read["text"])
        assert read.compute()["label"].tolist() == classifier.predict(texts).tolist()

    def test_an_index_is_no_column_of_text(self, classifier):
        with pytest.raises(TypeError, match=r"got an Index.*pass the column that holds the text"):
            predict_proba(classifier, series().index)

    def test_numbers_as_labels_keep_their_type(self):
        classifier = tiny().fit(TEXTS, np.where(LABELS == "pos", 5, 1))
        found = predict(classifier, series())
        assert found.dtype == found.compute().dtype == np.int64
        assert found.compute().tolist() == classifier.predict(UNSEEN).tolist()


class TestSeveralLabels:
    @pytest.fixture
    def of_topics(self):
        topics = pd.DataFrame({"good": LABELS == "pos", "long": [len(t) > 14 for t in TEXTS]})
        return tiny(max_epochs=3, lr=0.05, threshold=[0.5, 0.3]).fit(TEXTS, topics)

    def test_rows_of_a_bag_are_indicators(self, of_topics):
        bag = db.from_sequence(UNSEEN, npartitions=3)
        found = predict(of_topics, bag)
        assert found.shape[1] == 2
        assert found.dtype == found.compute().dtype == np.int64
        np.testing.assert_array_equal(found.compute(), of_topics.predict(UNSEEN))
        nothing = predict(of_topics, bag.filter(lambda text: False)).compute()
        assert nothing.shape == (0, 2)

    def test_a_frame_has_a_column_for_each_label(self, of_topics):
        for method in ("predict", "predict_proba"):
            found = getattr(scoring, method)(of_topics, series())
            computed = found.compute()
            assert list(found.columns) == list(computed.columns) == ["good", "long"]
            assert list(found.dtypes) == list(computed.dtypes)
            assert computed.index.tolist() == list(range(50, 50 + len(UNSEEN)))
            np.testing.assert_allclose(computed, getattr(of_topics, method)(UNSEEN), **EXACT)


class TestDelayedParts:
    def test_rows_are_those_of_the_model_in_order(self, classifier):
        parts = [dask.delayed(UNSEEN[:3]), dask.delayed(np.array(UNSEEN[3:], dtype=object))]
        found = predict_proba(classifier, parts).compute()
        np.testing.assert_allclose(found, classifier.predict_proba(UNSEEN), **EXACT)

    def test_nothing_is_read_before_it_is_asked_for(self, classifier):
        read = []

        @dask.delayed
        def part():
            read.append(True)
            return UNSEEN

        found = predict(classifier, [part()])
        assert not read
        assert len(found.compute()) == len(UNSEEN)
        assert read

    @pytest.mark.parametrize(
        ("part", "error", "why"),
        [
            (None, TypeError, "got None of type NoneType"),
            (5, TypeError, "got 5 of type int"),
            (np.array("text"), ValueError, r"got an ndarray of shape \(\)"),
            ("text", ValueError, "string object received"),
        ],
        ids=lambda value: type(value).__name__,
    )
    def test_a_part_of_no_documents_is_told_with_its_number(self, classifier, part, error, why):
        parts = [dask.delayed(UNSEEN), dask.delayed(part)]
        with pytest.raises(error, match=f"Partition 1: .*{why}"):
            predict_proba(classifier, parts).compute()

    def test_a_single_part_belongs_into_a_list(self, classifier):
        with pytest.raises(TypeError, match=r"got a Delayed\w*\..* Put a single part into a list"):
            predict_proba(classifier, dask.delayed(UNSEEN))


class TestModels:
    @pytest.fixture
    def bag(self):
        return db.from_sequence(UNSEEN, npartitions=2)

    def test_a_file_and_a_scorer_are_models(self, classifier, bag, tmp_path):
        sk_han.save(classifier, tmp_path / "model.han")
        expected = classifier.predict_proba(UNSEEN)
        for model in (
            tmp_path / "model.han",
            str(tmp_path / "model.han"),
            Scorer.load(tmp_path / "model.han"),
        ):
            np.testing.assert_allclose(predict_proba(model, bag).compute(), expected, **EXACT)

    def test_a_pipeline_is_a_model(self, bag):
        pipeline = fitted_pipeline()
        found = predict_proba(pipeline, bag).compute()
        np.testing.assert_allclose(found, pipeline.predict_proba(UNSEEN), **EXACT)

    def test_what_no_file_holds_is_sent_as_it_is(self, bag):
        tokenizer = HierarchicalTokenizer(word_tokenizer=str.split)
        pipeline = make_pipeline(tokenizer, tiny()).fit(TEXTS, LABELS)
        with pytest.warns(UserWarning, match="predict with the Pipeline itself.*word_tokenizer"):
            found = predict_proba(pipeline, bag)
        np.testing.assert_allclose(found.compute(), pipeline.predict_proba(UNSEEN), **EXACT)

    def test_one_that_is_not_fitted_is_refused_at_once(self, classifier, bag):
        with pytest.raises(NotFittedError, match="not fitted"):
            predict_proba(clone(classifier), bag)

    def test_what_does_not_predict_is_refused_at_once(self, bag, tmp_path):
        (tmp_path / "model.han").write_bytes(b"no model")
        with pytest.raises(sk_han.ModelFormatError):
            predict_proba(tmp_path / "model.han", bag)
        for model in (HierarchicalTokenizer().fit(TEXTS), None):
            with pytest.raises(TypeError, match=f"got an? {type(model).__name__}"):
                predict(model, bag)


class TestDocuments:
    @pytest.mark.parametrize(
        ("documents", "repair"),
        [
            (UNSEEN, "got a list.*dask.bag.from_sequence"),
            ([], "got a list"),
            ("A text.", "got a str"),
            (series().to_frame("text"), r"got a DataFrame.*table\['text'\]"),
        ],
        ids=["texts", "nothing", "text", "table"],
    )
    def test_what_is_no_collection_of_texts_is_refused_at_once(self, classifier, documents, repair):
        with pytest.raises(TypeError, match=repair):
            predict_proba(classifier, documents)

    @pytest.mark.parametrize("missing", [None, 7])
    def test_one_that_is_no_text_is_named_by_partition_and_row(self, classifier, missing):
        bag = db.from_sequence([*UNSEEN[:5], missing], npartitions=2)
        with pytest.raises(TypeError, match=r"^Partition 1: Document 2 is"):
            predict_proba(classifier, bag).compute()

    def test_so_it_is_in_a_series(self, classifier):
        texts = series([*UNSEEN[:5], None, *UNSEEN[6:]])
        with pytest.raises(TypeError, match=r"^Partition 1: Document 2 is missing"):
            predict_proba(classifier, texts).compute()

    def test_bytes_that_are_no_text_are_named_by_partition_and_row(self, classifier):
        bag = db.from_sequence([b"Good.", b"\xff"], npartitions=2)
        with pytest.raises(ValueError, match=r"^Partition 1: .*document 0"):
            predict_proba(classifier, bag).compute()


def test_the_model_is_computed_with_as_it_was_when_given(classifier):
    bag = db.from_sequence(UNSEEN, npartitions=2)
    own = pickle.loads(pickle.dumps(classifier))
    found, expected = predict_proba(own, bag), own.predict_proba(UNSEEN)
    own.fit(*make_reviews(20, random_state=0))
    np.testing.assert_allclose(found.compute(), expected, **EXACT)


def test_no_file_is_left_behind(classifier, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    predict_proba(classifier, db.from_sequence(UNSEEN, npartitions=2)).compute()
    assert list(Path(tmp_path).iterdir()) == []


@pytest.mark.thorough
def test_without_a_client_it_scores_and_leaves_dask_as_it_is(tmp_path):
    sk_han.save(fitted_classifier(), tmp_path / "model.han")
    code = (
        "import sys, dask.bag\n"
        "from sk_han.distributed import predict\n"
        "bag = dask.bag.from_sequence(['A good text.', 'A bad one.'], npartitions=2)\n"
        "for _ in range(2):\n"
        "    print(len(predict(sys.argv[1], bag).compute(scheduler='sync')))\n"
        "import dask, distributed\n"
        "dask.config.get('distributed.comm.timeouts.connect')\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "model.han"], capture_output=True, text=True
    )
    assert run.stdout.split() == ["2", "2"], run.stderr
    assert run.returncode == 0, run.stderr
