import pytest

from tests.reports import HOSTILE, hostile, made, of_size


@pytest.mark.parametrize("width", [40, 79, 200])
def test_lines_are_no_longer_than_asked(width):
    lines = made().to_text(width=width).splitlines()
    assert max(map(len, lines)) <= width


def test_the_short_form_says_what_matters():
    text = made().to_text(width=200)
    assert "Where HANClassifier fails: 6 documents of 3 labels" in text
    assert "1 document has a label that the model does not know." in text
    assert "1 neg taken for pos" in text
    assert "Document 2: predicted pos (90 %), labelled neg" in text
    assert "misled by “Not bad.” (+1.000)" in text
    assert "1 document, the most suspicious first." in text
    assert "5 documents in 2 groups of the same words, 1 with different labels" in text
    assert "1 document has the words of a training document, as far" in text


def test_documents_cannot_send_commands_to_the_terminal():
    assert "\x1b" in HOSTILE
    assert "\x1b" not in hostile().to_text()


def test_the_short_form_of_many_documents_is_short():
    assert len(of_size(5000, 20).to_text(width=100).splitlines()) < 50


@pytest.mark.parametrize(
    ("trained_on", "said"),
    [
        (None, "Whether the model was fitted to these documents is not known."),
        ([], "None of these documents is known to have the words of a training document."),
        (
            [1, 2],
            "2 documents have the words of a training document, as far",
        ),
    ],
)
@pytest.mark.parametrize("form", ["to_text", "to_html"])
def test_before_all_figures_it_says_whether_the_documents_were_learnt_from(form, trained_on, said):
    text = getattr(made(trained_on=trained_on), form)()
    text = " ".join(text.split())
    assert said in text
    assert text.index(said) < text.index("0.500")
