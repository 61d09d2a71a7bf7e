"""Tables are read row by row, from files and streams."""

import io

import pytest

from sk_han.datasets.tables import Record, Table, read_records


def stream(content, delimiter=","):
    data = content if isinstance(content, bytes) else content.encode()
    return Table(io.BufferedReader(io.BytesIO(data)), delimiter, "standard input")


def test_a_record_has_line_text_label_and_other_columns():
    table = stream('id,text,stars\n1,"two\nlines",5\n2,Bad,1\n')
    found = list(read_records(table, ["text"], "stars", ["id"]))
    rows = [
        {"id": "1", "text": "two\nlines", "stars": "5"},
        {"id": "2", "text": "Bad", "stars": "1"},
    ]
    assert found == [
        Record(2, "two\nlines", "5", ["1"], rows[0]),
        Record(4, "Bad", "1", ["2"], rows[1]),
    ]


def test_a_column_may_be_text_and_other_at_once():
    (record,) = read_records(stream("text\nGood\n"), ["text"], None, ["text"])
    assert (record.text, record.label, record.others) == ("Good", None, ["Good"])


def test_a_stream_is_read_as_it_comes():
    class Pipe(io.RawIOBase):
        asked = 0

        def readable(self):
            return True

        def readinto(self, buffer):
            self.asked += 1
            row = b"text\n" if self.asked == 1 else b"Good\n"
            buffer[: len(row)] = row
            return len(row)

    pipe = Pipe()
    records = read_records(Table(io.BufferedReader(pipe), ",", "pipe"), ["text"])
    assert [next(records).text for _ in range(100)] == ["Good"] * 100
    assert pipe.asked < 200


def test_a_stream_is_not_closed():
    table = stream("text\nGood\n")
    assert len(list(read_records(table, ["text"]))) == 1
    assert not table.source.closed


def test_bytes_of_a_stream_that_are_no_text_are_named():
    with pytest.raises(ValueError, match=r"standard input: byte 0xe9 is not utf-8"):
        list(read_records(stream("text\ndéjà vu\n".encode("latin-1")), ["text"]))


def test_a_compressed_stream_is_recognised():
    with pytest.raises(ValueError, match=r"standard input is compressed\. Add .gz .*or unpack it"):
        list(read_records(stream(b"\x1f\x8b\x08\x00"), ["text"]))


def test_json_lines_of_a_stream_are_read():
    table = stream('{"text": "a", "label": 2, "id": [1]}\n', delimiter=None)
    row = {"text": "a", "label": 2, "id": [1]}
    assert list(read_records(table, ["text"], "label", ["id"])) == [Record(1, "a", 2, [[1]], row)]


def test_json_lines_of_a_stream_that_is_read_as_columns_are_told():
    table = Table(io.BufferedReader(io.BytesIO(b'{"text":"a","label":2}\n')), ",", "standard input")
    with pytest.raises(ValueError, match=r"standard input looks like JSON lines.* give --jsonl"):
        list(read_records(table, ["text"]))


def test_a_row_of_wrong_length_names_the_separator():
    with pytest.raises(ValueError, match=r"line 2: expected .* names, 1; got 2.*a ';' or"):
        list(read_records(stream("text\na;b\n", delimiter=";"), ["text"]))
