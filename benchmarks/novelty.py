"""How well `novelty` tells documents of another kind, and how often it is wrong about like ones.

``OMP_NUM_THREADS=1 python benchmarks/novelty.py`` fits 1,000 documents of ten of the 20 newsgroups,
in three draws, without an encoder and with one. It gives the AUROC with which p-values, and
confidence alone, tell test documents of these groups from documents of other kinds. ``--fits 25``
fits 300 documents of four corpora 25 times each instead, and gives the share of other documents of
the corpus with p < 0.05. Ten minutes each.
"""

from __future__ import annotations

import argparse
import gzip
import tempfile

import corpora
import numpy as np
from encoders import named_encoder
from numpy.typing import NDArray
from results import add_save, publish
from sklearn.metrics import roc_auc_score
from splits import published

from sk_han import HANClassifier, novelty

N_DRAWS = 3
N_DOCUMENTS = 500  # of each kind


def german() -> list[str]:
    path = corpora.data_folder() / "multi30k" / "test_2016_flickr.de.gz"
    return gzip.decompress(path.read_bytes()).decode("utf-8").splitlines()


def drawn(texts: NDArray, rng: np.random.RandomState, n: int = N_DOCUMENTS) -> list[str]:
    with_words = [text for text in texts if text.split()]
    return [with_words[i] for i in rng.permutation(len(with_words))[:n]]


def aurocs(encoder: str | None, seed: int, memory: str) -> dict[str, dict[str, float]]:
    """Fit ten groups, and tell their test documents from other kinds, also by confidence alone."""
    rng = np.random.RandomState(seed)
    (texts, labels), (unseen, of_unseen) = corpora.newsgroups("train"), corpora.newsgroups("test")
    groups = rng.permutation(np.unique(labels))[:10]
    rows = rng.permutation(np.flatnonzero(np.isin(labels, groups)))[:1_000]
    options = {} if encoder is None else {"encoder": named_encoder(encoder)}
    if encoder is not None:
        options["encoder_memory"] = memory
    model = HANClassifier(random_state=seed, **options)
    model.fit([texts[i] for i in rows], labels[rows])
    is_known, unseen = np.isin(of_unseen, groups), np.array(unseen, dtype=object)
    like = drawn(unseen[is_known], rng)
    kinds = {
        "other groups": unseen[~is_known],
        "film reviews": corpora.imdb("test")[0],
        "long film reviews": corpora.movies("val")[0],
        "tweets": corpora.airline()[0],
        "German": german(),
    }
    found: dict[str, dict[str, float]] = {"confidence": {}, "novelty": {}}
    for kind, texts_of_kind in kinds.items():
        others = drawn(texts_of_kind, rng)
        is_new = np.repeat([0, 1], [len(like), len(others)])
        scores = {
            "confidence": model.predict_proba([*like, *others]).max(axis=1),
            "novelty": novelty(model, [*like, *others]),
        }
        for name, values in scores.items():
            found[name][kind] = float(roc_auc_score(is_new, -values))
    return found


def false_alarms(corpus: str, n_fits: int) -> dict[str, str | float]:
    """Return the share of documents like those of a fit that have small p-values."""
    shares: list[float] = []
    everything = published(corpus, 0).train_texts
    for seed in range(n_fits):
        split = published(f"{corpus}-300", seed)
        model = HANClassifier(random_state=seed).fit(split.train_texts, split.train_labels)
        known = {*split.train_texts}
        others = [text for text in everything if text not in known]
        rows = np.random.RandomState(seed).permutation(len(others))[:N_DOCUMENTS]
        shares.append(100 * float((novelty(model, [others[i] for i in rows]) < 0.05).mean()))
        print(corpus, seed, round(float(np.mean(shares)), 2), flush=True)
    error = np.std(shares) / len(shares) ** 0.5
    keys = {"p < 0.05, %": float(np.mean(shares)), "standard error": float(error)}
    return {"corpus": corpus} | {key: round(value, 1) for key, value in keys.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpora", nargs="*", default=["20news", "airline", "imdb", "nsmc"])
    parser.add_argument("--encoder", default="use", help="as of encoders.py")
    parser.add_argument("--fits", type=int, default=0, help="of each corpus")
    add_save(parser)
    arguments = parser.parse_args()
    if arguments.fits:
        rows = [false_alarms(corpus, arguments.fits) for corpus in arguments.corpora]
        publish("novelty_false_alarms", rows, arguments.save)
        return
    rows = []
    with tempfile.TemporaryDirectory() as memory:
        for encoder in (None, arguments.encoder):
            draws = [aurocs(encoder, seed, memory) for seed in range(N_DRAWS)]
            for name, kinds in draws[0].items():
                means = {
                    kind: round(float(np.mean([d[name][kind] for d in draws])), 2) for kind in kinds
                }
                rows.append({"encoder": encoder or "none", "score": name} | means)
                print(rows[-1], flush=True)
    publish("novelty", rows, arguments.save)


if __name__ == "__main__":
    main()
