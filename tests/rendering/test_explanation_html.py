import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sk_han import ExplanationList
from tests.by_hand import explained, signed
from tests.html_page import ANYTHING, Page, visible

RLO = "\u202e"  # what follows is written from right to left


def render_html(explanation, **options):
    return explanation.to_html(**options)


TAGS_OF_SIGNED = {tag for tag, _ in Page(render_html(signed())).tags}


def legend_of(explanation):
    """What the page says above the prediction."""
    html = explanation.to_html()
    return Page(html[html.index("</h1>") + 5 : html.index('<div class="han-wide"')]).line


@pytest.mark.thorough
@given(ANYTHING)
def test_any_text_comes_back_out_of_the_page(text):
    page = Page(render_html(explained(text)))
    assert page.text == visible(text)
    assert "script" not in {tag for tag, _ in page.tags}


@pytest.mark.thorough
@given(ANYTHING, st.booleans())
def test_any_page_can_be_written_in_utf8(text, full_page):
    classes = np.array([text, "b"], dtype=object)
    explanation = explained(text, classes=classes, predicted=text, target=text)
    render_html(explanation, full_page=full_page).encode("utf-8")


@given(st.lists(ANYTHING, min_size=2, max_size=9, unique=True))
def test_any_labels_are_escaped(labels):
    explanation = signed(
        classes=np.array(labels, dtype=object),
        probabilities=np.full(len(labels), 1 / len(labels)),
        predicted=labels[0],
        target=labels[-1],
    )
    page = Page(render_html(explanation))
    assert visible(labels[0]) in "".join(page.texts.get("bdi", [""]))
    assert {tag for tag, _ in page.tags} == TAGS_OF_SIGNED


@pytest.mark.parametrize(
    "render", [render_html, lambda each: ExplanationList([each], y_true=[RLO]).to_html()]
)
def test_what_turns_the_direction_of_writing_is_isolated_from_the_page(render):
    text = f"One {RLO}two. Three {RLO}four. Five"
    document = explained(text, n_read=2, classes=["neg", RLO], predicted=RLO, target=RLO)
    for explanation in (document, signed(text, classes=["neg", RLO], predicted=RLO, target="neg")):
        html = render(explanation)
        assert RLO in html
        isolated = r"<bdi>[^<]*</bdi>|<div class=\"han-sentence\">.*?</div>"
        assert RLO not in re.sub(isolated, "", html)
    assert re.search(r"\.han-sentence \{[^}]*unicode-bidi: plaintext", html)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x00b", "a␀b"),
        ("a\x1bb", "a␛b"),
        ("a\x7fb", "a␡b"),
        ("a\ud800b", "a\ufffdb"),
        ("a\x85b\uffff", "a\ufffdb\ufffd"),
        ("a\tb\r\nc\rd", "a\tb\r\nc\rd"),
        ("👨‍👩‍👧‍👦 עברית", "👨‍👩‍👧‍👦 עברית"),
    ],
)
def test_only_controls_and_surrogates_are_replaced(text, shown):
    assert Page(render_html(explained(text))).text == visible(text) == shown


def test_words_are_shaded_relative_to_the_largest_of_the_document():
    html = render_html(explained("a b. c d e."))  # 1/9 2/9, 1/9 2/9 3/9
    marks = re.findall(r'<mark class="(\w+)" title="[^"]*">(\w)</mark>', html)
    assert marks == [("w3", "a"), ("w5", "b"), ("w3", "c"), ("w5", "d"), ("w8", "e")]


def test_contributions_are_shaded_by_sign():
    html = render_html(signed("a b c.", contributions=[0.5, -1.0, 0.01]))
    assert re.findall(r'<mark class="(\w+)" title="[^"]*">(\w)</mark>', html) == [
        ("p4", "a"),
        ("m8", "b"),
    ]


def test_a_word_says_its_numbers():
    *_, mark = Page(render_html(explained("a b. c d e."))).attributes("mark", "w8")
    assert mark["title"] == "attention 0.33 = sentence 0.67 × word 0.5"
    *_, mark = Page(render_html(signed("a.", contributions=[-0.25]))).attributes("mark", "m8")
    assert mark["title"] == "contribution −0.25, attention 1 = sentence 1 × word 1"


def test_a_sentence_has_a_bar_with_its_value():
    page = Page(render_html(explained("One. Two.")))
    assert [a["aria-label"] for a in page.attributes("div", "han-weight")] == [
        "sentence 1: attention 0.333",
        "sentence 2: attention 0.667",
    ]
    bars = [a["style"] for a in page.attributes("i", "han-attention")]
    assert bars == ["width:50.0%", "width:100.0%"]


def test_a_value_within_two_standard_errors_of_0_is_pale():
    explanation = signed("One. Two. Six.", sentence_errors=[0.1, 0.3, 0.0])
    page = Page(render_html(explanation))
    labels = [a["aria-label"] for tag, a in page.tags if tag == "div" and "aria-label" in a]
    assert labels[1] == "sentence 2: contribution \N{ALMOST EQUAL TO}0"
    assert len(page.attributes("div", "han-weight han-pale")) == 1
    assert "Numbers with \N{ALMOST EQUAL TO} are unclear" in legend_of(explanation)


@pytest.mark.parametrize(
    ("method", "sentence"),
    [
        ("attention", "Attention is not a reason: it speaks neither for a class nor against one."),
        ("random", "The numbers are random, a control: they say nothing about the document."),
        ("shapley", "its effect, averaged over the order in which sentences are added"),
        ("gradient_attention", "of attention \N{MULTIPLICATION SIGN} gradient, an estimate."),
        ("<i>", "Numbers are log-odds"),
    ],
)
def test_the_legend_says_what_the_numbers_of_each_method_are(method, sentence):
    legend = legend_of((explained if method == "attention" else signed)(method=method))
    assert sentence in legend
    is_signed = method not in ("attention", "random")
    assert ("log-odds" in legend) == is_signed
    assert ("Blue words speak for pos, orange words against it" in legend) == is_signed


def test_small_values_keep_two_significant_digits_and_zero_has_no_sign():
    html = render_html(signed("A. B. C.", sentence_contributions=[-0.00047, 0.0011, -0.0]))
    numbers = re.findall(r'title="sentence[^"]*"><span class="han-number">([^<]*)<', html)
    assert numbers == ["−0.00047", "+0.0011", "0"]
    assert 'sentence 3: contribution 0"' in html


def test_a_long_sentence_is_whole():
    assert Page(render_html(explained("word " * 5000))).text == "word " * 5000


def test_columns_are_rows_with_bars_of_the_same_scale():
    explanation = signed(
        "One. Two.",
        sentence_contributions=[0.5, -1.0],
        column_names=("price", "<b>"),
        column_values=("14.5", "<script>"),
        column_contributions=[2.0, -0.25],
    )
    page = Page(render_html(explanation))
    assert [a["style"] for tag, a in page.tags if tag == "i"][-4:] == [
        "width:25.0%",
        "width:50.0%",
        "width:100.0%",
        "width:12.5%",
    ]
    assert page.texts["div.han-column"] == ["price = 14.5", "<b> = <script>"]
    assert page.text == "One. Two."


def test_another_target_than_the_predicted_class_is_named():
    assert "explained: <bdi>neg</bdi>" in render_html(signed(target="neg"))
    assert "explained:" not in render_html(signed(target="pos"))


def test_unknown_words_are_marked_in_text_and_legend():
    html = render_html(signed("a b.", contributions=[1, 0], unknown=[False, True]))
    assert re.search(r'<mark class="han-unknown" title="[^"]*not in the vocabulary">b</mark>', html)
    assert "dotted: not in the vocabulary" in Page(html).line
    assert "dotted" not in Page(render_html(signed("a b."))).line


def test_what_was_not_read_is_marked_in_text_and_legend():
    html = render_html(explained("Read this. But not that.", n_read=1))
    assert '<mark class="han-unread" title="not read">But not that.</mark>' in html
    assert '<bdi lang="en" dir="ltr">not read</bdi>' in html
    assert "hatched: not read" in Page(html).line


def test_the_end_of_a_sentence_that_was_cut_off_is_marked():
    cut = explained("One two three.", truncated=True)
    cut = explained(
        "One two three.",
        truncated=True,
        word_spans=cut.word_spans[:2],
        sentence_of_word=[0, 0],
        word_attention=[0.5, 0.5],
        contributions=[0.5, 0.5],
        unknown=[False, False],
    )
    assert '<mark class="han-unread" title="not read"> three.</mark>' in render_html(cut)


def test_closing_punctuation_counts_as_read():
    assert 'title="not read"' not in render_html(explained("One two!).", truncated=True))


def test_a_long_unread_rest_is_folded():
    html = render_html(explained("Read. " + "rest " * 1000, n_read=1))
    assert "5,000 more characters</bdi></summary>" in html


def test_of_a_long_document_the_heaviest_sentences_stay_open():
    html = render_html(explained(" ".join(f"Number {i}." for i in range(40))))
    text = html[html.index('class="han-text"') :]
    inside = re.search(r"<details>(.*?)</details>", text)[1]
    assert "10 sentences with 0.067 of the attention</bdi></summary>" in inside
    assert inside.count('class="han-row"') == 10
    assert "10</mark>." not in inside
    assert text.count("<details") == 1


def test_folded_contributions_are_summed():
    text = " ".join(f"Number {i}." for i in range(40))
    html = render_html(signed(text, sentence_contributions=[-0.001] * 10 + [1.0] * 30))
    assert 'dir="ltr">10 sentences with −0.010 in sum</bdi></summary>' in html


def test_the_five_likeliest_classes_are_listed_and_the_target():
    probabilities = [0.4, 0.2, 0.15, 0.12, 0.1, 0.03]
    html = render_html(
        signed(classes=list("abcdef"), probabilities=probabilities, predicted="a", target="f")
    )
    listed = re.findall(r'<th scope="row"><bdi>(\w)</bdi>', html)
    assert listed == ["a", "b", "c", "d", "e", "f"]
    html = render_html(
        signed(classes=list("abcdef"), probabilities=probabilities, predicted="a", target="b")
    )
    assert "and 1 more" in html


def test_the_language_of_the_text_is_not_said_and_its_direction_is_that_of_its_letters():
    html = render_html(explained())
    assert '<html lang="en">' in html
    assert '<div class="han-text" lang="" dir="auto">' in html


def test_a_file_is_written_in_utf8(tmp_path):
    path = tmp_path / "explanation.html"
    html = explained("caf\u00e9 \ud800 \U0001f600.").to_html(path)
    assert path.read_text(encoding="utf-8") == html
