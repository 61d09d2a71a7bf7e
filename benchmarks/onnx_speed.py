"""How fast ONNX Runtime scores one review from raw text, beside the Scorer.

``python benchmarks/onnx_speed.py`` exports a classifier of one epoch over 2,000 reviews (IMDB, or
generated ones where it is absent), then scores 500 others one by one on one thread, the
contestants taking turns. Both read texts by the same tokenizer, which is timed alone, too. The
10 % column tells what a machine that other programs share can do.
"""

from __future__ import annotations

import argparse
import os

os.environ["OMP_NUM_THREADS"] = "1"

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
import onnxruntime
from corpora import reviews
from results import add_save, publish

from sk_han import HANClassifier, save
from sk_han.persistence import export_onnx
from sk_han.persistence.onnx.parity import feeds
from sk_han.serving import Scorer

N_REVIEWS = 500


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_save(parser)
    arguments = parser.parse_args()
    texts, labels, what = reviews(2_000 + N_REVIEWS)
    classifier = HANClassifier(random_state=0, max_epochs=1, device="cpu")
    classifier.fit(texts[:2_000], labels[:2_000])
    with TemporaryDirectory() as folder:
        stored, graph = Path(folder, "reviews.han"), Path(folder, "reviews.onnx")
        save(classifier, stored)
        export_onnx(classifier, graph)
        scorer, size = Scorer.load(stored), graph.stat().st_size
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        start = perf_counter()
        session = onnxruntime.InferenceSession(graph, options)
        loading = perf_counter() - start
    tokenizer = classifier.tokenizer_
    read = {text: feeds(tokenizer.transform([text])) for text in texts[2_000:]}
    contestants: dict[str, Callable[[str], object]] = {
        "ONNX Runtime, raw text": lambda text: session.run(
            None, feeds(tokenizer.transform([text]))
        ),
        "ONNX Runtime, tokenized": lambda text: session.run(None, read[text]),
        "tokenizer": lambda text: tokenizer.transform([text]),
        "Scorer, raw text": lambda text: scorer.predict_proba([text]),
    }
    taken: dict[str, list[float]] = {name: [] for name in contestants}
    for number, text in enumerate(read):
        for name, contestant in contestants.items():
            start = perf_counter()
            contestant(text)
            if number >= 10:  # the first ones warm up
                taken[name].append(1000 * (perf_counter() - start))
    print(f"{what}; graph of {size / 1e6:.0f} MB, loaded in {loading:.2f} s")
    rows = [
        {
            "one document, one thread": name,
            "median ms": round(np.median(values), 2),
            "10 % ms": round(np.quantile(values, 0.1), 2),
            "95 % ms": round(np.quantile(values, 0.95), 2),
        }
        for name, values in taken.items()
    ]
    publish("onnx_speed", rows, arguments.save)


if __name__ == "__main__":
    main()
