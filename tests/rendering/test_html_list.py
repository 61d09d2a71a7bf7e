import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sk_han import ExplanationList
from tests.by_hand import explained, signed
from tests.html_page import ANYTHING, Page, visible


def predicting(*labels, y_true=None):
    """Explanations of the texts "Number 0.", "Number 1.", ... with these predictions."""
    explanations = [
        explained(f"Number {i}.", predicted=label, target=label) for i, label in enumerate(labels)
    ]
    return ExplanationList(explanations, y_true=y_true)


def summaries(html):
    """Text of the line that announces each document."""
    parts = html.split('<details class="han-document')[1:]
    return [Page(part.partition("<summary>")[2].partition("</summary>")[0]).line for part in parts]


@given(st.lists(ANYTHING, min_size=2, max_size=2, unique=True), st.sampled_from([0, 1]))
def test_any_labels_are_escaped(labels, number):
    true = labels[number]
    explanation = signed(
        classes=np.array(labels, dtype=object), predicted=labels[0], target=labels[1]
    )
    page = Page(ExplanationList([explanation], y_true=[true]).to_html())
    other = "pos" if number == 0 else "neg"
    expected = ExplanationList([signed(target="neg")], y_true=[other]).to_html()
    assert [tag for tag, _ in page.tags] == [tag for tag, _ in Page(expected).tags]
    assert f"labelled {visible(true)}" in page.all_text


def test_a_list_opens_its_first_documents():
    page = Page(ExplanationList([explained()] * 5).to_html())
    documents = page.attributes("details", "han-document")
    assert ["open" in a for a in documents] == [True, True, True, False, False]


def test_a_notebook_shows_the_first_fifty_of_a_list():
    explanations = ExplanationList([explained()] * 53)
    html = explanations._repr_html_()
    assert html.count('<details class="han-document"') == 50
    assert "and 3 more documents" in html
    assert explanations.to_html().count('<details class="han-document"') == 53


def test_an_empty_list_says_so():
    assert "No documents." in ExplanationList([])._repr_html_()


def test_each_document_is_announced_with_its_probability():
    assert summaries(predicting("pos", "neg").to_html()) == [
        "Document 0: predicted pos (90 %) – Number 0.",
        "Document 1: predicted neg (10 %) – Number 1.",
    ]


def test_with_true_labels_wrong_documents_are_marked_in_words():
    html = predicting("pos", "neg", "pos", y_true=["pos", "pos", "neg"]).to_html()
    assert summaries(html) == [
        "Document 0: predicted pos (90 %), labelled pos – Number 0.",
        "Document 1: predicted neg (10 %), labelled pos wrong – Number 1.",
        "Document 2: predicted pos (90 %), labelled neg wrong – Number 2.",
    ]
    documents = [a["class"] for a in Page(html).attributes("details")]
    assert documents == ["han-document", "han-document han-wrong", "han-document han-wrong"]


def test_with_true_labels_the_page_begins_with_the_count_of_wrong_documents():
    page = Page(predicting("pos", "neg", "pos", y_true=["pos", "pos", "neg"]).to_html())
    assert "2 of 3 documents are misclassified (67 %)." in page.line
    assert page.all_text.index("2 of 3") < page.all_text.index("Number 0.")


def test_sorted_mistakes_say_of_how_many_documents_they_are():
    mistakes = predicting("pos", "neg", "pos").mistakes(["pos", "pos", "neg"])
    for found in (mistakes, mistakes.by_confidence()):
        assert "2 of 3 documents are misclassified (67 %)." in Page(found.to_html()).line


def test_when_nothing_is_wrong_or_known_nothing_is_marked():
    page = Page(predicting("pos", "neg").to_html())
    assert "misclassified" not in page.all_text
    assert "labelled" not in page.all_text
    page = Page(predicting("pos", "neg", y_true=["pos", "neg"]).to_html())
    assert "0 of 2 documents are misclassified (0 %)." in page.line
    assert "labelled pos wrong" not in page.line


def test_the_legend_is_said_once_for_all_documents():
    html = predicting("pos", "pos", "neg").to_html()
    legend, documents = html.split('<details class="han-document"', 1)
    assert "Compare shades within a document, not between them." in legend
    assert "Attention is not a reason" in legend
    assert "Attention is not a reason" not in documents


def test_the_legend_names_the_class_that_all_documents_are_explained_for():
    def legend_of(*targets):
        explanations = [signed(predicted="pos", target=target) for target in targets]
        return Page(ExplanationList(explanations).to_html()).all_text

    assert "words speak for neg, orange" in legend_of("neg", "neg")
    assert (
        "words speak for the predicted class, orange"
        in Page(
            ExplanationList(
                [signed(), signed(predicted="neg", target="neg", probabilities=[0.9, 0.1])]
            ).to_html()
        ).all_text
    )
    assert "words speak for the class named above them" in legend_of("neg", "pos")


def test_each_way_to_find_numbers_is_said_once():
    html = ExplanationList([signed(), signed(method="shapley"), signed()]).to_html()
    assert html.count("attention × gradient") == 1
    assert html.count("averaged over the order") == 1


def of_classes(*texts, **changes):
    """Explanations of each text for both classes."""
    return ExplanationList(
        (
            signed(text, target=target, contributions=[value, -0.5], **changes)
            for text in texts
            for target, value in (("neg", -1), ("pos", 1))
        ),
        numbers=[i for i in range(len(texts)) for _ in range(2)],
    )


def test_explanations_of_one_document_stand_side_by_side():
    html = of_classes("One two.", "Two three.").to_html()
    assert len(summaries(html)) == 2
    page = Page(html)
    assert page.sentences == 2 * ["One two."] + 2 * ["Two three."]
    assert len(page.attributes("div", "han-row")) == 2
    assert len(page.attributes("div", "han-text han-sides")) == 2
    assert "predicted" in page.all_text
    assert "explained:" not in page.all_text


def test_classes_side_by_side_have_one_scale():
    weak, strong = (
        signed("One.", target=target, contributions=[value])
        for target, value in (("neg", -0.5), ("pos", 1.0))
    )
    html = ExplanationList([weak, strong], numbers=[0, 0]).to_html()
    shades = [a["class"] for a in Page(html).attributes("mark") if "title" in a]
    assert shades == ["m4", "p8"]
    assert ExplanationList([weak]).to_html().count('<mark class="m8" title=') == 1


def test_of_a_long_document_sentences_fold_for_all_classes_at_once():
    text = " ".join(f"Number {i}." for i in range(40))
    both = [explained(text, target=target) for target in ("neg", "pos")]
    page = Page(ExplanationList(both, numbers=[0, 0]).to_html())
    assert "10 sentences" in page.all_text
    assert len(page.attributes("div", "han-row")) == 40


def test_what_was_not_read_stands_below_the_classes_once():
    both = [explained("Read this. But not.", n_read=1, target=t) for t in ("neg", "pos")]
    page = Page(ExplanationList(both, numbers=[0, 0]).to_html())
    assert page.sentences.count("But not.") == 1


def test_neighbours_with_one_number_and_another_text_are_two_documents():
    explanations = ExplanationList([explained("One."), explained("Two.")], numbers=[3, 3])
    assert [line[9] for line in summaries(explanations.to_html())] == ["3", "3"]


@pytest.mark.parametrize(("y_true", "shape"), [(["pos"], r"\(1,\)"), ("pos", r"\(\)")])
def test_true_labels_of_another_shape_are_refused(y_true, shape):
    message = rf"y_true must hold a label for each of 2 documents.*got the shape {shape}"
    with pytest.raises(ValueError, match=message):
        predicting("pos", "neg", y_true=y_true)


@pytest.mark.parametrize(
    ("y_true", "message"),
    [
        ([0, 1], r"y_true\[0\] is 0, which is none of the classes 'neg', 'pos'"),
        (["pos", "maybe"], r"y_true\[1\] is 'maybe'.* Give labels of classes_"),
        (["pos", None], r"y_true\[1\] is None"),
    ],
)
def test_true_labels_that_are_no_classes_are_refused(y_true, message):
    with pytest.raises(ValueError, match=message):
        predicting("pos", "neg", y_true=y_true)


def test_an_empty_list_takes_true_labels():
    assert "No documents." in ExplanationList([], y_true=[]).to_html()
