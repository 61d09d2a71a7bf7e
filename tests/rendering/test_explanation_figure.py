import itertools

import numpy as np
import pytest

from sk_han.inspection.results.collection import ExplanationList
from tests.by_hand import explained, signed

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")

from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

from sk_han.rendering.colors import DARK, LIGHT, shades, themed_axes  # noqa: E402
from sk_han.rendering.explanation_figure import plot_explanation  # noqa: E402
from sk_han.rendering.rows import WORDS_SHOWN  # noqa: E402
from tests.thorough import first_fast  # noqa: E402


def texts(ax):
    return [text.get_text() for text in ax.texts]


def shade_behind(ax, word):
    """Colour of the box under a word; None where there is none."""
    (text,) = [text for text in ax.texts if text.get_text() == word]
    box = text.get_window_extent()
    x, y = (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2
    under = [patch for patch in ax.patches if patch.get_window_extent().contains(x, y)]
    return matplotlib.colors.to_hex(under[-1].get_facecolor()) if under else None


def test_words_are_drawn_in_order_with_their_punctuation():
    ax = plot_explanation(explained("Great film. I loved it!"))
    words = [t for t in texts(ax) if t in ("Great", "film", ".", "I", "loved", "it", "!")]
    assert words == ["Great", "film", ".", "I", "loved", "it", "!"]


def test_contributions_are_shaded_by_sign():
    ax = plot_explanation(signed("aa bb cc.", contributions=[1.0, -1.0, 0.0]))
    assert shade_behind(ax, "aa") == shades(LIGHT, "toward")[-1]
    assert shade_behind(ax, "bb") == shades(LIGHT, "against")[-1]
    assert shade_behind(ax, "cc") is None


def test_attention_is_shown_of_signed_explanations_on_request():
    ax = plot_explanation(signed("aa bb cc."), show="attention")
    assert shade_behind(ax, "cc") == shades(LIGHT, "attention")[-1]


def test_bars_are_as_long_as_the_values():
    ax = plot_explanation(signed("One. Two.", sentence_contributions=[-0.25, 0.5]))
    assert {"-0.250", "+0.500"} <= set(texts(ax))
    bars = {matplotlib.colors.to_hex(p.get_facecolor()): p.get_width() for p in ax.patches}
    assert bars[LIGHT.against[1]] == bars[LIGHT.toward[1]] / 2


def test_words_of_a_line_do_not_overlap():
    ax = plot_explanation(explained("Several words of unlike length, in one very short line."))
    (y,) = {t.get_position()[1] for t in ax.texts if t.get_text() in ("Several", "line", ".")}
    line = sorted(
        (t.get_window_extent() for t in ax.texts if t.get_position()[1] == y), key=lambda b: b.x0
    )
    for left, right in itertools.pairwise(line):
        assert left.x1 <= right.x0 + 1.5


def test_long_sentences_wrap_within_the_axes():
    ax = plot_explanation(
        explained("A sentence much longer than the axes are wide. " * 3 + "x " * 200)
    )
    right = ax.get_window_extent().x1
    assert max(text.get_window_extent().x1 for text in ax.texts) <= right + 1
    assert len({t.get_position()[1] for t in ax.texts if t.get_text() == "x"}) > 1


def test_a_figure_of_its_own_is_as_high_as_its_text():
    low = plot_explanation(explained("One. Two.")).figure.get_figheight()
    high = plot_explanation(explained("One. Two. " * 8)).figure.get_figheight()
    assert low < 1.5 < high
    ax = plot_explanation(explained("One. Two. " * 8))
    assert min(t.get_window_extent().y0 for t in ax.texts) >= 0


def test_given_axes_are_drawn_on_without_pyplot():
    ax, open_before = Figure(figsize=(6, 3)).subplots(), plt.get_fignums()
    assert plot_explanation(explained(), ax=ax) is ax
    assert plt.get_fignums() == open_before


def test_rows_that_do_not_fit_given_axes_are_counted():
    figure = Figure(figsize=(6, 2))
    ax = plot_explanation(explained("Some words here. " * 15), ax=figure.subplots())
    drawn = texts(ax).count("Some")
    assert 0 < drawn < 15
    assert f"{15 - drawn} more sentences" in texts(ax)
    assert min(t.get_window_extent().y0 for t in ax.texts) >= ax.get_window_extent().y0 - 1


def test_the_heaviest_sentences_are_those_that_fit_given_axes():
    text = " ".join(f"Number n{i}." for i in range(30))
    ax = plot_explanation(explained(text), ax=Figure(figsize=(6, 2.5)).subplots())
    drawn = [t for t in texts(ax) if t in text.replace(".", "").split()[1::2]]
    assert 1 < len(drawn) < 20
    assert drawn == [f"n{i}" for i in range(30 - len(drawn), 30)]


def test_the_sentences_of_largest_weight_are_drawn():
    text = " ".join(f"Number n{i}." for i in range(9))
    ax = plot_explanation(explained(text), max_sentences=3)
    assert [t for t in texts(ax) if t in text.replace(".", "").split()[1::2]] == ["n6", "n7", "n8"]
    assert "6 more sentences" in texts(ax)


def test_numbers_do_not_reach_into_the_bars():
    ax = plot_explanation(signed("One. Two.", sentence_contributions=[-0.00047, -1.2e-5]))
    bars = [patch.get_window_extent().x0 for patch in ax.patches if patch.get_height() == 6]
    numbers = [t.get_window_extent() for t in ax.texts if t.get_text() in ("-0.00047", "-1.2e-05")]
    assert len(numbers) == 2
    assert max(box.x1 for box in numbers) < min(bars)
    assert min(box.x0 for box in numbers) >= ax.get_window_extent().x0


@pytest.mark.thorough
def test_a_long_sentence_is_cut_to_its_heaviest_words_and_their_neighbours():
    values = np.zeros(100_000)
    values[50_000] = 1.0
    text = " ".join(f"w{i}" for i in range(100_000))
    ax = plot_explanation(signed(text, contributions=values, sentence_contributions=[1]))
    drawn = texts(ax)
    at = drawn.index("w50000")
    assert drawn[at - 5 : at] == [f"w{i}" for i in range(49_995, 50_000)]
    assert drawn[at + 6].endswith(" words …")
    assert sum(t.startswith("w") for t in drawn) <= WORDS_SHOWN
    assert ax.figure.get_figheight() < 25


@pytest.mark.thorough
def test_a_long_sentence_is_cut_further_to_fit_given_axes():
    ax = plot_explanation(explained("word " * 900), ax=Figure(figsize=(6, 3)).subplots())
    assert texts(ax).count("word") > 20
    assert min(t.get_window_extent().y0 for t in ax.texts) >= ax.get_window_extent().y0 - 1


def test_long_labels_and_notes_wrap_within_the_axes():
    classes = [f"a label of {'very ' * 20}many words {i}" for i in range(5)]
    explanation = signed(
        classes=classes, probabilities=[0.2] * 5, predicted=classes[0], target=classes[1]
    )
    ax = plot_explanation(explanation, ax=Figure(figsize=(5, 6)).subplots())
    right = ax.get_window_extent().x1
    small = [t for t in ax.texts if t.get_color() == LIGHT.muted]
    assert max(text.get_window_extent().x1 for text in small) <= right + 1
    written = " ".join(texts(ax))
    assert f"plus speaks for {classes[1]}, minus against it" in written


def test_the_legend_is_whole_at_another_resolution():
    ax = plot_explanation(signed(method="gradient_attention"))
    ax.figure.set_dpi(70)
    right = ax.get_window_extent().x1
    assert max(text.get_window_extent().x1 for text in ax.texts) <= right + 1


def test_the_legend_names_target_and_method():
    written = " ".join(texts(plot_explanation(signed(target="neg"))))
    assert "plus speaks for neg, minus against it, in log-odds (0.69 doubles the odds)" in written
    assert "by gradient_attention: attention" in written


def test_a_figure_has_the_shades_of_its_theme():
    ax = plot_explanation(explained("aa bb. cc dd ee."))
    assert shade_behind(ax, "ee") == shades(LIGHT, "attention")[-1]
    assert shade_behind(ax, "aa") == shades(LIGHT, "attention")[2]
    with plt.style.context("dark_background"):
        ax = plot_explanation(explained("aa bb."))
        assert shade_behind(ax, "bb") == shades(DARK, "attention")[-1]


def test_hebrew_runs_from_the_right():
    ax = plot_explanation(explained("אחת שתיים."))
    positions = {t.get_text(): t.get_position()[0] for t in ax.texts}
    assert positions["שתיים"] < positions["אחת"]


@pytest.mark.parametrize(
    ("text", "left_to_right"),
    [
        ("אחת 12,5 שתיים.", ". שתיים 12 , 5 אחת"),
        ("אחת (one two) שתיים.", ". שתיים ( one two ) אחת"),
        ("אחת 5, 12 שתיים.", ". שתיים 12 , 5 אחת"),
        ("One אחת שתיים, two.", "One שתיים אחת , two ."),
        ("One 12,5 two (אחת, שתיים).", "One 12 , 5 two ( שתיים , אחת )."),
    ],
    ids=["number", "english in hebrew", "numbers", "hebrew in english", "list"],
)
def test_words_of_both_directions_stand_as_they_are_read(text, left_to_right):
    ax = plot_explanation(explained(text))
    (y,) = {t.get_position()[1] for t in ax.texts if t.get_text() in ("אחת", "שתיים")}
    line = [t for t in ax.texts if t.get_position()[1] == y and t.get_position()[0] > 100]
    line.sort(key=lambda artist: artist.get_position()[0])
    assert " ".join(artist.get_text() for artist in line) == left_to_right


@pytest.mark.parametrize("plot", [plot_explanation, lambda _, ax: themed_axes(ax, "plot")])
def test_what_is_no_axes_is_named(plot):
    figure, axes = plt.subplots(1, 2)
    explanation = explained("aa bb.")
    with pytest.raises(
        TypeError, match=r"matplotlib.axes.Axes; got an array of 2.*ax=axes.flat\[0\]"
    ):
        plot(explanation, ax=axes)
    with pytest.raises(TypeError, match=r"ax must be one matplotlib.axes.Axes; got Figure\.$"):
        plot(explanation, ax=figure)


def test_what_was_not_read_is_counted():
    ax = plot_explanation(explained("Read this. But not that.", n_read=1))
    assert "[not read: 13 characters]" in texts(ax)


@pytest.mark.parametrize("text", ["", "..."])
def test_a_document_without_words_says_so(text):
    assert "No words of this document were read." in texts(explained(text).plot())


@pytest.mark.thorough
@pytest.mark.parametrize("layout", first_fast(["constrained", "tight", None]))
@pytest.mark.parametrize("format", ["png", "svg", "pdf"])
def test_figures_of_every_layout_are_saved_in_every_format(tmp_path, layout, format):
    figure = Figure(figsize=(6, 3), layout=layout)
    for ax in figure.subplots(1, 2):
        explained().plot(ax)
    figure.savefig(tmp_path / f"figure.{format}")


def test_a_subfigure_can_be_drawn_on():
    subfigure, _ = Figure(layout="constrained").subfigures(1, 2)
    assert "loved" in texts(plot_explanation(explained(), ax=subfigure.subplots()))


# Lists


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


def test_long_names_of_classes_side_by_side_do_not_overlap():
    names = [" ".join([f"{letter} label of very many words"] * 4) for letter in "ab"]
    changes = {"classes": names, "predicted": names[0]}
    classes = [signed("Aa bb. Cc dd.", target=name, **changes) for name in names]
    ax = ExplanationList(classes, numbers=[4, 4]).plot()
    small = [text for text in ax.texts if "label of" in text.get_text() and text.get_size() == 8]
    (left,) = [text.get_window_extent() for text in small if "against a" in text.get_text()]
    (right,) = [text.get_window_extent() for text in small if "against b" in text.get_text()]
    assert left.x1 < right.x0
    assert max(text.get_window_extent().y0 for text in small) > at(ax, "Aa")[0].y1


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


def test_a_long_predicted_label_is_broken_into_lines_that_fit():
    label = " ".join(["a label of very many words"] * 6)
    changes = {"classes": ["neg", label], "predicted": label, "target": label}
    ax = plot_explanation(explained("Fine.", **changes))
    head = [text for text in ax.texts if text.get_weight() == "bold"]
    assert " ".join(text.get_text() for text in head) == f"predicted {label}"
    right = ax.get_window_extent().x1
    assert all(text.get_window_extent().x1 <= right for text in head)
