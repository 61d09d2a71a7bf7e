"""What it brings to mark why: highlights of people beside none, and beside automatic ones.

Film reviews of ERASER in which people marked the reasons, five folds of the 1,600 training
documents. Automatic highlights are as many words of a document as people marked: those that speak
most for its label, as a model without highlights explains it. Differences are paired over all
documents, with an interval of 95 %. AUPRC says how well the words that people marked in held-out
documents rank among all: by contributions to the prediction, and by attention. ``--validation``
fits to all training documents, and to the first 600 and 1,000, and measures on those of validation.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from faithfulness import Spans, movie_rationales
from numpy.typing import NDArray
from results import add_save, publish
from sklearn.model_selection import StratifiedKFold

from sk_han import HANClassifier
from sk_han.inspection.faithfulness.measures import agreement
from sk_han.parts.pool import NETWORK
from sk_han.validation.spans import covered_words

TITLES = {"none": "none", "automatic": "automatic", "people": "of people"}


def automatic(
    model: HANClassifier, texts: list[str], labels: NDArray[Any], marked: Spans
) -> list[list[tuple[int, int]]]:
    """Mark as many words of each document as people did: those that say most for its label."""
    found = []
    for explained, spans in zip(model.explain(texts, target=labels), marked, strict=True):
        n = int(covered_words(spans_of(spans), explained.word_spans)[0].sum())
        best = np.argsort(-explained.contributions, kind="stable")[:n]
        found.append([tuple(span) for span in explained.word_spans[best].tolist()])
    return found


def spans_of(spans: Any) -> NDArray[np.int64]:
    return np.array(spans, dtype=np.int64).reshape(-1, 2)


def measured(
    model: HANClassifier, texts: list[str], labels: NDArray[Any], marked: Spans
) -> dict[str, NDArray[Any]]:
    """Say of each document whether the model and its network are right, and their AUPRC."""
    documents = model._documents(texts)
    alone = model.pool_.only([NETWORK])
    explained = model.explain(texts)
    is_marked = np.concatenate(
        [
            covered_words(spans_of(spans), one.word_spans)[0]
            for spans, one in zip(marked, explained, strict=True)
        ]
    )
    lengths = np.array([len(one.word_spans) for one in explained])
    attention = np.concatenate(
        [one.word_attention * one.sentence_attention[one.sentence_of_word] for one in explained]
    )
    contributions = np.concatenate([one.contributions for one in explained])
    by_network = model.classes_[alone.logits(documents).argmax(axis=1)]
    return {
        "accuracy": model.predict(texts) == labels,
        "network": by_network == labels,
        "contributions": agreement(contributions, is_marked, lengths)[0],
        "attention": agreement(attention, is_marked, lengths)[0],
    }


def difference(
    of: dict[str, NDArray[Any]], base: dict[str, NDArray[Any]], key: str, decimals: int
) -> str:
    """Write the mean of paired differences with its interval; shares of documents in points."""
    paired = of[key].astype(float) - base[key]
    if of[key].dtype == bool:
        paired *= 100
    if not np.nan_to_num(paired).any():
        return ""
    mean, half = np.nanmean(paired), 1.96 * np.nanstd(paired) / np.sqrt(len(paired))
    return f"{mean:+.{decimals}f} [{mean - half:+.{decimals}f}, {mean + half:+.{decimals}f}]"


def on_validation(n_seeds: int) -> list[dict[str, Any]]:
    """Measure models of all training documents, and of fewer with highlights, on 200 others."""
    texts, labels, marked = movie_rationales("train")
    others, their_labels, of_others = movie_rationales("val")
    table = []
    for n, highlights in ((len(texts), None), (len(texts), marked), (1_000, marked), (600, marked)):
        found = []
        for seed in range(n_seeds):
            rows = np.random.RandomState(seed).permutation(len(texts))[:n]
            given = None if highlights is None else [highlights[row] for row in rows]
            model = HANClassifier(random_state=seed)
            model.fit([texts[row] for row in rows], labels[rows], highlights=given)
            found.append(measured(model, others, their_labels, of_others))
        means = {key: np.mean([np.nanmean(each[key]) for each in found]) for key in found[0]}
        table.append(
            {
                "training documents": n,
                "highlights": TITLES["none" if highlights is None else "people"],
                "accuracy %": round(100 * float(means["accuracy"]), 1),
                "network alone %": round(100 * float(means["network"]), 1),
                "AUPRC of contributions": round(float(means["contributions"]), 3),
                "AUPRC of attention": round(float(means["attention"]), 3),
            }
        )
        print(table[-1], flush=True)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folds", type=int, default=5, help="of five, the first ones")
    parser.add_argument("--seed", type=int, default=1, help="of folds and classifiers")
    parser.add_argument("--limit", type=int, help="documents, for a try")
    parser.add_argument("--validation", action="store_true", help="three seeds, without folds")
    add_save(parser)
    arguments = parser.parse_args()
    if arguments.validation:
        publish("highlights-validation", on_validation(3), arguments.save)
        return
    texts, labels, marked = movie_rationales("train")
    rows = np.random.RandomState(0).permutation(len(texts))[: arguments.limit]
    splits = StratifiedKFold(5, shuffle=True, random_state=arguments.seed).split(rows, labels[rows])
    found: dict[str, list[dict[str, NDArray[Any]]]] = {name: [] for name in TITLES}
    for fold, (train, test) in enumerate(splits):
        if fold == arguments.folds:
            break
        some, others = ([texts[row] for row in rows[part]] for part in (train, test))
        of_some, of_others = ([marked[row] for row in rows[part]] for part in (train, test))
        highlights: Any = None
        for name in TITLES:
            model = HANClassifier(random_state=arguments.seed)
            model.fit(some, labels[rows[train]], highlights=highlights)
            found[name].append(measured(model, others, labels[rows[test]], of_others))
            means = {key: f"{np.nanmean(each):.4f}" for key, each in found[name][-1].items()}
            print(fold, name, means, flush=True)
            if name == "none":
                highlights = automatic(model, some, labels[rows[train]], of_some)
            else:
                highlights = of_some
    joined = {
        name: {key: np.concatenate([each[key] for each in of]) for key in of[0]}
        for name, of in found.items()
    }
    table = []
    for name, title in TITLES.items():
        of = joined[name]
        table.append(
            {
                "highlights": title,
                "accuracy %": round(100 * float(of["accuracy"].mean()), 2),
                "over none": difference(of, joined["none"], "accuracy", 2),
                "over automatic": difference(of, joined["automatic"], "accuracy", 2),
                "network alone %": round(100 * float(of["network"].mean()), 2),
                "network, over none": difference(of, joined["none"], "network", 2),
                "AUPRC of contributions": round(float(np.nanmean(of["contributions"])), 3),
                "contributions, over none": difference(of, joined["none"], "contributions", 3),
                "AUPRC of attention": round(float(np.nanmean(of["attention"])), 3),
            }
        )
    publish("highlights", table, arguments.save)


if __name__ == "__main__":
    main()
