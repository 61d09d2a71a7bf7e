"""What the published figures rest on: splits without overlap, and the scores."""

from __future__ import annotations

import csv
import gzip
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import linear
import numpy as np
import pytest
import splits
from results import ROOT
from scores import measure
from splits import CORPORA, N_FOLDS, N_SEEDS, Split, held_out, published


@pytest.mark.thorough
def test_no_benchmark_asks_for_a_name_that_is_gone() -> None:
    files = [str(path) for path in sorted((ROOT / "benchmarks").glob("*.py"))]
    said = subprocess.run(
        [sys.executable, "-m", "mypy", *files], cwd=ROOT, capture_output=True, text=True
    ).stdout
    assert re.search(rf"{len(files)} source files", said), said
    kinds = ("attr-defined", "call-arg", "name-defined")
    assert [
        line for line in said.splitlines() if line.endswith(tuple(f"[{k}]" for k in kinds))
    ] == []


def write(path: Path, header: list[str], rows: list[list[str]]) -> None:
    path.parent.mkdir(exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Corpora of the names and columns of the real ones; each text says where it comes from."""
    folder = tmp_path_factory.mktemp("data")
    for part, n_of_label in (("train", 5_000), ("test", 500)):
        reviews = [
            [f"{part} {label} {number}", label, f"{part}/{label}/{number}_7", number % 10 + 1]
            for label in ("neg", "pos")
            for number in range(n_of_label)
        ]
        write(folder / "imdb" / f"{part}.csv.gz", ["text", "label", "id", "rating"], reviews)
        posts = [
            [f"{part} {row}, a message of its group", f"group{row % 20}"] for row in range(200)
        ]
        write(folder / "20news" / f"{part}.csv.gz", ["text_stripped", "label"], posts)
        comments = [[f"{part} {row}", "neg" if row % 2 else "pos"] for row in range(50)]
        write(folder / "nsmc" / f"{part}.csv.gz", ["text", "label"], comments)
    for part in ("train", "val"):
        films = [[f"{part} {row}", "NEG" if row % 2 else "POS"] for row in range(50)]
        write(folder / "eraser_movies" / f"{part}.csv.gz", ["text", "label"], films)
    tweets = [[f"tweet {row}", ("negative", "neutral", "positive")[row % 3]] for row in range(300)]
    write(folder / "airline" / "tweets.csv.gz", ["text", "label"], tweets)
    return folder


@pytest.fixture(autouse=True, scope="module")
def own_data(data: Path) -> Iterator[None]:
    splits._training_documents.cache_clear()
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SK_HAN_DATA", str(data))
        yield
    splits._training_documents.cache_clear()


class TestSplits:
    @pytest.mark.parametrize("name", [name for name in CORPORA if name != "make_reviews"])
    def test_what_is_held_out_is_never_trained_on(self, name: str) -> None:
        for split in (published(name, 0), held_out(name, 1, 0)):
            assert not set(split.train_texts) & set(split.test_texts)

    @pytest.mark.parametrize("name", [name for name in CORPORA if name != "make_reviews"])
    @pytest.mark.parametrize("seed", range(N_SEEDS))
    def test_development_data_holds_no_reported_text(self, name: str, seed: int) -> None:
        development = held_out(name, 0, seed)
        seen = {*development.train_texts, *development.test_texts}
        assert not seen & set(published(name, seed).test_texts)

    def test_generated_development_reviews_differ_from_reported_ones(self) -> None:
        development = held_out("make_reviews", 0, 0)
        seen = {*development.train_texts, *development.test_texts}
        reported = published("make_reviews", 0).test_texts
        assert np.mean([text in seen for text in reported]) < 0.01  # short ones may recur

    @pytest.mark.parametrize("name", ["imdb", "20news", "airline", "movies", "nsmc"])
    def test_the_folds_hold_every_training_document_once(self, name: str) -> None:
        folds = [held_out(name, fold, 0) for fold in range(N_FOLDS)]
        held = [text for split in folds for text in split.test_texts]
        assert sorted(held) == sorted(folds[0].train_texts + folds[0].test_texts)

    def test_reviews_of_neighbouring_numbers_stay_together(self) -> None:
        split = held_out("imdb", N_FOLDS - 1, 0)
        numbers = [int(text.split()[-1]) for text in split.test_texts]
        assert set(numbers) == set(range(4_000, 5_000))
        assert len(numbers) == 2_000

    @pytest.mark.parametrize("size", [1_000, 2_000, 5_000])
    def test_samples_of_imdb_are_balanced(self, size: int) -> None:
        for split in (published(f"imdb-{size}", 0), held_out(f"imdb-{size}", 0, 0)):
            assert np.unique(split.train_labels, return_counts=True)[1].tolist() == 2 * [size // 2]

    @pytest.mark.parametrize("name", CORPORA)
    def test_labels_stay_with_their_texts(self, name: str) -> None:
        split = held_out(name, 2, 0)
        assert len(split.train_texts) == len(split.train_labels)
        if name.startswith("imdb"):
            assert [text.split()[1] for text in split.train_texts] == split.train_labels.tolist()
            assert [text.split()[1] for text in split.test_texts] == split.test_labels.tolist()


CUES = {"good": "a good day", "bad": "a bad day", "so-so": "a day as any"}


@pytest.fixture
def cues() -> Split:
    """Three classes, each with a word of its own."""
    labels = np.array(20 * list(CUES))
    texts = [f"{CUES[label]} with tea and rain" for label in labels]
    return Split(texts, labels, texts, labels)


class TestModels:
    @pytest.mark.parametrize("make", [linear.tfidf, linear.nb_svm])
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_a_cue_word_is_learnt(self, make, n_classes: int, cues: Split) -> None:
        kept = np.isin(cues.train_labels, list(CUES)[:n_classes])
        texts, labels = [cues.train_texts[row] for row in np.flatnonzero(kept)], cues.train_labels
        scores = measure(make(), Split(texts, labels[kept], texts, labels[kept]))
        assert scores.accuracy == scores.macro_f1 == 1.0
        assert scores.log_loss < 0.3
        assert scores.fit_seconds > 0
