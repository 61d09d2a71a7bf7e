"""Whether `report` finds slices with more mistakes, and near copies of training documents.

``OMP_NUM_THREADS=1 python benchmarks/slices.py`` fits one small model to a corpus, and gives draws
of 1,000 other documents labels that differ from its predictions for a share of them, as often for
each label. In 20 reports a slice of 50 documents is wrong twice as often as the others: those with
a word put into them, with one of 20 values of a column, or the longest. 100 further reports have no
such slice. Last, of 50 of 1,000 training documents, one word in ten is changed, and the copies are
put among 950 other documents, of which newsgroups have quotes and posts sent twice.
"""

from __future__ import annotations

import argparse
from typing import Any

import corpora
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from results import add_save, publish

from sk_han import HANClassifier, HierarchicalTokenizer, report

N, N_PLANTED, N_REPORTS, N_ALONE = 1_000, 50, 20, 100
READ = {
    "imdb": lambda: corpora.imdb("test"),
    "airline": corpora.airline,
    "20news": lambda: corpora.newsgroups("test"),
}
KINDS = ("word", "column", "length")


def table(texts: list[str], rng: np.random.RandomState) -> pd.DataFrame:
    """Put two columns beside texts: 20 shops, each of as many texts, and prices."""
    shops = rng.permutation(np.arange(len(texts)) % (N // N_PLANTED))
    prices = rng.lognormal(3, 1, len(texts)).round(2)
    return pd.DataFrame({"text": texts, "shop": [f"s{i}" for i in shops], "price": prices})


def planted(frame: pd.DataFrame, kind: str) -> NDArray[np.int64]:
    """Plant a slice into a table, and return its rows."""
    if kind == "word":
        frame.loc[: N_PLANTED - 1, "text"] += " Zorkal."
        return np.arange(N_PLANTED)
    if kind == "column":
        return np.flatnonzero(frame["shop"] == "s7")
    n_words = HierarchicalTokenizer().fit_transform(frame["text"]).words_per_document
    return np.argsort(-n_words, kind="stable")[:N_PLANTED]


def is_found(found: Any, kind: str) -> bool:
    """Tell whether the planted slice of this kind is among those of a report."""
    ends = {"word": "zorkal", "column": "shop = s7", "length": f"to {found.n_words.max()}"}
    return any(name.endswith(ends[kind]) for one in found.slices for name in (one.name, *one.also))


def reported(model: Any, frame: pd.DataFrame, rows: Any, share: float, rng: Any) -> Any:
    """Report on labels that are wrong for a share of documents, and twice as often in `rows`."""
    predicted, is_wrong = model.predict(frame), np.zeros(len(frame), bool)
    rest = np.setdiff1d(np.arange(len(frame)), rows)
    is_wrong[rng.choice(rest, round(share * len(rest)), replace=False)] = True
    is_wrong[rng.permutation(rows)[: round(2 * share * len(rows))]] = True
    classes, numbers = np.unique(predicted, return_inverse=True)
    shifts = rng.randint(1, len(classes), size=len(frame))
    y = classes[(numbers + is_wrong * shifts) % len(classes)]
    return report(model, frame, y, baseline=None, n_mistakes=1)


def slices(corpus: str) -> list[dict[str, Any]]:
    """Count planted slices that are found, and reports that find one where there is none."""
    rng = np.random.RandomState(0)
    texts, labels = READ[corpus]()
    order = rng.permutation(len(texts))
    texts, labels = [texts[i] for i in order], np.asarray(labels)[order]
    model = HANClassifier(text_column="text", embedding_dim=8, word_hidden=4, max_epochs=1)
    model.set_params(random_state=0).fit(table(texts[:N], rng), labels[:N])
    others = texts[N : 11 * N]
    predicted = model.predict(table(others, rng))

    def draw() -> pd.DataFrame:
        """Draw documents, as many of each predicted label, so that mistakes depend on none."""
        classes = np.unique(predicted)
        rows = [rng.choice(np.flatnonzero(predicted == c), N // len(classes)) for c in classes]
        return table([others[i] for i in rng.permutation(np.concatenate(rows))], rng)

    result = []
    for share in (0.2, 0.3, 0.4):
        n_found = 0
        for i in range(N_REPORTS):
            kind, frame = KINDS[i % len(KINDS)], draw()
            rows = planted(frame, kind)
            n_found += is_found(reported(model, frame, rows, share, rng), kind)
        result.append({"corpus": corpus, "wrong, %": 100 * share, "planted found of 20": n_found})
        alone = [reported(model, draw(), np.arange(0), share, rng) for _ in range(N_ALONE)]
        n_false = sum(bool(found.slices) for found in alone)
        result[-1] |= {"reports of 100 with a false one": n_false, "tested": alone[0].n_slices}
        print(result[-1], flush=True)
    return result


def copies(corpus: str) -> dict[str, Any]:
    """Count the copies with changed words that are found, and other documents that are listed."""
    rng = np.random.RandomState(0)
    texts, labels = READ[corpus]()
    rows = [i for i in rng.permutation(len(texts)) if len(texts[i].split()) >= 50]
    learnt, train, held_out = rows[:200], rows[200 : 200 + N], rows[200 + N : 150 + 2 * N]
    words = " ".join(texts[i] for i in held_out).split()
    changed = []
    for row in train[:N_PLANTED]:
        copy = texts[row].split()
        for place in rng.choice(len(copy), len(copy) // 10, replace=False):
            copy[place] = words[rng.randint(len(words))]
        changed.append(" ".join(copy))
    model = HANClassifier(embedding_dim=8, word_hidden=4, max_epochs=1, random_state=0)
    model.fit([texts[i] for i in learnt], labels[learnt])
    found = report(
        model,
        [*changed, *(texts[i] for i in held_out)],
        labels[[*train[:N_PLANTED], *held_out]],
        X_train=[texts[i] for i in train],
        y_train=labels[train],
        baseline=None,
        n_mistakes=1,
    ).trained_on
    return {
        "corpus": corpus,
        "copies found of 50": int((found < N_PLANTED).sum()),
        "others listed of 950": int((found >= N_PLANTED).sum()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpora", nargs="*", default=["airline", "imdb"])
    add_save(parser)
    arguments = parser.parse_args()
    of_long = [name for name in READ if name != "airline"]  # tweets are too short for copies
    publish("near_copies", [copies(name) for name in of_long], arguments.save)
    rows = [row for name in arguments.corpora for row in slices(name)]
    publish("slices", rows, arguments.save)


if __name__ == "__main__":
    main()
