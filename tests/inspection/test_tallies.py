"""Sums of the contributions of terms."""

import numpy as np
import pytest

from sk_han import summarize
from sk_han.inspection import _tallies as tallies_module
from sk_han.inspection._tallies import Tallies, Values
from tests.inspection.test_summarizing import THREE
from tests.tiny_models import tiny

# Documents 0 and 1 are explained for class 0, document 2 for class 1. Term 5 stands twice in 0.
ROWS = np.array([0, 0, 0, 1, 2])
KEYS = np.array([5, 3, 5, 5, 3], dtype=np.uint64)
CONTRIBUTIONS = np.array([1.0, -3.0, 2.0, 5.0, 7.0])
TARGETS = np.array([0, 0, 1])


def tallied(times=1):
    tallies = Tallies(2)
    for _ in range(times):
        values = Values(ROWS, KEYS, CONTRIBUTIONS)
        tallies.add(TARGETS, np.array([0, 1, 1]), {"network": values})
    return tallies


def test_a_term_counts_once_a_document():
    found = Values(ROWS, KEYS, CONTRIBUTIONS).by_document()
    assert found.rows.tolist() == [0, 0, 1, 2]
    assert found.keys.tolist() == [3, 5, 5, 3]
    assert found.values.tolist() == [-3, 3, 5, 7]


def test_terms_are_added_up_by_class():
    tallies = tallied()
    assert tallies.strongest("network", 0, 9) == [(5, 8.0, 2), (3, -3.0, 1)]
    assert tallies.strongest("network", 1, 9) == [(3, 7.0, 1)]
    assert tallies.strongest("ngrams", 1, 9) == []
    assert tallies.n_documents.tolist() == [2, 1]
    assert tallies.n_predicted.tolist() == [1, 1]
    assert tallies.totals["network"].tolist() == [0.0, 7.0]  # of document 1, another is predicted


@pytest.mark.parametrize("most", [1, 5])
def test_adding_up_early_changes_nothing(monkeypatch, most):
    expected = tallied(times=7).strongest("network", 0, 9)
    monkeypatch.setattr(tallies_module, "_MOST_PENDING", most)
    assert tallied(times=7).strongest("network", 0, 9) == expected


def of_one_class(rows, keys, contributions):
    tallies, n = Tallies(1), max(rows) + 1
    values = Values(np.array(rows), np.array(keys, dtype=np.uint64), np.array(contributions))
    tallies.add(np.zeros(n, int), np.zeros(n, int), {"network": values})
    return tallies


def test_a_term_of_one_document_comes_after_others():
    tallies = of_one_class([0, 0, 0, 1], [1, 2, 3, 1], [0.5, 9.0, 2.0, 0.5])
    assert [term.key for term in tallies.strongest("network", 0, 2)] == [1, 2]


def test_noise_is_not_shown():
    tallies = of_one_class([0, 0, 0], [1, 2, 3], [-8.0, 0.0079, 0.0081])
    assert [term.key for term in tallies.strongest("network", 0, 9)] == [3, 1]


def test_terms_are_taken_out_together_as_one_by_one(monkeypatch):
    of_three = tiny(max_epochs=3).fit(THREE * 6, ["sun", "rain", "snow"] * 6)
    together = summarize(of_three, THREE * 6)
    monkeypatch.setattr(tallies_module, "_AT_ONCE", 1)
    alone = summarize(of_three, THREE * 6)
    found = [[t.decides for each in s.classes for t in each.terms] for s in (together, alone)]
    assert found[0] == found[1]
    assert sum(found[0]) > 0
