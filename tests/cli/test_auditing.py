import csv

import sk_han
from tests.html_page import Page
from tests.tiny_models import LABELS, TEXTS

QUICK = ("--set", "max_epochs=1", "--set", "embedding_dim=8", "--set", "word_hidden=4")


def test_the_page_and_the_table_are_those_of_python(run, table, tmp_path):
    page, decisions = tmp_path / "audit.html", tmp_path / "decisions.csv"
    code, output, told = run("audit", table(), *QUICK, "-o", page, "--csv", decisions)
    assert (code, output) == (0, "")
    assert "Audited 18 documents in " in told
    assert "18 documents: about" in Page(page.read_text("utf-8")).all_text
    model = sk_han.HANClassifier(max_epochs=1, embedding_dim=8, word_hidden=4, random_state=0)
    expected = sk_han.audit_labels(model, TEXTS, LABELS)
    with open(decisions, encoding="utf-8-sig", newline="") as file:
        assert [int(row["document"]) for row in csv.DictReader(file)] == expected.documents.tolist()


def test_without_a_page_text_is_printed(run, table):
    code, output, _ = run("audit", table(), *QUICK, "--quiet")
    assert code == 0
    assert output.startswith("18 documents: about ")


def test_several_labels_are_read(run, table):
    labels = ["good;late", "late", "good"] * 6
    rows = [(i, text, label) for i, (text, label) in enumerate(zip(TEXTS, labels, strict=True))]
    code, output, told = run("audit", table(rows), *QUICK, "--separator", ";", "--quiet")
    assert (code, told) == (0, "")
    assert "18 documents: about " in output


def test_the_page_does_not_take_the_place_of_the_table(run, table, tmp_path):
    path = tmp_path / "audit"
    code, _, told = run("audit", table(), "-o", path, "--csv", path)
    assert code == 2
    assert "would be written twice; give two files" in told


def test_what_is_read_is_not_written_over(run, table):
    data = table()
    code, _, told = run("audit", data, "--csv", data)
    assert code == 2
    assert "is read; write to another file" in told


def test_the_table_is_no_standard_output(run, table):
    code, _, told = run("audit", table(), "--csv", "-")
    assert code == 2
    assert "--csv writes a table to fill in: give the name of a file" in told
