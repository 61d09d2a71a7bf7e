"""HANClassifier with a sentence encoder: one more linear part, of one vector a document."""

from __future__ import annotations

import copy
import pickle
import re

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from sk_han import SentenceArray, SentenceEmbedder
from tests.encoders_of_sentences import (
    NAMED,
    DoubleEncoder,
    HashEncoder,
    OtherEncoder,
    SessionEncoder,
)
from tests.opinions import (
    LABELS,
    NEW_WORDS,
    TEXTS,
    UNSEEN,
    UNSEEN_LABELS,
    Thesaurus,
    opinions,
    quick,
)

PARTS = ["network", "ngrams", "vectors"]
N_PROBES = 8


def n_distinct(texts):
    return len({sentence for text in texts for sentence in re.findall(r"\w[^.]*\.", text)})


@pytest.fixture(scope="module")
def embedder(encoder):
    return SentenceEmbedder(encoder).fit(TEXTS)


@pytest.fixture(name="X", scope="module")
def documents(embedder):
    return embedder.transform(TEXTS)


def same(found, expected, atol=1e-6):
    np.testing.assert_allclose(
        found.predict_proba(UNSEEN), expected.predict_proba(UNSEEN), rtol=0, atol=atol
    )


# The part


def test_an_encoder_helps_with_words_unseen_in_training():
    texts, labels = opinions(60, 5, NEW_WORDS)
    assert quick(encoder=Thesaurus()).fit(TEXTS, LABELS).score(texts, labels) > 0.9
    assert quick().fit(TEXTS, LABELS).score(texts, labels) < 0.8


def test_sentence_vectors_are_a_linear_part_beside_the_words(fitted, X):
    parts, scales = fitted.pool_.parts, fitted.pool_.scales
    assert list(parts) == PARTS
    assert fitted.vector_model_ is parts["vectors"]
    assert fitted.vector_scale_ == scales["vectors"] > 0
    together = sum(scales[name] * parts[name].logits(X) for name in parts)
    np.testing.assert_allclose(fitted.pool_.logits(X), together, atol=1e-9)
    for name in ("network", "ngrams"):
        np.testing.assert_array_equal(parts[name].logits(X), parts[name].logits(X.words()))
    assert list(fitted.fit_summary_.shares) == ["network", "n-gram and sentence vector model"]
    assert fitted.encoder_ == "HashEncoder of tests"


@pytest.mark.parametrize("encoder", [NAMED, Thesaurus()], ids=["by name", "object"])
def test_a_pipeline_with_a_sentence_embedder_gives_the_same_model(encoder):
    pipeline = make_pipeline(SentenceEmbedder(encoder), quick()).fit(TEXTS, LABELS)
    same(pipeline, quick(encoder=encoder).fit(TEXTS, LABELS), atol=0)


def test_scores_of_a_document_do_not_depend_on_other_documents(fitted):
    whole, order = fitted.predict_proba(UNSEEN), np.random.default_rng(0).permutation(60)
    shuffled = [UNSEEN[i] for i in order] + [""]
    np.testing.assert_allclose(fitted.predict_proba(shuffled)[:-1], whole[order], atol=1e-6)
    np.testing.assert_allclose(fitted.predict_proba(UNSEEN[:1]), whole[:1], atol=1e-6)


def test_documents_without_sentences_get_the_intercept(fitted, embedder):
    found = fitted.vector_model_.logits(embedder.transform(["", *UNSEEN[:2]]))
    np.testing.assert_array_equal(found[0], fitted.vector_model_.intercept)
    assert np.isfinite(fitted.predict_proba(["", " "])).all()


@pytest.mark.parametrize("weight", [None, np.r_[np.full(60, 5.0), np.ones(60)]])
def test_the_mean_probability_of_sentence_vectors_is_the_class_share(X, encoder, weight):
    """The intercept has no penalty, so that at the lowest loss residuals sum to 0."""
    fitted = quick(encoder=encoder, validation_fraction=None)
    z = fitted.fit(TEXTS, LABELS, sample_weight=weight).vector_model_.logits(X)
    proba = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    expected = np.average(LABELS == "pos", weights=weight)
    assert np.average(proba[:, 1], weights=weight) == pytest.approx(expected, abs=1e-3)


def test_each_label_has_its_own_scale():
    Y = np.stack([LABELS == "neg", [len(text) % 2 for text in TEXTS]], axis=1).astype(int)
    fitted = quick(encoder=Thesaurus(), linear_ngrams=None).fit(TEXTS, Y)
    assert fitted.vector_scale_.shape == (2,)
    assert fitted.vector_model_.weights.shape == (3, 2)
    assert (fitted.predict(UNSEEN)[:, 0] == (UNSEEN_LABELS == "neg")).mean() > 0.9


def test_an_encoder_works_with_ordered_classes_priors_and_groups(encoder):
    ordered = quick(encoder=encoder, ordered=True).fit(TEXTS, np.arange(120) % 3)
    assert list(ordered.pool_.parts) == PARTS
    groups = np.arange(120) // 2
    grouped = quick(encoder=encoder).fit(TEXTS, LABELS, groups=groups)
    assert list(grouped.pool_.parts) == PARTS
    rare = quick(encoder=encoder, priors={"neg": 0.9, "pos": 0.1}).fit(TEXTS, LABELS)
    common = quick(encoder=encoder, priors={"neg": 0.1, "pos": 0.9}).fit(TEXTS, LABELS)
    assert (rare.predict_proba(UNSEEN)[:, 1] < common.predict_proba(UNSEEN)[:, 1]).all()


def test_without_ngrams_sentence_vectors_are_the_only_linear_part(encoder):
    fitted = quick(encoder=encoder, linear_ngrams=None).fit(TEXTS, LABELS)
    assert list(fitted.pool_.parts) == ["network", "vectors"]
    assert fitted.score(UNSEEN, UNSEEN_LABELS) > 0.9


def test_documents_of_vectors_without_words_are_classified():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    vectors = [rng.normal(scale=0.1, size=(n % 3 + 1, 4)) + [y[n], 0, 0, 1] for n in range(60)]
    X = SentenceArray.from_vectors(vectors)
    fitted = quick(linear_ngrams=None).fit(X, y)
    assert fitted.score(X, y) > 0.9
    assert fitted.encoder_ is None


# What is encoded


def test_each_labelled_sentence_is_encoded_once_and_no_unlabelled_one():
    encoder = HashEncoder()
    fitted = quick(encoder=encoder).fit(TEXTS, LABELS, X_unlabelled=["Not encoded. Never."] * 9)
    assert [len(call) for call in encoder.calls] == [N_PROBES, n_distinct(TEXTS)]
    fitted.predict_proba(UNSEEN)
    assert len(encoder.calls) == 3
    assert len(encoder.calls[-1]) == len(set(encoder.calls[-1])) == n_distinct(UNSEEN)
    quick(encoder=encoder).fit(TEXTS, LABELS, X_val=UNSEEN[:9], y_val=UNSEEN_LABELS[:9])
    assert [len(call) for call in encoder.calls[4:]] == [n_distinct(TEXTS), n_distinct(UNSEEN[:9])]


def test_the_text_column_is_encoded_and_other_columns_are_not():
    encoder = HashEncoder()
    frame = pd.DataFrame({"text": TEXTS, "price": np.arange(120.0)})
    fitted = quick(encoder=encoder, text_column="text").fit(frame, LABELS)
    assert list(fitted.pool_.parts) == [*PARTS, "columns"]
    assert [len(call) for call in encoder.calls] == [N_PROBES, n_distinct(TEXTS)]
    assert fitted.score(frame, LABELS) > 0.9


def test_documents_of_weight_0_fit_no_transformer_and_change_nothing():
    weight = np.r_[np.ones(60), np.zeros(60)]
    svd = make_pipeline(TfidfVectorizer(), TruncatedSVD(3, random_state=0))
    found = quick(encoder=svd).fit(TEXTS, LABELS, sample_weight=weight)
    same(found, quick(encoder=svd).fit(TEXTS[:60], LABELS[:60]))
    assert not hasattr(svd[0], "vocabulary_")


@pytest.mark.parametrize("kind", ["path", "str", "joblib"])
def test_memory_keeps_vectors_for_other_folds_and_estimators(tmp_path, kind):
    memory = {"path": tmp_path, "str": str(tmp_path), "joblib": joblib.Memory(tmp_path, verbose=0)}
    plain, first, second = HashEncoder(), HashEncoder(), HashEncoder()
    expected = cross_val_score(quick(encoder=plain), TEXTS, LABELS, cv=3)
    kept = quick(encoder=first, encoder_memory=memory[kind])
    np.testing.assert_array_equal(cross_val_score(kept, TEXTS, LABELS, cv=3), expected)
    sentences = [s for call in first.calls if len(call) != N_PROBES for s in call]
    assert len(sentences) == len(set(sentences)) == n_distinct(TEXTS)
    SentenceEmbedder(second, memory=memory[kind]).fit_transform(TEXTS)
    assert [len(call) for call in second.calls] == [N_PROBES]


def test_memory_distinguishes_encoders_and_reports_unwritable_folders(tmp_path):
    for encoder in (HashEncoder(), OtherEncoder(), HashEncoder(seed=1), DoubleEncoder()):
        kept = quick(encoder=encoder, encoder_memory=tmp_path).fit(TEXTS, LABELS)
        same(kept, quick(encoder=encoder).fit(TEXTS, LABELS), atol=0)
    svd = make_pipeline(TfidfVectorizer(token_pattern="[xyz]"), TruncatedSVD(2, random_state=0))
    for texts in (["x y. y", "y z"] * 60, ["z x. x", "x y"] * 60):  # probes have no such words
        kept = quick(encoder=svd, encoder_memory=tmp_path).fit(texts, LABELS)
        np.testing.assert_array_equal(
            kept.predict_proba(texts), quick(encoder=svd).fit(texts, LABELS).predict_proba(texts)
        )
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"encoder_memory='.*file' cannot keep sentence vectors"):
        quick(encoder=encoder, encoder_memory=tmp_path / "file").fit(TEXTS, LABELS)


@pytest.mark.thorough
@pytest.mark.parametrize("encoder", [NAMED, SessionEncoder()], ids=["by name", "object, used"])
def test_processes_of_a_search_share_the_encoder_memory(encoder, tmp_path):
    if not isinstance(encoder, str):
        encoder.encode(["used"])
    grid = {"word_dropout": [0.1, 0.2]}
    kept = quick(encoder=encoder, encoder_memory=tmp_path)
    search = GridSearchCV(kept, grid, cv=2, n_jobs=2, error_score="raise").fit(TEXTS, LABELS)
    assert search.score(UNSEEN, UNSEEN_LABELS) > 0.9
    another = HashEncoder() if isinstance(encoder, str) else SessionEncoder()
    kept.set_params(encoder=another).fit(TEXTS, LABELS)
    assert [len(call) for call in another.calls] == [N_PROBES]


# Copies


def test_a_clone_shares_the_encoder_unless_the_encoder_is_fitted(fitted, encoder):
    assert clone(fitted).encoder is encoder  # a copy would raise an error
    assert not hasattr(clone(fitted), "model_")
    assert clone(make_pipeline(quick(encoder=encoder)))[0].encoder is encoder
    learning = quick(encoder=TfidfVectorizer())
    assert clone(learning).encoder is not learning.encoder


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_recreate_an_encoder_that_cannot_be_copied(copied):
    fitted = quick(encoder=SessionEncoder()).fit(TEXTS, LABELS)
    found = copied(fitted)
    assert found.encoder == "tests.encoders_of_sentences:SessionEncoder"
    same(found, fitted, atol=0)
    pipeline = make_pipeline(SentenceEmbedder(SessionEncoder()), quick()).fit(TEXTS, LABELS)
    same(copied(pipeline), pipeline, atol=0)


def test_an_unpickled_model_asks_for_an_encoder_left_out():
    fitted = quick(encoder=SessionEncoder(size=5)).fit(TEXTS, LABELS)
    found = pickle.loads(pickle.dumps(fitted))
    with pytest.raises(ValueError, match=r"not complete.*vectors of 5 numbers.*SessionEncoder"):
        found.predict(TEXTS)
    same(found.set_params(encoder=SessionEncoder(size=5)), fitted, atol=0)
    with pytest.raises(TypeError, match=r"SessionEncoder that cannot be pickled.*'module:Name'"):
        pickle.dumps(quick(encoder=fitted.encoder))


def test_picklable_encoders_are_pickled_with_the_model():
    named = "tests.encoders_of_sentences:directions"
    for encoder in (HashEncoder(5), make_pipeline(TfidfVectorizer(), TruncatedSVD(3)), named):
        fitted = quick(encoder=encoder).fit(TEXTS, LABELS)
        same(pickle.loads(pickle.dumps(fitted)), fitted, atol=0)
        embedder = SentenceEmbedder(encoder).fit(TEXTS)
        found = pickle.loads(pickle.dumps(embedder)).transform(UNSEEN).sentence_vectors()
        np.testing.assert_array_equal(found, embedder.transform(UNSEEN).sentence_vectors())


# Other fits, and what is refused


def test_a_warm_start_keeps_the_encoder_of_the_first_fit(encoder):
    fitted = quick(encoder=encoder, warm_start=True).fit(TEXTS, LABELS)
    before = fitted.vector_model_
    assert list(fitted.fit(TEXTS[:100], LABELS[:100]).pool_.parts) == PARTS
    assert not np.array_equal(fitted.vector_model_.weights, before.weights)
    words = quick(warm_start=True).fit(TEXTS, LABELS).set_params(encoder=encoder)
    with pytest.raises(ValueError, match=r"encoder= was set after the first fit.*warm_start=False"):
        words.fit(TEXTS, LABELS)


def test_a_warm_start_on_words_ignores_sentence_vectors(X):
    found = []
    for more in (X.words(), X):
        fitted = quick(warm_start=True).fit(X.words(), LABELS)
        found.append(fitted.fit(more, LABELS).predict_proba(X.words()))
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("given", ["encoder", "vectors", "fitted before"])
def test_partial_fit_refuses_sentence_vectors(given, encoder, fitted, X):
    model, data = {
        "encoder": (quick(encoder=encoder), TEXTS),
        "vectors": (quick(), X),
        "fitted before": (copy.copy(fitted).set_params(encoder=None), TEXTS),
    }[given]
    with pytest.raises(ValueError, match="partial_fit does not learn from sentence vectors"):
        model.partial_fit(data, LABELS, classes=["neg", "pos"])


def test_an_encoder_refuses_tokenized_documents_and_names_the_alternatives(encoder, X):
    for documents in (X, X.words()):
        with pytest.raises(ValueError, match=r"encoder= reads raw texts.*leave encoder= out.*Emb"):
            quick(encoder=encoder).fit(documents, LABELS)
    fitted = quick(encoder=encoder, warm_start=True).fit(TEXTS, LABELS)
    with pytest.raises(TypeError, match=r"X_val is a DocumentArray.*reads sentence vectors"):
        fitted.fit(TEXTS, LABELS, X_val=X.words(), y_val=LABELS)


def test_an_encoder_other_than_the_fitted_one_is_refused(fitted):
    other = copy.copy(fitted).set_params(encoder=OtherEncoder(size=64))
    np.testing.assert_array_equal(other.transform(UNSEEN), fitted.transform(UNSEEN))  # of words
    for use in (other.predict, other.explain):
        with pytest.raises(
            ValueError, match=r"is OtherEncoder .* the fit had HashEncoder .* up to"
        ):
            use(UNSEEN)
    with pytest.raises(ValueError, match="differ in size"):
        other.set_params(encoder=HashEncoder(size=5)).predict(UNSEEN)
    same(other.set_params(encoder=HashEncoder(size=64)), fitted, atol=0)


USES = {
    "predict": lambda fitted, wrong, X: fitted.predict(wrong),
    "explain": lambda fitted, wrong, X: fitted.explain(wrong),
    "warm start": lambda fitted, wrong, X: fitted.set_params(warm_start=True).fit(wrong, LABELS),
    "validation": lambda fitted, wrong, X: quick().fit(X, LABELS, X_val=wrong, y_val=LABELS),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_vectors_of_another_encoder_are_refused_by_every_method(X, use):
    fitted = quick().fit(X, LABELS)
    for encoder, message in (
        (OtherEncoder(size=64), "OtherEncoder of .* with vectors of 64"),
        (HashEncoder(size=5), "HashEncoder of .* with vectors of 5"),
    ):
        wrong = SentenceEmbedder(encoder).fit(TEXTS).transform(TEXTS)
        with pytest.raises(ValueError, match=message):
            use(fitted, wrong, X)
    for wrong in (X.words(), TEXTS):
        with pytest.raises(TypeError, match=r"sentence vectors|X_val is a"):
            use(fitted, wrong, X)


@pytest.mark.parametrize("encoder", [7, HashEncoder, "usem3", "no.such:Name"], ids=str)
def test_objects_other_than_encoders_are_refused_before_reading(encoder):
    with pytest.raises((TypeError, ValueError), match=r"encoder must be an|makes no encoder"):
        quick(encoder=encoder).fit(TEXTS, LABELS)
