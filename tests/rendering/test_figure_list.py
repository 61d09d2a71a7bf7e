import pytest

from sk_han.inspection.results.collection import ExplanationList
from tests.by_hand import explained, signed

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")

from matplotlib.figure import Figure  # noqa: E402


def texts(ax):
    return [text.get_text() for text in ax.texts]


def at(ax, word):
    return [t.get_window_extent() for t in ax.texts if t.get_text() == word]


def test_documents_are_drawn_below_each_other_with_one_legend():
    documents = ExplanationList([signed("Aa bb."), signed("Cc dd.")], y_true=["pos", "neg"])
    ax = documents.plot()
    (first,), (second,) = at(ax, "Aa"), at(ax, "Cc")
    assert first.y0 > second.y1
    assert first.x0 == pytest.approx(second.x0)
    assert texts(ax).count("against") == 1
    assert {"0  true pos, predicted pos", "1  true neg, predicted pos"} <= set(texts(ax))


def test_classes_of_a_document_are_drawn_side_by_side():
    classes = [signed("Aa bb. Cc dd.", target=target) for target in ("neg", "pos")]
    ax = ExplanationList(classes, numbers=[4, 4]).plot()
    left, right = at(ax, "Cc")
    assert left.y0 == pytest.approx(right.y0)
    assert left.x1 < right.x0
    assert {"for or against neg", "for or against pos"} <= set(texts(ax))
    assert texts(ax).count("4  predicted pos") == 1
    box = ax.get_window_extent()
    assert all(text.get_window_extent().x1 <= box.x1 + 1 for text in ax.texts)


def test_more_classes_than_a_figure_has_room_for_are_refused():
    classes = ExplanationList([signed("Aa bb.")] * 11, numbers=[4] * 11)
    with pytest.raises(ValueError, match=r"room for 10 classes.*here are 11\. Choose some"):
        classes.plot()
    assert classes[:10].plot()


def test_documents_and_sentences_beyond_the_limit_are_counted():
    documents = ExplanationList([explained("Aa bb. Cc dd. Ee ff.")] * 4)
    ax = documents.plot(max_documents=3, max_sentences=2)
    assert texts(ax).count("1 more sentence") == 3
    assert "1 more documents" not in texts(ax)
    assert "1 more document" in texts(ax)


def test_documents_that_do_not_fit_given_axes_are_counted():
    ax = Figure(figsize=(6, 3)).subplots()
    assert ExplanationList([explained("Aa bb. Cc dd.")] * 9).plot(ax, max_documents=9) is ax
    drawn = texts(ax).count("Aa")
    assert 0 < drawn < 9
    assert f"{9 - drawn} more documents" in texts(ax)
    assert min(t.get_window_extent().y0 for t in ax.texts) >= ax.get_window_extent().y0 - 1


def test_no_documents_are_an_empty_figure_that_says_so(tmp_path):
    ax = ExplanationList().plot()
    assert texts(ax) == ["No documents."]
    ax.figure.savefig(tmp_path / "empty.png")
