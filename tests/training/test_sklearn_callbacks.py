"""scikit-learn's own callbacks (1.9 and later) see the epochs of a fit."""

import pickle
from functools import partial

import numpy as np
import pytest
from skorch.callbacks import EarlyStopping

from sk_han import HierarchicalTokenizer
from tests import tiny_models

skl_callback = pytest.importorskip("sklearn.callback", reason="needs scikit-learn 1.9")

TEXTS = 8 * ["It was a good day. The sun shone.", "It was a bad day. The rain fell."]
LABELS = np.array(8 * ["pos", "neg"])

tiny = partial(tiny_models.tiny, max_epochs=3, batch_size=8)


class Recorder:
    """A callback that keeps what it is told, and stops after an epoch if asked to."""

    def __init__(self, stop_after=None, error=None):
        self.stop_after, self.error, self.calls, self.fitted = stop_after, error, [], []

    def setup(self, estimator, context):
        self.calls.append("setup")

    def teardown(self, estimator, context):
        self.calls.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.calls.append(f"begin {context.task_name} {context.task_id}")

    def on_fit_task_end(self, estimator, context, *, X, y, metadata, fitted_estimator):
        self.calls.append(f"end {context.task_name} {context.task_id}")
        self.fitted.append(fitted_estimator)
        self.X, self.y, self.metadata = X, y, metadata
        if context.task_name == "epoch" and context.task_id + 1 == self.stop_after:
            if self.error is not None:
                raise self.error
            return True
        return False


def recorded(recorder, **params):
    return tiny(**params).set_callbacks(recorder).fit(TEXTS, LABELS)


class TestEpochs:
    def test_each_epoch_is_a_task_within_the_fit(self):
        recorder = Recorder()
        recorded(recorder, max_epochs=2)
        first, second = ([f"begin epoch {i}", f"end epoch {i}"] for i in range(2))
        whole = ["setup", "begin fit 0", *first, *second, "end fit 0", "teardown"]
        assert recorder.calls == whole
        recorder.calls.clear()
        tiny().set_callbacks(recorder).partial_fit(TEXTS, LABELS, classes=["neg", "pos"])
        assert recorder.calls == [*whole[:4], *whole[6:]]

    @pytest.mark.parametrize(
        "stopping",
        [
            {"lr": 1e-20, "n_iter_no_change": 1, "validation_fraction": 0.25},
            {"callbacks": [EarlyStopping(monitor="train_loss", threshold=1e9, patience=1)]},
        ],
        ids=["own", "skorch"],
    )
    def test_the_epoch_after_which_training_stops_early_is_ended(self, stopping):
        recorder = Recorder()
        assert recorded(recorder, max_epochs=40, **stopping).n_iter_ == 2
        assert recorder.calls[-3:] == ["end epoch 1", "end fit 0", "teardown"]

    @pytest.mark.parametrize("validation_fraction", [0.25, None])
    def test_a_callback_may_end_the_training(self, validation_fraction):
        stopped = recorded(Recorder(stop_after=1), validation_fraction=validation_fraction)
        assert stopped.n_iter_ == 1
        assert stopped.predict_proba(TEXTS).shape == (16, 2)

    def test_the_fitted_estimator_of_an_epoch_is_the_one_of_a_fit_that_ends_there(self):
        params = {
            "lr_schedule": "constant",
            "validation_fraction": None,
            "linear_ngrams": None,  # n-grams are fitted behind the last epoch
        }
        recorder = Recorder()
        recorded(recorder, **params)
        for n_epochs, fitted in enumerate(recorder.fitted[:3], start=1):
            ended = tiny(max_epochs=n_epochs, **params).fit(TEXTS, LABELS).predict_proba(TEXTS)
            np.testing.assert_array_equal(fitted.predict_proba(TEXTS), ended)
            copy = pickle.loads(pickle.dumps(fitted.set_callbacks()))
            np.testing.assert_array_equal(copy.predict_proba(TEXTS), ended)
            assert copy.n_iter_ == len(copy.history_) == n_epochs

    @pytest.mark.thorough
    def test_looking_at_the_fitted_estimator_changes_no_number(self):
        watched = recorded(Recorder()).predict_proba(TEXTS)
        np.testing.assert_array_equal(watched, tiny().fit(TEXTS, LABELS).predict_proba(TEXTS))

    def test_callbacks_are_told_of_documents_labels_and_weights(self):
        recorder, weights = Recorder(), np.arange(16) + 1.0
        classifier = tiny().set_callbacks(recorder).fit(TEXTS, LABELS, sample_weight=weights)
        proba = classifier.predict_proba(TEXTS)
        np.testing.assert_array_equal(recorder.fitted[-1].predict_proba(TEXTS), proba)
        assert recorder.X.shape == (16,)
        np.testing.assert_array_equal(classifier.predict(recorder.X), classifier.predict(TEXTS))
        np.testing.assert_array_equal(recorder.y, LABELS)
        assert recorder.metadata["sample_weight"] is weights

    def test_the_tokenizer_tells_of_its_fit(self):
        recorder = Recorder()
        tokenizer = HierarchicalTokenizer().set_callbacks(recorder)
        tokenizer.fit(TEXTS)
        tokenizer.fit_transform(TEXTS)
        tokenizer.set_params(vocabulary=["good", "bad"]).fit_transform(TEXTS)
        assert recorder.calls == 3 * ["setup", "begin fit 0", "end fit 0", "teardown"]


class TestOffTheShelf:
    def test_scores_of_epochs_are_monitored(self):
        monitor = skl_callback.ScoringMonitor(scoring="accuracy")
        classifier = tiny().set_callbacks(monitor).fit(TEXTS, LABELS)
        rows = monitor.get_logs().data
        assert [row["task_name"] for row in rows] == ["fit", "epoch", "epoch", "epoch"]
        assert rows[0]["accuracy"] == classifier.score(TEXTS, LABELS)


class TestNothingElseChanges:
    def test_an_error_of_a_callback_leaves_the_earlier_fit(self):
        classifier = tiny(max_epochs=1).fit(TEXTS, LABELS)
        before, state = classifier.predict_proba(TEXTS), dict(vars(classifier))
        recorder = Recorder(stop_after=1, error=RuntimeError("from a callback"))
        with pytest.raises(RuntimeError, match="from a callback"):
            classifier.set_callbacks(recorder).fit(TEXTS[:8], LABELS[:8])
        assert recorder.calls[-1] == "teardown"
        assert vars(classifier.set_callbacks()) == state
        np.testing.assert_array_equal(classifier.predict_proba(TEXTS), before)

    def test_the_fitted_net_does_not_keep_the_documents(self):
        tasks = dict(recorded(Recorder()).net_.callbacks_)["fit_tasks"]
        nothing = {"fit_task": None, "arguments": {}, "fitted_so_far": None, "epoch_": None}
        assert vars(tasks) == nothing

    def test_a_model_watched_by_a_callback_can_be_pickled(self):
        classifier = recorded(skl_callback.ScoringMonitor(scoring="accuracy"))
        loaded = pickle.loads(pickle.dumps(classifier))
        np.testing.assert_array_equal(loaded.predict_proba(TEXTS), classifier.predict_proba(TEXTS))
