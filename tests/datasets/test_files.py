import csv
import gzip
import io
import json
import threading
import zipfile

import numpy as np
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

    def write_file(name, content, encoding="utf-8"):
        path = tmp_path / name
        data = content if isinstance(content, bytes) else content.encode(encoding)
        path.write_bytes(gzip.compress(data) if name.lower().endswith(".gz") else data)
        return path

    return write_file


def json_lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


# What is read


@pytest.mark.parametrize("name", ["notes.csv", "notes.csv.gz", "NOTES.CSV", "notes.CSV.GZ"])
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


def test_digits_of_csv_stay_strings(write):
    assert load_csv(write("notes.csv", "text,label\na,07\n"))[1].tolist() == ["07"]


# What is left alone


@pytest.fixture
def csv_limit():
    """A limit that is nobody's default."""
    before = csv.field_size_limit(1000)
    yield 1000
    csv.field_size_limit(before)


def test_csv_limit_is_as_before(write, csv_limit):
    load_csv(write("notes.csv", THREE_NOTES))
    assert csv.field_size_limit() == csv_limit


def test_csv_limit_is_as_before_while_an_error_is_handled(write, csv_limit):
    with pytest.raises(ValueError, match="names, 1; got 2"):
        load_csv(write("notes.csv", "text\na,b\n"), label=None)
    assert csv.field_size_limit() == csv_limit


def test_threads_may_load_at_the_same_time(write, csv_limit):
    path = write("long.csv", "text\n" + f"{'x' * 200_000}\n" * 20)
    loaded = []
    threads = [
        threading.Thread(target=lambda: loaded.append(len(load_csv(path, label=None))))
        for _ in range(5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert loaded == [20] * 5
    assert csv.field_size_limit() == csv_limit


# What is refused


def test_missing_file_is_named_with_its_neighbour(write):
    path = write("reviews.csv", THREE_NOTES)
    with pytest.raises(FileNotFoundError, match=r"revews\.csv does not exist\. Did you mean 'rev"):
        load_csv(path.with_name("revews.csv"))


def test_missing_folder_is_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"notes\.csv does not exist"):
        load_csv(tmp_path / "nowhere" / "notes.csv")


@pytest.mark.parametrize("name", ["notes.xlsx", "notes", "notes.gz", "notes.csv.zip", ".csv"])
def test_unknown_suffix_is_refused(write, name):
    with pytest.raises(ValueError, match=r"must end in \.csv, \.tsv or \.jsonl"):
        load_csv(write(name, THREE_NOTES))


def zipped(*names):
    """Make an archive of files of these names."""
    with io.BytesIO() as file:
        with zipfile.ZipFile(file, "w") as archive:
            for name in names:
                archive.writestr(name, "<a/>")
        return file.getvalue()


OF_OTHER_KINDS = [
    (zipped("[Content_Types].xml", "xl/workbook.xml"), r"an Excel file.*CSV UTF-8.*read_excel"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1", r"an Excel file.*CSV UTF-8.*read_excel"),
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


@pytest.mark.parametrize("name", ["notes", "notes.csv"])
def test_a_folder_is_refused(tmp_path, name):
    (tmp_path / name).mkdir()
    with pytest.raises(IsADirectoryError, match=f"{name} is a folder; give the name of a table"):
        load_csv(tmp_path / name)


def test_utf_16_of_a_file_in_utf_8_is_told_with_its_name(write):
    fault = r"(UTF-16 .* BOM|byte 0x74 is not utf-16)"  # the second from Python 3.14 on
    with pytest.raises(ValueError, match=rf"notes\.csv: {fault}\. Give .* perhaps utf-8[.,]"):
        load_csv(write("notes.csv", THREE_NOTES + "\n" * (len(THREE_NOTES) % 2)), encoding="utf16")


@pytest.mark.parametrize("encoding", ["utf-88", "rot13"])
def test_unknown_encoding_is_refused(write, encoding):
    with pytest.raises(ValueError, match=f"encoding is '{encoding}'; it takes .* 'cp1252'"):
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
    ("a.csv", f"{TWO_LINES}Late, and cold,complaint\n", r"a\.csv, line 4: .*, 2; got 3.*comma"),
    ("a.csv", f"{TWO_LINES}All well.\n", r"a\.csv, line 4: expected .* names, 2; got 1.*comma"),
    ("a.tsv", "text\tlabel\na\tb\tc\n", "line 2: expected .* names, 2; got 3.*a tab"),
    ("a.csv", 'text,label\na,b\n"c,d\ne,f\n', "line 3: unexpected end of data.*Close every quote"),
    ("a.csv", 'text,label\n"She said "no".",b\n', "line 2: .*expected after.*twice"),
    ("a.csv", "text,label\na,b\nc,\n", "line 3: 'label' is blank"),
    ("a.csv", "text,label\na,b\nc, \n", "line 3: 'label' is blank"),
    # Bytes
    ("a.csv", NO_UTF_8, "a.csv: byte 0xe9 is not utf-8.*cp1252"),
    ("a.csv.gz", NO_UTF_8, "a.csv.gz: byte 0xe9 is not utf-8.*cp1252"),
    ("a.csv", "text,label\na,b\n".encode("utf-16"), "is not utf-8.* perhaps utf-16,"),
    ("a.csv", gzip.compress(b"text,label\na,b\n"), r"is compressed\. Add \.gz"),
    # JSON lines
    ("a.csv", json_lines(A_B), r"a\.csv looks like JSON lines: name it \.jsonl, or give --jsonl"),
    ("a.tsv", '{ "text":"a","label":"b"}', r"a\.tsv looks like JSON lines"),
    (
        "a.jsonl",
        json_lines(A_B) + '{"text": \n',
        "line 2 is not JSON: .* column 9.*whole object",
    ),
    ("a.jsonl", f"{json_lines(A_B)}{'1' * 5000}\n", "line 2 cannot be read"),
    ("a.jsonl", json.dumps([A_B]), "line 1 is a JSON array.*without a list around"),
    (
        "a.jsonl",
        json_lines(A_B, {"text": "c", "Label": "d"}),
        "line 2 has no .*'label'.*'Label'",
    ),
    *(
        ("a.jsonl", json_lines(A_B, A_B | {name: value}), f"line 2: '{name}' is a JSON {kind}")
        for name, value, kind in [
            ("text", None, "null, not a string"),
            ("text", 3.5, "number, not a string"),
            ("text", ["a"], "array, not a string"),
            ("text", {"a": 1}, "object, not a string"),
            ("label", None, "null"),
            ("label", 2.5, "number"),
            ("label", ["a"], "array"),
            ("label", 1, "number, .*Write all labels alike"),
        ]
    ),
    ("a.jsonl", json_lines(A_B | {"label": 2**63}), "line 1: 'label' .*64 bits.* as a string"),
    ("a.jsonl", json_lines(A_B | {"label": 1}, A_B | {"label": True}), "Write all labels alike"),
    ("a.jsonl", json_lines(A_B | {"label": False}, A_B), "Write all labels alike"),
]


@pytest.mark.parametrize(("name", "content", "message"), REFUSED, ids=[row[2] for row in REFUSED])
def test_what_cannot_be_read_is_named(write, name, content, message):
    with pytest.raises(ValueError, match=message):
        load_csv(write(name, content))


def test_long_header_is_not_shown_whole(write):
    with pytest.raises(ValueError, match="no column 'text'") as caught:
        load_csv(write("notes.csv", "x" * 100_000 + "\ny\n"))
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "data",
    [THREE_NOTES.encode(), gzip.compress(THREE_NOTES.encode())[:-12], b""],
    ids=["not compressed", "cut off", "empty"],
)
def test_broken_gzip_is_refused(tmp_path, data):
    path = tmp_path / "notes.csv.gz"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"notes\.csv\.gz is (not a whole gzip file|empty)"):
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


@pytest.mark.parametrize("separator", ["", ";;", '"', "\n", 3])
def test_a_separator_that_is_none_is_refused(tmp_path, separator):
    with pytest.raises(ValueError, match="separator must be one character"):
        load_csv(tmp_path / "notes.csv", separator=separator)


def test_json_lines_have_no_separator(tmp_path):
    with pytest.raises(ValueError, match="JSON lines have no separator"):
        load_csv(tmp_path / "notes.jsonl", separator=";")
