"""What the default number of epochs is worth, compared with another commit.

``python benchmarks/epochs.py`` fits HANClassifier with its defaults to documents of eight corpora,
``CORPUS:NUMBER`` each (``all`` takes those that are not scored), and scores up to 2,000 others, all
drawn from the training parts by the seed. ``reviews:1200`` are generated reviews, of which 1,000
others are scored. For example, seeds 0 to 9 of these, and then the corpora:

    python benchmarks/epochs.py reviews:1200 --seeds 0 1 2 3 4 5 6 7 8 9 --runs new.jsonl
    python benchmarks/epochs.py --runs new.jsonl --against old.jsonl

``--runs`` keeps the single runs in a file, and does not repeat those that it has. ``--against`` is
such a file of another commit, to which the script may be copied: it prints paired differences.
``--unlabelled 2000`` adds that many other texts without labels, ``--encoder wordllama`` a sentence
encoder, as in ``encoders.py``.
"""

from __future__ import annotations

import argparse
import json
import warnings
from functools import cache
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from corpora import airline, imdb, newsgroups, nsmc
from encoders import named_encoder
from numpy.typing import NDArray
from results import add_save, publish
from several_labels import read
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MultiLabelBinarizer

from sk_han import HANClassifier
from sk_han.datasets import make_reviews

CELLS = [
    *("imdb:1000", "imdb:2000", "airline:2000", "20news:1000", "20news:all"),
    *("nsmc:2000", "goemotions:5000", "reuters:all"),
]
N_TEST = 2_000
SMALLEST_TOPIC = 20  # stories of Reuters that have this topic alone
MEASURES = ("accuracy", "log_loss", "fit")


@cache
def corpus(name: str) -> tuple[list[str], NDArray[Any]]:
    """Give the training documents of a corpus."""
    if name in ("goemotions", "reuters"):
        texts, names = read(f"{name}/train.csv.gz")
        if name == "goemotions":
            return texts, MultiLabelBinarizer().fit_transform(names).astype(bool)
        topics = np.array([each[0] if len(each) == 1 else "" for each in names])
        found, places, counts = np.unique(topics, return_inverse=True, return_counts=True)
        rows = np.flatnonzero((found != "")[places] & (counts >= SMALLEST_TOPIC)[places])
        return [texts[row] for row in rows], topics[rows]
    if name == "airline":
        return airline()
    return {"20news": newsgroups, "imdb": imdb, "nsmc": nsmc}[name]("train")


def split_of(cell: str, seed: int) -> tuple[Any, Any, Any]:
    """Give documents with labels to fit to, those to score, and texts without labels."""
    name, _, size = cell.partition(":")
    if name == "reviews":
        texts, labels = make_reviews(int(size) + 1_000, random_state=100 + seed)
        n = int(size)
        return (texts[:n], labels[:n]), (texts[n:], labels[n:]), []
    texts, labels = corpus(name)
    n_test = min(N_TEST, len(texts) // 5)
    rows, test = train_test_split(
        np.arange(len(texts)),
        test_size=n_test,
        stratify=labels if labels.ndim == 1 else None,
        random_state=seed,
    )
    rest = rows[:0]
    if size != "all":
        strata = labels[rows] if labels.ndim == 1 else None
        rows, rest = train_test_split(
            rows, train_size=int(size), stratify=strata, random_state=seed
        )
    pairs = [([texts[i] for i in part], labels[part]) for part in (rows, test)]
    return *pairs, [texts[i] for i in rest]


def run(cell: str, seed: int, n_unlabelled: int, encoder: str) -> dict[str, Any]:
    """Fit once, and score."""
    (texts, labels), (unseen, of_unseen), others = split_of(cell, seed)
    more = {"X_unlabelled": others[:n_unlabelled]} if n_unlabelled else {}
    model = HANClassifier(encoder=named_encoder(encoder) if encoder else None, random_state=seed)
    start = process_time()
    model.fit(texts, labels, **more)
    seconds = process_time() - start
    p = np.clip(model.predict_proba(unseen), 1e-15, 1)
    if labels.ndim == 1:
        losses = -np.log(p[np.arange(len(p)), np.searchsorted(model.classes_, of_unseen)])
    else:
        losses = -np.log(np.where(of_unseen, p, np.clip(1 - p, 1e-15, 1))).sum(axis=1)
    return {
        "accuracy": float(model.score(unseen, of_unseen)),
        "log_loss": float(losses.mean()),
        "fit": seconds,
        "n_epochs": model.fit_summary_.n_epochs,
        "ended": model.fit_summary_.ended,
    }


def runs_in(path: Path) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Read the single runs of a file."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return {tuple(key): found for key, found in map(json.loads, lines)}


def compare(keys: list[tuple[Any, ...]], known: Any, others: Any) -> None:
    """Print mean differences to other runs with their standard errors, and the ratio of times."""
    print("\nmean difference of accuracy, %, and of log loss; times the CPU seconds of the fits")
    both = [key for key in keys if key in others]
    for cell in [*dict.fromkeys(key[0] for key in both), None]:
        pairs = [(known[key], others[key]) for key in both if cell in (None, key[0])]
        table = np.array([[[run[name] for name in MEASURES] for run in pair] for pair in pairs])
        gains = (table[:, 0] - table[:, 1]) * [100, 1, 1]
        mean, error = gains.mean(axis=0), gains.std(axis=0, ddof=min(len(pairs) - 1, 1))
        error /= len(pairs) ** 0.5
        ratio = np.divide(*table[:, :, 2].sum(axis=0))
        print(
            f"{cell or 'all':16} {mean[0]:+.2f} +- {error[0]:.2f}  {mean[1]:+.4f} +- {error[1]:.4f}"
            f"  {ratio:.2f}  ({len(pairs)} pairs)"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cells", nargs="*", default=CELLS, help="CORPUS:NUMBER or CORPUS:all")
    parser.add_argument("--seeds", type=int, nargs="*", default=[*range(10, 15)])
    parser.add_argument("--unlabelled", type=int, default=0, help="number of texts without labels")
    parser.add_argument("--encoder", default="", help="use, minilm, wordllama or random")
    parser.add_argument("--runs", type=Path, default=Path("epochs.jsonl"), help="JSON lines")
    parser.add_argument("--against", type=Path, help="runs of another commit")
    add_save(parser)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)
    known = runs_in(arguments.runs)
    keys = [
        (cell, seed, arguments.unlabelled, arguments.encoder)
        for cell in arguments.cells
        for seed in arguments.seeds
    ]
    for key in keys:
        if key in known:
            continue
        known[key] = run(*key)
        with arguments.runs.open("a", encoding="utf-8") as file:
            file.write(json.dumps([key, known[key]]) + "\n")
        print(*key, known[key], flush=True)
    rows = []
    for cell in arguments.cells:
        each = [known[key] for key in keys if key[0] == cell]
        accuracies = [100 * found["accuracy"] for found in each]
        rows.append(
            {
                "documents": cell,
                "lowest, %": round(min(accuracies), 1),
                "mean, %": round(float(np.mean(accuracies)), 2),
                "log loss": round(float(np.mean([found["log_loss"] for found in each])), 4),
                "fit, CPU s": round(float(np.mean([found["fit"] for found in each])), 1),
                "second cycles": f"{sum(r['ended'] == 'two cycles' for r in each)} of {len(each)}",
            }
        )
    publish("epochs", rows, arguments.save)
    if arguments.against is not None:
        compare(keys, known, runs_in(arguments.against))


if __name__ == "__main__":
    main()
