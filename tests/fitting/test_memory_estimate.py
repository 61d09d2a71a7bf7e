"""How much memory this process may take."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from pathlib import Path

import extremes
import numpy as np
import pytest

from sk_han import HierarchicalTokenizer
from sk_han.documents import LabelledDocuments
from sk_han.fitting import memory_estimate
from sk_han.fitting.cross_fitting import NgramSource, fit_linear_parts
from sk_han.fitting.memory_estimate import (
    bytes_of_naive_bayes,
    bytes_of_tfidf,
    check_memory,
    check_memory_of_linear_model,
    memory_limit,
)
from sk_han.parts.ngram_fitting import MOST_DENSE
from tests.tiny_targets import classes


def test_the_limit_of_a_machine_is_its_memory_at_the_most() -> None:
    psutil = pytest.importorskip("psutil")
    limit = memory_limit()
    assert limit is not None
    assert 0 < limit <= psutil.virtual_memory().total


def test_the_limit_of_a_container_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "no_limit").write_text("max\n")
    files = (tmp_path / "memory.max", tmp_path / "no_limit", tmp_path / "not_there")
    monkeypatch.setattr(memory_estimate, "_LIMITS_OF_GROUPS", files)
    assert memory_limit() == 1_000_000


@pytest.mark.skipif(sys.platform == "win32", reason="needs ulimit")
def test_the_limit_of_ulimit_counts() -> None:
    code = "from sk_han.fitting.memory_estimate import memory_limit; print(memory_limit())"
    command = f"ulimit -v 2000000; exec {sys.executable} -c '{code}'"
    done = subprocess.run(command, shell=True, check=True, capture_output=True, text=True)
    assert int(done.stdout) == 2_000_000 * 1024


def test_what_is_too_much_is_named_with_the_repair(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_estimate, "memory_limit", lambda: 2_000_000_000)
    check_memory(2_000_000_000, "A model", "Make it smaller.")
    with pytest.raises(
        MemoryError,
        match=r"^A model would take about 2\.1 GB of memory; this process may have 2\.0 GB\. Make",
    ):
        check_memory(2_100_000_000, "A model", "Make it smaller.")


def test_where_no_limit_is_known_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_estimate, "memory_limit", lambda: None)
    check_memory(1 << 60, "A model", "Make it smaller.")


def test_few_classes_have_their_ngrams_not_counted(monkeypatch):
    documents = HierarchicalTokenizer().fit_transform(extremes.many_classes(2, 100)[0])
    monkeypatch.delattr(memory_estimate, "document_counts")
    monkeypatch.setattr(memory_estimate, "memory_limit", lambda: 1 << 30)
    check_memory_of_linear_model(documents, 2, (1, 3))


@pytest.mark.thorough
@pytest.mark.parametrize(("n_classes", "n_each"), [(30, 400), (300, 40), (600, 10)])
def test_the_memory_that_is_named_is_that_of_the_fit(n_classes, n_each):
    texts, targets = extremes.many_classes(n_classes, n_each)
    documents = HierarchicalTokenizer().fit_transform(texts)
    data = LabelledDocuments(documents, targets, np.ones(len(texts)))
    tracemalloc.start()
    try:
        parts, _ = fit_linear_parts(data, classes(n_classes), [NgramSource((1, 3))], None)
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    named = (
        bytes_of_naive_bayes(n_classes, len(parts.parts["ngrams"].buckets), len(texts))
        if n_classes <= MOST_DENSE
        else bytes_of_tfidf(n_classes, documents.n_words, len(texts))
    )
    assert 0.5 * named < taken < 1.2 * named + 100_000_000
