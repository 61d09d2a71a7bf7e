"""What text without labels is worth: HANClassifier with it and without.

``python benchmarks/unlabelled.py`` fits HANClassifier with its defaults on some documents, once
alone and once with the text of others, whose labels are not read: on IMDB the other training
reviews and the 50,000 without labels, on the other corpora the other training texts. Texts that
are test documents too are dropped.
"""

from __future__ import annotations

import argparse
import sys

import corpora
import torch
from results import add_save, publish
from scores import Scores, measure, row_of
from splits import N_SEEDS, Split, published
from tables import UNLABELLED

from sk_han import HANClassifier


def texts_without_labels(corpus: str, split: Split) -> list[str]:
    """Give each text once that is neither trained on with its label nor scored."""
    if corpus.startswith("imdb"):
        texts = [*corpora.imdb("train")[0], *corpora.imdb_without_labels()]
    elif corpus.startswith("airline"):
        texts = corpora.airline()[0]
    elif corpus.startswith("nsmc"):
        texts = corpora.nsmc("train")[0]
    else:
        texts = corpora.newsgroups("train")[0]
    known = {*split.train_texts, *split.test_texts}
    return [text for text in dict.fromkeys(texts) if text not in known]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=UNLABELLED, default=list(UNLABELLED))
    parser.add_argument("--seeds", type=int, default=N_SEEDS)
    parser.add_argument("--only-with", action="store_true", help="leave the fits alone out")
    add_save(parser)
    arguments = parser.parse_args()
    for corpus in arguments.data:
        rows: dict[str, list[Scores]] = {}
        for seed in range(arguments.seeds):
            split = published(corpus, seed)
            texts = texts_without_labels(corpus, split)
            for given in [texts] if arguments.only_with else [None, texts]:
                found = measure(HANClassifier(random_state=seed), split, X_unlabelled=given)
                kind = "without" if given else "alone"
                rows.setdefault(kind, []).append(found)
                print(f"{corpus}, {kind}, seed {seed}: {found}", file=sys.stderr, flush=True)
        table = [{"kind": kind} | row_of(found) for kind, found in rows.items()]
        publish(f"unlabelled-{corpus}", table, arguments.save)
    print(f"{arguments.seeds} seeds, {torch.get_num_threads()} threads")


if __name__ == "__main__":
    main()
