"""The main job on real reviews, where the data are."""

import os
from pathlib import Path

import pytest
from sklearn.pipeline import make_pipeline

from sk_han import HANClassifier, HierarchicalTokenizer, explain
from sk_han.datasets import load_csv

FOLDER = Path(os.environ.get("SK_HAN_DATA", "../shared/data")) / "imdb"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not FOLDER.exists(), reason=f"needs the IMDB reviews in {FOLDER}"),
]


@pytest.mark.timeout(1200)
def test_whole_reviews_are_classified_and_explained():
    texts, labels = load_csv(FOLDER / "train.csv.gz")
    test_texts, test_labels = load_csv(FOLDER / "test.csv.gz")
    model = make_pipeline(HierarchicalTokenizer(), HANClassifier(random_state=0))
    model.fit(texts[::5], labels[::5])
    assert model.score(test_texts[::5], test_labels[::5]) > 0.87
    for explanation in explain(model, test_texts[:300]):
        for word, (start, end) in zip(explanation.words, explanation.word_spans, strict=True):
            assert explanation.text[start:end] == word
