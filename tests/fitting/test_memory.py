"""How much memory a linear model takes, and how much there is."""

from __future__ import annotations

import re
import tracemalloc
from pathlib import Path

import extremes
import numpy as np
import pytest

from sk_han import HierarchicalTokenizer
from sk_han._documents import LabelledDocuments
from sk_han._fitting import sources
from sk_han._fitting.linear import cross_fit
from sk_han._fitting.sources import TextSource, check_memory, memory_limit
from tests.tiny_targets import classes


def test_the_memory_limit_does_not_exceed_physical_memory() -> None:
    psutil = pytest.importorskip("psutil")
    assert 0 < memory_limit() <= psutil.virtual_memory().total


def test_the_memory_limit_of_a_container_is_respected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "no_limit").write_text("max\n")
    files = (tmp_path / "memory.max", tmp_path / "no_limit", tmp_path / "not_there")
    monkeypatch.setattr(sources, "_LIMITS_OF_GROUPS", files)
    assert memory_limit() == 1_000_000


def collection(n_classes, n_each):
    texts, targets = extremes.many_classes(n_classes, n_each)
    return HierarchicalTokenizer().fit_transform(texts), targets


def bytes_refused(monkeypatch, documents, n_classes, **options):
    """The bytes, to 0.1 GB, that a model of n-grams of 1 to 3 is said to take."""
    monkeypatch.setattr(sources, "memory_limit", lambda: 0)
    with pytest.raises(MemoryError) as refused:
        check_memory(TextSource((1, 3)), documents, n_classes, **options)
    return 1e9 * float(re.search(r"about ([\d.,]+) GB", str(refused.value))[1].replace(",", ""))


def test_fits_that_need_too_much_memory_are_refused(monkeypatch):
    documents, _ = collection(40, 5)
    n_bytes = 100 * documents.n_words + 20 * 40_000_000 * len(documents)
    monkeypatch.setattr(sources, "memory_limit", lambda: n_bytes)
    check_memory(TextSource((1, 3)), documents, 40_000_000)
    monkeypatch.setattr(sources, "memory_limit", lambda: n_bytes - 1)
    message = (
        r"^A linear model of 40,000,000 classes would take about 160\.0 GB of memory; there are "
        r"160\.0 GB\. linear_ngrams=None leaves this model out, .*; or merge rare classes\.$"
    )
    with pytest.raises(MemoryError, match=message):
        check_memory(TextSource((1, 3)), documents, 40_000_000)


def test_few_classes_are_not_refused(monkeypatch):
    monkeypatch.setattr(sources, "memory_limit", lambda: 0)
    check_memory(TextSource((1, 3)), collection(2, 100)[0], 30)


def test_memory_counts_the_ngrams_of_earlier_portions(monkeypatch):
    documents, _ = collection(2, 100)
    few, many = (bytes_refused(monkeypatch, documents, 2000, n_known=n) for n in (0, 10_000_000))
    assert many - few == pytest.approx(46 * 2000 * 10_000_000, abs=1e8)


@pytest.mark.thorough
@pytest.mark.parametrize(("n_classes", "n_each"), [(30, 400), (300, 40), (600, 10)])
def test_the_estimated_memory_is_that_of_the_fit(monkeypatch, n_classes, n_each):
    documents, targets = collection(n_classes, n_each)
    data = LabelledDocuments(documents, targets, np.ones(len(targets)))
    tracemalloc.start()
    try:
        pool = cross_fit(data, classes(n_classes), [TextSource((1, 3))]).pool
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    if n_classes > 30:
        named = bytes_refused(monkeypatch, documents, n_classes)
    else:  # on the page of reliability
        named = 66 * n_classes * len(pool.parts["ngrams"].buckets)
    assert 0.5 * named < taken < 1.2 * named + 100_000_000
