"""HANClassifier over the vectors of sentences."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import sk_han
from sk_han import HANClassifier, MultiHopAttention, SentenceArray, SentenceEmbedder
from sk_han.sentence_vectors import SentenceNetwork
from tests.encoders_of_sentences import HashEncoder, OtherEncoder
from tests.tiny_models import with_model

WORDS = {"neg": ["bad", "dull", "poor"], "pos": ["good", "fine", "great"]}
NOUNS = ["film", "lamp", "tent", "book", "song"]


def opinions(n_documents, seed):
    """Texts of two sentences that say their class, and one to four others among them."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(list(WORDS), size=n_documents)
    texts = []
    for label in labels:
        told = [f"The {rng.choice(NOUNS)} is {rng.choice(WORDS[label])}." for _ in range(2)]
        others = [f"We saw a {rng.choice(NOUNS)}." for _ in range(rng.integers(1, 5))]
        texts.append(" ".join(rng.permutation(told + others)))
    return texts, labels


TEXTS, LABELS = opinions(120, 0)
UNSEEN, UNSEEN_LABELS = opinions(60, 1)
QUICK: dict[str, Any] = {
    "embedding_dim": 4,
    "word_hidden": 2,
    "sentence_hidden": 6,
    "pooling": sk_han.Attention(size=5),
    "max_epochs": 3,
    "batch_size": 32,
    "random_state": 0,
}


def quick(**params):
    return HANClassifier(**(QUICK | params))


@pytest.fixture(scope="module")
def embedder():
    return SentenceEmbedder(HashEncoder(size=64)).fit(TEXTS)


@pytest.fixture(name="X", scope="module")
def documents(embedder):
    return embedder.transform(TEXTS)


@pytest.fixture(scope="module")
def fitted(X):
    return quick().fit(X, LABELS)


def order_alone(n_documents, seed):
    """Documents of the same sentences, whose class is which of two comes first."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n_documents)
    signs = np.array([[1.0, -1.0], [-1.0, 1.0]])[y]
    vectors = [np.stack([s * np.array([1, 1, 0, 0]) for s in each]) for each in signs]
    noise = [0.05 * rng.normal(size=(2, 4)) for _ in y]
    return SentenceArray.from_vectors([a + b for a, b in zip(vectors, noise, strict=True)]), y


def test_a_pipeline_learns_from_texts(embedder):
    pipeline = make_pipeline(SentenceEmbedder(embedder.encoder), quick())
    pipeline.fit(TEXTS, LABELS)
    assert pipeline.score(UNSEEN, UNSEEN_LABELS) > 0.75
    assert isinstance(pipeline[-1].net_.module_, SentenceNetwork)
    assert pipeline[-1].ngram_model_ is not None
    written, known = (
        sk_han.explain(pipeline, X)[0].words for X in (TEXTS[:1], embedder.transform(TEXTS[:1]))
    )
    assert [word.lower() for word in written] == list(known)


def test_a_network_of_the_words_is_a_part_of_its_own(X, fitted):
    parts, scales = fitted.pool_.parts, fitted.pool_.scales
    assert list(parts) == ["network", "words", "ngrams"]
    together = sum(scales[name] * parts[name].logits(X) for name in parts)
    assert np.allclose(fitted.pool_.logits(X), together, atol=1e-9)
    for name in ("words", "ngrams"):
        assert np.array_equal(parts[name].logits(X), parts[name].logits(X.words()))
    assert not np.allclose(parts["words"].logits(X), parts["network"].logits(X), atol=1e-3)
    assert list(fitted.fit_summary_.shares) == ["network", "network of words", "n-gram model"]


@pytest.mark.parametrize("goes_on", ["partial_fit", "warm_start"])
def test_the_network_of_words_learns_on(X, goes_on):
    classifier = quick(warm_start=True, lr=1e-9).fit(X, LABELS)
    before = classifier.pool_.parts["words"].net.weights
    classifier.partial_fit(X, LABELS) if goes_on == "partial_fit" else classifier.fit(X, LABELS)
    after = classifier.pool_.parts["words"].net.weights
    assert classifier.pool_.parts["words"].net is not classifier.net_
    assert all(np.allclose(after[name], before[name], atol=1e-4) for name in before)
    assert any(np.any(after[name] != before[name]) for name in before)


@pytest.mark.parametrize("texts", [["zzzz qqqq", "xxxx"], ["", "xxxx"]])
def test_a_portion_of_unknown_words_leaves_the_model_its_parts(X, embedder, texts):
    classifier = quick().fit(X, LABELS)
    before = classifier.pool_
    classifier.partial_fit(embedder.transform(texts), LABELS[:2])
    assert list(classifier.pool_.parts) == list(before.parts)
    assert classifier.pool_.scales == before.scales
    assert classifier.pool_.parts["words"] is before.parts["words"]


def test_rare_labels_rely_on_linear_models_more_than_on_both_networks(X):
    Y = np.stack([LABELS == "neg", np.arange(len(X)) % 20 == 0], axis=1).astype(int)
    scales = quick(linear_chars=None).fit(X, Y).pool_.scales
    assert scales["network"][1] < scales["network"][0]
    assert scales["words"][1] < scales["words"][0]
    assert scales["ngrams"][1] > scales["ngrams"][0]
    alone = quick(linear_ngrams=None).fit(X, Y).pool_.scales
    assert np.ptp(alone["words"]) == 0


@pytest.mark.parametrize("before", [False, True])
def test_no_network_begins_once_the_time_is_over(X, before):
    classifier = quick(warm_start=True)
    if before:
        classifier.fit(X, LABELS)
    earlier = classifier.pool_.parts["words"] if before else None
    classifier.set_params(callbacks=[sk_han.StopAfter(1e-9)], max_epochs=50).fit(X, LABELS)
    assert classifier.pool_.parts.get("words") is earlier
    assert classifier.fit_summary_.ended == "the time"
    assert not classifier.net_.module_.recurrent


def test_the_network_begins_as_a_logistic_regression_on_mean_sentences(X):
    classifier = quick(lr=1e-9, linear_ngrams=None, max_epochs=1).fit(X, LABELS)
    assert classifier.score(X, LABELS) > 0.85


@pytest.mark.thorough
def test_the_logistic_regression_has_the_weights_of_labels(X):
    Y = np.column_stack([LABELS == "neg", np.arange(120) % 6 == 0]).astype(int)
    heavy = [{}, {1: 5.0}]  # as if 100 of 200 documents had it
    start = {"max_epochs": 1, "lr": 1e-9, "linear_ngrams": None, "validation_fraction": None}
    alone = SentenceArray.from_vectors(X[i : i + 1].sentence_vectors() for i in range(120))
    plain, weighted = (
        quick(**start, class_weight=weights).fit(alone, Y).predict_proba(alone)
        for weights in (None, heavy)
    )
    assert plain[:, 1].mean() < 0.3
    assert 0.4 < weighted[:, 1].mean() < 0.6
    np.testing.assert_allclose(weighted[:, 0], plain[:, 0], atol=0.05)


def test_held_out_documents_decide_whether_order_is_read():
    (X, y), (unseen, of_unseen) = order_alone(300, 0), order_alone(100, 1)
    classifier = HANClassifier(linear_ngrams=None, lr=0.05, max_epochs=8, random_state=0)
    assert classifier.fit(X, y).net_.module_.recurrent
    assert classifier.score(unseen, of_unseen) > 0.95
    blind = clone(classifier).set_params(validation_fraction=None).fit(X, y)
    assert not blind.net_.module_.recurrent
    assert blind.score(unseen, of_unseen) < 0.7


def test_a_document_is_scored_alone_as_among_others(X, fitted, embedder):
    whole = fitted.predict_proba(X)
    order = np.random.default_rng(0).permutation(len(X))
    assert np.allclose(fitted.predict_proba(X[order]), whole[order], atol=1e-6)
    beside_none = fitted.predict_proba(embedder.transform(["", TEXTS[0]]))
    assert np.allclose(beside_none.sum(axis=1), 1)
    assert np.allclose(beside_none[1], whole[0], atol=1e-6)


@pytest.mark.parametrize(
    ("pooling", "rnn"),
    [("mean", "lstm"), ("last", "gru"), (MultiHopAttention(size=3, hops=2), "lstm")],
)
def test_a_model_without_words_and_known_encoder_is_saved(tmp_path, pooling, rnn):
    X, y = order_alone(60, 0)
    classifier = quick(pooling=pooling, rnn=rnn, linear_ngrams=None, max_epochs=1).fit(X, y)
    assert list(classifier.pool_.parts) == ["network"]
    sk_han.save(classifier, tmp_path / "model.han")
    loaded = sk_han.load(tmp_path / "model.han")
    assert np.array_equal(loaded.predict_proba(X), classifier.predict_proba(X))
    assert loaded.encoder_ is None


def test_models_that_come_back_know_their_encoder(X, fitted, tmp_path):
    unknown = SentenceArray.from_vectors(X.sentence_vectors()[:, np.newaxis][: len(LABELS)])
    portions = quick().partial_fit(X, LABELS, classes=["neg", "pos"]).partial_fit(unknown, LABELS)
    sk_han.save(fitted, tmp_path / "model.han")
    same = [sk_han.load(tmp_path / "model.han"), pickle.loads(pickle.dumps(fitted))]
    same += [quick().fit(X, LABELS)]
    for model in same:
        assert np.array_equal(model.predict_proba(X), fitted.predict_proba(X))
        assert model.vocabulary_size_ == fitted.vocabulary_size_
    other = SentenceEmbedder(OtherEncoder(size=64)).fit(TEXTS).transform(UNSEEN)
    for model in (*same, portions):
        assert model.encoder_ == "HashEncoder"
        with pytest.raises(ValueError, match="64 numbers from OtherEncoder"):
            model.predict(other)


USES = {
    "predict": lambda fitted, wrong, X: fitted.predict(wrong),
    "explain": lambda fitted, wrong, X: fitted.explain(wrong),
    "transform": lambda fitted, wrong, X: fitted.transform(wrong),
    "warm start": lambda fitted, wrong, X: (
        copy.copy(fitted).set_params(warm_start=True).fit(wrong, LABELS)
    ),
    "validation": lambda fitted, wrong, X: quick().fit(X, LABELS, X_val=wrong, y_val=LABELS),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_what_is_not_of_the_encoder_is_refused_wherever_vectors_go_in(X, fitted, use):
    for encoder, message in (
        (OtherEncoder(size=64), "64 numbers from OtherEncoder"),
        (HashEncoder(size=5), "5 numbers from HashEncoder"),
    ):
        wrong = SentenceEmbedder(encoder).fit(TEXTS).transform(TEXTS)
        with pytest.raises(ValueError, match=message):
            use(fitted, wrong, X)
    for wrong in (X.words(), TEXTS):
        with pytest.raises(TypeError, match=r"sentence vectors|X_val is a"):
            use(fitted, wrong, X)


def test_many_classes_of_few_documents_and_a_single_one_are_learnt(X):
    labels = np.arange(44) % 22
    assert quick(validation_fraction=0.5).fit(X[:44], labels).classes_.tolist() == [*range(22)]
    with pytest.warns(UserWarning, match="single class"):
        classifier = quick().fit(X[:20], ["a"] * 20)
    assert set(classifier.predict(X)) == {"a"}


def test_classes_that_the_first_portion_lacks_are_learnt_later(X):
    three = np.r_[LABELS[:60], np.full(60, "third")]
    classes = np.unique(three)
    classifier = quick(linear_ngrams=None, lr=0.1).partial_fit(X[:60], three[:60], classes=classes)
    assert "third" not in classifier.predict(X[60:])
    for _ in range(5):
        classifier.partial_fit(X[60:], three[60:])
    assert "third" in classifier.predict(X[60:])


@pytest.mark.parametrize("method", ["shapley", "gradient_attention"])
def test_words_share_alike_what_a_vector_brings(X, fitted, method):
    explanation = fitted.explain(X[1:2], method=method)[0]
    assert np.allclose(np.bincount(explanation.sentence_of_word, explanation.word_attention), 1)
    of_vectors = with_model(copy.copy(fitted), pool=fitted.pool_.without({"words"}))
    shares = [
        shares_of_words(model.explain(X[1:2], method=method)[0]) for model in (of_vectors, fitted)
    ]
    assert shares[0] < 1e-6
    assert shares[1] > 1e-4


def shares_of_words(explanation):
    """How much what networks bring to words differs within a sentence, at most."""
    network = explanation.contributions - explanation.ngram_contributions
    sentence = explanation.sentence_of_word
    means = np.bincount(sentence, network) / np.bincount(sentence)
    return np.abs(network - means[sentence]).max()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"encoder": 3}, "encoder must be a string"),
        ({"vocabulary_size": 1}, "vocabulary_size"),
    ],
)
def test_a_damaged_state_is_refused(fitted, change, message):
    state = fitted.to_state()
    with pytest.raises(sk_han.ModelFormatError, match=message):
        HANClassifier().from_state(state | change)
    wrong = state["parts"] | {"words": state["parts"]["network"]}
    with pytest.raises(sk_han.ModelFormatError, match="words is not a network over words"):
        HANClassifier().from_state(state | {"parts": wrong})


@pytest.mark.parametrize("goes_on", ["partial_fit", "warm_start"])
def test_a_classifier_of_words_goes_on_with_the_words(X, goes_on):
    words = X.words()
    found = []
    for given in (words, X):
        classifier = quick(warm_start=True).fit(words, LABELS)
        getattr(classifier, "fit" if goes_on == "warm_start" else goes_on)(given, LABELS)
        found.append(classifier.predict_proba(words))
    np.testing.assert_array_equal(*found)
