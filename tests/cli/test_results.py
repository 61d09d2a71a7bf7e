"""audit and report write what Python makes of the same data."""

import numpy as np
import pytest

import sk_han
from tests.html_page import Page
from tests.tiny_models import GOOD, LABELS, TEXTS, fitted_classifier

QUICK = ("--set", "max_epochs=1", "--set", "embedding_dim=8", "--set", "word_hidden=4")


def audited(path):
    model = sk_han.HANClassifier(max_epochs=1, embedding_dim=8, word_hidden=4, random_state=0)
    return sk_han.audit_labels(model, TEXTS, LABELS)


def reported(path):
    return sk_han.report(sk_han.load(path), TEXTS, LABELS, n_mistakes=2)


@pytest.mark.parametrize(
    ("arguments", "of_python", "said"),
    [
        (["audit", "{data}", *QUICK], audited, "Audited 18 documents in "),
        (["report", "{model}", "{data}", "--mistakes", "2"], reported, "Read 18 documents in "),
    ],
    ids=["audit", "report"],
)
def test_page_text_and_table_are_those_of_python(
    run, model, table, tmp_path, arguments, of_python, said
):
    places = {"model": model, "data": table()}
    arguments = [each.format(**places) for each in arguments]
    expected, page, written = of_python(model), tmp_path / "page.html", tmp_path / "written.csv"
    to_fill_in = [] if of_python is reported else ["--csv", written]
    code, output, told = run(*arguments, *to_fill_in, "-o", page)
    assert (code, output) == (0, "")
    assert said in told
    assert page.read_text("utf-8") == expected.to_html()
    if to_fill_in:
        expected.to_csv(tmp_path / "expected.csv")
        assert written.read_bytes() == (tmp_path / "expected.csv").read_bytes()
    assert run(*arguments, "--quiet") == (0, f"{expected}\n", "")


def test_several_labels_are_audited(run, table):
    labels = ["good;late", "late", "good"] * 6
    rows = [(i, text, label) for i, (text, label) in enumerate(zip(TEXTS, labels, strict=True))]
    code, output, told = run("audit", table(rows), *QUICK, "--separator", ";", "--quiet")
    assert (code, told) == (0, "")
    assert "18 documents: about " in output


def test_training_documents_are_learnt_by_the_baseline(run, model, table, tmp_path):
    page, train = tmp_path / "report.html", table(name="train.csv")
    code, _, _ = run("report", model, table(), "--train", train, "-o", page)
    assert code == 0
    text = Page(page.read_text("utf-8")).all_text
    assert "from the 18 training documents given" in text
    assert "18 documents have the words of a training document" in text


def test_a_label_that_the_model_does_not_know_is_told(run, model, table):
    code, output, _ = run("report", model, table([(0, "Good.", "pos"), (1, "Bad.", "strange")]))
    assert code == 0
    assert "1 document has a label that the model does not know, 'strange'" in output


def test_labels_of_a_table_are_read_as_the_numbers_of_the_model(run, table, tmp_path):
    path = tmp_path / "numbers.han"
    sk_han.save(fitted_classifier().fit(TEXTS, (LABELS == "pos") + np.int64(1)), path)
    code, output, _ = run("report", path, table([(0, text, 2) for text in GOOD]))
    assert code == 0
    assert "No document has the label 1" in output
    code, _, told = run("report", path, table([(0, "Good.", 2), (1, "Bad.", "strange")]))
    assert code == 1
    assert "line 3: 'label': 'strange' is no class of the model" in told
