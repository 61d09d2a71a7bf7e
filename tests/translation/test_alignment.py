"""An alignment as data."""

import json

import numpy as np
import pytest

from sk_han.translation import Alignment


def alignment(**changes):
    params = {
        "source_text": "ein <b>Hund",
        "target_text": "a $dog",
        "source_words": ["ein", "<b>", "Hund"],
        "target_words": ["a", "$dog"],
        "weights": [[0.7, 0.1, 0.1], [0.0, 0.25, 0.75]],
    }
    return Alignment(**(params | changes))


@pytest.mark.parametrize("weights", [[[1.0]], [[0.5, 0.5, 2.0]] * 2, [[float("nan")] * 3] * 2])
def test_wrong_weights_are_refused(weights):
    with pytest.raises(ValueError, match="weights must"):
        alignment(weights=weights)


def test_an_alignment_can_be_written_as_json(tmp_path):
    path = tmp_path / "alignment.json"
    alignment(source_text="\ud800").to_json(path)
    written = path.read_text("ascii")
    assert json.loads(written)["weights"][1] == [0.0, 0.25, 0.75]
    assert Alignment(**json.loads(written)).to_dict() == json.loads(written)


def test_pairs_are_words_with_the_largest_weight():
    assert alignment().pairs() == [("a", "ein", 0.7), ("$dog", "Hund", 0.75)]
    frame = alignment().to_frame()
    assert frame.loc["$dog"].to_dict() == {"ein": 0.0, "<b>": 0.25, "Hund": 0.75}
    assert str(alignment()).splitlines()[1:] == ["  a     ein   0.70", "  $dog  Hund  0.75"]
    empty = Alignment("", "a", [], ["a"], [[]])
    assert empty.pairs() == [("a", None, 0.0)]
    assert empty.to_text().splitlines()[1:] == ["  a  nothing  0.00"]
    assert len(Alignment("", "", [], [], np.zeros((0, 0))).to_text().splitlines()) == 1


def test_html_is_escaped_and_written(tmp_path):
    path = tmp_path / "alignment.html"
    alignment().to_html(path)
    html = path.read_text("utf-8")
    assert "<b>" not in html
    assert "&lt;b&gt;" in html
    assert "var(--attention-6)" in html  # 0.75 of 8 shades
    assert alignment(target_words=["<script>", "b"])._repr_html_().count("<script") == 0


@pytest.fixture
def _drawn():
    pytest.importorskip("matplotlib").use("agg")
    from matplotlib import pyplot

    yield
    pyplot.close("all")


@pytest.mark.usefixtures("_drawn")
def test_the_heat_map_has_target_rows_and_source_columns():
    found = alignment(target_words=["a", "$x$"])
    ax = found.plot()
    ax.figure.canvas.draw()  # a formula that is none would raise here
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "$x$"]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["ein", "<b>", "Hund"]
    assert np.array_equal(ax.images[0].get_array(), found.weights)
    assert found.plot(ax) is ax
    nothing = Alignment("", "", [], [], np.zeros((0, 0))).plot()
    nothing.figure.canvas.draw()
    assert not nothing.images
