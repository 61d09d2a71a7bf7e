"""Labels of tables are found among the classes of a model."""

import itertools
import json

import numpy as np
import pytest

import sk_han
from sk_han.cli._tables import ClassNames, LabelSets, writing
from tests.tiny_models import LABELS, TEXTS, fitted_classifier

WRITTEN = [  # classes, a label as tables have it, the class that is meant
    ([False, True], "True", True),  # pandas
    ([False, True], "true", True),  # JSON, SQL
    ([False, True], "FALSE", False),  # spreadsheets, R
    ([1, 2], "2", 2),
    ([1, 2], "2.0", 2),  # a column with missing values elsewhere
    ([1, 2], 2.0, 2),
    ([1, 2], True, 1),  # as in Python
    ([2**60, 2**60 + 1], str(2**60 + 1), 2**60 + 1),
    ([-1.0, 1.0], "-1", -1.0),
    (["False", "True"], "true", None),
    (["1", "01", "1.0"], "01", "01"),
    (["1", "2"], 2, "2"),
    (["1", "2", "nan"], "nan", "nan"),
]


@pytest.mark.parametrize(("classes", "written", "meant"), WRITTEN)
def test_labels_match_classes_as_tables_write_them(classes, written, meant):
    number = ClassNames(classes).number(written)
    assert (None if number is None else classes[number]) == meant


@pytest.fixture(scope="module")
def of_truth(tmp_path_factory):
    path = tmp_path_factory.mktemp("truth") / "truth.han"
    sk_han.save(fitted_classifier().fit(TEXTS, LABELS == "pos"), path)
    return path


def test_booleans_written_by_pandas_match_boolean_classes(run, table, of_truth):
    path = table([(0, "Good.", "True"), (1, "Bad.", "TRUE"), (2, "Bad.", "False")])
    _, output, _ = run("evaluate", of_truth, path, "--json")
    assert np.sum(json.loads(output)["confusion"], axis=1).tolist() == [1, 2]
    assert run("explain", of_truth, path, "--label", "label", "--target", "True")[0] == 0


def test_a_compressed_table_stores_neither_name_nor_time(tmp_path):
    for name in ("a.csv.gz", "b.csv.gz"):
        with writing(str(tmp_path / name)) as file:
            file.write("text\n")
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()
    assert b".tmp" not in (tmp_path / "a.csv.gz").read_bytes()


# Cells of several labels.


@pytest.mark.parametrize("names", [["a", "b"], ["1", "2", "nan"]])
def test_written_labels_are_read_back(names):
    sets = LabelSets(ClassNames(names), ";")
    rows = np.array(list(itertools.product([False, True], repeat=len(names))))
    numbers = [sets.numbers(f" {sets.format(row)} ; ;", "here") for row in rows]
    np.testing.assert_array_equal(sets.indicator(numbers), rows)
