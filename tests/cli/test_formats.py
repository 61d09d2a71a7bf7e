"""Tables as people have them: Excel, other separators and encodings, what a model remembers."""

import csv
import io
import json
import sys

import numpy as np
import pandas as pd
import pytest

import sk_han
from sk_han import ModelFormatError
from sk_han.serving import Scorer
from tests.cli.test_fitting import ROWS, SMALL
from tests.crafted_files import archive_of, golden_parts, set_at
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
    def test_kept_cells_are_written_unchanged(self, run, model, tmp_path):
        frame = pd.DataFrame({"code": CODES[:3], "n": [1, 2.5, 3], "text": TEXTS[:3]})
        data, path = tmp_path / "data.xlsx", tmp_path / "out.xlsx"
        with pd.ExcelWriter(data) as book:
            frame.to_excel(book, index=False)
            book.sheets["Sheet1"]["A4"].data_type = "s"
        keep = ("--keep", "code", "--keep", "n", "--proba")
        assert run("predict", model, data, *keep, "-o", path)[0] == 0
        result = pd.read_excel(path, dtype=object, keep_default_na=False)
        assert result["code"].tolist() == CODES[:3]
        assert result["n"].tolist() == [1, 2.5, 3]
        scorer = Scorer.load(model)
        assert result["prediction"].tolist() == scorer.predict(TEXTS[:3]).tolist()
        found = result[["probability_neg", "probability_pos"]].to_numpy(float)
        np.testing.assert_allclose(found, scorer.predict_proba(TEXTS[:3]), rtol=1e-5)

    def test_text_is_not_a_formula_and_booleans_are_labels(self, run, table, tmp_path):
        frame = pd.DataFrame({"text": TEXTS, "label": LABELS == "pos"})
        data, model, path = (tmp_path / name for name in ("data.xlsx", "m.han", "out.xlsx"))
        frame.to_excel(data, index=False)
        assert run("fit", data, "--hold-out", "0.3", "-o", model, *SMALL)[0] == 0
        for part in (data, tmp_path / "m.test.csv"):
            assert run("evaluate", model, part)[0] == 0
        codes = table([(code, "Good.") for code in CODES], header=("code", "text"))
        assert run("predict", model, codes, "--keep", "code", "-o", path)[0] == 0
        result = pd.read_excel(path, dtype=object, keep_default_na=False)
        assert result["code"].tolist() == ["007", "NA", "=1+1", "a?b"]

    def test_a_cell_that_is_too_long_is_refused(self, run, model, table, tmp_path):
        for length, code in ((32_767, 0), (32_768, 1)):
            data = table([("Good.", "x" * length)], header=("text", "note"))
            output = "-o", tmp_path / f"{length}.xlsx"
            found = run("predict", model, data, "--keep", "note", *output)
            assert found[0] == code
        assert "too long for Excel. Write a .csv instead." in found[2]
        assert not (tmp_path / "32768.xlsx").exists()

    @pytest.mark.filterwarnings("always")
    def test_warnings_name_the_row_of_the_sheet(self, run, model, tmp_path):
        rows = [["Good.", "pos"], [None, None], ["Bad.", "other"], ["Bad.", None]]
        data = tmp_path / "data.xlsx"
        pd.DataFrame(rows, columns=["text", "label"]).to_excel(data, index=False)
        _, _, told = run("evaluate", model, data)
        assert f"Left 1 of 3 documents of {data} out, without a label: row 5." in told


class TestOutput:
    @pytest.mark.parametrize("encoding", ["cp1252", "utf-8-sig", "utf-16", "utf-8"])
    def test_output_has_the_encoding_and_separator_of_the_input(
        self, run, model, tmp_path, encoding
    ):
        data, path = tmp_path / "data.csv", tmp_path / "out.csv"
        data.write_text("text;ort\nGood.;Köln\n", encoding=encoding)
        options = ("--sep", ";", "--encoding", encoding.removesuffix("-sig"), "--keep", "ort")
        assert run("predict", model, data, *options, "-o", path)[0] == 0
        marks = {"utf-8-sig": b"\xef\xbb\xbf", "utf-16": "\ufeff".encode("utf-16")[:2]}
        assert path.read_bytes().startswith(marks.get(encoding, b"ort;"))
        assert path.read_text(encoding).splitlines()[0] == "ort;prediction"
        assert path.read_text(encoding).splitlines()[1].startswith("Köln;")


class TestRemembered:
    def test_commands_remember_the_table_options_of_the_fit(
        self, run, remembering, german, tmp_path
    ):
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
        assert (code, np.sum(json.loads(output)["confusion"])) == (0, len(TEXTS))
        assert said in told
        assert run("evaluate", remembering, german, "--json", "--quiet")[2] == ""
        assert run("explain", remembering, german, "--rows", 1)[0] == 0
        assert run("evaluate", remembering, german, "--train", german, "--quiet")[::2] == (0, "")

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
        p = pd.read_excel(tmp_path / "out.xlsx")["probability_pos"]  # which has numbers
        np.testing.assert_allclose(p, expected, rtol=1e-5)

    def test_options_override_the_remembered_ones(self, run, remembering, table):
        data = table(name="english.csv")
        options = ("--text", "text", "--sep", ",", "--encoding", "utf-8")
        code, _, told = run("predict", remembering, data, *options)
        assert (code, "taken here" in told) == (0, False)
        code, _, told = run("predict", remembering, data, "--text", "text")
        assert code == 1
        assert "--sep ';'" in told
        assert "columns seem to be separated by ','" in told

    def test_the_file_and_not_the_estimator_stores_the_table_format(
        self, remembering, tmp_path, model
    ):
        table = {"text": ["meldung"], "label": "urteil", "sep": ";", "encoding": "cp1252"}
        table |= {"separator": None, "decimal": None}
        assert Scorer.load(remembering).table == table
        again = sk_han.load(remembering)
        sk_han.save(again, tmp_path / "again.han", table=table)
        assert Scorer.load(tmp_path / "again.han").table == table
        sk_han.save(again, tmp_path / "again.han")
        assert Scorer.load(tmp_path / "again.han").table is None
        assert Scorer.load(model).table is None

    def test_an_invalid_table_format_in_a_file_is_refused(self, remembering, tmp_path):
        description, arrays = golden_parts(remembering.read_bytes())
        for name, value in [("text", "meldung"), ("label", 3), ("more", "x")]:
            table = dict(description["table"]["dict"]) | {name: value}
            changed = set_at(description, ("table", "dict"), [*map(list, table.items())])
            (tmp_path / "bad.han").write_bytes(archive_of(changed, arrays))
            for load in (Scorer.load, sk_han.load):
                with pytest.raises(ModelFormatError, match="table"):
                    load(tmp_path / "bad.han")


class TestLines:
    @pytest.mark.parametrize("command", ["predict", "evaluate", "explain"])
    def test_two_columns_of_one_name_are_refused_if_used(self, run, model, table, command):
        rows = [(text, "Good.", label, "b") for text, label in zip(TEXTS, LABELS, strict=True)]
        data = table(rows, header=("id", "text", "label", "text"))
        code, _, told = run(command, model, data)
        assert code == 1
        assert "has 2 columns 'text'; rename one" in told
        assert run(command, model, data, "--text", "id")[0] == 0

    @pytest.mark.filterwarnings("always")
    def test_line_numbers_count_from_the_start_of_the_file(self, run, model, table):
        rows = [(i, "\n" if i % 500 else "Good.", "pos") for i in range(1, 700)]
        rows.append((700, "Good.", ""))
        lines = 1 + sum(1 + row[1].count("\n") for row in rows[:-1]) + 1
        _, _, told = run("evaluate", model, table(rows))
        assert f"without a label: line {lines}." in told


BLANK = [(90, "A strange word here.", ""), (91, "A strange word there.", " ")]


@pytest.mark.filterwarnings("always")
class TestWithoutLabel:
    def test_fit_and_audit_leave_out_unlabelled_rows_with_a_warning(self, run, table, tmp_path):
        path = tmp_path / "m.han"
        data = table(ROWS[:4] + BLANK + ROWS[4:])
        code, _, told = run("fit", data, "-o", path, *SMALL, "--hold-out", "0.3")
        assert code == 0
        assert "Left 2 of 20 documents of" in told
        assert "without a label: lines 6, 7." in told
        written = "".join((tmp_path / f"m.{part}.csv").read_text() for part in ("train", "test"))
        assert "strange" not in written
        assert run("fit", data, "-o", path, *SMALL)[0] == 0
        found = sk_han.load(path).predict_proba(TEXTS)
        expected = tiny(pooling="attention", max_epochs=2).fit(TEXTS, LABELS)
        np.testing.assert_array_equal(found, expected.predict_proba(TEXTS))
        assert "Left 2 of 20" in run("audit", data, *SMALL)[2]
        assert "no row has a 'label'" in run("fit", table(BLANK), "-o", path)[2]

    def test_the_unlabelled_option_reads_texts_of_unlabelled_rows(self, run, table, tmp_path):
        data, path = table([*ROWS, *BLANK]), tmp_path / "m.han"
        assert run("fit", data, "-o", path, *SMALL, "--unlabelled", data)[0] == 0
        expected = tiny(pooling="attention", max_epochs=2)
        expected.fit(TEXTS, LABELS, X_unlabelled=[row[1] for row in BLANK])
        found = sk_han.load(path).predict_proba(TEXTS)
        np.testing.assert_array_equal(found, expected.predict_proba(TEXTS))


@pytest.mark.parametrize(
    ("written", "options", "kinds"),
    [
        (("1,0{:02}", "3/4/2025"), ["--decimal", ".", "--monthfirst"], ["number", "month first"]),
        (("1,{:02}", "3.4.2025"), ["--decimal", ",", "--dayfirst"], ["decimal comma", "day first"]),
    ],
)
def test_options_decide_how_numbers_and_dates_are_read(
    run, table, tmp_path, written, options, kinds
):
    rows = [(*row, f"A-{row[0]}", written[0].format(row[0]), written[1]) for row in ROWS]
    data = table(rows, header=("id", "text", "label", "code", "amount", "day"))
    arguments = ("--columns", "amount", "day", "code", *options, *SMALL)
    assert run("fit", data, "-o", tmp_path / "m.han", *arguments)[0] == 0
    columns = sk_han.load(tmp_path / "m.han").fit_summary_.columns
    assert columns["amount"].startswith(f"{kinds[0]}, 18 values")
    assert columns["day"].startswith(f"{kinds[1]}, 1 value")


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


def test_rows_of_a_pipe_are_predicted_before_the_pipe_ends(run, model, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Pipe())))
    code, output, _ = run("predict", model, "-")
    assert (code, output.splitlines()) == (130, ["prediction", *["pos"] * 512])


@pytest.mark.filterwarnings("always")
class TestWhatTheTableOfTheFitWas:
    def test_the_report_leaves_out_unlabelled_training_rows_too(self, run, table, tmp_path):
        path, data = tmp_path / "m.han", table([*ROWS, *BLANK])
        assert run("fit", data, "-o", path, *SMALL)[0] == 0
        code, _, told = run("evaluate", path, table(ROWS, "test.csv"), "--train", data)
        assert code == 0, told
        assert "Left 2 of 20 documents of" in told

    def test_a_model_fitted_to_cp1252_refuses_utf_8(self, run, remembering, german, tmp_path):
        new = tmp_path / "neu.csv"
        new.write_text(german.read_text("cp1252"), "utf-8")
        code, output, told = run("predict", remembering, new)
        assert (code, output) == (1, "")
        assert "neu.csv is UTF-8, and not cp1252" in told
        assert run("predict", remembering, new, "--encoding", "utf-8")[0] == 0

    def test_quoting_and_sheet_of_a_table_are_options(self, run, tmp_path):
        path, data, book = (tmp_path / name for name in ("m.han", "a.tsv", "a.xlsx"))
        lines = [f'"{text[:5]}" {text}\t{label}' for _, text, label in ROWS]
        data.write_text("\n".join(["text\tlabel", *lines]))
        assert run("fit", data, "-o", path, *SMALL)[0] == 1
        assert run("fit", data, "--quoting", "none", "-o", path, *SMALL)[0] == 0
        with pd.ExcelWriter(book) as writer:
            pd.DataFrame({"About": [1]}).to_excel(writer, sheet_name="cover", index=False)
            pd.DataFrame({"text": TEXTS}).to_excel(writer, sheet_name="data", index=False)
        assert run("predict", path, book)[0] == 1
        assert run("predict", path, book, "--sheet", "data")[0] == 0

    def test_warnings_of_a_fit_name_the_line_of_the_table(self, run, table, tmp_path):
        rows = [*ROWS[:5], *BLANK[:1], (98, " ", "pos"), *ROWS[5:]]
        _, _, told = run("fit", table(rows), "-o", tmp_path / "m.han", *SMALL)
        assert "1 of 19 documents has no words, in line 8: " in told

    def test_keep_takes_several_columns_at_once(self, run, model, table):
        _, output, _ = run("predict", model, table(), "--keep", "id", "label", "--keep", "text")
        assert output.startswith("id,label,text,prediction\n0,")

    def test_an_audit_csv_has_the_format_of_the_table(self, run, german, tmp_path):
        path = tmp_path / "decisions.csv"
        options = ("--csv", path, "--decimal", ",", *SMALL)
        assert run("audit", german, *GERMAN, *options)[0] == 0
        header, *rows = csv.reader(path.read_text("cp1252").splitlines(), delimiter=";")
        assert header[:4] == ["document", "text", "label", "suggested"]
        assert any("Ärger" in row[1] for row in rows)
        if "doubt" in header:
            assert all("," in row[4] for row in rows if row[4] not in ("0", "1"))
