"""Tables as people have them: Excel, other separators and encodings, what a model remembers."""

import csv
import io
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import sk_han
from sk_han._storage.model_file import from_plain, read_model, to_plain, write_model
from sk_han._utils.files import ModelFormatError
from sk_han.cli._fitting import column_kinds
from sk_han.serving import Scorer
from tests.cli.test_fitting import SMALL
from tests.tiny_models import LABELS, TEXTS, tiny

CODES = ["007", "NA", "=1+1", "a\x01b"]


@pytest.fixture
def german(tmp_path):
    """A table as a spreadsheet writes it in Germany: cp1252, semicolons, columns of its own."""
    rows = [
        (f"A-{i}", f"{text} Ärger, {i} €", {"pos": "gut", "neg": "übel"}[label])
        for i, (text, label) in enumerate(zip(TEXTS, LABELS.tolist(), strict=True))
    ]
    with open(tmp_path / "daten.csv", "w", newline="", encoding="cp1252") as file:
        csv.writer(file, delimiter=";").writerows([("nr", "meldung", "urteil"), *rows])
    return tmp_path / "daten.csv"


GERMAN = ("--text", "meldung", "--label", "urteil", "--sep", ";", "--encoding", "cp1252")


@pytest.fixture
def remembering(run, german, tmp_path):
    """A model that was fitted to the German table."""
    path = tmp_path / "m.han"
    assert run("fit", german, *GERMAN, "-o", path, *SMALL, "--quiet") == (0, "", "")
    return path


class TestExcel:
    def test_it_is_read_and_written_with_the_cells_as_they_are(self, run, model, tmp_path):
        frame = pd.DataFrame({"code": CODES[:3], "n": [1, 2.5, 3], "text": TEXTS[:3]})
        data, path = tmp_path / "data.xlsx", tmp_path / "out.xlsx"
        with pd.ExcelWriter(data) as book:
            frame.to_excel(book, index=False)
            book.sheets["Sheet1"]["A4"].data_type = "s"
        keep = ("--keep", "code", "--keep", "n", "--proba")
        assert run("predict", model, data, *keep, "-o", path)[0] == 0
        options = {"dtype": object, "keep_default_na": False}
        result = pd.read_excel(path, **options)
        assert result["code"].tolist() == CODES[:3]
        assert result["n"].tolist() == [1, 2.5, 3]
        scorer = Scorer.load(model)
        assert result["prediction"].tolist() == scorer.predict(TEXTS[:3]).tolist()
        found = result[["probability_neg", "probability_pos"]].to_numpy(float)
        np.testing.assert_allclose(found, scorer.predict_proba(TEXTS[:3]), rtol=1e-5)

    def test_text_is_no_formula_and_has_no_character_that_excel_lacks(
        self, run, model, table, tmp_path
    ):
        data = table([(code, "Good.") for code in CODES], header=("code", "text"))
        path = tmp_path / "out.xlsx"
        assert run("predict", model, data, "--keep", "code", "-o", path)[0] == 0
        result = pd.read_excel(path, dtype=object, keep_default_na=False)
        assert result["code"].tolist() == ["007", "NA", "=1+1", "a?b"]

    def test_errors_name_the_row_of_the_sheet(self, run, model, tmp_path):
        rows = [["Good.", "pos"], [None, None], ["Bad.", "other"], ["Bad.", None]]
        data = tmp_path / "data.xlsx"
        pd.DataFrame(rows, columns=["text", "label"]).to_excel(data, index=False)
        _, _, told = run("evaluate", model, data)
        assert f"{data}, row 5: 'label' is blank" in told

    def test_missing_openpyxl_is_named_with_its_command(
        self, run, model, table, tmp_path, monkeypatch
    ):
        monkeypatch.setitem(sys.modules, "openpyxl", None)
        code, _, told = run("predict", model, table(), "-o", tmp_path / "a.xlsx")
        assert code == 1
        assert 'needs openpyxl: pip install "sk-han[excel]"' in told


class TestOutput:
    @pytest.mark.parametrize("encoding", ["cp1252", "utf-8-sig", "utf-16", "utf-8"])
    def test_it_opens_where_the_input_did(self, run, model, tmp_path, encoding):
        data, path = tmp_path / "data.csv", tmp_path / "out.csv"
        data.write_text("text;ort\nGood.;Köln\n", encoding=encoding)
        options = ("--sep", ";", "--encoding", encoding.removesuffix("-sig"), "--keep", "ort")
        assert run("predict", model, data, *options, "-o", path)[0] == 0
        marks = {"utf-8-sig": b"\xef\xbb\xbf", "utf-16": "\ufeff".encode("utf-16")[:2]}
        assert path.read_bytes().startswith(marks.get(encoding, b"ort;"))
        assert path.read_text(encoding).splitlines()[0] == "ort;prediction"
        assert path.read_text(encoding).splitlines()[1].startswith("Köln;")

    def test_what_the_encoding_lacks_is_a_question_mark(self, run, tmp_path):
        path, data = tmp_path / "m.han", tmp_path / "data.csv"
        sk_han.save(tiny().fit(TEXTS, np.where(LABELS == "pos", "λ", "µ")), path)
        data.write_text("text\nGood.\nBad.\n", "cp1252")
        out = tmp_path / "out.csv"
        assert run("predict", path, data, "--encoding", "cp1252", "--proba", "-o", out)[0] == 0
        assert out.read_text("cp1252").splitlines()[0] == "prediction,probability_µ,probability_?"


class TestRemembered:
    def test_commands_need_no_options_of_the_fit(self, run, remembering, german, tmp_path):
        out = tmp_path / "out.csv"
        code, _, told = run("predict", remembering, german, "--keep", "nr", "-o", out)
        assert code == 0
        said = "--text 'meldung' --label 'urteil' --sep ';' --encoding 'cp1252'"
        assert said.replace("--label 'urteil' ", "") in told
        rows = list(csv.reader(io.StringIO(out.read_text("cp1252")), delimiter=";"))
        given = pd.read_csv(german, sep=";", encoding="cp1252")
        expected = Scorer.load(remembering).predict(given["meldung"]).tolist()
        assert rows[1:] == [[f"A-{i}", label] for i, label in enumerate(expected)]
        code, output, told = run("evaluate", remembering, german, "--json")
        assert (code, json.loads(output)["documents"]) == (0, len(TEXTS))
        assert said in told
        assert run("evaluate", remembering, german, "--json", "--quiet")[2] == ""
        assert run("explain", remembering, german, "--rows", 1)[0] == 0
        assert run("report", remembering, german, "--train", german, "--quiet")[::2] == (0, "")

    def test_probabilities_have_the_decimal_comma_of_a_column(self, run, table, tmp_path):
        rows = [(i, *row, f"{i % 7},5") for i, row in enumerate(zip(TEXTS, LABELS, strict=True))]
        data = table(rows, header=("id", "text", "label", "preis"))
        path, out = tmp_path / "m.han", tmp_path / "out.csv"
        assert run("fit", data, "--columns", "preis", "-o", path, *SMALL)[0] == 0
        assert run("predict", path, data, "--proba", "-o", out)[0] == 0
        options = {"decimal": ",", "dtype": {"probability_pos": float}}
        p = pd.read_csv(out, **options)["probability_pos"]
        expected = Scorer.load(path).predict_proba(pd.read_csv(data, dtype=str))[:, 1]
        np.testing.assert_allclose(p, expected, rtol=1e-5)
        assert run("predict", path, data, "--proba", "-o", tmp_path / "out.xlsx")[0] == 0
        sheet = pd.read_excel(tmp_path / "out.xlsx")
        np.testing.assert_allclose(sheet["probability_pos"], expected, rtol=1e-5)

    def test_a_given_option_wins(self, run, remembering, table):
        data = table(name="english.csv")
        options = ("--text", "text", "--sep", ",", "--encoding", "utf-8")
        code, _, told = run("predict", remembering, data, *options)
        assert (code, "taken here" in told) == (0, False)
        code, _, told = run("predict", remembering, data, "--text", "text")
        assert code == 1
        assert "--sep ';'" in told
        assert "columns seem to be separated by ','" in told

    def test_json_lines_are_utf_8_whatever_the_table_was(self, run, remembering, tmp_path):
        data = tmp_path / "neu.jsonl"
        data.write_text('{"meldung": "Ärger", "nr": "ä"}\n', "utf-8")
        _, output, _ = run("predict", remembering, data, "--keep", "nr")
        assert output.splitlines()[1].startswith("ä;")

    def test_labels_of_a_cell_keep_their_separator(self, run, table, tmp_path):
        labels = ["sun|rain", "rain", ""] * 6
        rows = [(i, *pair) for i, pair in enumerate(zip(TEXTS, labels, strict=True))]
        data, path = table(rows), tmp_path / "m.han"
        assert run("fit", data, "--separator", "|", "-o", path, *SMALL)[0] == 0
        code, output, _ = run("evaluate", path, data, "--json")
        assert (code, len(json.loads(output)["labels"])) == (0, 2)

    def test_it_is_in_the_file_and_stays_there(self, remembering, tmp_path, model):
        table = {"text": ["meldung"], "label": "urteil", "separator": ";", "encoding": "cp1252"}
        table |= {"labels_separator": None}
        assert Scorer.load(remembering).table == table
        again = sk_han.load(remembering)
        sk_han.save(again, tmp_path / "again.han")
        assert Scorer.load(tmp_path / "again.han").table == table
        sk_han.save(again.fit(TEXTS, LABELS), tmp_path / "again.han")
        assert Scorer.load(tmp_path / "again.han").table is None
        assert Scorer.load(model).table is None

    @pytest.mark.parametrize("change", [{"text": "meldung"}, {"label": 3}, {"more": "x"}])
    def test_another_description_is_refused(self, remembering, tmp_path, change):
        description, arrays = read_model(remembering)
        description["table"] = to_plain(from_plain(description["table"]) | change)
        with open(tmp_path / "bad.han", "wb") as file:
            write_model(file, description, arrays)
        for load in (Scorer.load, sk_han.load):
            with pytest.raises(ModelFormatError, match="table"):
                load(tmp_path / "bad.han")


class TestLines:
    @pytest.mark.parametrize("command", ["predict", "fit", "evaluate", "explain"])
    def test_two_columns_of_one_name_are_refused_if_they_are_read(
        self, run, model, table, tmp_path, command
    ):
        rows = [(text, "Good.", label, "b") for text, label in zip(TEXTS, LABELS, strict=True)]
        data = table(rows, header=("id", "text", "label", "text"))
        arguments = [command, *([] if command == "fit" else [model]), data]
        arguments += ["-o", tmp_path / "m.han", *SMALL] if command == "fit" else []
        code, _, told = run(*arguments)
        assert code == 1
        assert "has 2 columns 'text'; rename one" in told
        assert run(*arguments, "--text", "id")[0] == 0

    def test_a_label_is_named_by_its_line_and_the_id_of_the_user(self, run, model, table):
        rows = [("A", "two\nlines", "pos"), ("B", "Good.", "other")]
        _, _, told = run("explain", model, table(rows), "--label", "label", "--keep", "id")
        assert "data.csv, line 4 ('B'): 'label': 'other' is no class" in told

    def test_lines_count_from_the_file_beyond_the_first_batch(self, run, model, table):
        rows = [(i, "\n" if i % 500 else "Good.", "pos") for i in range(1, 700)]
        rows.append((700, "Good.", ""))
        lines = 1 + sum(1 + row[1].count("\n") for row in rows[:-1]) + 1
        _, _, told = run("evaluate", model, table(rows))
        assert f"line {lines}: 'label' is blank" in told


ROWS = [(i, *pair) for i, pair in enumerate(zip(TEXTS, LABELS.tolist(), strict=True))]
BLANK = [(90, "A strange word here.", ""), (91, "A strange word there.", " ")]


class TestWithoutLabel:
    def test_fit_and_audit_leave_them_out_and_say_so(self, run, table, tmp_path):
        path = tmp_path / "m.han"
        data = table(ROWS[:4] + BLANK + ROWS[4:])
        code, _, told = run("fit", data, "-o", path, *SMALL, "--hold-out", "0.3")
        assert code == 0
        assert "Left 2 documents of" in told
        assert "without a label: lines 6, 7." in told
        written = "".join((tmp_path / f"m.{part}.csv").read_text() for part in ("train", "test"))
        assert "strange" not in written
        assert run("fit", data, "-o", path, *SMALL)[0] == 0
        expected = tiny(pooling="attention", max_epochs=2).fit(TEXTS, LABELS)
        np.testing.assert_array_equal(
            sk_han.load(path).predict_proba(TEXTS), expected.predict_proba(TEXTS)
        )
        assert "Left 2 documents" in run("audit", data, *SMALL)[2]

    def test_unlabelled_with_the_same_table_reads_their_texts(self, run, table, tmp_path):
        data, path = table([*ROWS, *BLANK]), tmp_path / "m.han"
        assert run("fit", data, "-o", path, *SMALL, "--unlabelled", data)[0] == 0
        expected = tiny(pooling="attention", max_epochs=2)
        expected.fit(TEXTS, LABELS, X_unlabelled=[row[1] for row in BLANK])
        np.testing.assert_array_equal(
            sk_han.load(path).predict_proba(TEXTS), expected.predict_proba(TEXTS)
        )

    def test_a_table_without_any_is_an_error(self, run, table, tmp_path):
        code, _, told = run("fit", table(BLANK), "-o", tmp_path / "m.han")
        assert code == 1
        assert "no row has a 'label'" in told


class TestInterruptedHoldOut:
    @pytest.fixture
    def fit_again(self, run, table, tmp_path):
        """Fit with held-out documents, and again with another seed; give what lies there."""
        arguments = ["fit", table(), "-o", tmp_path / "m.han", *SMALL, "--hold-out", "0.3", "-f"]

        def files():
            return {path.name: path.read_bytes() for path in tmp_path.glob("m.*")}

        assert run(*arguments)[0] == 0
        assert files().keys() == {"m.han", "m.train.csv", "m.test.csv"}
        return lambda: (run(*arguments, "--seed", 3)[0], files()), files

    def test_while_training_it_changes_nothing(self, fit_again, monkeypatch):
        fit, files = fit_again
        before = files()

        def interrupt(*args, **kwargs):
            raise KeyboardInterrupt

        monkeypatch.setattr(sk_han.HANClassifier, "fit", interrupt)
        assert fit() == (130, before)

    @pytest.mark.parametrize("saved", [False, True])
    def test_while_saving_it_leaves_a_model_without_tables(self, fit_again, monkeypatch, saved):
        fit, files = fit_again
        save = sk_han.save

        def fail(*args, **kwargs):
            if saved:
                save(*args, **kwargs)
            assert [*files()] == ["m.han"]  # what would lie there if the process were killed now
            raise KeyboardInterrupt

        monkeypatch.setattr(sk_han, "save", fail)
        code, after = fit()
        assert (code, [*after]) == (130, ["m.han"])

    def test_without_one_all_three_are_new(self, fit_again):
        fit, files = fit_again
        before = files()
        code, after = fit()
        assert code == 0
        assert all(after[name] != before[name] for name in before)


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ([], ["price", "day", "id"]),
        (["decimal comma"], {"price": "decimal comma", "day": None, "id": None}),
        (["day first"], {"price": None, "day": "day first", "id": None}),
        (
            ["decimal comma", "day first"],
            {"price": "decimal comma", "day": "day first", "id": None},
        ),
    ],
)
def test_options_of_numbers_and_dates_go_to_the_columns_that_read_so(kinds, expected):
    frame = pd.DataFrame(
        {
            "price": ["49,90", "-1.234,5", " ", "7", None],
            "day": ["3.4.2025", "03/04/2025 10:00", "", "31-12-2025", None],
            "id": ["A-1", "2,5", "3.4.2025", "", None],
        }
    )
    assert column_kinds(frame, ["price", "day", "id"], kinds) == expected


def test_american_numbers_and_dates_are_read_where_that_is_said(run, table, tmp_path):
    rows = [
        (t, label, f"1,0{i:02}", "3/4/2025")
        for i, (t, label) in enumerate(zip(TEXTS, LABELS, strict=True))
    ]
    data, path = table(rows, header=("text", "label", "amount", "day")), tmp_path / "m.han"
    options = ("--columns", "amount", "day", "--decimal", ".", "--monthfirst", *SMALL)
    assert run("fit", data, "-o", path, *options)[0] == 0
    columns = sk_han.load(path).fit_summary_.columns
    assert columns["amount"].startswith("number, 18 values")
    assert columns["day"].startswith("month first, 1 value")


def test_rows_of_blank_cells_are_skipped_as_spreadsheets_end_in_some(run, model, tmp_path):
    data = tmp_path / "data.csv"
    data.write_text("text,label\nGood.,pos\n,\nBad.,neg\n,\n,\n")
    code, output, _ = run("evaluate", model, data, "--json")
    assert (code, json.loads(output)["documents"]) == (0, 2)


def test_labels_of_excel_that_are_true_and_false_are_those_of_its_parts(run, tmp_path):
    frame = pd.DataFrame({"text": TEXTS, "label": LABELS == "pos"})
    data, path = tmp_path / "data.xlsx", tmp_path / "m.han"
    frame.to_excel(data, index=False)
    assert run("fit", data, "--hold-out", "0.3", "-o", path, *SMALL)[0] == 0
    for table in (data, tmp_path / "m.test.csv"):
        assert run("evaluate", path, table)[0] == 0


class Pipe(io.RawIOBase):
    """A pipe of endless rows, whose reader is interrupted after some of them."""

    n_rows = 0

    def readable(self):
        return True

    def readinto(self, buffer):
        self.n_rows += 1
        if self.n_rows > 600:
            raise KeyboardInterrupt
        row = b"text\n" if self.n_rows == 1 else b"Good\n"
        buffer[: len(row)] = row
        return len(row)


def test_rows_of_a_pipe_are_answered_before_it_ends(run, model, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Pipe())))
    code, output, _ = run("predict", model, "-")
    assert (code, output.splitlines()) == (130, ["prediction", *["pos"] * 512])


def test_a_json_line_without_a_key_has_a_missing_value(run, table, tmp_path):
    rows = [(t, label, label.upper()) for t, label in zip(TEXTS, LABELS.tolist(), strict=True)]
    data, path = table(rows, header=("text", "label", "c")), tmp_path / "m.han"
    assert run("fit", data, "--columns", "c", "-o", path, *SMALL)[0] == 0
    lines = tmp_path / "new.jsonl"
    lines.write_text('{"text": "Good."}\n{"text": "Good.", "c": "POS"}\n{"text": "Good."}\n')
    code, output, told = run("predict", path, lines, "--proba")
    assert code == 0, told
    first, second, third = output.splitlines()[1:]
    assert first == third != second
    lines.write_text('{"text": "Good."}\n')
    assert run("predict", path, lines, "--proba")[1].splitlines()[1] == first


def test_tables_alone_load_pandas():
    code = "import sys, sk_han, sk_han.serving, sk_han.cli._scoring, sk_han.cli._fitting\n"
    code += "from sk_han.datasets import load_csv\nassert 'pandas' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
