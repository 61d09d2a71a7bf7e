"""The doors that all results have, and plain values."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Iterator
from inspect import isabstract
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sk_han import ExplanationList
from sk_han.inspection import (
    Comparison,
    DriftReport,
    FaithfulnessReport,
    FitSummary,
    LabelAudit,
    MixEstimate,
    Result,
    SelectiveThreshold,
    TrainingSummary,
)
from sk_han.translation import Alignment
from tests.by_hand import explained, signed, summarized
from tests.reports import made, made_of_labels, made_of_numbers
from tests.stored import assert_stored, rounded

FIT = FitSummary(
    n_documents=7,
    n_classes=2,
    n_conflicting=0,
    n_epochs=3,
    kept_epoch=2,
    ended="all epochs",
    n_scored=2,
    accuracy=0.5,
    loss=0.7,
    network_accuracy=0.5,
    linear_accuracy=None,
    majority_accuracy=0.25,
    shares={"network": 1.0},
    seconds={"network": 2.0},
    total_seconds=3.0,
)
TRAINING = TrainingSummary(
    unit="pair",
    n_trained=5,
    n_scored=1,
    n_epochs=3,
    kept_epoch=2,
    ended="no improvement",
    accuracy=0.5,
    seconds={"network": 2.0},
    total_seconds=3.0,
)
METRICS = ("comprehensiveness", "sufficiency", "flip", "lds")
FAITHFULNESS = FaithfulnessReport(
    values={metric: {"random": np.array([0.5, np.nan])} for metric in METRICS},
    means={metric: {"random": 0.5} for metric in METRICS},
    intervals={metric: {"random": (np.nan, np.nan)} for metric in METRICS},
    differences={metric: {} for metric in METRICS},
    seconds={"random": 0.001},
    fractions=(0.5,),
    n_without_words=1,
)
LABELS = made_of_labels()
AUDIT = LabelAudit(
    documents=[1, 0],
    given=[0, 1],
    suggested=[1, 0],
    doubts=[0.75, 0.25],
    probabilities=[[0.4, 0.6], [0.2, 0.8]],
    labels=("a", "b"),
    texts=("one", "two"),
)
SELECTIVE = SelectiveThreshold(
    threshold=np.inf,
    max_error=0.05,
    confidence_level=0.95,
    thresholds=[0.9, 0.0],
    n_accepted=[3, 5],
    n_errors=[1, 2],
    upper_bounds=[0.86, 0.81],
    tested=[True, False],
)
MIX = MixEstimate(
    labels=("a", "b"),
    training=np.array([0.5, 0.5]),
    shares=np.array([0.9, 0.1]),
    lower=np.array([0.8, 0.0]),
    upper=np.array([1.0, 0.2]),
    p_values=np.array([0.001, 0.001]),
    n_documents=200,
    fewest=100,
)
COMPARISON = Comparison("confidence", 0.6, 0.5, 0.7, 0.8, 0.001, "Less sure.")
DRIFT = DriftReport(n_documents=200, comparisons=(COMPARISON,))
RESULTS = {
    type(result).__name__ + " of labels" * (result is LABELS): result
    for result in (
        explained(),
        ExplanationList(
            [signed(against="neg", sentence_errors=[0.0, 0.125]), explained()],
            y_true=["neg", "pos"],
        ),
        summarized(),
        made(),
        LABELS,
        made_of_numbers(),
        FIT,
        TRAINING,
        FAITHFULNESS,
        AUDIT,
        SELECTIVE,
        MIX,
        DRIFT,
        Alignment("ein Hund", "a dog", ["ein", "Hund"], ["a", "dog"], [[0.75, 0.0], [0.0, 1.0]]),
    )
}
DRAWN = [result for result in RESULTS.values() if hasattr(result, "plot")]
each_result = pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)


@pytest.fixture(autouse=True)
def _figures_are_closed() -> Iterator[None]:
    yield
    pytest.importorskip("matplotlib.pyplot").close("all")


def test_every_result_class_is_among_the_tested_results():
    def kinds(base: type) -> set[type]:
        return {base}.union(*map(kinds, base.__subclasses__()))

    shown = {type(result) for result in RESULTS.values()}
    assert {kind for kind in kinds(Result) if not isabstract(kind)} == shown


@each_result
def test_to_json_writes_the_values_of_to_dict(result: Result, tmp_path: Any) -> None:
    path = tmp_path / "result.json"
    assert result.to_json(path) is None  # else the last line of a cell would show all of it
    assert json.loads(result.to_json()) == result.to_dict()
    assert path.read_text("ascii") == result.to_json()


TABLES = {
    "DocumentExplanation": ["word", "sentence"],
    "ExplanationList": ["document", "sentence", "word"],
    "Report": ["documents", "classes", "scores", "confusion"],
    "Report of labels": ["documents", "classes", "scores", "confusion"],
}


@pytest.mark.parametrize("name", RESULTS)
def test_data_and_tables_match_their_stored_copies(name: str) -> None:
    result: Any = RESULTS[name]
    data = {"repr": repr(result), "data": result.to_dict()}
    if hasattr(result, "to_frame"):
        for kind in TABLES.get(name, [None]):
            frame = result.to_frame() if kind is None else result.to_frame(kind)
            data[f"table {kind}"] = frame.reset_index().to_dict("list")
    stored = json.dumps(rounded(data), indent=1, default=str) + "\n"
    assert_stored(f"{name.replace(' ', '_')}.json", stored)


@pytest.mark.parametrize("name", TABLES)
def test_an_unknown_kind_of_table_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=rf"'{TABLES[name][0]}'.*; got 'letters'"):
        RESULTS[name].to_frame("letters")  # type: ignore[attr-defined]


@each_result
def test_a_page_is_written_and_a_fragment_is_shown(result: Result, tmp_path: Any) -> None:
    path = tmp_path / "page.html"
    assert result.to_html(path) is None  # else the last line of a cell would show all of it
    assert result.to_html().startswith("<!DOCTYPE html>")
    assert path.read_text("utf-8") == result.to_html()
    assert result._repr_html_() == result.to_html(full_page=False)
    assert "<html" not in result._repr_html_()


@pytest.mark.parametrize("door", ["to_html", "to_json"])
def test_a_missing_folder_is_named_with_the_repair(door: str, tmp_path: Any) -> None:
    with pytest.raises(FileNotFoundError, match=r"no folder .*absent; make it"):
        getattr(FIT, door)(tmp_path / "absent" / "result")


def test_results_are_written_directly_to_device_files(tmp_path: Any) -> None:
    assert FIT.to_json(os.devnull) is None
    assert not Path(os.devnull).is_file()
    with pytest.raises(OSError, match="folder"):
        FIT.to_json(tmp_path)


@each_result
def test_a_pickled_result_is_equal_and_read_only(result: Result) -> None:
    result.to_html()  # so that computed values are pickled too
    again = pickle.loads(pickle.dumps(result))
    assert again.to_html() == result.to_html()
    assert again.to_dict() == result.to_dict()
    for name, value in getattr(result, "__dict__", {}).items():
        if isinstance(value, np.ndarray) and not value.flags.writeable:
            assert not getattr(again, name).flags.writeable


@each_result
def test_print_shows_the_text(result: Result) -> None:
    assert str(result) == result.to_text()
    assert len(str(result).splitlines()) > 1


@pytest.mark.parametrize("result", DRAWN, ids=lambda result: type(result).__name__)
def test_results_are_plotted_on_given_axes(result: Any) -> None:
    ax = pytest.importorskip("matplotlib.pyplot").subplots()[1]
    assert result.plot(ax) is ax
    ax.figure.canvas.draw()
    assert result.plot() is not ax


def test_the_plot_of_a_report_shows_the_confusion_matrix():
    pytest.importorskip("matplotlib")
    ax = made().plot()
    ax.figure.canvas.draw()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["neg", "pos", "new"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["neg", "pos"]
    numbers = {(text.get_position()): text.get_text() for text in ax.texts}
    assert numbers == {(0, 0): "2", (1, 0): "1", (0, 1): "1", (1, 1): "1", (1, 2): "1"}
    assert np.allclose(ax.images[0].get_array(), [[2 / 3, 1 / 3], [1 / 2, 1 / 2], [0, 1]])


def test_surrogate_pairs_do_not_shift_offsets_in_json():
    explanation = signed("\ud83d\ude00 Not bad.")
    (sentence,) = json.loads(explanation.to_json())["sentences"]
    text = json.loads(explanation.to_json())["text"]
    assert len(text) == len(explanation.text)
    assert text[sentence["start"] : sentence["end"]].endswith("Not bad.")
    word = sentence["words"][0]
    assert text[word["start"] : word["end"]] == word["text"] == explanation.words[0]
