import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sk_han import (
    DocumentArray,
    ExplanationList,
    HANClassifier,
    HierarchicalTokenizer,
    explain,
)

TEXTS = ["A good film. We laughed a lot!", "Bad, long and dull. We left."] * 8
LABELS = ["pos", "neg"] * 8


def tiny(**params):
    defaults = {"embedding_dim": 7, "word_hidden": 5, "sentence_hidden": 3, "attention_dim": 4}
    return HANClassifier(**defaults, max_epochs=2, random_state=0, device="cpu", **params)


@pytest.fixture(scope="module")
def fitted():
    return tiny().fit(TEXTS, LABELS)


def test_every_document_gets_an_explanation(fitted):
    explanations = fitted.explain(TEXTS)
    assert isinstance(explanations, ExplanationList)
    assert [e.text for e in explanations] == TEXTS


def test_words_and_sentences_are_those_of_the_raw_text(fitted):
    explanation = fitted.explain(["A good film. We laughed a lot!"])[0]
    assert explanation.words == ("A", "good", "film", "We", "laughed", "a", "lot")
    assert explanation.sentences == ("A good film.", "We laughed a lot!")


def test_attention_sums_to_one_at_both_levels(fitted):
    for explanation in fitted.explain(TEXTS):
        of_sentence = np.bincount(explanation.sentence_of_word, explanation.word_attention)
        np.testing.assert_allclose(of_sentence, 1.0, atol=1e-6)
        assert explanation.sentence_attention.sum() == pytest.approx(1.0, abs=1e-6)
        assert explanation.combined_attention.sum() == pytest.approx(1.0, abs=1e-6)


def test_contributions_of_attention_are_the_combined_attention(fitted):
    explanation = fitted.explain(TEXTS[:1])[0]
    np.testing.assert_allclose(explanation.contributions, explanation.combined_attention)
    assert not explanation.signed


def test_probabilities_and_labels_are_those_of_the_classifier(fitted):
    explanations = fitted.explain(TEXTS)
    np.testing.assert_allclose(
        [e.probabilities for e in explanations], fitted.predict_proba(TEXTS), atol=1e-6
    )
    assert [e.predicted for e in explanations] == fitted.predict(TEXTS).tolist()


def test_a_pipeline_explains_as_its_classifier_does(fitted):
    pipeline = make_pipeline(HierarchicalTokenizer(), tiny()).fit(TEXTS, LABELS)
    assert explain(pipeline, TEXTS) == explain(fitted, TEXTS)


def test_steps_before_the_tokenizer_are_applied(fitted):
    shout = FunctionTransformer(lambda texts: [text.upper() for text in texts])
    pipeline = make_pipeline(shout, HierarchicalTokenizer(), tiny()).fit(TEXTS, LABELS)
    assert explain(pipeline, TEXTS[:1])[0].text == TEXTS[0].upper()


def test_a_step_behind_the_tokenizer_is_refused(fitted):
    first = FunctionTransformer(lambda documents: documents)
    pipeline = make_pipeline(HierarchicalTokenizer(), first, tiny()).fit(TEXTS, LABELS)
    with pytest.raises(TypeError, match="between tokenizer and classifier"):
        explain(pipeline, TEXTS)


def test_results_do_not_depend_on_the_batch(fitted):
    many = fitted.explain(TEXTS * 20)  # more than one batch of 256
    alone = fitted.explain(TEXTS[1:2])[0]
    np.testing.assert_allclose(many[-1].word_attention, alone.word_attention, atol=1e-6)
    np.testing.assert_allclose(many[-1].probabilities, alone.probabilities, atol=1e-6)


def test_attention_over_very_many_sentences_sums_to_one(fitted):
    explanation = fitted.explain(["Good. " * 400_000])[0]
    assert explanation.sentence_attention.sum() == pytest.approx(1.0, abs=1e-5)


def test_unknown_words_are_marked(fitted):
    explanation = fitted.explain(["A good zyxxy."])[0]
    assert explanation.unknown.tolist() == [False, False, True]


@pytest.mark.parametrize("text", ["", "  \n", "?!"])
def test_an_empty_document_has_an_empty_explanation(fitted, text):
    explanation = fitted.explain([text, TEXTS[0]])[0]
    assert explanation.words == ()
    assert explanation.sentences == ()
    assert np.isfinite(explanation.probabilities).all()
    assert text.strip() in explanation.to_html()


def test_what_a_limit_cut_off_is_told():
    tokenizer = HierarchicalTokenizer(max_sentences=1)
    explanation = tiny(tokenizer=tokenizer).fit(TEXTS, LABELS).explain(TEXTS[:1])[0]
    assert explanation.truncated
    assert explanation.sentences == ("A good film.",)


def test_word_ids_are_written_out_as_words(fitted):
    documents = fitted.tokenizer_.transform(["A good film. We laughed!"])
    explanation = fitted.explain(documents)[0]
    assert explanation.text == "a good film\nwe laughed"
    assert explanation.words == ("a", "good", "film", "we", "laughed")


def test_word_ids_without_a_tokenizer_are_written_out_as_numbers():
    documents = DocumentArray.from_nested([[[2, 3], [4]], [], [[5]]] * 4)
    classifier = tiny().fit(documents, [0, 1, 1] * 4)
    explanations = explain(classifier, documents)
    assert explanations[0].text == "#2 #3\n#4"
    assert explanations[1].text == ""


def test_an_unfitted_estimator_is_refused():
    with pytest.raises(NotFittedError):
        explain(tiny(), TEXTS)
    with pytest.raises(NotFittedError):
        explain(make_pipeline(HierarchicalTokenizer(), tiny()), TEXTS)


def test_a_pipeline_without_our_classifier_is_refused():
    linear = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(TEXTS, LABELS)
    with pytest.raises(TypeError, match="HANClassifier"):
        explain(linear, TEXTS)


def test_a_bare_string_is_refused(fitted):
    with pytest.raises(ValueError, match="string object received"):
        fitted.explain(TEXTS[0])


def test_explaining_changes_nothing(fitted):
    before = fitted.predict_proba(TEXTS)
    fitted.explain(TEXTS)
    np.testing.assert_array_equal(fitted.predict_proba(TEXTS), before)
