"""What the model of characters brings, beside linear models of words, of characters and of both.

``python benchmarks/characters.py --data nsmc`` takes 7 minutes.
"""

from __future__ import annotations

import argparse
from time import process_time
from typing import Any

import numpy as np
from linear import tfidf, tfidf_of_both, tfidf_of_characters
from results import add_save, publish
from splits import corpus_name, published

from sk_han import HANClassifier

MODELS: dict[str, Any] = {
    "TF-IDF of words + LR": lambda seed: tfidf(),
    "TF-IDF of characters + LR": lambda seed: tfidf_of_characters(),
    "TF-IDF of both + LR": lambda seed: tfidf_of_both(),
    "`HANClassifier(linear_chars=None)`": lambda seed: HANClassifier(
        linear_chars=None, random_state=seed
    ),
    "`HANClassifier()`": lambda seed: HANClassifier(random_state=seed),
    "`HANClassifier(linear_chars=(1, 5))`": lambda seed: HANClassifier(
        linear_chars=(1, 5), random_state=seed
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", type=corpus_name, default=["nsmc"])
    parser.add_argument("--models", nargs="+", type=int, default=range(len(MODELS)))
    parser.add_argument("--seeds", type=int, default=3)
    add_save(parser)
    arguments = parser.parse_args()
    names = [name for number, name in enumerate(MODELS) if number in arguments.models]
    for data in arguments.data:
        accuracies: dict[str, list[float]] = {name: [] for name in names}
        seconds: dict[str, list[float]] = {name: [] for name in names}
        kinds: dict[str, str] = {}
        for seed in range(arguments.seeds):
            split = published(data, seed)
            for name in names:
                model = MODELS[name](seed)
                start = process_time()
                model.fit(split.train_texts, split.train_labels)
                seconds[name].append(process_time() - start)
                found = model.predict(split.test_texts)
                accuracies[name].append(100 * float(np.mean(found == split.test_labels)))
                kinds[name] = scales(model)
                print(data, seed, name, accuracies[name][-1], seconds[name][-1], flush=True)
        rows = [
            {
                "model": name,
                "accuracy, %": round(float(np.mean(accuracies[name])), 2),
                "standard error of seeds": round(
                    float(np.std(accuracies[name], ddof=1)) / arguments.seeds**0.5, 2
                )
                if arguments.seeds > 1
                else None,
                "fit, CPU s": round(float(np.mean(seconds[name])), 1),
                "scales of the last seed": kinds[name],
            }
            for name in names
        ]
        publish(f"characters-{data}", rows, arguments.save)


def scales(model: Any) -> str:
    """Say what the parts of a classifier count."""
    if not isinstance(model, HANClassifier):
        return ""
    return ", ".join(f"{name} {scale:.2f}" for name, scale in model.pool_.scales.items())


if __name__ == "__main__":
    main()
