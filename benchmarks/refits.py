"""What readers get from a model that is refitted while it serves.

``python benchmarks/refits.py`` fits the same classifier again and again, each time to other
reviews, while threads predict and explain with it. It counts the distinct answers, and those that
no model gives which was fitted alone: there must be none.
"""

from __future__ import annotations

import argparse
import threading

from sk_han import HANClassifier
from sk_han.datasets import make_reviews


def new_classifier() -> HANClassifier:
    return HANClassifier(max_epochs=2, random_state=0, device="cpu", n_threads=1)


def answers(classifier: HANClassifier, texts: list[str]) -> dict[str, bytes]:
    found = {
        "predict": classifier.predict(texts).tobytes(),
        "predict_proba": classifier.predict_proba(texts).tobytes(),
        "transform": classifier.transform(texts).tobytes(),
    }
    explained = "".join(explanation.to_json() for explanation in classifier.explain(texts))
    return found | {"explain": explained.encode()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--readers", type=int, default=4)
    parser.add_argument("--refits", type=int, default=4)
    options = parser.parse_args()
    data = [make_reviews(200 + 50 * seed, random_state=seed) for seed in range(options.refits)]
    texts = make_reviews(10, random_state=99)[0]
    alone = [answers(new_classifier().fit(*part), texts) for part in data]
    classifier, ended = new_classifier().fit(*data[0]), threading.Event()
    found: list[dict[str, bytes]] = []

    def read() -> None:
        while not ended.is_set():
            found.append(answers(classifier, texts))

    readers = [threading.Thread(target=read) for _ in range(options.readers)]
    for reader in readers:
        reader.start()
    for part in data:
        classifier.fit(*part)
    ended.set()
    for reader in readers:
        reader.join()
    print(f"{'':15}{'answers':>9}{'distinct':>10}{'of no model':>13}")
    for call in alone[0]:
        distinct = {each[call] for each in found}
        unknown = distinct - {each[call] for each in alone}
        print(f"{call:15}{len(found):9}{len(distinct):10}{len(unknown):13}")


if __name__ == "__main__":
    main()
