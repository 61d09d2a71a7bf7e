"""A column of numbers: fit makes a HANRegressor, and the other commands need no more options."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import sk_han
from sk_han import HANRegressor
from sk_han.serving import Scorer
from tests.cli.test_fitting import SMALL
from tests.tiny_models import BAD, GOOD

RENTS = [(f"{text} Flat{i}.", 900 + 12.5 * i) for i in range(15) for text in GOOD]
RENTS += [(f"{text} Flat{i}.", 400 + 12.5 * i) for i in range(15) for text in BAD]
HELD_OUT = "--set", "validation_fraction=0.3"


def euros(number):
    return "€ " + f"{number:,.2f}".translate(str.maketrans(",.", ".,"))


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A German table of rents, and the model that the command line fits to it."""
    from sk_han.cli import main

    folder = tmp_path_factory.mktemp("rents")
    data, path = folder / "mieten.csv", folder / "m.han"
    with open(data, "w", newline="", encoding="utf-8") as file:
        rows = [(text, euros(number)) for text, number in RENTS]
        csv.writer(file, delimiter=";").writerows([("anzeige", "miete"), *rows])
    options = ("--text", "anzeige", "--number", "miete", "--sep", ";", *SMALL, *HELD_OUT)
    assert main(["fit", str(data), "-o", str(path), "--quiet", *options]) == 0
    return path, data


def read(output, sep=";"):
    return pd.read_csv(io.StringIO(output), sep=sep, decimal=",")


class TestFit:
    def test_the_model_equals_one_fitted_in_python(self, fitted):
        model = sk_han.load(fitted[0])
        texts, numbers = zip(*RENTS, strict=True)
        expected = HANRegressor(**model.get_params(deep=False)).fit(list(texts), numbers)
        np.testing.assert_array_equal(model.predict(GOOD + BAD), expected.predict(GOOD + BAD))

    @pytest.mark.filterwarnings("always")
    def test_rows_without_a_number_are_left_out_with_a_warning(self, run, table, tmp_path):
        rows = [*RENTS, ("Good.", " "), ("Bad.", "n/a")]
        data, path = table(rows, header=("text", "rent")), tmp_path / "m.han"
        code, _, told = run("fit", data, "--number", "rent", "-o", path, *SMALL)
        assert code == 0
        assert "Left 2 of 92 documents of" in told
        assert "without a number: lines 92, 93." in told

    def test_some_documents_are_held_out(self, run, table, tmp_path):
        data, path = table(RENTS, header=("text", "rent")), tmp_path / "m.han"
        options = ("--number", "rent", "--hold-out", "0.3", "-o", path, *SMALL)
        assert run("fit", data, *options)[0] == 0
        parts = [pd.read_csv(tmp_path / f"m.{part}.csv") for part in ("train", "test")]
        assert pd.concat(parts)["rent"].sort_values().tolist() == sorted(y for _, y in RENTS)

    @pytest.mark.parametrize(
        ("cells", "options", "code", "message"),
        [
            (["1.5", "cheap"], "", 1, "line 3: 'rent' is 'cheap', and not a number"),
            (["9", "1.250"], "", 1, "'1.250', which may be 1.25 or 1250. Give the mark"),
            (["9", "1.5"], "--order a b", 2, "--order is for labels; leave it out, or --number."),
            (["9", "1.5"], "--ordered", 2, "--ordered is for labels;"),
            (["9", "1.5"], "--separator ;", 2, "--separator is for labels;"),
            (["9", "1.5"], "--label rent", 2, "--label is for labels;"),
            (["9", "1.5"], "--text rent", 2, "'rent' is both --text and --number"),
            (["9", "1.5"], "--threshold 0.8", 2, "unrecognized arguments: --threshold"),
            (["9", "1.5"], "--set priors=[1]", 2, "--set: Invalid parameter 'priors'"),
        ],
    )
    def test_contradictory_options_are_refused(
        self, run, table, tmp_path, cells, options, code, message
    ):
        data = table([("Good.", cell) for cell in cells], header=("text", "rent"))
        options = ("--number", "rent", "-o", tmp_path / "m.han", *options.split())
        found, _, told = run("fit", data, *options)
        assert (found, message in told) == (code, True), told

    def test_the_decimal_mark_is_an_option(self, run, table, tmp_path):
        rows = [(text, f"{number / 500:.3f}") for text, number in RENTS if number > 500]
        data, path = table(rows, header=("text", "rent")), tmp_path / "m.han"
        for mark, largest in ((".", 3), (",", 3_000)):
            options = ("--number", "rent", "--decimal", mark, "-o", path, "-q", *SMALL)
            assert run("fit", data, *options)[0] == 0
            assert 0.7 * largest < sk_han.load(path).knots_[-1] < largest


class TestPredict:
    def test_predict_writes_the_number_and_its_interval(self, run, fitted):
        code, output, told = run("predict", *fitted, "--coverage", "0.8")
        assert code == 0
        assert "--text 'anzeige' --sep ';' --decimal ','" in told
        texts, scorer = [text for text, _ in RENTS], Scorer.load(fitted[0])
        expected = scorer.predict_frame(texts, coverage=0.8)
        assert read(output).columns.tolist() == ["prediction", "lower", "upper"]
        np.testing.assert_allclose(read(output), expected, rtol=1e-5)
        by_default = read(run("predict", *fitted)[1])
        np.testing.assert_allclose(by_default, scorer.predict_frame(texts, coverage=0.9), rtol=1e-5)

    @pytest.mark.filterwarnings("always")
    def test_a_blank_text_gets_no_number(self, run, fitted, tmp_path):
        data = tmp_path / "new.csv"
        data.write_text("id;anzeige\n1;Good.\n2;\n")
        code, output, told = run("predict", fitted[0], data, "--keep", "id", "-q")
        assert (code, output.splitlines()[2]) == (0, "2;;;")
        assert "1 blank text got no number: line 3 ('2')." in told

    def test_few_held_out_documents_give_no_interval(self, run, table, tmp_path):
        data, path = table(RENTS, header=("text", "rent")), tmp_path / "m.han"
        assert run("fit", data, "--number", "rent", "-o", path, "-q", *SMALL)[0] == 0
        code, output, told = run("predict", path, data)
        assert (code, output.splitlines()[0]) == (0, "prediction")
        assert "The fit held out too few documents for intervals." in told
        code, output, told = run("predict", path, data, "--coverage", "0.8")
        assert (code, output) == (1, "")
        assert "Intervals of coverage=0.8 need" in told

    @pytest.mark.parametrize(
        "options", ["--proba", "--threshold 0.5", "--priors a=.5", "--separator ;"]
    )
    def test_options_for_classes_are_refused_by_name(self, run, fitted, options):
        code, output, told = run("predict", *fitted, *options.split())
        assert (code, output) == (2, "")
        assert f"{options.split()[0]} is for classes, and the model predicts a number." in told

    def test_a_classifier_refuses_the_coverage_option(self, run, model, table):
        code, _, told = run("predict", model, table(), "--coverage", "0.8")
        assert code == 1
        assert "Intervals are of numbers, and this model has learnt" in told


def test_explanations_have_true_and_predicted_number(run, fitted):
    code, output, _ = run("explain", *fitted, "--rows", 1, "--number", "miete")
    predicted = Scorer.load(fitted[0]).predict([RENTS[0][0]])[0]
    assert code == 0
    assert output.startswith(f"[0] predicted {predicted:.4g}, true: 900\n")
    code, _, told = run("explain", *fitted, "--target", "a")
    assert (code, "--target is for classes" in told) == (2, True)


class TestEvaluate:
    def test_evaluate_prints_the_report_or_the_scores_as_json(self, run, fitted):
        scorer, (texts, numbers) = Scorer.load(fitted[0]), zip(*RENTS, strict=True)
        expected = sk_han.report(scorer, list(texts), numbers)
        code, output, _ = run("evaluate", *fitted)
        assert (code, output) == (0, f"{replace(expected, estimator='m.han')}\n")
        found = json.loads(run("evaluate", *fitted, "--json")[1])["scores"]["model"]
        assert found == expected.scores["model"]
        assert {"r2", "mean_absolute_error", "coverage_90"} < found.keys()

    def test_a_report_is_a_page_with_r2(self, run, fitted, tmp_path):
        data = fitted[1], "--train", fitted[1], "-o", tmp_path / "page.html"
        code, _, told = run("evaluate", fitted[0], *data)
        assert (code, "R2: model " in told, "baseline " in told) == (0, True, True)
        assert "root mean squared error" in (tmp_path / "page.html").read_text("utf-8")

    @pytest.mark.filterwarnings("always")
    def test_blank_numbers_are_left_out_and_wrong_ones_named(self, run, fitted, tmp_path):
        data = tmp_path / "new.csv"
        data.write_text("anzeige;miete\nGood.;900\nBad.;\nBad.;€ 1.250\n", encoding="utf-8")
        code, output, told = run("evaluate", fitted[0], data, "--json")
        assert (code, json.loads(output)["scores"]["model"]["mean_absolute_error"] > 0) == (0, True)
        assert "Left 1 of 3 documents of" in told
        assert "without a number: line 3." in told
        data.write_text("anzeige;miete\nGood.;cheap\n")
        code, _, told = run("evaluate", fitted[0], data)
        assert (code, "line 2: 'miete' is 'cheap', and not a number" in told) == (1, True)


def test_cross_validation_reports_r2_and_mean_absolute_error(run, table):
    data = table(RENTS, header=("text", "rent"))
    options = ("--number", "rent", "--folds", "3", *SMALL, "--quiet")
    code, output, _ = run("cross-validate", data, *options)
    assert code == 0
    lines = [line.split()[0] for line in output.splitlines()]
    assert lines == ["metric", "r2", "neg_mean_absolute_error"]
