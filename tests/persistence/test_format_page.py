"""The reader on the page about the file gives the numbers of `load`."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sk_han import HANClassifier, HierarchicalTokenizer, load, save
from sk_han.datasets import make_reviews
from tests.tiny_models import with_model

PAGE = Path(__file__).parents[2] / "docs" / "file_format.md"
# OpenBLAS computes whole vectors, whatever follows an array, and the processor warns of that.
pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered in matmul")
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)

REVIEWS, OPINIONS = make_reviews(180, random_state=0)
TOPICS = np.arange(128) % 32
TEXTS = [f"{review} Topic{topic}." for review, topic in zip(REVIEWS, TOPICS, strict=False)]
TARGETS = {
    "two classes": OPINIONS[:128],
    "three classes": TOPICS % 3,
    "several labels": np.stack([OPINIONS[:128] == "positive", TOPICS % 3 == 0, TOPICS < 3], axis=1),
    "many classes": TOPICS,
    "many labels": np.abs(TOPICS[:, None] - np.arange(32)) < 2,
}
PARTS = {"network", "ngrams", "characters", "latent", "latent_characters"}

PLAIN = [
    "",
    " \n",
    "Xyzzy, zebra!",
    "The GOOD keyboard was WONDERFUL!! Was it? (It was.) Topic2.",
    "Très naïve, nai\u0308ve café: don’t, rock'n'roll\n\nA terrible backpack",
    f"{'wonderful' * 200}; 99.5 + 1 €!",
]
HARD = [
    "Mrs. Okafor paid 8.30 a.m. in the U.S. 1. Good. 2. bad… and so on.<br />Topic2 😀",
    "はい。良い本です。 ดี السلام؟",
]


@pytest.fixture(scope="module")
def reader():
    names = {}
    for block in BLOCK.findall(PAGE.read_text("utf-8")):
        exec(compile(block, PAGE, "exec"), names)
    return names


@pytest.fixture(scope="module", params=TARGETS)
def path(request, tmp_path_factory):
    """Fit a model whose layers all have other sizes and whose parts all count, and save it."""
    classifier = HANClassifier(
        embedding_dim=7,
        word_hidden=5,
        sentence_hidden=3,
        linear_chars=(1, 3),
        max_epochs=2,
        random_state=0,
    ).fit(TEXTS, TARGETS[request.param], X_unlabelled=REVIEWS[128:])
    pool, n_labels = classifier.pool_, len(classifier.classes_)
    assert pool.parts.keys() == PARTS
    scale = np.linspace(0.4, 0.6, n_labels) if "labels" in request.param else 0.5
    with_model(classifier, pool=replace(pool, scales=dict.fromkeys(PARTS, scale)))
    path = tmp_path_factory.mktemp("models") / f"{request.param}.han"
    save(classifier, path)
    return path


def assert_equal_numbers(reader, path, texts):
    loaded = load(path)
    log_proba = np.array([reader["log_probabilities"](path, text) for text in texts])
    np.testing.assert_allclose(log_proba, np.log(loaded.predict_proba(texts)), rtol=0, atol=1e-5)


def test_the_reader_gives_the_probabilities(reader, path):
    assert_equal_numbers(reader, path, PLAIN)


def test_the_reader_of_the_page_takes_any_tokenized_text(reader, path, monkeypatch):
    tokenizer = HierarchicalTokenizer().fit(TEXTS)

    def tokenize(text):
        [spans] = tokenizer.spans([text])
        words = np.array(spans.words, dtype=object)
        numbers = range(len(spans.sentence_spans))
        return [[*map(reader["normal"], words[spans.sentence_of_word == i])] for i in numbers]

    monkeypatch.setitem(reader, "tokenize", tokenize)
    assert_equal_numbers(reader, path, HARD + REVIEWS[:5])
