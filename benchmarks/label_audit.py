"""How well wrong labels are found: `audit_labels` beside confident learning, labels flipped.

Labels of training documents are flipped on purpose: as often for each pair of classes as two
models, TF-IDF with logistic regression and with complement naive Bayes, confuse them out of fold.
Then documents are ranked: by `audit_labels` of `HANClassifier` at its defaults, by cleanlab on the
same probabilities and on those of TF-IDF with logistic regression (normalized margin, and first
what its filter finds, which needs cleanlab). `--clean` also asks whether a test accuracy rises
when the documents weigh ``audit.weights()``. Labels that were wrong before count as right.
"""

from __future__ import annotations

import argparse
from typing import Any

import corpora
import numpy as np
from numpy.typing import NDArray
from results import add_save, publish
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import ComplementNB
from sklearn.pipeline import make_pipeline

from sk_han import HANClassifier, audit_labels

N_IMDB = 10_000
Pair = tuple[list[str], NDArray[Any]]


def read(name: str, seed: int) -> tuple[Pair, Pair]:
    """Give training and test documents with their labels."""
    if name == "20news":
        return corpora.newsgroups("train"), corpora.newsgroups("test")
    rng = np.random.RandomState(seed)
    if name == "imdb":
        test, (texts, labels), n = corpora.imdb("test"), corpora.imdb("train"), N_IMDB
    else:
        (texts, labels), n = corpora.airline(), 10_000
        test = (texts, labels)
    rows = rng.permutation(len(texts))
    train = [texts[row] for row in rows[:n]], labels[rows[:n]]
    if name == "airline":
        test = [texts[row] for row in rows[n:]], labels[rows[n:]]
    return train, test


def of_words(model: Any) -> Any:
    return make_pipeline(TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), min_df=2), model)


def out_of_fold(model: Any, texts: list[str], t: NDArray[np.int64], seed: int) -> NDArray[Any]:
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    return cross_val_predict(model, texts, t, cv=folds, method="predict_proba")


def flipped(t: NDArray[np.int64], models: list[NDArray[Any]], share: float, seed: int) -> Any:
    """Flip a share of labels, by the mean confusion of models."""
    rng, k = np.random.RandomState(seed), t.max() + 1
    confusion = np.full((k, k), 1e-9)
    for p in models:
        np.add.at(confusion, (t, p.argmax(axis=1)), 1)
    np.fill_diagonal(confusion, 0)
    counts = rng.multinomial(round(share * len(t)), (confusion / confusion.sum()).ravel())
    found = t.copy()
    for true, row in enumerate(counts.reshape(k, k)):
        rows, first = rng.permutation(np.flatnonzero(t == true)), 0
        for other, n in enumerate(row):
            found[rows[first : first + n]] = other
            first += n
    return found


def margin(p: NDArray[np.float64], t: NDArray[np.int64]) -> NDArray[np.float64]:
    """Give the normalized margin of cleanlab: the other's probability less that of the label."""
    rows, others = np.arange(len(t)), p.copy()
    others[rows, t] = -1
    return others.max(axis=1) - p[rows, t]


def filtered(p: NDArray[np.float64], t: NDArray[np.int64]) -> NDArray[np.float64] | None:
    """Put what cleanlab's filter finds in front; None without cleanlab."""
    try:
        from cleanlab.filter import find_label_issues
    except ImportError:
        return None
    return 10.0 * find_label_issues(t, p) + margin(p, t)


def found_by(name: str, share: float, seed: int, *, clean: bool) -> dict[str, dict[str, float]]:
    (texts, labels), test = read(name, seed)
    names, t = np.unique(labels, return_inverse=True)
    linear = of_words(LogisticRegression(C=10, max_iter=300, tol=1e-3))
    guesses = [out_of_fold(m, texts, t, seed) for m in (linear, of_words(ComplementNB()))]
    noisy = flipped(t, guesses, share, seed)
    wrong = noisy != t
    audit = audit_labels(HANClassifier(random_state=seed), texts, names[noisy], n_explained=0)
    p, of_linear = audit.probabilities, out_of_fold(linear, texts, noisy, seed)
    rank = np.empty(len(t))
    rank[audit.documents] = -np.arange(len(audit))
    rankings = {
        "audit_labels": rank,
        "margin, same probabilities": margin(p, noisy),
        "filter, same probabilities": filtered(p, noisy),
        "margin, TF-IDF": margin(of_linear, noisy),
        "filter, TF-IDF": filtered(of_linear, noisy),
    }
    rows = {}
    for how, ranking in rankings.items():
        if ranking is not None:
            best = np.argsort(-ranking, kind="stable")[:100]
            rows[how] = {
                "average precision": average_precision_score(wrong, ranking),
                "precision at 100": float(wrong[best].mean()),
            }
    rows["audit_labels"]["expected at 100"] = audit.n_expected(100) / 100
    if clean:
        for how, weights in (("audit_labels", audit.weights()), ("not audited", None)):
            model = HANClassifier(random_state=seed)
            model.fit(texts, names[noisy], sample_weight=weights)
            rows.setdefault(how, {})["accuracy"] = model.score(*test)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", choices=["imdb", "20news", "airline"], default="airline")
    parser.add_argument("--share", type=float, default=0.1, help="of the labels that are flipped")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--clean", action="store_true", help="train with weights and without")
    add_save(parser)
    arguments = parser.parse_args()
    found = []
    for seed in range(arguments.seeds):
        found.append(found_by(arguments.data, arguments.share, seed, clean=arguments.clean))
        print(seed, found[-1], flush=True)
    columns = ["average precision", "precision at 100", "expected at 100"]
    columns += ["accuracy"] if arguments.clean else []
    rows = [
        {"ranked by": how}
        | {
            column: round(float(np.mean([one[how][column] for one in found])), 3)
            if column in found[0][how]
            else None
            for column in columns
        }
        for how in found[0]
    ]
    name = f"label_audit-{arguments.data}-{round(100 * arguments.share)}"
    publish(name, rows, arguments.save)


if __name__ == "__main__":
    main()
