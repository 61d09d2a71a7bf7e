"""Whether giants are read, trained on and scored in linear time and bounded memory.

``python benchmarks/giants.py`` takes a document of 10 MB, a sentence of a million words and a
document of 100,000 one-word sentences, each beside 63 small documents.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from time import perf_counter

from memory import peak_megabytes
from results import add_save, publish

from sk_han import HANClassifier
from sk_han.datasets import make_reviews

GIANTS = {
    "nothing (63 small documents)": "",
    "10 MB document": "It rained all day, and we stayed in to read. " * 230_000,
    "sentence of 1,000,000 words": "rain and more rain " * 250_000,
    "100,000 one-word sentences": "Rain. " * 100_000,
}


def measure(name: str) -> None:
    texts, labels = make_reviews(64, random_state=0)
    texts[0] = GIANTS[name]
    start = perf_counter()
    classifier = HANClassifier(
        embedding_init="random",
        adversarial_noise=0,  # with it every document is read twice
        max_epochs=1,
        validation_fraction=None,
        random_state=0,
        device="cpu",
    )
    classifier.fit(texts, labels)
    fitted = perf_counter()
    classifier.predict_proba(texts)
    predicted = perf_counter()
    print(json.dumps([fitted - start, predicted - fitted, peak_megabytes()]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--measure", choices=GIANTS, help=argparse.SUPPRESS)
    add_save(parser)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.measure)
        return
    rows = []
    for name in GIANTS:
        command = [sys.executable, __file__, "--measure", name]
        said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        fitting, predicting, megabytes = json.loads(said)
        row = {"": name, "fit, s": round(fitting, 1), "predict, s": round(predicting, 1)}
        rows.append(row | {"peak MB": round(megabytes)})
    publish("giants", rows, arguments.save)


if __name__ == "__main__":
    main()
