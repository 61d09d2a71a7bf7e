import csv

import sk_han
from tests.html_page import Page
from tests.tiny_models import TEXTS


def test_the_page_and_the_table_are_those_of_python(run, table, model, tmp_path):
    page, to_label = tmp_path / "page.html", tmp_path / "to_label.csv"
    arguments = (
        "-n",
        3,
        "-o",
        page,
        "--csv",
        to_label,
        "--labelled",
        table([(0, TEXTS[0], "")], "b.csv"),
    )
    code, output, told = run("suggest", model, table(), *arguments)
    assert (code, output) == (0, "")
    assert "Read 18 documents in " in told
    assert "3 documents of 18 to label next" in Page(page.read_text("utf-8")).all_text
    expected = sk_han.suggest(sk_han.load(model), TEXTS, 3, X_labelled=[TEXTS[0]], random_state=0)
    with open(to_label, encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["document"]) for row in rows] == expected.documents.tolist()
    assert [row["text"] for row in rows] == list(expected.texts)
    assert {row["label"] for row in rows} == {""}


def test_without_a_page_text_is_printed(run, table, model):
    code, output, told = run("suggest", model, table(), "-n", 2, "--quiet")
    assert (code, told) == (0, "")
    assert output.startswith("2 documents of 18 to label next")


def test_what_is_read_is_not_written_over(run, table, model):
    labelled = table(name="labelled.csv")
    code, _, told = run("suggest", model, table(), "--labelled", labelled, "--csv", labelled)
    assert code == 2
    assert "is read; write to another file" in told


def test_the_table_is_no_standard_output(run, table, model):
    code, _, told = run("suggest", model, table(), "--csv", "-")
    assert code == 2
    assert "give the name of a file" in told
