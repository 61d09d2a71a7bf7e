"""Files of models with a sentence encoder, which no file holds, and the doors that read them."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from sk_han import (
    HANClassifier,
    HierarchicalTokenizer,
    ModelFormatError,
    SentenceEmbedder,
    explain,
    load,
    save,
)
from sk_han.serving import Scorer
from tests.encoders_of_sentences import (
    NAMED,
    HashEncoder,
    OtherEncoder,
    SessionEncoder,
    directions,
)
from tests.opinions import LABELS, TEXTS, UNSEEN, quick
from tests.tiny_models import TEXTS as OTHER_TEXTS
from tests.tiny_models import fitted_classifier

KINDS = {
    "classifier": lambda encoder: quick(encoder=encoder),
    "pipeline": lambda encoder: make_pipeline(SentenceEmbedder(encoder), quick()),
    "several labels": lambda encoder: quick(encoder=encoder),
}
DOORS = {"load": load, "Scorer": Scorer.load}
each_kind = pytest.mark.parametrize("kind", KINDS)
each_door = pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)


@pytest.fixture(scope="module")
def models():
    several = np.stack([LABELS == "neg", [len(text) % 2 for text in TEXTS]], axis=1).astype(int)
    y = {kind: several if kind == "several labels" else LABELS for kind in KINDS}
    return {kind: make(HashEncoder(size=5)).fit(TEXTS, y[kind]) for kind, make in KINDS.items()}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.han"


@each_kind
@each_door
def test_a_loaded_model_predicts_and_explains_as_before(models, kind, door, path):
    save(models[kind], path)
    found, expected = door(path, encoder=HashEncoder(size=5)), models[kind]
    for name in ("predict_proba", "decision_function"):
        ours, theirs = (getattr(model, name)(UNSEEN) for model in (found, expected))
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6)
    of_scorer = found.explain if door == Scorer.load else lambda texts: explain(found, texts)
    for one, other in zip(of_scorer(UNSEEN[:3]), explain(expected, UNSEEN[:3]), strict=True):
        assert one.words == other.words
        np.testing.assert_allclose(one.contributions, other.contributions, atol=1e-5)


@each_kind
@each_door
@pytest.mark.parametrize(
    ("encoder", "message"),
    [
        (None, r"vectors of 5 numbers that the encoder HashEncoder of tests makes.*--encoder"),
        (HashEncoder(), "of 12 numbers, and the fit had HashEncoder of tests with 5.*in size"),
        (OtherEncoder(size=5), "is OtherEncoder of .* had HashEncoder of .* differ by up to 1"),
        ("all-MiniLM-L6-v2", "encoder='all-MiniLM-L6-v2' makes no encoder"),
    ],
    ids=["none", "size", "other", "name"],
)
def test_another_encoder_is_refused(models, kind, door, encoder, message, path):
    save(models[kind], path)
    with pytest.raises(ModelFormatError, match=message):
        door(path, encoder=encoder)


class Turned(HashEncoder):
    """The vectors of HashEncoder, each changed by a share of its length."""

    def __init__(self, share):
        super().__init__(size=5)
        self.share = share

    def encode(self, sentences):
        vectors = super().encode(sentences)
        vectors[:, 0] += self.share * np.linalg.norm(vectors, axis=1)
        return vectors


@each_door
def test_vectors_that_differ_by_a_thousandth_are_refused(models, door, path):
    save(models["classifier"], path)
    found = door(path, encoder=Turned(5e-4)).predict_proba(UNSEEN)
    np.testing.assert_allclose(found, models["classifier"].predict_proba(UNSEEN), atol=0.02)
    with pytest.raises(ModelFormatError, match=r"differ by up to 0\.2 %"):
        door(path, encoder=Turned(2e-3))


@each_door
def test_models_without_an_encoder_ignore_a_given_one(models, door, path):
    save(fitted_classifier(), path)
    encoder = HashEncoder()
    assert np.isfinite(door(path, encoder=encoder).predict_proba(OTHER_TEXTS)).all()
    assert getattr(door(path, encoder=encoder), "encoder", None) is None
    pipeline = models["pipeline"]
    save(pipeline[-1], path)  # which reads documents
    documents = pipeline[0].transform(UNSEEN)
    found = door(path, encoder=encoder).predict_proba(documents)
    np.testing.assert_allclose(found, pipeline.predict_proba(UNSEEN), rtol=0, atol=1e-6)
    assert encoder.calls == []


def test_an_embedder_and_its_tokenizer_are_restored(path):
    tokenizer = HierarchicalTokenizer(lowercase=False, min_df=2)
    embedder = SentenceEmbedder(HashEncoder(), tokenizer=tokenizer, memory=path.parent).fit(TEXTS)
    save(embedder, path)
    loaded = load(path, encoder=NAMED)
    np.testing.assert_array_equal(
        loaded.transform(UNSEEN).vectors, embedder.transform(UNSEEN).vectors
    )
    params = loaded.get_params()
    assert (params["encoder"], params["memory"], params["tokenizer__min_df"]) == (NAMED, None, 2)
    with pytest.raises(ModelFormatError, match="holds no classifier"):
        Scorer.load(path, encoder=NAMED)


def test_a_loaded_model_refits_without_its_encoder_memory(models, path):
    model = quick(encoder=HashEncoder(size=5), encoder_memory=path.parent).fit(TEXTS, LABELS)
    save(model, path)
    loaded = load(path, encoder=HashEncoder(size=5))
    assert loaded.encoder_memory is None
    expected = model.predict_proba(UNSEEN)
    np.testing.assert_array_equal(loaded.fit(TEXTS, LABELS).predict_proba(UNSEEN), expected)


@pytest.mark.parametrize("given", [SessionEncoder(), "tests.encoders_of_sentences:SessionEncoder"])
def test_unpicklable_encoders_are_saved_and_served_like_others(given, path):
    model = quick(encoder=given).fit(TEXTS, LABELS)
    save(model, path)
    found = Scorer.load(path, encoder=given)
    for scorer in (found, pickle.loads(pickle.dumps(found))):
        np.testing.assert_allclose(
            scorer.predict_proba(UNSEEN), model.predict_proba(UNSEEN), rtol=0, atol=1e-6
        )


@pytest.mark.parametrize("kind", ["classifier", "pipeline", "embedder"])
def test_a_fitted_transformer_is_not_saved(kind, path):
    for svd in (directions(), "tests.encoders_of_sentences:directions"):
        model = SentenceEmbedder(svd) if kind == "embedder" else KINDS[kind](svd)
        with pytest.raises(TypeError, match=r"encoder Pipeline is fitted.*joblib\.dump"):
            save(model.fit(TEXTS, LABELS), path)
    assert not path.exists()


def test_a_memory_that_is_set_after_loading_is_used(models, path, tmp_path):
    save(models["classifier"], path)
    encoder = HashEncoder(size=5)
    loaded = load(path, encoder=encoder).set_params(encoder_memory=tmp_path)
    for _ in range(2):
        loaded.predict(UNSEEN)
    assert len(encoder.calls) == 2  # the probes, and the sentences once


def test_an_encoder_set_after_the_fit_is_not_saved(path):
    for other in (OtherEncoder(size=5), None):
        embedder = SentenceEmbedder(HashEncoder(size=5)).fit(TEXTS).set_params(encoder=other)
        with pytest.raises(ValueError, match=r"is OtherEncoder|not complete"):
            save(embedder, path)
    assert not path.exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"encoder": 3}, "its encoder is not a mapping"),
        ({"fitted_encoder": 3}, "fitted_encoder must be a fitted transformer"),
        ({"vocabulary_size": 1}, "vocabulary_size"),
    ],
)
def test_a_crafted_state_is_refused(models, change, message):
    state = models["classifier"].to_state()
    with pytest.raises(ModelFormatError, match=message):
        HANClassifier().from_state(state | change)


@pytest.mark.filterwarnings("ignore:The labels hold a single class")
def test_a_model_of_one_class_keeps_its_encoder(path):
    model = quick(encoder=HashEncoder(size=5), warm_start=True).fit(TEXTS, ["one"] * len(TEXTS))
    assert model.vector_model_ is None
    save(model, path)
    found = load(path, encoder=HashEncoder(size=5))
    np.testing.assert_array_equal(
        found.predict(UNSEEN), model.fit(TEXTS, ["one"] * 120).predict(UNSEEN)
    )


@pytest.mark.parametrize("name", ["probes", "center", "weights", "intercept"])
def test_crafted_vectors_are_refused(models, name):
    for change in (lambda a: a[1:], lambda a: a.astype(np.float16), lambda a: a * np.inf):
        state = models["classifier"].to_state()
        vectors = state["parts"]["vectors"]
        holder = state["encoder"] if name == "probes" else vectors["learnt"]
        holder[name] = change(holder[name])
        with pytest.raises(ModelFormatError, match=f"{name}|weights has the shape"):
            HANClassifier().from_state(state)


WITHOUT = """
import sys
for name in ("torch", "skorch", "sklearn", "scipy", "joblib", "threadpoolctl", "pandas"):
    sys.modules[name] = None  # an import of it fails
from sk_han.serving import Scorer
scorer = Scorer.load(sys.argv[1], encoder=sys.argv[2])
scorer.explain(["The film is good. We saw a lamp."])[0].to_html()
print(",".join(f"{value:.8f}" for value in scorer.predict_proba(sys.argv[3:])[:, 1]))
"""


@pytest.mark.parametrize("kind", ["classifier", "pipeline"])
def test_a_scorer_needs_neither_pytorch_nor_scikit_learn_nor_scipy(kind, path):
    model = KINDS[kind](NAMED).fit(TEXTS, LABELS)
    save(model, path)
    command = [sys.executable, "-c", WITHOUT, str(path), NAMED, *UNSEEN[:3], ""]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert not done.stderr
    found = [float(value) for value in done.stdout.split(",")]
    expected = model.predict_proba([*UNSEEN[:3], ""])[:, 1]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "value"), [("tokenizer", HierarchicalTokenizer()), ("identity", 3), ("identity", {})]
)
def test_a_crafted_state_of_an_embedder_is_refused(name, value):
    state = SentenceEmbedder(NAMED).fit(TEXTS).to_state()
    with pytest.raises(ValueError, match=name):
        SentenceEmbedder(NAMED).from_state({**state, name: value})
