"""Marked texts from the files of annotation tools."""

from __future__ import annotations

import gzip
import json

import pytest

from sk_han import read_highlights

TEXT = "A dull film."


def written(folder, *records, name="marked.jsonl"):
    path = folder / name
    path.write_text("\n".join(map(json.dumps, records)), "utf-8")
    return path


@pytest.mark.parametrize(
    "record",
    [
        {"label": "neg", "spans": [{"start": 2, "end": 6, "label": "REASON"}], "answer": "accept"},
        {"accept": ["neg"], "spans": [{"start": 2, "end": 6}], "answer": "accept"},
        {"cats": ["neg"], "entities": [[2, 6, "reason"]]},
        {"cats": ["neg"], "entities": [{"id": 7, "start_offset": 2, "end_offset": 6}]},
        {"label": ["neg", [2, 6, "reason"]]},
    ],
    ids=["Prodigy", "Prodigy choice", "doccano", "doccano of relations", "doccano of one key"],
)
def test_records_of_prodigy_and_doccano(record, tmp_path):
    found = read_highlights(written(tmp_path, {"text": TEXT} | record))
    assert found == ([TEXT], ["neg"], [[(2, 6)]])


def of_label_studio(text, start, end, said=None, **more):
    span = {"start": start, "end": end, "labels": ["reason"]} | ({"text": said} if said else {})
    result = [{"type": "labels", "value": span}, {"type": "choices", "value": {"choices": ["neg"]}}]
    return {"id": 1, "data": {"text": text}, "annotations": [{"result": result} | more]}


def test_records_of_label_studio_as_lines_and_as_an_array(tmp_path):
    record = of_label_studio(TEXT, 2, 6, "dull")
    array = tmp_path / "export.json"
    array.write_text(json.dumps([record]))
    for path in (written(tmp_path, record), array):
        assert read_highlights(path) == ([TEXT], ["neg"], [[(2, 6)]])


def test_offsets_behind_emoji_are_characters(tmp_path):
    text = "\N{PILE OF POO}\N{GRINNING FACE} A dull film."
    rightly = of_label_studio(text, 5, 9, "dull")
    by_utf_16 = of_label_studio(text, 7, 11, "dull")
    _, _, highlights = read_highlights(written(tmp_path, rightly, by_utf_16))
    assert highlights == [[(5, 9)], [(5, 9)]]


def test_marks_of_other_texts_and_choices_of_marks_are_left_out(tmp_path):
    record = of_label_studio(TEXT, 2, 6, "dull")
    (result,) = [annotation["result"] for annotation in record["annotations"]]
    for each in result:
        each["to_name"] = "text"
    of_mark = {"start": 2, "end": 6, "text": "dull", "choices": ["strong"]}
    of_title = {"start": 0, "end": 3, "text": "Bad", "labels": ["reason"]}
    result.append({"type": "choices", "to_name": "text", "value": of_mark})
    result.append({"type": "labels", "to_name": "title", "value": of_title})
    assert read_highlights(written(tmp_path, record)) == ([TEXT], ["neg"], [[(2, 6)]])


@pytest.mark.parametrize("said", ["Berlin, Germany", "Berlin,\\nGermany", "Berlin, \nGermany"])
def test_blanks_of_a_mark_may_be_written_otherwise(tmp_path, said):
    record = of_label_studio("At Berlin, \nGermany.", 3, 19, said)
    assert read_highlights(written(tmp_path, record))[2] == [[(3, 19)]]


def test_a_mark_whose_text_is_elsewhere_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"Record 1 .* its text is not there"):
        read_highlights(written(tmp_path, of_label_studio(TEXT, 3, 7, "film")))


def test_nothing_marked_is_not_nobody_looked(tmp_path):
    path = written(
        tmp_path,
        {"text": "a", "label": "x", "spans": []},
        {"text": "b", "label": "x"},
        {"text": "c", "label": []},
        {"data": {"text": "d"}, "annotations": []},
        {"data": {"text": "e"}, "annotations": [{"result": []}]},
    )
    texts, labels, highlights = read_highlights(path)
    assert texts == list("abcde")
    assert labels == ["x", "x", None, None, None]
    assert highlights == [[], None, [], None, []]


def test_several_labels_give_lists(tmp_path):
    path = written(tmp_path, {"text": "a", "cats": ["x", "y"]}, {"text": "b", "cats": []})
    assert read_highlights(path) == (["a", "b"], [["x", "y"], []], [None, None])


@pytest.mark.parametrize(
    "record",
    [
        {"text": "abc", "accept": "pos"},
        {"text": "abc", "cats": "pos"},
        {"text": "abc", "cats": {"pos": 1, "neg": 0}},
        {"text": "abc", "cats": {"pos": True, "neg": 0.0}},
    ],
)
def test_a_string_is_one_label_and_an_object_tells_which_are_true(record, tmp_path):
    assert read_highlights(written(tmp_path, record)) == (["abc"], ["pos"], [None])


def test_a_choice_of_label_studio_may_be_a_string(tmp_path):
    result = [{"value": {"choices": "pos"}}]
    record = {"data": {"text": "abc"}, "annotations": [{"result": result}]}
    assert read_highlights(written(tmp_path, record)) == (["abc"], ["pos"], [[]])


def test_what_was_not_accepted_is_left_out(tmp_path):
    path = written(
        tmp_path,
        {"text": "a", "label": "x", "answer": "reject"},
        {"text": "b", "label": "x", "answer": "ignore"},
        of_label_studio("c d", 0, 1, was_cancelled=True),
        {"text": "e", "label": "x", "answer": "accept"},
    )
    assert read_highlights(path) == (["e"], ["x"], [None])


def test_compressed_files_and_other_keys(tmp_path):
    path = tmp_path / "marked.jsonl.GZ"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write(json.dumps({"review": "é\N{GRINNING FACE}", "label": "x"}) + "\n\n")
    assert read_highlights(path, text="review")[0] == ["é\N{GRINNING FACE}"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "a.jsonl",
            '{"text": "é"}'.encode("cp1252"),
            r"a\.jsonl is not UTF-8: .* Save it as",
        ),
        ("a.jsonl", gzip.compress(b'{"text": "a"}'), r"a\.jsonl is not UTF-8: .* add \.gz"),
        ("a.jsonl.gz", b'{"text": "a"}', r"a\.jsonl\.gz is not a whole gzip file .* take \.gz off"),
        ("a.jsonl.gz", gzip.compress(b'{"text": "a"}')[:-4], r"a\.jsonl\.gz is not a whole gzip"),
    ],
)
def test_a_file_of_other_bytes_is_named(name, content, message, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_highlights(tmp_path / name)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"text": TEXT, "spans": [{"start": 2, "end": 60}]}, "Record 2 .* no place in its text"),
        ({"text": TEXT, "spans": [{"start": 6, "end": 2}]}, "no place in its text of length 12"),
        ({"text": TEXT, "spans": [{"start": "/div[1]", "end": "/p"}]}, "no place in its text"),
        ({"text": TEXT, "label": [[2]]}, r"the span \[2\]"),
        ({"texts": TEXT}, r"Record 2 .* has no 'text' .* it has \['texts'\]"),
        ({"text": 5}, "has no 'text' that is a text"),
        ({"data": {"text": "a"}, "annotations": ["b"]}, "Record 2 .* is not as these tools"),
        ({"data": {"text": "a"}, "annotations": [{"result": [{"value": 3}]}]}, "is not as these"),
        ({"text": "a", "cats": {"pos": 0.7}}, "Record 2 .* not as these tools .* by 0 or 1"),
        ({"text": "a", "cats": None}, "Record 2 .* is not as these tools"),
        ({"text": "a", "spans": 5}, "Record 2 .* is not as these tools write it"),
        ([1, 2], r"Record 2 .* is \[1, 2\]"),
    ],
)
def test_what_cannot_be_read_is_named(record, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        read_highlights(written(tmp_path, {"text": "fine"}, record))


def test_a_broken_line_and_a_file_without_records_are_named(tmp_path):
    path = tmp_path / "marked.jsonl"
    path.write_text('{"text": "a"}\n{"text": ')
    with pytest.raises(ValueError, match=r"Line 2 of .* is no JSON"):
        read_highlights(path)
    path.write_text("\n")
    with pytest.raises(ValueError, match="has no record that was accepted"):
        read_highlights(path)
    with pytest.raises(FileNotFoundError):
        read_highlights(tmp_path / "none.jsonl")
