"""Files of sentence vectors: what was learnt is in them, and an encoder that was given is not."""

import numpy as np
import pytest
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from sk_han import (
    HierarchicalTokenizer,
    ModelFormatError,
    SentenceEmbedder,
    explain,
    load,
    save,
)
from sk_han.serving import Scorer
from tests.encoders_of_sentences import HashEncoder, OtherEncoder
from tests.tiny_models import LABELS, TEXTS, tiny

NEW = ["A new day. It was good!", "Rain, and a zebra."]
LEARNT, GIVEN = None, HashEncoder(size=3)
each_encoder = pytest.mark.parametrize("encoder", [LEARNT, GIVEN], ids=["fitted", "given"])


def fitted(encoder, **params):
    return make_pipeline(SentenceEmbedder(encoder, random_state=0, **params), tiny()).fit(
        TEXTS, LABELS
    )


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.han"


@each_encoder
def test_a_pipeline_comes_back_from_a_file(encoder, path):
    tokenizer = HierarchicalTokenizer(lowercase=False, min_df=1)
    pipeline = fitted(encoder, tokenizer=tokenizer, batch_size=5)
    save(pipeline, path)
    loaded = load(path, encoder=encoder)
    for name in ("encoder_name_", "dimension_"):
        assert getattr(loaded[0], name) == getattr(pipeline[0], name)
    save(pipeline[0], path)
    alone = load(path, encoder=encoder).transform(NEW).vectors
    np.testing.assert_array_equal(alone, pipeline[0].transform(NEW).vectors)
    np.testing.assert_array_equal(loaded.predict_proba(NEW), pipeline.predict_proba(NEW))
    assert explain(loaded, NEW)[0].words == explain(pipeline, NEW)[0].words
    params = loaded[0].get_params()
    assert (params["encoder"], params["batch_size"]) == (encoder, 5)
    assert not params["tokenizer__lowercase"]
    again = loaded.fit(TEXTS, LABELS).predict_proba(NEW)
    np.testing.assert_array_equal(again, pipeline.predict_proba(NEW))


@pytest.mark.parametrize(
    ("encoder", "at_load", "message"),
    [
        (GIVEN, None, r"of 3 numbers by the encoder HashEncoder, .*load\(path, encoder=...\)"),
        (GIVEN, HashEncoder(size=4), "HashEncoder of 3 numbers, and encoder= is HashEncoder of 4"),
        (GIVEN, OtherEncoder(size=3), "of 3 numbers, and encoder= is OtherEncoder of 3"),
        (GIVEN, "all-MiniLM-L6-v2", "encoder must be an object with encode"),
        (LEARNT, GIVEN, "was fitted, and takes no encoder"),
    ],
)
def test_another_encoder_is_refused(encoder, at_load, message, path):
    save(fitted(encoder), path)
    with pytest.raises(ModelFormatError, match=message):
        load(path, encoder=at_load)
    save(tiny().fit(TEXTS, LABELS), path)
    with pytest.raises(ModelFormatError, match="holds no SentenceEmbedder, and takes no encoder"):
        load(path, encoder=GIVEN)


@pytest.mark.parametrize(
    ("embedder", "message"),
    [
        (
            SentenceEmbedder(make_pipeline(TfidfVectorizer(), TruncatedSVD(2))),
            "Pipeline was fitted to sentences.*joblib.dump",
        ),
        (SentenceEmbedder(random_state=np.random.RandomState(0)), r"set_params\(random_state=0\)"),
        (SentenceEmbedder(GIVEN, memory="cache"), r"set_params\(memory=None\)"),
    ],
)
def test_what_is_no_data_is_refused_with_the_repair(embedder, message, path, monkeypatch):
    monkeypatch.chdir(path.parent)
    with pytest.raises(TypeError, match=message):
        save(embedder.fit(TEXTS), path)
    assert not path.exists()


def test_an_encoder_that_was_set_after_the_fit_is_not_saved(path):
    with pytest.raises(ValueError, match="takes no encoder"):
        save(SentenceEmbedder().fit(TEXTS).set_params(encoder=GIVEN), path)
    for other in (HashEncoder(size=3), None):
        with pytest.raises(ValueError, match=r"than its HashEncoder .* after the fit\. Fit"):
            save(SentenceEmbedder(GIVEN).fit(TEXTS).set_params(encoder=other), path)
    assert not path.exists()


@each_encoder
def test_a_scorer_refuses_it_by_name(encoder, path):
    save(fitted(encoder), path)
    with pytest.raises(ModelFormatError, match="reads sentence vectors, which a Scorer does not"):
        Scorer.load(path)
