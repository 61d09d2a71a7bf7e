"""What a word should be: patterns compared over corpora, on training documents alone.

``python benchmarks/tokens.py`` holds documents out as `benchmarks/defaults.py` does and prints
accuracy, log loss and words per document for each pattern. ``--model ngrams`` fits the n-gram model
alone, in seconds; ``--model classifier`` network and n-gram model with all defaults, and
``--model network`` the network alone. Test documents are never read.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np
from scipy.special import softmax
from sklearn.metrics import log_loss
from splits import CORPORA, N_FOLDS, Split, held_out, shortened

from sk_han import HANClassifier, HierarchicalTokenizer
from sk_han.documents import LabelledDocuments
from sk_han.parts.ngrams.ngram_fitting import fit_ngram_model
from sk_han.text.characters import WORD_CHARACTERS
from sk_han.text.tokens import TOKEN_PATTERNS

WORDS = TOKEN_PATTERNS["words"]
EMOJI = "[\\u2600-\\u27bf\\U0001f000-\\U0001faff]"

PATTERNS = {
    **TOKEN_PATTERNS,
    "runs of ! and ?": WORDS + r"|!+|\?+",
    "runs of ! ? ..": WORDS + r"|!+|\?+|\.\.+",
    "marks but , .": WORDS + r'|!+|\?+|\.\.+|[;:()"@#$%&*/]',
    "runs of each mark": WORDS + r"|!+|\?+|\.+|-+|\*+|=+|_+|[^\w\s]",
    "runs of any marks": WORDS + r"|[^\w\s]+",
    "each mark": WORDS + r"|[^\w\s]",
    "emoji": f"{WORDS}|{EMOJI}",
    "hashtags, mentions": f"[#@][{WORD_CHARACTERS}_]+|{WORDS}",
    "numbers, prices": rf"\$?[0-9]+(?:[.,/:][0-9]+)*%?|{WORDS}",
    "C++, C#, .NET": rf"[Cc]\+\+|[CcFf]#|\.NET\b|{WORDS}",
    "masked letters": rf"[A-Za-z]+\*+[A-Za-z]*|{WORDS}",
    "words with hyphens": f"[{WORD_CHARACTERS}]+(?:['’\\-][{WORD_CHARACTERS}]+)*|{WORDS}",
    "trial": r"(?:#|@)?\w+(?:['’]\w+)*|[^\w\s]+",
}
MODELS = ("ngrams", "network", "classifier")


class Result(NamedTuple):
    """What one pattern brings on one split."""

    accuracy: float
    log_loss: float
    words_per_document: float


def result_of(pattern: str, model: str, split: Split, seed: int) -> Result:
    """Train on one side of the split and score the other."""
    tokenizer = HierarchicalTokenizer(token_pattern=pattern)
    documents = tokenizer.fit_transform(split.train_texts)
    test = tokenizer.transform(split.test_texts)
    classes, targets = np.unique(split.train_labels, return_inverse=True)
    if model == "ngrams":
        weights = np.ones(len(targets))
        ngrams = fit_ngram_model(
            LabelledDocuments(documents, targets, weights), len(classes), (1, 3)
        )
        assert ngrams is not None
        probabilities = softmax(ngrams.logits(test), axis=1)
    else:
        classifier = HANClassifier(random_state=seed)
        if model == "network":
            classifier.set_params(linear_ngrams=None)
        probabilities = classifier.fit(documents, split.train_labels).predict_proba(test)
    predicted = classes[probabilities.argmax(axis=1)]
    return Result(
        100 * float((predicted == split.test_labels).mean()),
        float(log_loss(split.test_labels, probabilities, labels=classes)),
        documents.n_words / len(documents),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--patterns", nargs="+", choices=list(PATTERNS), default=list(PATTERNS))
    parser.add_argument("--data", nargs="+", choices=CORPORA, default=["airline", "imdb-2000"])
    parser.add_argument("--model", choices=MODELS, default="ngrams")
    parser.add_argument("--seeds", type=int, default=N_FOLDS)
    parser.add_argument("--limit", type=int, help="documents to train on and to score, for a try")
    arguments = parser.parse_args()
    print(f"{arguments.model}, means of {arguments.seeds} seeds")
    for corpus in arguments.data:
        print(f"{corpus:24}{'accuracy':>10}{'log loss':>10}{'words':>8}")
        for name in arguments.patterns:
            found = []
            for seed in range(arguments.seeds):
                split = held_out(corpus, N_FOLDS - 1 - seed % N_FOLDS, seed)
                if arguments.limit:
                    split = shortened(split, arguments.limit)
                found.append(result_of(PATTERNS[name], arguments.model, split, seed))
            mean = Result(*np.mean(found, axis=0))
            print(
                f"{name:24}{mean.accuracy:10.2f}{mean.log_loss:10.4f}"
                f"{mean.words_per_document:8.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
