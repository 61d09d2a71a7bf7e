"""`fit(highlights=)`: people mark why."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from skorch.callbacks import Callback

from sk_han import (
    Attention,
    ContextAttention,
    HANClassifier,
    HierarchicalTokenizer,
    MultiHopAttention,
)
from sk_han.datasets import make_reviews
from sk_han.fitting import story
from tests.tiny_models import LABELS, TEXTS, tiny

FIRST = [text.split()[0].strip(".") for text in TEXTS]
MARKS = [[(0, len(word))] for word in FIRST]
N = len(TEXTS)


@pytest.fixture
def data_of_fits(monkeypatch):
    """What each fit has read."""
    seen = []
    read = story.read_data
    monkeypatch.setattr(story, "read_data", lambda *args: seen.append(read(*args)) or seen[-1])
    return seen


@pytest.fixture(scope="module")
def plain():
    return tiny().fit(TEXTS, LABELS)


@pytest.fixture(scope="module")
def marked():
    return tiny().fit(TEXTS, LABELS, highlights=MARKS)


@pytest.fixture(scope="module")
def reviews():
    return make_reviews(150, random_state=0, return_rationales=True)


def small(**params):
    sizes = {"embedding_dim": 12, "word_hidden": 6, "sentence_hidden": 6, "pooling__size": 8}
    model = HANClassifier(pooling=Attention(), max_epochs=6, random_state=0)
    return model.set_params(**(sizes | params))


def on_marked(model, texts, highlights):
    """The mean attention on the marked words of a document."""
    found = []
    for one, marked in zip(model.explain(texts), highlights, strict=True):
        attention = one.word_attention * one.sentence_attention[one.sentence_of_word]
        starts, ends = one.word_spans.T
        inside = sum(((starts >= a) & (ends <= b)).astype(int) for a, b in marked) > 0
        found.append(attention[inside].sum())
    return np.mean(found)


def same(one, other, X=TEXTS):
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


def differ(one, other, X=TEXTS):
    assert not np.array_equal(one.predict_proba(X), other.predict_proba(X))


class TestEffect:
    def test_attention_goes_to_what_was_marked(self, reviews, monkeypatch):
        monkeypatch.setattr("sk_han.training.loss._STRENGTH_OF_MARKS", 3.0)
        texts, labels, marked = reviews
        # Of few held-out documents the best epoch may be one that has hardly learnt.
        to_the_end = {"max_epochs": 12, "validation_fraction": None}
        plain = small(**to_the_end).fit(texts[:120], labels[:120])
        taught = small(**to_the_end).fit(texts[:120], labels[:120], highlights=marked[:120])
        before, after = (on_marked(model, texts[120:], marked[120:]) for model in (plain, taught))
        assert after > 2 * before

    def test_nothing_marked_changes_nothing(self, plain):
        for nothing in ([[]] * N, [None] * N, [None, []] * (N // 2), [np.nan, pd.NA] * (N // 2)):
            same(tiny().fit(TEXTS, LABELS, highlights=nothing), plain)

    def test_overlapping_spans_are_their_union(self, plain):
        once = [[(0, 9)]] * N
        twice = [[(4, 9), (0, 5), (0, 9)]] * N
        one, other = (tiny().fit(TEXTS, LABELS, highlights=h) for h in (once, twice))
        same(one, other)
        differ(one, plain)

    def test_the_linear_models_and_the_vocabulary_are_those_without_them(self, plain, marked):
        np.testing.assert_array_equal(plain.ngram_model_.weights, marked.ngram_model_.weights)
        assert plain.tokenizer_.vocabulary_ == marked.tokenizer_.vocabulary_

    def test_any_container_will_do(self, marked):
        frame = pd.Series([np.array(spans) for spans in MARKS])
        same(marked, tiny().fit(TEXTS, LABELS, highlights=frame))
        same(marked, tiny().fit(pd.Series(TEXTS), LABELS, highlights=tuple(MARKS)))


class TestTogether:
    @pytest.mark.parametrize(
        "further",
        [
            {"sample_weight": np.arange(N) % 4},
            {"groups": np.arange(N) // 2},
            {"X_val": TEXTS[:8], "y_val": LABELS[:8]},
            {"X_unlabelled": TEXTS[:9]},
        ],
        ids=["weights", "groups", "X_val", "X_unlabelled"],
    )
    def test_rows_go_with_their_documents(self, further, data_of_fits):
        tiny().fit(TEXTS, LABELS, highlights=MARKS, **further)
        (data,) = data_of_fits
        known = data.tokenizer.vocabulary_
        for part in (data.labelled, data.training_data):
            assert (part.marks.words_per_document == part.documents.words_per_document).all()
            marked = part.documents.word_ids[part.marks.word_ids == 2]
            assert set(marked) <= {known[word.lower()] for word in FIRST}
            assert len(marked) == len(part)

    @pytest.mark.thorough
    def test_with_text_without_labels_that_pre_trains(self, monkeypatch):
        monkeypatch.setattr("sk_han.fitting.linear._ENOUGH_TO_PRETRAIN", 10)
        plain, marked = (
            tiny(linear_ngrams=(1, 1)).fit(TEXTS, LABELS, X_unlabelled=TEXTS, highlights=h)
            for h in (None, MARKS)
        )
        differ(plain, marked)

    def test_several_labels(self):
        y = np.stack([LABELS == "pos", np.arange(N) % 3 == 0], axis=1).astype(int)
        differ(tiny().fit(TEXTS, y, highlights=MARKS), tiny().fit(TEXTS, y))

    def test_class_weights_warm_start_and_a_fit_that_goes_on(self):
        model = tiny(warm_start=True, class_weight="balanced").fit(TEXTS, LABELS, highlights=MARKS)
        first = model.predict_proba(TEXTS)
        model.fit(TEXTS, LABELS, highlights=MARKS)
        assert not np.array_equal(model.predict_proba(TEXTS), first)
        model.set_params(class_weight=None).partial_fit(TEXTS, LABELS)

    @pytest.mark.thorough
    def test_cross_fitted_features_take_the_marks_of_their_rows(self):
        model = tiny(features="log_odds")
        found = model.fit_transform(TEXTS, LABELS, highlights=MARKS)
        plain = tiny(features="log_odds").fit_transform(TEXTS, LABELS)
        assert not np.array_equal(found[:, 0], plain[:, 0])

    def test_a_checkpoint_of_other_marks_is_another_fit(self, tmp_path):
        class StopError(Exception):
            pass

        class StopThere(Callback):
            def on_epoch_end(self, net, **kwargs):
                raise StopError

        model = tiny(callbacks=[StopThere()])
        with pytest.raises(StopError):
            model.fit(TEXTS, LABELS, highlights=MARKS, checkpoint=tmp_path)
        with pytest.raises(ValueError, match=r"differs in .*the highlights \(.+ then, none now\)"):
            model.fit(TEXTS, LABELS, checkpoint=tmp_path)
        with pytest.raises(ValueError, match=r"differs in .*the highlights"):
            model.fit(TEXTS, LABELS, highlights=MARKS[::-1], checkpoint=tmp_path)

    def test_searches_and_calibrations_hand_on_the_rows_of_their_folds(self):
        search = GridSearchCV(tiny(), {"dropout": [0.1]}, cv=2, error_score="raise")
        search.fit(TEXTS, LABELS, highlights=MARKS)
        same(search, tiny(dropout=0.1).fit(TEXTS, LABELS, highlights=MARKS))
        with sklearn.config_context(enable_metadata_routing=True):
            model = tiny().set_fit_request(highlights=True)
            CalibratedClassifierCV(model, cv=2).fit(TEXTS, LABELS, highlights=MARKS)

    def test_a_pipeline_of_texts_routes_them(self, marked):
        with sklearn.config_context(enable_metadata_routing=True):
            steps = [("same", FunctionTransformer()), ("han", tiny())]
            pipeline = Pipeline(steps)
            pipeline[-1].set_fit_request(highlights=True)
            pipeline.fit(TEXTS, LABELS, highlights=MARKS)
        same(pipeline, marked)


class TestRefused:
    @pytest.mark.parametrize(
        ("given", "error", "message"),
        [
            ([[(0, 3)]], ValueError, "18 documents in X, 1 highlight "),
            ([None] * (N + 1), ValueError, "18 documents in X, 19 highlights"),
            (5, TypeError, "highlights must be a list with an entry for each"),
            ("text", TypeError, "highlights must be a list with an entry for each"),
            (
                [*[None] * 4, [(5, 2)], *[None] * (N - 5)],
                ValueError,
                r"0 of document 4 is \(5, 2\)",
            ),
            ([[(0, 3), (-2, 3)], *[None] * (N - 1)], ValueError, r"1 of document 0 is \(-2, 3\)"),
            ([[(0, 9_999)], *[None] * (N - 1)], ValueError, "lie within the text of"),
            ([[(0.0, 3.0)], *[None] * (N - 1)], TypeError, "Highlight 0 of document 0 must be"),
            ([[(0, 3, "pos")], *[None] * (N - 1)], TypeError, "must be .start, end., two integers"),
            ([[0, 3], *[None] * (N - 1)], TypeError, "must be .start, end., two integers"),
            ([(0, 3), *[None] * (N - 1)], TypeError, "must be .start, end., two integers"),
            ([7, *[None] * (N - 1)], TypeError, "highlights of document 0 must be a list of spans"),
        ],
    )
    def test_bad_spans(self, given, error, message):
        with pytest.raises(error, match=message):
            tiny().fit(TEXTS, LABELS, highlights=given)

    @pytest.mark.parametrize("output", ["ragged", "padded"])
    def test_beside_word_ids(self, output):
        X = HierarchicalTokenizer(output=output).fit_transform(TEXTS)
        with pytest.raises(TypeError, match=r"X holds word ids.*HANClassifier\(tokenizer="):
            tiny().fit(X, LABELS, highlights=MARKS)

    @pytest.mark.parametrize("pooling", ["mean", "max", "last"])
    def test_without_attention(self, pooling):
        with pytest.raises(ValueError, match=rf"highlights teach attention.*'{pooling}' has none"):
            tiny(pooling=pooling).fit(TEXTS, LABELS, highlights=MARKS)

    def test_other_networks_with_attention_take_them(self):
        for pooling in (
            ContextAttention(),
            MultiHopAttention(hops=2),
        ):
            tiny(pooling=pooling).fit(TEXTS, LABELS, highlights=MARKS)


class TestCutOff:
    def test_marks_behind_the_limits_are_counted_once(self):
        texts = [f"{text} The end was long. Nobody knew." for text in TEXTS]
        behind = [[(0, 3), (len(text) - 4, len(text))] for text in texts]
        model = tiny(tokenizer=HierarchicalTokenizer(max_sentences=1))
        with pytest.warns(UserWarning, match="18 of 36 highlights cover no word") as told:
            model.fit(texts, LABELS, highlights=behind)
        assert len(told) == 1

    def test_marks_of_signs_that_are_not_read_are_counted(self):
        model = tiny(tokenizer=HierarchicalTokenizer(tokens="words"))
        with pytest.warns(UserWarning, match="1 of 1 highlight covers no word"):
            marked = model.fit(
                ["... " + TEXTS[0], *TEXTS[1:]],
                LABELS,
                [1] * N,
                highlights=[[(0, 2)], *[None] * (N - 1)],
            )
        assert marked is model
