"""Whatever stands in for a document, through the doors that users take.

`tests/validation` holds the rules for containers and documents one by one; here some are seen
from `fit`, `predict`, `predict_proba` and `explain`, of a classifier and of a Pipeline.
"""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from sk_han import HierarchicalTokenizer, explain
from tests.html_page import Page
from tests.tiny_models import tiny

TEXTS = ["It was a good day. The sun shone!", "A bad day. Rain, and more rain."] * 6
LABELS = ["pos", "neg"] * 6


def tiny_pipeline():
    return make_pipeline(HierarchicalTokenizer(), tiny())


DOORS = {"classifier": tiny, "pipeline": tiny_pipeline}
METHODS = {
    "fit": lambda model, X: model.fit(X, LABELS),
    "predict": lambda model, X: model.predict(X),
    "predict_proba": lambda model, X: model.predict_proba(X),
    "explain": explain,
}


@pytest.fixture(scope="module", params=DOORS)
def fitted(request):
    return DOORS[request.param]().fit(TEXTS, LABELS)


ODD = {
    "empty": "",
    "blanks": " \t\n\u3000",
    "punctuation": "?! ... --",
    "a ZWJ family": "A good film for 👨\u200d👩\u200d👧\u200d👦. Go!",
    "right to left": "זה סרט טוב. היה שם יום יפה!",
    "a lone surrogate": "bad \ud800 encoding. \udfff",
    "NUL": "a\0b \0 good\0",
    "NFD": "Un cafe\u0301 bien agre\u0301able. Noe\u0308l!",
    "stacked marks": "Z\u0351\u036b\u0343\u036a\u0302a\u0300\u0301lgo",
    "CJK": "这部电影很好。我们都喜欢！",
    "markup": "<script>alert('x')</script> & \"good\" <b>day</b>",
    "astral letters": "𝔄 𝔤𝔬𝔬𝔡 day. 𠀀𠀁",
    "one long word": "a" * 100_000,
}
each_odd_text = pytest.mark.parametrize("text", ODD.values(), ids=ODD.keys())


class TestOddTexts:
    def test_odd_texts_can_be_trained_on(self):
        with pytest.warns(UserWarning, match="2 of .* have no words, in row 12, row 13:"):
            model = tiny().fit([*TEXTS, *ODD.values()], [*LABELS, *["pos"] * len(ODD)])
        assert np.isfinite(model.predict_proba(TEXTS)).all()

    @each_odd_text
    def test_an_odd_text_does_not_change_predictions_of_other_documents(self, fitted, text):
        proba = fitted.predict_proba([*TEXTS, text])
        assert proba[-1].sum() == pytest.approx(1)
        np.testing.assert_allclose(proba[:-1], fitted.predict_proba(TEXTS), atol=1e-6)

    @each_odd_text
    def test_an_odd_text_is_explained_by_its_words_and_rendered(self, fitted, text):
        explanation = explain(fitted, [text])[0]
        assert explanation.text == text
        found = zip(explanation.words, explanation.word_spans, strict=True)
        assert all(text[start:end] == word for word, (start, end) in found)
        page = Page(explanation.to_html())
        assert "script" not in {tag for tag, _ in page.tags}
        assert explanation.to_html().encode()
        assert str(explanation).encode()
        in_json = json.loads(explanation.to_json())["text"]
        assert in_json == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        assert len(in_json) == len(text)  # so that offsets hold


def with_document(document):
    return [*TEXTS[:7], document, *TEXTS[8:]]


REFUSED = {
    "NA in a frame": (pd.DataFrame({"text": with_document(pd.NA)}), TypeError, "7 is missing"),
    "list of words": (with_document(["a", "word"]), TypeError, "Document 7 is a list.*join"),
    "integer": (with_document(3), TypeError, "Document 7 is an int"),
    "rows": ([{"text": text} for text in TEXTS], TypeError, r"\[row\['text'\] for row in X\]"),
    "a pair": ((TEXTS, LABELS), TypeError, r"got a pair, .* texts, labels = load_csv"),
    "bytes of Latin-1": (with_document(b"sch\xf6n"), UnicodeDecodeError, "document 7"),
    "a bare string": ("It was good.", ValueError, "string object received"),
    "matrix of floats": (np.eye(12), ValueError, r"shape \(12, 12\)"),
    "nothing": (None, TypeError, "Iterable over raw text documents expected"),
    "no documents": ([], ValueError, r"0 sample\(s\)"),
}


class TestContainers:
    @pytest.mark.parametrize("method", ["predict_proba", "explain"])
    def test_every_method_accepts_a_generator(self, fitted, method):
        expected = METHODS[method](fitted, TEXTS)
        assert np.all(METHODS[method](fitted, (text for text in TEXTS)) == expected)

    @pytest.mark.parametrize(("X", "error", "message"), REFUSED.values(), ids=REFUSED.keys())
    def test_invalid_containers_are_refused_with_a_clear_message(self, fitted, X, error, message):
        for method in METHODS.values():
            with pytest.raises(error, match=message):
                method(fitted, X)


class TestFewDocuments:
    @pytest.mark.parametrize("door", DOORS)
    @pytest.mark.parametrize("blank", ["", " \n", "--"])
    def test_blank_documents_alone_give_an_empty_vocabulary(self, door, blank):
        with pytest.raises(ValueError, match="empty vocabulary"):
            DOORS[door]().fit([blank] * 12, LABELS)

    @pytest.mark.parametrize("door", DOORS)
    def test_one_document_is_enough_to_fit(self, door):
        with pytest.warns(UserWarning, match="single class, 'pos'"):
            model = DOORS[door]().fit(["It was good."], ["pos"])
        assert model.predict(["It was bad.", ""]).tolist() == ["pos", "pos"]
