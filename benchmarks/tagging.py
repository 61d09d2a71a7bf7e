"""How well and how fast SequenceTagger labels tokens, beside python-crfsuite, on CoNLL-2000.

``python benchmarks/tagging.py chunks`` finds phrases of words with given parts of speech: F1 by the
rules of the task's ``conlleval``. ``python benchmarks/tagging.py parts`` finds parts of speech of
words alone: accuracy of tokens. Both train on all training sentences and print the time of training
and of prediction, in turns, on one thread. ``--select`` scores on every eighth training sentence,
which is left out, where parameters were chosen; further arguments are parameters, such as
``--select dropout=0.4``.

``python benchmarks/tagging.py speed`` trains on batches of the same sentences in turns: a
``torch.nn.LSTM`` over packed sequences as it is usually written, with the same sizes and the same
inputs, and the network of SequenceTagger, each without and ours with the chain of labels.

Word vectors are GloVe's (50 numbers, 50,000 words). python-crfsuite has the features of CRFsuite's
own example for this task, and those of its tutorial for words alone; both with the parameters of
that tutorial. ``pip install "sk-han[benchmarks]"`` brings it.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import mean, median
from time import perf_counter
from typing import Any

import numpy as np
import torch
from corpora import conll2000, data_folder
from results import add_save, publish
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from sk_han import SequenceTagger
from sk_han.embeddings import load_embeddings
from sk_han.nn.optimizers import RowwiseAdamW, clip_gradient_norm
from sk_han.tagging import TaggingNetwork
from sk_han.tagging.attributes import learn_attributes, token_kinds, word_shape
from sk_han.tagging.fit import encoded_sentences
from sk_han.training.computing import computing, torch_threads

Sentence = list[tuple[str, ...]]
PARAMS: dict[str, dict[str, Any]] = {"chunks": {"scheme": "iob2"}, "parts": {}}
# Of the tutorial of python-crfsuite.
CRFSUITE = {"c1": 1.0, "c2": 1e-3, "max_iterations": 50, "feature.possible_transitions": True}
BATCH_SIZE, ROUND = 32, 10


def chunks(labels: list[str]) -> set[tuple[int, int, str]]:
    """Give the chunks of a sentence as conlleval reads them: an ``I-`` may begin one."""
    found, start, kind = set(), 0, None
    for at, label in enumerate([*labels, "O"]):
        tag, _, name = label.partition("-")
        if kind is not None and (tag != "I" or name != kind):
            found.add((start, at, kind))
            kind = None
        if tag != "O" and kind is None:
            start, kind = at, name
    return found


def chunk_f1(y: list[list[str]], found: list[list[str]]) -> float:
    true, guessed = (
        [{(i, *chunk) for chunk in chunks(labels)} for i, labels in enumerate(each)]
        for each in (y, found)
    )
    right = sum(len(a & b) for a, b in zip(true, guessed, strict=True))
    return 2 * right / (sum(map(len, true)) + sum(map(len, guessed)))


def token_accuracy(y: list[list[str]], found: list[list[str]]) -> float:
    pairs = [(a, b) for r, s in zip(y, found, strict=True) for a, b in zip(r, s, strict=True)]
    return mean(a == b for a, b in pairs)


def chunk_features(sentence: Sentence) -> Iterator[list[str]]:
    """Give the features of CRFsuite's chunking.py: words and tags around, pairs and triples."""
    words, tags = ([token[i] for token in sentence] for i in (0, 1))
    spans = [(words, "w", r) for r in ([-2], [-1], [0], [1], [2], [-1, 0], [0, 1])]
    near = [[-2], [-1], [0], [1], [2], [-2, -1], [-1, 0], [0, 1], [1, 2]]
    spans += [(tags, "t", r) for r in [*near, [-2, -1, 0], [-1, 0, 1], [0, 1, 2]]]
    for at in range(len(sentence)):
        features = ["bias", *(["first"] if at == 0 else []), *(["last"] * (at + 1 == len(words)))]
        for values, name, places in spans:
            if at + places[0] >= 0 and at + places[-1] < len(values):
                text = "|".join(values[at + place] for place in places)
                features.append(f"{name}{places}={text}")
        yield features


def word_features(sentence: Sentence) -> Iterator[list[str]]:
    """Give a word's letters and shape, and the same of its neighbours in short."""
    words = [token[0] for token in sentence]
    for at, word in enumerate(words):
        lower = word.lower()
        features = ["bias", f"w={lower}", f"shape={word_shape(word)}"]
        features += [f"p{n}={lower[:n]}" for n in (1, 2, 3, 4)]
        features += [f"s{n}={lower[-n:]}" for n in (1, 2, 3, 4)]
        for place in (-2, -1, 1, 2):
            near = words[at + place] if 0 <= at + place < len(words) else ""
            features += [f"w{place}={near.lower()}", f"s{place}={near[-3:].lower()}"]
            features += [f"shape{place}={word_shape(near)}"]
        yield features


def crfsuite(task: str, X: list[Sentence], y: list[list[str]], unseen: list[Sentence]) -> Any:
    import pycrfsuite

    features = chunk_features if task == "chunks" else word_features
    start = perf_counter()
    trainer = pycrfsuite.Trainer(verbose=False, params=CRFSUITE)
    for sentence, labels in zip(X, y, strict=True):
        trainer.append(list(features(sentence)), labels)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model")
        trainer.train(path)
        trained = perf_counter()
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        found = [tagger.tag(list(features(sentence))) for sentence in unseen]
        tagger.close()
    return found, trained - start, perf_counter() - trained


def ours(
    X: list[Sentence], y: list[list[str]], unseen: list[Sentence], params: dict[str, Any]
) -> Any:
    start = perf_counter()
    glove = load_embeddings(data_folder() / "glove" / "glove.6B.50d.top50k.txt.gz")
    tagger = SequenceTagger(embedding_init=glove, n_threads=1, **params).fit(X, y)
    trained = perf_counter()
    found = tagger.predict(unseen)
    return found, trained - start, perf_counter() - trained


def quality(task: str, n_seeds: int, select: bool, params: dict[str, Any], store: bool) -> None:
    training = conll2000("train")
    unseen = training[::8] if select else conll2000("test")
    training = [s for i, s in enumerate(training) if i % 8] if select else training
    n_columns, column = (2, 2) if task == "chunks" else (1, 1)
    X, unseen_X = ([[t[:n_columns] for t in s] for s in each] for each in (training, unseen))
    y, unseen_y = ([[t[column] for t in s] for s in each] for each in (training, unseen))
    measure = chunk_f1 if task == "chunks" else token_accuracy
    name = "chunk F1" if task == "chunks" else "token accuracy"
    print(f"{name}, {len(X):,} training sentences, {len(unseen_X):,} others\n")
    times, rows = [], []
    for seed in range(n_seeds):
        runs = {
            f"SequenceTagger, seed {seed}": lambda s=seed: ours(
                X, y, unseen_X, PARAMS[task] | {"random_state": s} | params
            )
        }
        if not select:
            runs["python-crfsuite"] = lambda: crfsuite(task, X, y, unseen_X)
        seconds = []
        for who, run in runs.items():
            found, fit, predict = run()
            score = 100 * measure(unseen_y, found)
            row = {"": who, name: round(score, 2), "training s": round(fit, 1)}
            rows.append(row | {"prediction s": round(predict, 1)})
            print(*rows[-1].values(), flush=True)
            seconds.append(fit)
        times.append(seconds)
    publish(f"tagging_{task}", rows, store)
    if not select:
        print(f"\ntraining against python-crfsuite: {median(a / b for a, b in times):.2f} times")


class PackedLSTM(torch.nn.Module):
    """The usual tagger: padded batches, packed for a bidirectional LSTM."""

    def __init__(self, sizes: list[int], n_classes: int, like: TaggingNetwork) -> None:
        super().__init__()
        options = like.options
        self.words = torch.nn.Embedding(sizes[0], options.embedding_dim)
        self.others = torch.nn.ModuleList(
            torch.nn.Embedding(size, options.attribute_dim) for size in sizes[1:]
        )
        n_inputs = options.embedding_dim + options.attribute_dim * (len(sizes) - 1)
        self.lstm = torch.nn.LSTM(
            n_inputs, options.hidden_size, bidirectional=True, batch_first=True
        )
        self.dropout = torch.nn.Dropout(options.dropout)
        self.output = torch.nn.Linear(2 * options.hidden_size, n_classes)

    def forward(self, values: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Score the labels of padded tokens."""
        vectors = [self.words(values[..., 0])]
        vectors += [table(values[..., i]) for i, table in enumerate(self.others, start=1)]
        inputs = self.dropout(torch.cat(vectors, dim=-1))
        packed = pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        return self.output(self.dropout(states))


def speed(n_rounds: int) -> None:
    training = conll2000("train")
    kinds = token_kinds([[t[:2] for t in s] for s in training])
    learnt = learn_attributes(kinds)
    sizes = [len(vocabulary) + 2 for vocabulary in learnt]
    sentences = encoded_sentences(kinds, learnt)
    classes, numbers = np.unique([t[2] for s in training for t in s], return_inverse=True)
    targets = np.split(numbers, np.cumsum(kinds.lengths)[:-1])

    def network_step(crf: bool, engine: str) -> Callable[[np.ndarray], float]:
        network = TaggingNetwork(
            sizes, len(classes), crf=crf, sparse=True, generator=torch.Generator().manual_seed(0)
        )
        optimizer = RowwiseAdamW(network.parameters(), lr=1e-3, fused=True)

        def train(rows: np.ndarray) -> float:
            batch = sentences[rows]
            words = torch.from_numpy(batch.kinds.word_ids.astype(np.int64))
            attributes, lengths = (
                torch.from_numpy(batch.attributes),
                torch.from_numpy(batch.lengths),
            )
            labels = torch.from_numpy(np.concatenate([targets[row] for row in rows]))
            with computing(engine, 1), torch_threads(1):
                start = perf_counter()
                optimizer.zero_grad()
                logits = network(words, attributes, lengths)
                (network.losses(logits, labels, lengths).sum() / len(labels)).backward()
                clip_gradient_norm(network.parameters(), 1.0)
                optimizer.step()
                return perf_counter() - start

        return train

    def packed_step() -> Callable[[np.ndarray], float]:
        like = TaggingNetwork(sizes, len(classes))
        network = PackedLSTM(sizes, len(classes), like)
        optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)

        def train(rows: np.ndarray) -> float:
            batch = [sentences[[row]] for row in rows]
            values = [torch.from_numpy(each.attributes[each.kinds.word_ids]) for each in batch]
            padded = pad_sequence(values, batch_first=True)  # outside of the clock: a gift
            labels = pad_sequence(
                [torch.from_numpy(targets[row]) for row in rows], batch_first=True, padding_value=-1
            )
            lengths = torch.tensor([len(each) for each in values])
            start = perf_counter()
            optimizer.zero_grad()
            logits = network(padded, lengths)
            torch.nn.functional.cross_entropy(
                logits.flatten(0, 1), labels.flatten(), ignore_index=-1
            ).backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            return perf_counter() - start

        return train

    contestants = {
        "packed nn.LSTM": packed_step(),
        "ours, Numba": network_step(False, "numba"),
        "ours, PyTorch": network_step(False, "torch"),
        "ours with the chain, Numba": network_step(True, "numba"),
    }
    rng = np.random.default_rng(0)
    rates: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(n_rounds + 1):
        batches = rng.permutation(len(training))[: BATCH_SIZE * ROUND].reshape(ROUND, BATCH_SIZE)
        n_tokens = int(kinds.lengths[batches].sum())
        for name, train in contestants.items():
            seconds = sum(train(rows) for rows in batches)
            if number:  # the first round warms up
                rates[name].append(n_tokens / seconds)
    print(f"training, one thread, batches of {BATCH_SIZE} sentences, median of {n_rounds} rounds\n")
    print("|  | tokens a second | against packed nn.LSTM |\n|---|---|---|")
    for name, each in rates.items():
        ratio = median(a / b for a, b in zip(each, rates["packed nn.LSTM"], strict=True))
        print(f"| {name} | {median(each):,.0f} | {ratio:.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=["chunks", "parts", "speed"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--select", action="store_true")
    parser.add_argument("params", nargs="*", help="parameters of SequenceTagger: name=value")
    add_save(parser)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.task == "speed":
        speed(arguments.rounds)
        return
    params = {}
    for pair in arguments.params:
        name, _, value = pair.partition("=")
        params[name] = value
        with contextlib.suppress(ValueError, SyntaxError):
            params[name] = ast.literal_eval(value)
    quality(arguments.task, arguments.seeds, arguments.select, params, arguments.save)


if __name__ == "__main__":
    main()
