"""Tables on disk, as people have them, and what is refused of them."""

import bz2
import gzip
import io
import json
import lzma
import sys
import zipfile

import openpyxl
import pandas as pd
import pytest

from sk_han import HierarchicalTokenizer
from sk_han.datasets import load_csv

THREE_NOTES = 'text,label\n"Late, and cold.",complaint\nAll well.,praise\n"Two\nlines",complaint\n'
TWO_LINES = 'text,label\n"two\nlines",praise\n'
NO_UTF_8 = ("text,label\n" + "fine,b\n" * 30_000 + "déjà vu,b\n" + "fine,b\n" * 30_000).encode(
    "latin-1"
)


@pytest.fixture
def write(tmp_path):
    """Write a file of this name and content, compressed if its name says so; give its path."""
    compressions = {".gz": gzip, ".bz2": bz2, ".xz": lzma}

    def write_file(name, content, encoding="utf-8"):
        path = tmp_path / name
        data = content if isinstance(content, bytes) else content.encode(encoding)
        module = compressions.get(path.suffix.lower())
        path.write_bytes(data if module is None else module.compress(data))
        return path

    return write_file


def json_lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


A_B = {"text": "a", "label": "b"}


# What is read

GOOD_BAD = "text,label\nGood,b\nBad,a\n"
READ = [  # the name of a file, what it holds, options of load_csv, texts (and labels)
    *(
        (name, THREE_NOTES, {}, ["Late, and cold.", "All well.", "Two\nlines"])
        for name in ("a.csv", "a.v1.csv.gz", "a.csv.bz2", "a.csv.xz", "A.CSV")
    ),
    ("a.tsv", "label\ttext\nb\tWell, so far.\n", {}, ["Well, so far."]),
    ("a.tsv.gz", "label\ttext\nb\tWell, so far.\n", {}, ["Well, so far."]),
    (
        "a.jsonl",
        json_lines(A_B | {"text": "Zu spät.\n"}, A_B | {"text": ""}),
        {},
        ["Zu spät.\n", ""],
    ),
    ("a.jsonl.gz", json_lines(A_B), {}, ["a"]),
    ("a.csv", gzip.compress(GOOD_BAD.encode(), mtime=0), {}, ["Good", "Bad"]),
    ("a", gzip.compress(GOOD_BAD.encode(), mtime=0), {"sep": ","}, ["Good", "Bad"]),
    *((name, GOOD_BAD.replace(",", ";"), {"sep": ";"}, ["Good", "Bad"]) for name in ("a.tsv", "a")),
    ("a.csv", GOOD_BAD.replace("\n", "\r\n"), {}, ["Good", "Bad"]),
    ("a.csv", GOOD_BAD.replace("\n", "\r"), {}, ["Good", "Bad"]),
    ("a.csv", "\ufeff" + GOOD_BAD, {}, ["Good", "Bad"]),
    ("a.jsonl", "\ufeff" + json_lines(A_B), {}, ["a"]),
    *(
        ("a.csv", "text,label\nÇa va,b\n".encode(code), {"encoding": code}, ["Ça va"])
        for code in ("cp1252", "utf-16", "UTF8")
    ),
    ("a.csv", "\ntext,label\n\nGood,b\n\n", {}, ["Good"]),
    ("a.jsonl", f"\n{json_lines(A_B)}\n\n", {}, ["a"]),
    (
        "a.csv",
        'text,label\n"Two\r\nlines",a\n"She said ""no""",b',
        {},
        ["Two\r\nlines", 'She said "no"'],
    ),
    ("a.csv", "PK,text,label\n1,Good,b\n", {}, ["Good"]),  # begins as a zip archive does
    ("a.csv", f"text,label\n{'word ' * 200_000},b\n", {}, ["word " * 200_000]),
    ("a.csv", "text,note\na,Good\n", {"text": "note", "label": "text"}, ["Good"]),
    (
        "a.csv",
        "text,note\nA. b,Good\n,Bad\n",
        {"text": ["note", "text"], "label": "note"},
        ["Good\n\nA. b", "Bad\n\n"],
    ),
]


@pytest.mark.parametrize(("name", "content", "options", "texts"), READ)
def test_load_csv_returns_the_texts_of_a_table(write, name, content, options, texts):
    path = write(name, content)
    found, labels = load_csv(str(path), **options)
    assert found == texts
    assert len(labels) == len(texts)
    assert load_csv(path, **options | {"label": None}) == texts


def test_no_sentence_runs_from_one_column_into_the_next(write):
    path = write("a.csv", "title,body\nOut of ink,It is empty. Again!\n,All well.\n")
    documents = HierarchicalTokenizer().fit_transform(
        load_csv(path, text=["title", "body"], label=None)
    )
    assert documents.sentences_per_document.tolist() == [3, 1]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (["5", "1"], [5, 1]),
        (["-1", "0"], [-1, 0]),
        (["007", "1"], ["007", "1"]),
        (["1.0", "2"], [1, 2]),  # as pandas writes them beside a missing one
        (["True", "false"], [True, False]),
        (["1", "two"], ["1", "two"]),
        (["1" * 30, "2"], ["1" * 30, "2"]),
    ],
)
def test_labels_that_are_whole_numbers_are_integers(write, written, expected):
    rows = "".join(f"Fine.,{label}\n" for label in written)
    assert load_csv(write("notes.csv", f"text,label\n{rows}"))[1].tolist() == expected
    for typed in (written, [1, -3], [True, False]):  # JSON has types
        lines = json_lines(*(A_B | {"label": label} for label in typed))
        assert load_csv(write("notes.jsonl", lines))[1].tolist() == typed


@pytest.mark.parametrize(("given", "likely"), [("ascii", "utf-8"), ("utf-8", "cp1252")])
def test_a_likelier_encoding_is_suggested(write, given, likely):
    path = write("notes.csv", "text\nÇa va\n", "utf-8" if given == "ascii" else "cp1252")
    with pytest.raises(ValueError, match=f"perhaps {likely}"):
        load_csv(path, label=None, encoding=given)


@pytest.mark.parametrize("cells", [["007", "NA"], ["4", 5]])
def test_excel_gives_texts_and_labels_as_csv_does(tmp_path, cells):
    frame = pd.DataFrame({"note": ["All well.", 51], "kind": cells})
    frame.to_excel(tmp_path / "notes.xlsx", index=False)
    texts, labels = load_csv(tmp_path / "notes.xlsx", text="note", label="kind")
    assert texts == ["All well.", "51"]
    frame.to_csv(tmp_path / "notes.csv", index=False)
    expected = load_csv(tmp_path / "notes.csv", text="note", label="kind")[1]
    assert labels.dtype.kind == expected.dtype.kind
    assert labels.tolist() == expected.tolist()


def test_missing_openpyxl_is_named_with_the_command_that_installs_it(tmp_path, monkeypatch):
    pd.DataFrame({"text": ["a"]}).to_excel(tmp_path / "a.xlsx")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ImportError, match=r'needs openpyxl: pip install "sk-han\[excel\]"'):
        load_csv(tmp_path / "a.xlsx", label=None)


# What is refused


@pytest.mark.parametrize("name", ["notes.ods", "notes", "notes.gz", "notes.csv.zip", ".csv"])
def test_unknown_suffix_is_refused(write, name):
    with pytest.raises(ValueError, match=r"must end in \.csv, \.tsv, \.jsonl, \.xlsx"):
        load_csv(write(name, THREE_NOTES))


def zipped(*names):
    """Make an archive of files of these names."""
    with io.BytesIO() as file:
        with zipfile.ZipFile(file, "w") as archive:
            for name in names:
                archive.writestr(name, "<a/>")
        return file.getvalue()


OF_OTHER_KINDS = [
    (zipped("[Content_Types].xml", "xl/workbook.xml"), r"an Excel file.*\.xlsx"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1", r"an \.xls .*password.*\.xlsx"),
    (zipped("notes.csv"), "a zip archive.* Unpack it"),
    (b"PAR1\x15\x04", "a Parquet file.*read_parquet"),
    (b"%PDF-1.7\n", "a PDF"),
]


@pytest.mark.parametrize("name", ["notes", "notes.csv.gz"])
@pytest.mark.parametrize(("content", "said"), OF_OTHER_KINDS)
def test_files_of_other_formats_are_recognized_by_their_first_bytes(write, name, content, said):
    with pytest.raises(ValueError, match=rf"{name} is {said}"):
        load_csv(write(name, content))


@pytest.mark.parametrize(
    ("encoding", "given", "named"),
    [
        ("utf-8-sig", "cp1252", "utf-8"),
        ("utf-16", "utf-8", "utf-16"),
        ("utf-32", "utf-8", "utf-32"),
    ],
)
@pytest.mark.parametrize("name", ["notes.csv", "notes.jsonl"])
def test_a_byte_order_mark_contradicts_another_encoding(write, name, encoding, given, named):
    content = json_lines({"text": "Zu"}) if "json" in name else "text\nZu spät\n"
    path = write(name, content, encoding)
    with pytest.raises(ValueError, match=rf"is {named.upper()}, .* not {given}\. Give .* {named},"):
        load_csv(path, label=None, encoding=given)
    assert load_csv(path, label=None, encoding=named)[0].startswith("Zu")


def test_an_error_names_the_true_encoding_of_a_file(write):
    # As Python up to 3.12, 3.13 and later ones say it.
    fault = r"(UTF-16 .* BOM|.*start with BOM|.*decode byte 0x74).*"
    with pytest.raises(ValueError, match=rf"notes\.csv: {fault}\. Give .* perhaps utf-8[.,]"):
        load_csv(write("notes.csv", THREE_NOTES + "\n" * (len(THREE_NOTES) % 2)), encoding="utf16")


REFUSED = [  # the name of a file, what it holds, what the message says
    ("a.csv", "", "a.csv is empty; it should start with a row"),
    ("a.jsonl", "", "a.jsonl holds no documents"),
    ("a.csv", "text,label\n", "holds no documents"),
    # Columns
    ("a.csv", "id,Txt,label\n1,a,b\n", r"no column 'text'.*'id', 'Txt', 'label'.*mean 'Txt'\?"),
    ("a.csv", "x" * 100_000 + "\ny\n", "no column 'text'"),
    ("a.csv", "id,stars\n1,2\n", r"It has 'id', 'stars'\. Name another by text, .* by --text\.$"),
    ("a.csv", "text\na\n", r"no column 'label'.* by --label, or by --keep if that names it\.$"),
    ("a.csv", "1,All well.\n2,Late.\n", r"It has '1', .*first line a document\? It should name"),
    ("a.csv", "text;label\na;b\n", r"seem to be separated by ';'.* by --sep\.$"),
    ("a.tsv", "text,label\na,b\n", "seem to be separated by ','"),
    ("a.csv", "text,text,label\na,b,c\n", "2 columns 'text'; rename one"),
    # Rows
    ("a.csv", f"{TWO_LINES}Late, and cold,complaint\n", r"a\.csv, line 4: .*, 2; got 3.*','"),
    ("a.csv", f"{TWO_LINES}All well.\n", r"a\.csv, line 4: expected .* names, 2; got 1"),
    ("a.tsv", "text\tlabel\na\tb\tc\n", r"line 2: expected .* names, 2; got 3.*'\\t'"),
    ("a.csv", 'text,label\na,b\n"c,d\ne,f\n', "line 3: unexpected end of data.*quotes"),
    ("a.csv", 'text,label\n"She said "no".",b\n', "line 2: .*expected after.*twice"),
    # Bytes
    ("a.csv", NO_UTF_8, "a.csv: .*0xe9 .*cp1252"),
    ("a.csv", gzip.compress(THREE_NOTES.encode(), mtime=0)[:-12], "a.csv is cut off or damaged"),
    ("a.csv", lzma.compress(THREE_NOTES.encode())[:-9], "a.csv is cut off or damaged"),
    ("a.xlsx", b"text,label\na,b\n", "a.xlsx is cut off or damaged"),
    # JSON lines
    ("a.csv", json_lines(A_B), r"a\.csv is JSON lines\. Name it \.jsonl, or give --jsonl"),
    ("a.jsonl", json_lines(A_B) + '{"text": \n', "line 2 is not a JSON object: .*whole object"),
    ("a.jsonl", f"{json_lines(A_B)}{'1' * 5000}\n", "line 2 is not a JSON object"),
    ("a.jsonl", json.dumps([A_B]), "line 1 is not a JSON object: a list"),
    *(
        ("a.jsonl", json_lines(A_B, A_B | {name: value}), f"line 2: '{name}' is {said}")
        for name, value, said in [
            ("text", None, "None, and not a text"),
            ("text", ["a"], r"\['a'\], and not a text"),
        ]
    ),
    ("a.jsonl", json_lines(A_B | {"label": 2.5}), "line 1: 'label' is 2.5; numbers that name"),
    ("a.csv", "text,label\na, \n", "no row has a 'label'"),
]


@pytest.mark.parametrize(("name", "content", "message"), REFUSED, ids=[row[2] for row in REFUSED])
def test_unreadable_content_is_reported_in_a_short_message(write, name, content, message):
    with pytest.raises(ValueError, match=message) as refused:
        load_csv(write(name, content))
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"text": []}, TypeError, "name of a column, or a list of names"),
        ({"text": ["text", 3]}, TypeError, "name of a column, or a list of names"),
        ({"text": ["text", "labell"]}, ValueError, r"no column 'labell'.* Did you mean 'label'"),
        ({"sep": ";;"}, ValueError, "sep must be one character"),
        ({"sep": '"'}, ValueError, "sep must be one character"),
        ({"encoding": "rot13"}, LookupError, "rot13"),
        ({"label": "text", "number": "label"}, ValueError, "give one of them"),
        ({"number": "label", "decimal": ";"}, ValueError, r"decimal must be one of \['.', ','\]"),
    ],
)
def test_errors_name_the_wrong_option(write, options, error, message):
    with pytest.raises(error, match=message):
        load_csv(write("a.csv", GOOD_BAD), **options)


# What a table is


def tsv(*texts):
    lines = [f"{text}\t{'ab'[i % 2]}" for i, text in enumerate(texts)]
    return "\n".join(["text\tlabel", *lines, ""])


def test_an_unclosed_quotation_mark_warns_and_can_be_text(write):
    texts = ["Good.", '"Great film, he said.', "Bad.", 'A monitor of 27"']
    path = write("a.tsv", tsv(*texts))
    with pytest.warns(
        UserWarning, match=r"a\.tsv, line 3: a cell goes on to line 5.*quoting='none'"
    ):
        assert len(load_csv(path)[0]) == 2
    assert load_csv(path, quoting="none")[0] == texts
    assert load_csv(write("a.tsv", tsv('"two\nlines"', '"a ""b"""')))[0] == ["two\nlines", 'a "b"']
    with pytest.raises(
        ValueError, match=r"line 2: .*expected after.*quoting='none', .*--quoting none"
    ):
        load_csv(write("a.tsv", tsv('"Great" film.')))
    with pytest.raises(ValueError, match=r"quoting must be one of \['minimal', 'none'\]"):
        load_csv(path, quoting="all")


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "cp1250"])
@pytest.mark.parametrize("at", ["Grüße", "text"])
def test_utf_8_is_not_read_as_another_encoding(write, encoding, at):
    content = f"{at},label\nSchöne Grüße,b\nplain,c\n"
    with pytest.raises(ValueError, match=f"a.csv is UTF-8, and not {encoding}: .* --encoding"):
        load_csv(write("a.csv", content), text=at, encoding=encoding)
    path = write("a.csv", content, encoding)
    assert load_csv(path, text=at, encoding=encoding)[0] == ["Schöne Grüße", "plain"]


def test_a_wrong_encoding_is_shown_where_it_changes_the_text(write):
    path = write("a.csv", "text,label\nIt has a plain beginning: schöne Grüße,b\n")
    with pytest.raises(ValueError, match=r"schÃ¶ne.*' is '.*schöne"):
        load_csv(path, encoding="cp1252")


def test_rows_without_a_label_are_left_out_with_a_warning(write):
    path = write("a.csv", "text,label\na,x\nb,\nc,y\nd,#N/A\n")
    with pytest.warns(UserWarning, match=r"Left 2 of 4 documents of .*a\.csv out.*: lines 3, 5\."):
        texts, labels = load_csv(path)
    assert (texts, labels.tolist()) == (["a", "c"], ["x", "y"])
    assert load_csv(path, label=None) == [*"abcd"]


class TestNumbers:
    """Numbers in place of labels are read as the cells of columns are."""

    @pytest.mark.parametrize(
        ("cells", "decimal", "expected"),
        [
            (["12", "14.5"], None, [12, 14.5]),
            (["€ 1.250,00", "900"], None, [1250, 900]),
            (["$1,250.50", "900"], None, [1250.5, 900]),
            (["1,250", "9"], ",", [1.25, 9]),
            (["1,250", "9"], ".", [1250, 9]),
        ],
    )
    def test_numbers_are_read_as_tables_write_them(self, write, cells, decimal, expected):
        path = write("a.tsv", "text\tprice\n" + "".join(f"Flat.\t{cell}\n" for cell in cells))
        texts, y = load_csv(path, number="price", decimal=decimal)
        assert (len(texts), y.dtype, y.tolist()) == (2, float, expected)

    def test_numbers_of_json_and_excel_are_taken_as_they_are(self, write, tmp_path):
        rows = [
            {"text": "a", "price": 3},
            {"text": "b", "price": None},
            {"text": "c", "price": 0.5},
        ]
        pd.DataFrame(rows).to_excel(tmp_path / "a.xlsx", index=False)
        for path in (write("a.jsonl", json_lines(*rows)), tmp_path / "a.xlsx"):
            with pytest.warns(UserWarning, match=r"Left 1 of 3 documents .* without a number: "):
                texts, y = load_csv(path, number="price")
            assert (texts, y.tolist()) == (["a", "c"], [3, 0.5])

    def test_rows_without_a_number_are_left_out_with_a_warning(self, write):
        path = write("a.csv", "text,price\na,1\nb, \nc,n/a\nd,#N/A\ne,2\n")
        with pytest.warns(UserWarning, match=r"Left 3 of 5 .* without a number: lines 3, 4, 5\."):
            texts, y = load_csv(path, number="price")
        assert (texts, y.tolist()) == (["a", "e"], [1, 2])

    @pytest.mark.parametrize(
        ("cells", "message"),
        [
            (["1.5", "cheap"], r"line 3: 'price' is 'cheap', and not a number .*Correct it, or"),
            (["1.5", "2,5"], r"line 3: 'price' is '2,5', and not .* decimal mark '\.'"),
            (["9", "1.250"], r"line 3: 'price' is '1.250', which may be 1.25 or 1250\. Give the"),
        ],
    )
    def test_a_wrong_or_ambiguous_number_is_named(self, write, cells, message):
        path = write("a.tsv", "text\tprice\n" + "".join(f"Flat.\t{cell}\n" for cell in cells))
        with pytest.raises(ValueError, match=message):
            load_csv(path, number="price")


class TestSheets:
    @pytest.fixture
    def book(self, tmp_path):
        """Write a sheet of rows, changed by a function; give the path."""

        def write_book(rows, change=lambda book, sheet: None):
            book = openpyxl.Workbook()
            for row in [("text", "label"), *rows]:
                book.active.append(row)
            change(book, book.active)
            book.save(tmp_path / "a.xlsx")
            return tmp_path / "a.xlsx"

        return write_book

    ROWS = (("Good.", "b"), ("Well.", "b"), ("Bad.", "a"))

    def test_merged_cells_are_named(self, book):
        path = book(self.ROWS, lambda _, sheet: sheet.merge_cells("B2:B3"))
        with pytest.raises(
            ValueError, match=r"row 3: 'label' is merged with others, B2:B3\. Write"
        ):
            load_csv(path)
        assert load_csv(path, label=None) == ["Good.", "Well.", "Bad."]

    @pytest.mark.parametrize(
        ("row", "column"), [(('=A1&"x"', "b"), "text"), (("a", "=A1"), "label")]
    )
    def test_formulas_without_a_value_are_named(self, book, row, column):
        with pytest.raises(ValueError, match=rf"row 4: '{column}' is a formula without .* save it"):
            load_csv(book([*self.ROWS[:2], row]))

    def test_error_cells_are_not_read_as_texts(self, book):
        def fail(_, sheet):
            sheet["A2"].value, sheet["A2"].data_type = "#REF!", "e"

        with pytest.raises(ValueError, match=r"row 2: 'text' is None, and not a text"):
            load_csv(book(self.ROWS, fail))

    def test_another_sheet_is_suggested_and_can_be_read(self, book):
        path = book(self.ROWS, lambda book, _: book.create_sheet("About", 0).append(["About"]))
        with pytest.raises(ValueError, match=r"sheet 'About' \(--sheet.*: 'Sheet'\), has no"):
            load_csv(path)
        assert load_csv(path, sheet="Sheet")[0] == ["Good.", "Well.", "Bad."]
        with pytest.raises(LookupError, match=r"no sheet 'data'. It has 'About', 'Sheet'"):
            load_csv(path, sheet="data")

    def test_a_damaged_sheet_is_reported(self, book):
        path = book(self.ROWS)
        with zipfile.ZipFile(path) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
        files["xl/worksheets/sheet1.xml"] = files["xl/worksheets/sheet1.xml"][:-40] + b"<<"
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        with pytest.raises(ValueError, match=r"a\.xlsx is cut off or damaged"):
            load_csv(path)


@pytest.mark.parametrize("first", ["mimetype", "word/document.xml"])
def test_a_document_of_an_office_program_is_refused(write, first):
    with pytest.raises(ValueError, match=r"document of an office program.* as \.xlsx or \.csv"):
        load_csv(write("a.ods", zipped(first)))


def test_labels_in_several_columns_are_refused_with_the_repair(write):
    with pytest.raises(ValueError, match=r"labels of one column; in Python"):
        load_csv(write("a.csv", "text,neg,pos\na,1,0\n"), label="neg,pos")
