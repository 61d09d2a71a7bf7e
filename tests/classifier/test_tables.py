"""Tables as people have them: one meaning of a value, whatever container and door it comes by."""

import csv
import datetime
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from sk_han import load, save
from sk_han.cli import main
from sk_han.serving import Scorer
from tests.serving.test_service import post, serving
from tests.tables import CONTAINERS, cell, json_rows, rows
from tests.tiny_models import BAD, GOOD, tiny

N = 60
RNG = np.random.RandomState(0)
SIDES = RNG.rand(N) < 0.5
LABELS = np.where(SIDES, "pos", "neg")
ZONE = datetime.timezone(datetime.timedelta(hours=-5))
DAYS = [datetime.datetime(2024, 1, 1, 23, 30) + datetime.timedelta(days=9 * i) for i in range(N)]


def noisy(first, second):
    """Draw one of two values for each label, the right one four times of five."""
    return [first if s ^ (d < 0.2) else second for s, d in zip(SIDES, RNG.rand(N), strict=True)]


# Python's own values of the columns, a sixth of them missing.
VALUES = {
    "stars": [int(n) + 2 * int(s) for n, s in zip(RNG.randint(1, 4, N), SIDES, strict=True)],
    "amount": [round(float(x), 2) for x in RNG.randn(N) + SIDES],
    "price": [Decimal(int(x)) / 4 for x in RNG.randint(1, 99, N) + 60 * SIDES],
    "urgent": noisy(True, False),
    "town": noisy("01067", "10115"),
    "product": noisy("Tea, green", "NA"),
    "code": noisy("a", "1"),
    "day": [day.date() for day in DAYS],
    "time": DAYS[::-1],
    "zoned": [day.replace(tzinfo=ZONE) for day in DAYS],
}
for position, values in enumerate(VALUES.values()):
    values[position::6] = len(values[position::6]) * [None]
VALUES["never"] = N * [None]
VALUES["text"] = [f"{(GOOD + BAD)[i % 6]} It was day {i}." for i in range(N)]


@pytest.fixture(scope="module", params=CONTAINERS)
def fitted(request):
    return tiny(text_column="text").fit(CONTAINERS[request.param](VALUES), LABELS)


@pytest.fixture(scope="module")
def expected():
    """Probabilities by a fit to Python's own values."""
    return tiny(text_column="text").fit(VALUES, LABELS).predict_proba(VALUES)


def test_every_container_is_predicted_alike_after_a_fit_to_another(fitted, expected):
    for name, container in CONTAINERS.items():
        found = fitted.predict_proba(container(VALUES))
        np.testing.assert_allclose(found, expected, atol=1e-6, err_msg=name)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "model.han"
    save(tiny(text_column="text").fit(CONTAINERS["pandas, nullable"](VALUES), LABELS), path)
    return path


def test_files_and_scorers_read_every_container_alike(model, expected):
    for reader in (load(model), Scorer.load(model)):
        for name, container in CONTAINERS.items():
            found = reader.predict_proba(container(VALUES))
            np.testing.assert_allclose(found, expected, atol=1e-6, err_msg=name)


def test_the_service_reads_json_alike(model, expected):
    with serving(model) as started:
        answer = post(started, "/predict", documents=json_rows(VALUES))
    np.testing.assert_allclose(answer.json()["probabilities"], expected, atol=1e-6)


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_the_command_line_reads_tables_alike(ending, model, expected, tmp_path):
    table, predicted = tmp_path / f"table.{ending}", tmp_path / "predicted.csv"
    with table.open("w", newline="", encoding="utf-8") as file:
        if ending == "csv":
            writer = csv.DictWriter(file, VALUES)
            writer.writeheader()
            writer.writerows(rows({n: [*map(cell, v, range(N))] for n, v in VALUES.items()}))
        else:
            file.writelines(json.dumps(row) + "\n" for row in json_rows(VALUES))
    assert main(["predict", str(model), str(table), "--proba", "-q", "-o", str(predicted)]) == 0
    found = pd.read_csv(predicted)[["probability_neg", "probability_pos"]]
    np.testing.assert_allclose(found, expected, atol=1e-5)  # six digits are written


# Cells of a column of strings, how they are read, and cells that are the same values.
KINDS = {
    "decimal comma": (["49,90", "1.200,50", "7"], "decimal comma", [49.9, Decimal("1200.5"), 7]),
    "thousands": (["1,249.90", "7", "3"], "number", [1249.9, "7.0", True + 2]),
    "blanks between": (["1 249,9", "7,0", "3"], "decimal comma", [1249.9, 7, 3.0]),
    "currency": (["$3", "-$4.50", "€ 7"], "number", [3, -4.5, "7"]),
    "decimals": (["0,125", "0,250", "7 EUR"], "decimal comma", [0.125, 0.25, 7]),
    "share": (["5 %", "7.5%", "0 %"], "number", ["0.05", 0.075, 0]),
    "not known": (["3", "4.5", "NA"], "number", [3.0, "04.5", "#DIV/0!"]),
    "large": (["1e300", "-inf", "1" * 400], "number", [1e301, -np.inf, np.inf]),
    "small": (["1e-5", ".5", "−3"], "number", [1e-05, 0.5, -3]),
    "flags": (["true", "FALSE", "N/A"], "boolean", ["1.0", 0.0, None]),
    "numbers and flags": ([1, False, True], "number", [True, 0.0, 1.0]),
    "numbers as text": ([1, "2", 3.5], "number", ["1", 2, Decimal("3.5")]),
    "post codes": (["01067", "10115", "01067"], "category", ["01067 ", " 10115", "01067"]),
    "mixed": (["a", 1, 2.5], "category", [" a", "1.0", "2.5"]),
    "times of day": ([datetime.time(10, 30), "9:00", ""], "category", ["10:30:00", "9:00", None]),
    "colours": (["#1", "#2", "#1"], "category", ["#1 ", "#2", "#1"]),
    "yes and no": (["yes", "no", "yes"], "category", ["yes", "no", "yes"]),
    "dates": (["2024-01-31", "2024/2/1", ""], "date", ["2024-01-31T10:00", "2024-02-01", None]),
    "dots and ISO": (["03.04.2025", "2024-12-01", ""], "day first", ["3.4.2025", "1.12.2024", ""]),
    "dots": (["03.04.2025", "1.12.2024", " "], "day first", ["2025-04-03", "2024-12-01", None]),
    "days": (["13/04/2025", "1/12/2024", "-"], "day first", ["2025-04-13", "2024-12-01", pd.NaT]),
    "months": (["04/13/2025", "1/12/2024", "?"], "month first", ["2025-04-13", "2024-01-12", ""]),
    "times": (
        ["2024-01-05 10:07:00", "2024-01-06T23:30:00-05:00", None],
        "date",
        [datetime.date(2024, 1, 5), datetime.datetime(2024, 1, 6, 23, 30, tzinfo=ZONE), np.nan],
    ),
    "intervals": (pd.cut([1, 5, 9], 3), "category", [*map(str, pd.cut([1, 5, 9], 3))]),
    "category of numbers": (pd.Categorical([1.0, 2.0, 1.0]), "category", [True, 2, 1]),
    "category of flags": (pd.Categorical([True, False, True]), "category", [1, 0.0, "True"]),
    "category of days": (
        pd.Categorical(pd.to_datetime(["2024-01-05", "2024-01-06", None])),
        "category",
        [datetime.date(2024, 1, 5), datetime.datetime(2024, 1, 6), pd.NaT],
    ),
    "nothing": ([None, np.nan, " "], "empty", [1, "a", None]),
}


def table_of_kinds():
    table = pd.DataFrame({name: pd.Series(cells).repeat(20) for name, (cells, *_) in KINDS.items()})
    return table.assign(text=10 * (GOOD + BAD))


@pytest.fixture(scope="module")
def of_kinds():
    """A model of columns that decide, since the second of three cells has another label."""
    labels = np.repeat(["neg", "pos", "neg"], 20)
    return tiny(text_column="text").fit(table_of_kinds(), labels)


@pytest.mark.parametrize("name", KINDS)
def test_the_kind_of_a_column_follows_from_its_cells(name, of_kinds):
    assert of_kinds.fit_summary_.columns[name].split(", ")[0] == KINDS[name][1]


def test_equal_values_of_different_types_are_predicted_alike(of_kinds):
    texts = table_of_kinds()["text"][::20].tolist()
    same = [
        {"text": texts[i]} | {name: [*other][i] for name, (*_, other) in KINDS.items()}
        for i in range(3)
    ]
    expected = of_kinds.decision_function(table_of_kinds()[::20])  # more sensitive than 0.99
    np.testing.assert_allclose(of_kinds.decision_function(same), expected, atol=1e-6)
    for name in KINDS.keys() - {"nothing"}:
        first, changed = of_kinds.decision_function([same[0], same[0] | {name: same[1][name]}])
        assert abs(changed - first) > 1e-5, name


@pytest.mark.parametrize(
    ("cells", "cause"),
    [
        ([f"{i},{i + 100}" for i in range(1, N + 1)], "decimal comma"),
        ([*[f"{i}.250" for i in range(1, N)], "900"], "decimal comma"),
        ([f"#{i}" for i in range(N)], "leave out an id"),
        ([f"{i % 12 + 1}/{i % 11 + 1}/2024" for i in range(N)], "day first"),
        ([*map(str, range(N - 2)), "12 kg", "soon"], "58 of 60 values .* 'number'.*'12 kg'"),
        ([*[f"{i % 25},5" for i in range(N - 1)], "soon"], "59 of 60 values .*'decimal comma'"),
        ([f"C-{i}" for i in range(N)], "leave out an id"),
    ],
)
def test_a_doubtful_column_of_categories_warns(cells, cause):
    with pytest.warns(UserWarning, match=rf"'doubtful' is read as categories, and .*{cause}"):
        tiny(text_column="text").fit({"text": VALUES["text"], "doubtful": cells}, LABELS)


def test_a_categorical_type_raises_no_warning():
    codes = pd.Categorical([*range(10001, 10031)] * 2)
    fitted = tiny(text_column="text").fit(
        pd.DataFrame({"text": VALUES["text"], "code": codes}), LABELS
    )
    assert fitted.fit_summary_.columns["code"] == "category, 30 values"


@pytest.mark.parametrize(
    ("kind", "cells", "described"),
    [
        ("decimal comma", ["1,234", "2,345"], "decimal comma, 2 values"),
        ("number", ["1,234", "2,345"], "number, 2 values"),
        ("day first", ["3/4/2024", "4/4/2024"], "day first, 2 values, 1 bin"),
        ("month first", ["3/4/2024", "4/4/2024"], "month first, 2 values, 1 bin"),
        ("category", [1, 2], "category, 2 values"),
        (None, [1, 2], "number, 2 values, 2 bins"),
    ],
)
def test_the_kind_of_a_column_can_be_given(kind, cells, described):
    table = {"text": VALUES["text"], "it": N // 2 * cells, "other": N * [object()]}
    fitted = tiny(text_column="text", columns={"it": kind}).fit(table, LABELS)
    assert fitted.fit_summary_.columns["it"].startswith(described)


def test_a_column_empty_in_training_accepts_any_value(expected):
    fitted = tiny(text_column="text").fit({"text": VALUES["text"], "it": N * [np.nan]}, LABELS)
    found = [fitted.predict_proba([{"text": "Good.", "it": v}]) for v in (2.5, "a", DAYS[0])]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("amount", ["many", *VALUES["amount"][1:]], "holds a str in row 0, 'many'.* 'number'"),
        ("urgent", N * [2], "holds an int in row 0, 2, .* 'boolean'"),
        ("day", N * [20240101], "holds an int in row 0, 20240101, .* 'date'"),
        ("product", N * [("a", "b")], "holds a tuple in row 0"),
    ],
)
def test_the_error_names_a_column_with_values_of_another_kind(name, values, message):
    fitted = tiny(text_column="text").fit(VALUES, LABELS)
    with pytest.raises(TypeError, match=f"'{name}' {message}"):
        fitted.predict(VALUES | {name: values})


def test_errors_name_the_row():
    fitted = tiny(text_column="text", columns=["amount"]).fit(VALUES, LABELS)
    frame = pd.DataFrame({"text": ["Good.", "Bad."], "amount": [1, "x"]}, index=[7, 9002])
    frame.index.name = "line"
    with pytest.raises(TypeError, match="in line 9002"):
        fitted.predict(frame)
    with pytest.raises(TypeError, match="Column 'text', line 7, is missing"):
        fitted.predict(frame.assign(text=[None, "Good."]))


def test_unused_columns_may_have_any_name_and_any_values():
    frame = pd.DataFrame(VALUES).rename(columns={"day": 7, "time": "zoned"})
    frame["collect"] = [object() for _ in range(N)]
    fitted = tiny(text_column="text", columns=["stars"]).fit(frame, LABELS)
    assert len(fitted.predict(frame)) == N


def test_unlabelled_texts_need_the_text_column():
    with pytest.raises(ValueError, match="X_unlabelled has no column 'text'; its columns are 'a'"):
        tiny(text_column="text").fit(VALUES, LABELS, X_unlabelled=pd.DataFrame({"a": ["b"]}))
