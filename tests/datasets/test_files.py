import bz2
import gzip
import io
import json
import lzma
import sys
import zipfile

import numpy as np
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


# What is read


@pytest.mark.parametrize(
    "name", ["notes.csv", "notes.csv.gz", "notes.csv.bz2", "notes.csv.xz", "NOTES.CSV"]
)
def test_csv_gives_texts_and_labels(write, name):
    texts, labels = load_csv(write(name, THREE_NOTES))
    assert texts == ["Late, and cold.", "All well.", "Two\nlines"]
    assert isinstance(labels, np.ndarray)
    assert labels.tolist() == ["complaint", "praise", "complaint"]


@pytest.mark.parametrize("name", ["notes.tsv", "notes.tsv.gz"])
def test_tsv_gives_texts_and_labels(write, name):
    texts, labels = load_csv(write(name, "label\ttext\npraise\tAll well, so far.\n"))
    assert texts == ["All well, so far."]
    assert labels.tolist() == ["praise"]


@pytest.mark.parametrize("name", ["notes.jsonl", "notes.jsonl.gz"])
def test_json_lines_give_texts_and_labels(write, name):
    content = json_lines({"text": "Zu spät.\n", "label": "complaint"}, {"label": "b", "text": ""})
    texts, labels = load_csv(write(name, content))
    assert texts == ["Zu spät.\n", ""]
    assert labels.tolist() == ["complaint", "b"]


def test_path_may_be_a_string_with_dots_in_its_name(write):
    assert len(load_csv(str(write("notes.v1.2.csv", THREE_NOTES)))[0]) == 3


def test_columns_are_chosen_by_name(write):
    path = write("notes.csv", "id,stars,note\n1,high,Good\n2,low,Bad\n")
    texts, labels = load_csv(path, text="note", label="stars")
    assert texts == ["Good", "Bad"]
    assert labels.tolist() == ["high", "low"]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (["5", "1"], [5, 1]),
        (["-1", "0"], [-1, 0]),
        (["007", "1"], ["007", "1"]),
        (["1.0", "2.0"], ["1.0", "2.0"]),
        (["+1", "2"], ["+1", "2"]),
        (["1", "two"], ["1", "two"]),
        (["1" * 30, "2"], ["1" * 30, "2"]),
    ],
)
def test_labels_that_are_whole_numbers_are_integers(write, written, expected):
    rows = "".join(f"Fine.,{label}\n" for label in written)
    assert load_csv(write("notes.csv", f"text,label\n{rows}"))[1].tolist() == expected
    lines = json_lines(*({"text": "Fine.", "label": label} for label in written))
    assert load_csv(write("notes.jsonl", lines))[1].tolist() == written  # JSON has types


def test_no_label_gives_the_texts_alone(write):
    assert load_csv(write("notes.csv", "text\nGood\nBad\n"), label=None) == ["Good", "Bad"]


def test_blank_lines_are_skipped(write):
    assert load_csv(write("a.csv", "\ntext\n\nGood\n\n"), label=None) == ["Good"]
    assert load_csv(write("a.jsonl", '\n{"text": "Good"}\n\n'), label=None) == ["Good"]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_ends_of_every_system_are_read(write, newline):
    path = write("notes.csv", newline.join(["text,label", "Good,praise", "Bad,complaint"]))
    assert load_csv(path)[0] == ["Good", "Bad"]


def test_line_breaks_and_doubled_quotes_are_text(write):
    path = write("a.csv", 'text\n"Two\r\nlines"\n"She said ""no""."\n')
    assert load_csv(path, label=None) == ["Two\r\nlines", 'She said "no".']


@pytest.mark.parametrize("name", ["notes.csv", "notes.csv.gz", "notes.jsonl"])
def test_byte_order_mark_is_left_out(write, name):
    content = json_lines({"text": "Good"}) if "json" in name else "text\nGood\n"
    assert load_csv(write(name, "\ufeff" + content), label=None) == ["Good"]


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "latin-1", "UTF8"])
def test_other_encodings_are_read(write, encoding):
    path = write("notes.csv", "text\nÇa va, très bien\n".replace(",", ""), encoding)
    assert load_csv(path, label=None, encoding=encoding) == ["Ça va très bien"]


@pytest.mark.parametrize(("given", "likely"), [("ascii", "utf-8"), ("utf-8", "cp1252")])
def test_an_encoding_that_is_likelier_is_named(write, given, likely):
    path = write("notes.csv", "text\nÇa va\n", "utf-8" if given == "ascii" else "cp1252")
    with pytest.raises(ValueError, match=f"perhaps {likely}"):
        load_csv(path, label=None, encoding=given)


def test_text_of_ten_megabytes_is_read(write):
    text = "word " * 2_000_000
    assert load_csv(write("long.csv", f"text\n{text}\n"), label=None) == [text]


@pytest.mark.parametrize(("labels", "kind"), [([1, -3], "i"), ([True, False], "b")])
def test_labels_of_json_keep_their_type(write, labels, kind):
    content = json_lines(*({"text": "a", "label": label} for label in labels))
    found = load_csv(write("notes.jsonl", content))[1]
    assert (found.dtype.kind, found.tolist()) == (kind, labels)


@pytest.mark.parametrize("cells", [[3, 4], ["007", "NA"], ["4", 5]])
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


@pytest.mark.parametrize("name", ["notes.csv", "notes"])
def test_a_compressed_table_is_known_by_its_first_bytes(write, name):
    path = write(name, gzip.compress(THREE_NOTES.encode()))
    assert len(load_csv(path, separator=",")[0]) == 3


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
    (zipped("notes.csv"), "a zip archive. Unpack it"),
    (b"PAR1\x15\x04", "a Parquet file.*read_parquet"),
    (b"%PDF-1.7\n", "a PDF"),
]


@pytest.mark.parametrize("name", ["notes", "notes.csv", "notes.csv.gz"])
@pytest.mark.parametrize(("content", "said"), OF_OTHER_KINDS)
def test_files_of_other_kinds_are_known_by_their_first_bytes(write, name, content, said):
    with pytest.raises(ValueError, match=rf"{name} is {said}"):
        load_csv(write(name, content))


@pytest.mark.parametrize("header", ["PK,text,label", "PAR1,text,label"])
def test_columns_may_be_called_as_files_of_other_kinds_begin(write, header):
    assert load_csv(write("notes.csv", f"{header}\n1,Good,b\n"))[0] == ["Good"]


@pytest.mark.parametrize(
    ("encoding", "given", "named"),
    [
        ("utf-8-sig", "cp1252", "utf-8"),
        ("utf-8-sig", "latin-1", "utf-8"),
        ("utf-16", "utf-8", "utf-16"),
        ("utf-16", "cp1252", "utf-16"),
        ("utf-32", "utf-8", "utf-32"),
    ],
)
@pytest.mark.parametrize("name", ["notes.csv", "notes.csv.gz", "notes.jsonl"])
def test_a_byte_order_mark_contradicts_another_encoding(write, name, encoding, given, named):
    content = json_lines({"text": "Zu"}) if "json" in name else "text\nZu spät\n"
    path = write(name, content, encoding)
    with pytest.raises(ValueError, match=rf"is {named.upper()}, .* not {given}\. Give .* {named},"):
        load_csv(path, label=None, encoding=given)
    assert load_csv(path, label=None, encoding=named)[0].startswith("Zu")


def test_utf_16_of_a_file_in_utf_8_is_told_with_its_name(write):
    fault = r"(UTF-16 .* BOM|.*decode byte 0x74).*"  # the second from Python 3.14 on
    with pytest.raises(ValueError, match=rf"notes\.csv: {fault}\. Give .* perhaps utf-8[.,]"):
        load_csv(write("notes.csv", THREE_NOTES + "\n" * (len(THREE_NOTES) % 2)), encoding="utf16")


@pytest.mark.parametrize("encoding", ["utf-88", "rot13"])
def test_unknown_encoding_is_refused(write, encoding):
    with pytest.raises(LookupError, match=encoding):
        load_csv(write("notes.csv", THREE_NOTES), encoding=encoding)


A_B = {"text": "a", "label": "b"}
REFUSED = [  # the name of a file, what it holds, what the message says
    ("a.csv", "", "a.csv is empty; it should start with a row"),
    ("a.tsv.gz", "", "a.tsv.gz is empty"),
    ("a.jsonl", "", "a.jsonl holds no documents"),
    ("a.csv", "text,label\n", "holds no documents"),
    # Columns
    ("a.csv", "id,Txt,label\n1,a,b\n", r"no column 'text'.*'id', 'Txt', 'label'.*mean 'Txt'\?"),
    ("a.csv", "text,LABEL\na,b\n", r"Did you mean 'LABEL'\?"),
    ("a.csv", "id,stars\n1,2\n", r"It has 'id', 'stars'\. Name another by text, .* by --text\.$"),
    ("a.csv", "text\na\n", r"no column 'label'.* by --label, or by --keep if that names it\.$"),
    ("a.csv", "1,All well.\n2,Late.\n", r"It has '1', .*first line a document\? It should name"),
    ("a.csv", "text;label\na;b\n", r"seem to be separated by ';'.* by --sep\.$"),
    ("a.csv", "text\tlabel\na\tb\n", r"seem to be separated by '\\t'"),
    ("a.tsv", "text,label\na,b\n", "seem to be separated by ','"),
    ("a.csv", "text,text,label\na,b,c\n", "2 columns 'text'; rename one"),
    # Rows
    ("a.csv", f"{TWO_LINES}Late, and cold,complaint\n", r"a\.csv, line 4: .*, 2; got 3.*','"),
    ("a.csv", f"{TWO_LINES}All well.\n", r"a\.csv, line 4: expected .* names, 2; got 1"),
    ("a.tsv", "text\tlabel\na\tb\tc\n", r"line 2: expected .* names, 2; got 3.*'\\t'"),
    ("a.csv", 'text,label\na,b\n"c,d\ne,f\n', "line 3: unexpected end of data.*quotes"),
    ("a.csv", 'text,label\n"She said "no".",b\n', "line 2: .*expected after.*twice"),
    ("a.csv", "text,label\na,b\nc,\n", "line 3: 'label' is blank"),
    ("a.csv", "text,label\na,b\nc, \n", "line 3: 'label' is blank"),
    # Bytes
    ("a.csv", NO_UTF_8, "a.csv: .*0xe9 .*cp1252"),
    ("a.csv.gz", NO_UTF_8, "a.csv.gz: .*0xe9 .*cp1252"),
    ("a.csv.xz", lzma.compress(THREE_NOTES.encode())[:-9], "a.csv.xz"),
    ("a.xlsx", b"text,label\na,b\n", "a.xlsx is cut off or damaged"),
    # JSON lines
    ("a.csv", json_lines(A_B), r"a\.csv is JSON lines\. Name it \.jsonl, or give --jsonl"),
    ("a.tsv", '{ "text":"a","label":"b"}', r"a\.tsv is JSON lines"),
    (
        "a.jsonl",
        json_lines(A_B) + '{"text": \n',
        "line 2 is not a JSON object: .*whole object",
    ),
    ("a.jsonl", f"{json_lines(A_B)}{'1' * 5000}\n", "line 2 is not a JSON object"),
    ("a.jsonl", json.dumps([A_B]), "line 1 is not a JSON object: a list"),
    (
        "a.jsonl",
        json_lines(A_B, {"text": "c", "Label": "d"}),
        "line 2: 'label' is blank",
    ),
    *(
        ("a.jsonl", json_lines(A_B, A_B | {name: value}), f"line 2: '{name}' is {said}")
        for name, value, said in [
            ("text", None, "None, and not a text"),
            ("text", ["a"], r"\['a'\], and not a text"),
            ("label", None, "blank"),
            ("label", 2.5, "2.5, .* the first label is 'b'. Write all as"),
            ("label", 1, "1, .* the first label is 'b'. Write all as"),
        ]
    ),
    ("a.jsonl", json_lines(A_B | {"label": ["a"]}), "line 1: 'label' .* Write all as"),
    ("a.jsonl", json_lines(A_B | {"label": 1}, A_B | {"label": True}), "Write all as"),
]


@pytest.mark.parametrize(("name", "content", "message"), REFUSED, ids=[row[2] for row in REFUSED])
def test_what_cannot_be_read_is_named(write, name, content, message):
    with pytest.raises(ValueError, match=message):
        load_csv(write(name, content))


def test_long_header_is_not_shown_whole(write):
    with pytest.raises(ValueError, match="no column 'text'") as caught:
        load_csv(write("notes.csv", "x" * 100_000 + "\ny\n"))
    assert len(str(caught.value)) < 500


def test_a_file_that_is_cut_off_is_refused(tmp_path):
    path = tmp_path / "notes.csv.gz"
    path.write_bytes(gzip.compress(THREE_NOTES.encode())[:-12])
    with pytest.raises(ValueError, match=r"notes\.csv\.gz is cut off or damaged"):
        load_csv(path)


class TestSeveralColumns:
    @pytest.fixture
    def path(self, tmp_path):
        path = tmp_path / "notes.csv"
        path.write_text(
            "title,body,label\nOut of ink,It is empty. Again!,complaint\n,All well.,praise\n"
        )
        return path

    def test_they_are_joined_in_the_order_given(self, path):
        texts, labels = load_csv(path, text=["title", "body"])
        assert texts == ["Out of ink\n\nIt is empty. Again!", "\n\nAll well."]
        assert labels.tolist() == ["complaint", "praise"]
        assert load_csv(path, text=["body", "title"], label=None)[0].endswith("\n\nOut of ink")

    def test_no_sentence_runs_from_one_into_the_next(self, path):
        texts, _ = load_csv(path, text=["title", "body"])
        documents = HierarchicalTokenizer().fit_transform(texts)
        assert documents.sentences_per_document.tolist() == [3, 1]

    @pytest.mark.parametrize("text", [[], None, ["title", 3]])
    def test_what_is_no_name_is_refused(self, path, text):
        with pytest.raises(TypeError, match="name of a column, or a list of names"):
            load_csv(path, text=text)

    def test_a_missing_one_is_named(self, path):
        with pytest.raises(ValueError, match=r"no column 'boddy'.* Did you mean 'body'"):
            load_csv(path, text=["title", "boddy"])


@pytest.mark.parametrize("name", ["notes.csv", "notes.tsv", "notes.txt", "notes"])
def test_a_separator_goes_before_the_name(tmp_path, name):
    (tmp_path / name).write_text("text;label\nLate, and cold;complaint\n")
    texts, labels = load_csv(tmp_path / name, separator=";")
    assert (texts, labels.tolist()) == (["Late, and cold"], ["complaint"])


@pytest.mark.parametrize("separator", ["", ";;", '"', "\n"])
def test_a_separator_that_is_none_is_refused(tmp_path, separator):
    with pytest.raises(ValueError, match="separator must be one character"):
        load_csv(tmp_path / "notes.csv", separator=separator)
