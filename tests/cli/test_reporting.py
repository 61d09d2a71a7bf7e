import numpy as np
import pytest

import sk_han
from tests.html_page import Page
from tests.tiny_models import GOOD, LABELS, TEXTS, fitted_classifier


def test_the_page_is_that_of_python(run, model, table, tmp_path):
    page = tmp_path / "report.html"
    code, output, told = run("report", model, table(), "-o", page, "--mistakes", 2)
    assert (code, output) == (0, "")
    assert told.startswith("Read 18 documents in ")
    found = sk_han.report(sk_han.load(model), TEXTS, LABELS, n_mistakes=2)
    assert page.read_text("utf-8") == found.to_html()


def test_without_a_page_text_is_printed(run, model, table):
    code, output, told = run("report", model, table(), "--quiet")
    assert (code, told) == (0, "")
    assert output.startswith("HANClassifier on 18 documents")


def test_training_documents_are_learnt_by_the_baseline(run, model, table, tmp_path):
    page, train = tmp_path / "report.html", table(name="train.csv")
    code, _, _ = run("report", model, table(), "--train", train, "-o", page)
    assert code == 0
    text = Page(page.read_text("utf-8")).all_text
    assert "the 18 training documents" in text
    assert "18 documents stand among the training documents too" in text


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


@pytest.mark.parametrize("arguments", [["--mistakes", "0"], ["--train"], ["--rows", "3"]])
def test_wrong_arguments_are_errors_of_usage(run, model, table, arguments):
    code, _, _ = run("report", model, table(), *arguments)
    assert code == 2
