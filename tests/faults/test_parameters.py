"""Parameters that are set to what they must not be after the fit that checks them."""

import pytest

from sk_han import HierarchicalTokenizer, explain, report, summarize
from tests import tiny_pairs
from tests.tiny_models import LABELS, TEXTS, fitted_classifier
from tests.tiny_sentences import UNSEEN, X, Y, tiny_tagger

ILLEGAL = {"n_threads": [0, -1, 2.5, "two"], "engine": ["gpu", 0, None]}
each_illegal = pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name in ILLEGAL for value in ILLEGAL[name]]
)


@pytest.fixture(scope="module")
def classifier():
    return fitted_classifier()


@pytest.fixture(scope="module")
def tagger():
    return tiny_tagger(max_epochs=1).fit(X, Y)


@pytest.fixture(scope="module")
def translator():
    return tiny_pairs.tiny(max_epochs=1).fit(*tiny_pairs.pairs())


@pytest.fixture(scope="module")
def tokenizer():
    return HierarchicalTokenizer().fit(TEXTS)


def refused(estimator, name, value, act):
    """Check that an act is refused by the name of a parameter, and works with the former value."""
    before = getattr(estimator, name)
    estimator.set_params(**{name: value})
    try:
        with pytest.raises(ValueError, match=f"The '{name}' parameter of .* must be"):
            act(estimator)
    finally:
        estimator.set_params(**{name: before})
    act(estimator)


USES = {
    "predict_proba": lambda classifier: classifier.predict_proba(TEXTS),
    "score": lambda classifier: classifier.score(TEXTS, LABELS),
    "explain": lambda classifier: explain(classifier, TEXTS[:1]),
    "summarize": lambda classifier: summarize(classifier, TEXTS[:2]),
    "report": lambda classifier: report(classifier, TEXTS, LABELS),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@each_illegal
def test_a_classifier_names_the_parameter(classifier, name, value, use):
    refused(classifier, name, value, use)


@each_illegal
def test_a_tagger_names_the_parameter(tagger, name, value):
    refused(tagger, name, value, lambda tagger: tagger.predict(UNSEEN))


@pytest.mark.parametrize("value", ILLEGAL["n_threads"])
def test_a_translator_names_the_parameter(translator, value):
    refused(translator, "n_threads", value, lambda translator: translator.predict(["Ein Hund."]))


def test_a_translator_takes_any_number_of_words(translator):
    expected = translator.predict(["Ein Hund."])
    translator.set_params(max_words=10**30)
    try:
        assert translator.predict(["Ein Hund."]) == expected
    finally:
        translator.set_params(max_words=200)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lowercase", "yes"),
        ("strip_accents", "latin"),
        ("tokens", "letters"),
        ("token_pattern", 5),
        ("stop_words", "german"),
        ("max_sentences", -1),
        ("max_words", 2.5),
        ("sentence_splitter", "\n"),
        ("word_tokenizer", []),
        ("n_jobs", "all"),
        ("output", "dense"),
    ],
)
@pytest.mark.parametrize("method", ["transform", "locate"])
def test_a_tokenizer_names_the_parameter(tokenizer, name, value, method):
    refused(tokenizer, name, value, lambda tokenizer: getattr(tokenizer, method)(TEXTS[:2]))
