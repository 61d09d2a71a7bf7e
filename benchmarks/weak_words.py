"""Which words are too weak to matter: what happens when all words left unshaded are taken out.

``python benchmarks/weak_words.py --data movies`` fits a HANClassifier on at most `--train`
documents and explains others. For several limits it takes out the words that together hold no more
than that share of a document's contributions, and as many other words, drawn by chance.
"""

from __future__ import annotations

import argparse

import numpy as np
from faithfulness import documents_of
from numpy.typing import NDArray
from results import add_save, publish

from sk_han import HANClassifier, explain
from sk_han.rendering.shading import too_weak

DATA = ("movies", "imdb", "make_reviews")
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3)


def without(classifier: HANClassifier, texts: list[str], out: list[NDArray]) -> NDArray:
    """Give the probabilities of texts without the marked words."""
    documents = classifier.tokenizer_.transform(texts)
    return classifier.predict_proba(documents.keep_words(~np.concatenate(out)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", nargs="+", choices=DATA, default=["make_reviews"])
    parser.add_argument("--train", type=int, default=2_000, help="documents to train on, at most")
    parser.add_argument("--documents", type=int, default=300, help="documents to explain")
    add_save(parser)
    arguments = parser.parse_args()
    rows = []
    for name in arguments.data:
        documents = documents_of(name, arguments.documents)
        rng = np.random.default_rng(0)
        chosen = rng.permutation(len(documents.train_texts))[: arguments.train]
        classifier = HANClassifier(random_state=0)
        classifier.fit([documents.train_texts[i] for i in chosen], documents.train_labels[chosen])
        explanations = explain(classifier, documents.texts)
        whole = classifier.predict_proba(documents.texts)
        predicted = whole.argmax(axis=1)
        print(
            f"{name}: {len(chosen):,} documents to train on, {len(documents.texts)} explained; "
            f"right {np.mean(classifier.classes_[predicted] == documents.labels):.1%}",
            flush=True,
        )
        for share in SHARES:
            weak = [too_weak(e.contributions, share) for e in explanations]
            chance = [rng.permutation(one) for one in weak]
            row = {"corpus": name, "share": f"{share:.0%}"}
            row["words"] = f"{np.concatenate(weak).mean():.0%}"
            for what, out in (("", weak), (" by chance", chance)):
                found = without(classifier, documents.texts, out)
                change = np.abs(found - whole)[np.arange(len(whole)), predicted]
                flipped = np.mean(found.argmax(axis=1) != predicted)
                row[f"change{what}"] = round(change.mean(), 3)
                row[f"decisions changed{what}"] = f"{flipped:.1%}"
            rows.append(row)
    publish("weak_words", rows, arguments.save)


if __name__ == "__main__":
    main()
