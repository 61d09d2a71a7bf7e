"""Forms of labels, as people have them, at each door: containers of Python, and files."""

import csv
import json
import re
import warnings

import numpy as np
import openpyxl
import pandas as pd
import pytest

import sk_han
from sk_han._validation.labels import label_text
from sk_han.cli import main
from sk_han.datasets import load_csv
from tests.tiny_models import tiny

GOOD, BAD = "It was a good day. The sun shone!", "A bad day. Rain, and more rain."
N = 12
TEXTS = [f"{(GOOD, BAD)[i % 2]} It was day {i}." for i in range(N)]


def array(labels):
    """Return an array as NumPy makes it, of objects where it would change a label."""
    if len({*map(type, labels)}) == 1 and type(labels[0]) in (str, float, bool):
        return np.array(labels)
    found = np.empty(len(labels), dtype=object)
    found[:] = labels
    return found.astype(int) if labels == INTEGERS else found


def write_csv(labels, path):
    pd.DataFrame({"text": TEXTS, "label": labels}).to_csv(path, index=False)


def excel_cell(label):
    """Return what a cell holds: no list, nothing missing, and no number of more than 15 digits."""
    if isinstance(label, (list, tuple)) or (isinstance(label, int) and label > 10**15):
        return str(label)
    return None if pd.isna(label) else label


def write_excel(labels, path):
    book = openpyxl.Workbook()
    for row in [("text", "label"), *zip(TEXTS, map(excel_cell, labels), strict=True)]:
        book.active.append(row)
    for row in book.active.iter_rows(min_row=2):
        row[1].data_type = "e" if row[1].value == "#N/A" else row[1].data_type
    book.save(path)


def write_json(labels, path):
    lines = pd.DataFrame({"text": TEXTS, "label": pd.Series(labels, dtype=object)})
    lines.to_json(path, orient="records", lines=True)


CONTAINERS = {
    "list": list,
    "array": array,
    "Series": pd.Series,
    "frame": lambda labels: pd.DataFrame({"label": labels}),
}
FILES = {"a.csv": write_csv, "a.xlsx": write_excel, "a.jsonl": write_json}

INTEGERS = [1, 2] * 6
CHOICES = '{"choices": ["pos", "long"]}'
# Labels, what containers and what files make of them: the classes, or part of an error or warning.
MISSING, LEFT_OUT = "every document needs a label: 4 labels of 12 are", "Left 4 of 12 .* out"
SEVERAL = "MultiLabelBinarizer.* on the command line"
DOUBTFUL = "look like missing values, and are learnt as any others: "
FORMS = {
    "None": (["pos", "neg", None] * 4, MISSING, LEFT_OUT),
    "NaN": (["pos", "neg", np.nan] * 4, MISSING, LEFT_OUT),
    "NA of pandas": (["pos", "neg", pd.NA] * 4, MISSING, LEFT_OUT),
    "blank": (["pos", "neg", " "] * 4, DOUBTFUL, LEFT_OUT),
    "an error of Excel": (["pos", "neg", "#N/A"] * 4, DOUBTFUL, LEFT_OUT),
    "nan as text": (["pos", "neg", "nan"] * 4, DOUBTFUL),
    "<NA> as text": (["pos", "neg", "<NA>"] * 4, DOUBTFUL),
    "lists of one": ([["pos"], ["neg"]] * 6, ["neg", "pos"]),
    "labels and lists of one": (["pos", ["neg"]] * 6, ["neg", "pos"]),
    "rows of one": ([("pos",), ("neg",)] * 6, ["neg", "pos"]),
    "lists": ([["pos"], ["neg", "long"]] * 6, SEVERAL),
    "written lists": (["['pos', 'long']", "['neg', 'long']"] * 6, SEVERAL),
    "choices of Label Studio": ([CHOICES, "neg"] * 6, SEVERAL),
    "joined by ;": (["pos;long", "neg;short"] * 6, SEVERAL),
    "joined by #": (["pos", "pos#long", "neg", "neg#long"] * 3, SEVERAL),
    "joined by +": (["pos", "long", "pos + long"] * 4, SEVERAL),
    "joined by /, never alone": (["a/c", "a/d", "b/c", "b/d"] * 3, SEVERAL),
    "joined by a line break": (["pos\nlong", "neg"] * 6, SEVERAL),
    "integers": (INTEGERS, ["1", "2"]),
    "whole floats": ([1.0, 2.0] * 6, ["1", "2"]),
    "fractions": ([1.5, 2.0] * 6, "1.5; numbers that name classes are whole", ["1.5", "2"]),
    "booleans": ([True, False] * 6, ["false", "true"]),
    "codes": (["007", "7"] * 6, ["007", "7"]),
    "ids": (
        [2**63 + 1, 2**63 + 3, -1] * 4,
        r"Convert it with astype\(str\)",
        ["-1", str(2**63 + 1), str(2**63 + 3)],
    ),
}
# Of fractions, JSON has numbers, and CSV what stands there.
OTHERS = {
    ("fractions", "a.jsonl"): "1.5; numbers that name classes are whole",
    ("fractions", "a.csv"): ["1.5", "2.0"],
}


def outcome(call):
    """Return the classes of a fit by their names, and what was raised or warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = call().classes_.tolist()
        except (TypeError, ValueError) as error:
            return None, str(error)
    whole = [int(each) if isinstance(each, float) else each for each in found]
    return sorted(map(label_text, whole)), " | ".join(str(each.message) for each in caught)


def check(expected, found):
    classes, told = found
    if isinstance(expected, str):
        assert re.search(expected, told), found
    else:
        assert classes == expected, found
        assert "label" not in told.replace("A column-vector y", ""), told


@pytest.mark.parametrize("door", CONTAINERS)
@pytest.mark.parametrize("form", FORMS)
def test_containers_of_python_are_read_alike(form, door):
    labels, expected, *_ = FORMS[form]
    y = CONTAINERS[door](labels)
    if form in ("None", "NaN", "NA of pandas") and door == "array":
        y = np.array(labels, dtype=object)
    check(expected, outcome(lambda: tiny().fit(TEXTS, y)))


@pytest.mark.parametrize("door", FILES)
@pytest.mark.parametrize("form", FORMS)
def test_files_are_read_alike(form, door, tmp_path):
    labels, *expected = FORMS[form]
    path = tmp_path / door
    FILES[door](labels, path)
    found = outcome(lambda: tiny().fit(*load_csv(path)))
    check(OTHERS.get((form, door), expected[-1]), found)
    if expected[-1] == LEFT_OUT:
        assert found[0] == ["neg", "pos"]


# Cells of several labels, the separator, and the labels.
CELLS = {
    "lists of pandas": (["['pos', 'long']", "['neg']"], ","),
    "an array of NumPy": (["['pos' 'long']", "['neg']"], ","),
    "choices of Label Studio": ([CHOICES, "neg"], ","),
    "doccano": (["pos#long", "neg"], "#"),
    "line breaks of Excel": (["pos\nlong", "neg\n"], r"\n"),
    "a separator at the end": (["pos | long |", "neg |"], "|"),
    "lists of JSON": ([["pos", "long"], ["neg"]], ";"),
    "with an error of Excel": (["#N/A", "pos;long", "neg"], ";"),
}


@pytest.mark.parametrize("door", FILES)
@pytest.mark.parametrize("cells", CELLS)
def test_cells_of_several_labels_are_read_with_a_separator(cells, door, tmp_path):
    written, separator = CELLS[cells]
    FILES[door]((written * N)[:N], tmp_path / door)
    small = ["--set", "max_epochs=1", "--set", "embedding_dim=4", "--set", "word_hidden=2"]
    arguments = ["fit", tmp_path / door, "--separator", separator, *small, "-q"]
    assert main([*map(str, arguments), "-o", str(tmp_path / "m.han")]) == 0
    assert sk_han.load(tmp_path / "m.han").classes_.tolist() == ["long", "neg", "pos"]


@pytest.mark.parametrize(
    "names",
    [
        ["very good", "very bad", "good", "bad"],
        ["sports/football", "sports/tennis", "politics/us", "politics/uk"],
        [f"{stars}/5" for stars in range(1, 6)],
        ["C", "C++", "C#"],
        ["A+", "A", "B+", "B"],
        ["Paris, France", "Lyon, France", "Rome, Italy"],
        ["n/a", "yes", "no"],
        ["(other)", "[sic]", "{a}"],
        ["none", "null", "NA"],
    ],
)
def test_names_with_separators_are_single_labels(names):
    labels = (names * N)[:N]
    classes, told = outcome(lambda: tiny().fit(TEXTS, labels))
    assert classes == sorted(names)
    assert "several" not in told
    assert "missing values" not in told


class TestExportsOfAnnotationTools:
    """What Label Studio, doccano and Prodigy write is fitted as it is."""

    def fit(self, capfd, *arguments):
        small = ["--set", "max_epochs=1", "--set", "embedding_dim=4", "--set", "word_hidden=2"]
        assert main(["fit", *map(str, arguments), *small, "-o", "m.han", "-f"]) == 0
        return sk_han.load("m.han").classes_.tolist(), capfd.readouterr().err

    @pytest.fixture(autouse=True)
    def folder(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)

    def lines(self, records):
        with open("a.jsonl", "w", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in records)

    @pytest.mark.filterwarnings("always")
    def test_exports_of_doccano_are_read(self, capfd):
        labels = [["pos"], ["neg"], []]
        self.lines({"id": i, "text": t, "label": labels[i % 3]} for i, t in enumerate(TEXTS))
        classes, told = self.fit(capfd, "a.jsonl")
        assert classes == ["neg", "pos"]
        assert "Left 4 of 12 documents of a.jsonl out, without a label: lines 3, 6, 9, 12." in told

    @pytest.mark.filterwarnings("always")
    def test_exports_of_prodigy_are_read(self, capfd):
        options = [{"id": "pos", "text": "Positive"}, {"id": "neg", "text": "Negative"}]
        self.lines(
            {"text": t, "options": options, "accept": [["pos"], ["neg"]][i % 2], "answer": "accept"}
            for i, t in enumerate(TEXTS)
        )
        assert self.fit(capfd, "a.jsonl", "--label", "accept")[0] == ["neg", "pos"]
        binary = [{"label": "pos", "answer": "accept"}, {"label": "pos", "answer": "reject"}]
        self.lines({"text": t, **binary[i % 2]} for i, t in enumerate(TEXTS))
        assert "have the answer 'reject'" in self.fit(capfd, "a.jsonl")[1]

    @pytest.mark.filterwarnings("always")
    def test_exports_of_label_studio_are_read(self, capfd):
        with open("a.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "text", "sentiment", "annotator"])
            for i, text in enumerate(TEXTS):
                writer.writerow([i, text, ["neg", CHOICES][i % 2], 1])
        classes, told = self.fit(capfd, "a.csv", "--label", "sentiment")
        assert len(classes) == 2
        assert "looks like several: 'pos', 'long'" in told
        assert "give --separator ','" in told
        assert self.fit(capfd, "a.csv", "--label", "sentiment", "--separator", ",")[0] == [
            "long",
            "neg",
            "pos",
        ]


def test_a_label_of_one_is_read_alike_after_the_fit():
    rows = [("pos",), ("neg",)] * 6
    model = tiny().fit(TEXTS, ["pos", "neg"] * 6)
    with pytest.warns(Warning, match="column-vector"):
        assert model.score(TEXTS, rows) == model.score(TEXTS, ["pos", "neg"] * 6)
    found = sk_han.explain(model, TEXTS, y_true=rows)
    assert found == sk_han.explain(model, TEXTS, y_true=["pos", "neg"] * 6)


def test_texts_of_database_rows_are_read():
    model = tiny().fit([(text,) for text in TEXTS], ["pos", "neg"] * 6)
    expected = model.predict_proba(TEXTS)
    for X in ([memoryview(text.encode()) for text in TEXTS], [[text] for text in TEXTS]):
        np.testing.assert_array_equal(model.predict_proba(X), expected)
    with pytest.raises(ValueError, match="Put a single document into a list"):
        model.predict(np.array("A text."))


def test_an_indicator_of_strings_is_refused_with_its_repair():
    with pytest.raises(TypeError, match=r"Convert it by astype\(int\)"):
        tiny().fit(TEXTS, np.array([["0", "1"], ["1", "1"]] * 6))
