"""Parameters that are set to what they must not be after the fit that checks them."""

import pytest

from sk_han import HierarchicalTokenizer, explain, report, summarize
from tests import tiny_pairs
from tests.tiny_models import LABELS, TEXTS, fitted_classifier
from tests.tiny_sentences import UNSEEN, X, Y, tiny_tagger


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
    "predict_proba": ("classifier", lambda classifier: classifier.predict_proba(TEXTS)),
    "score": ("classifier", lambda classifier: classifier.score(TEXTS, LABELS)),
    "explain": ("classifier", lambda classifier: explain(classifier, TEXTS[:1])),
    "summarize": ("classifier", lambda classifier: summarize(classifier, TEXTS[:2])),
    "report": ("classifier", lambda classifier: report(classifier, TEXTS, LABELS)),
    "tags": ("tagger", lambda tagger: tagger.predict(UNSEEN)),
    "translation": ("translator", lambda translator: translator.predict(["Ein Hund."])),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(
    ("name", "value"), [("n_threads", 0), ("n_threads", 2.5), ("engine", "gpu"), ("engine", None)]
)
def test_every_method_reports_the_invalid_parameter(request, name, value, use):
    estimator, act = request.getfixturevalue(USES[use][0]), USES[use][1]
    if hasattr(estimator, name):
        refused(estimator, name, value, act)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tokens", "letters"),
        ("token_pattern", 5),
        ("stop_words", "german"),
        ("max_sentences", -1),
        ("sentence_splitter", "\n"),
        ("n_jobs", "all"),
    ],
)
@pytest.mark.parametrize("method", ["transform", "locate"])
def test_a_tokenizer_reports_the_invalid_parameter(tokenizer, name, value, method):
    refused(tokenizer, name, value, lambda tokenizer: getattr(tokenizer, method)(TEXTS[:2]))
