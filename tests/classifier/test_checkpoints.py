"""A fit that was stopped goes on from its checkpoint, and ends as one that was not."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import tests.classifier.test_unlabelled as unlabelled
from sk_han import Checkpoint, HierarchicalTokenizer, ModelFormatError, load, save
from sk_han.training.callbacks import progress
from tests.interrupted_fits import (
    N_STEPS,
    StopAt,
    Stopped,
    assert_same,
    classifier_of,
    file_of,
    stop_fit,
    stopping_at,
    whole_fit,
)
from tests.thorough import first_fast
from tests.tiny_models import LABELS, TEXTS, UNSEEN

FAMILY = {
    "frozen first": {"freeze_embedding": 2, "lr_schedule": "constant"},
    "early stopping": {"n_iter_no_change": 3, "lr": 0.05},
    "adam": {"optimizer": "adam", "adversarial_noise": 0.0},
    "sgd": {"optimizer": "sgd", "lr": 0.1, "net_params": {"optimizer__momentum": 0.9}},
    "no held-out documents": {"validation_fraction": None},
    "another network": {"rnn": "lstm", "pooling": "max", "dropout": 0.5, "word_dropout": 0.3},
    "word vectors dropped": {"net_params": {"module__embedding_dropout": 0.2}},
}
PLACES = {
    "within the first epoch": {"step": 2},
    "before the second epoch": {"epoch": 1},
    "behind the last step of an epoch": {"step": N_STEPS},
    "within a late epoch": {"step": 3 * N_STEPS + 4},
}


class TestTheSameBits:
    @pytest.mark.thorough
    @pytest.mark.parametrize("engine", first_fast(["numba", "torch"]))
    @pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
    def test_wherever_it_stopped(self, place, engine, tmp_path):
        if engine == "numba":
            pytest.importorskip("numba")
        params = {"engine": engine}
        stop_fit(classifier_of(**params), tmp_path, **place)
        again = classifier_of(**params).fit(TEXTS, LABELS, checkpoint=tmp_path)
        assert_same(again, whole_fit(**params))

    @pytest.mark.parametrize("params", first_fast(FAMILY.values(), 2))
    def test_whatever_it_trains(self, params, tmp_path):
        stop_fit(classifier_of(**params), tmp_path, step=3 * N_STEPS + 2)
        again = classifier_of(**params).fit(TEXTS, LABELS, checkpoint=tmp_path)
        assert_same(again, classifier_of(**params).fit(TEXTS, LABELS))

    @pytest.mark.thorough
    def test_with_linear_models_too(self, tmp_path):
        stop_fit(classifier_of(linear_ngrams=(1, 3)), tmp_path, step=9)
        again = classifier_of(linear_ngrams=(1, 3)).fit(TEXTS, LABELS, checkpoint=tmp_path)
        assert again.ngram_scale_ > 0
        assert_same(again, whole_fit(linear_ngrams=(1, 3)))

    @pytest.mark.thorough
    def test_checkpoints_change_no_number(self, tmp_path):
        with_them = classifier_of().fit(TEXTS, LABELS, checkpoint=Checkpoint(tmp_path, minutes=0))
        assert_same(with_them, whole_fit())

    @pytest.mark.thorough
    def test_it_may_stop_again_and_again(self, tmp_path):
        for step in (1, 9, 9, 23):
            stop_fit(classifier_of(), tmp_path, step=step)
        again = classifier_of().fit(TEXTS, LABELS, checkpoint=tmp_path)
        assert_same(again, whole_fit())

    def test_a_fit_that_early_stopping_ended_trains_no_further(self, tmp_path, monkeypatch):
        params = {"n_iter_no_change": 1, "lr": 1e-20}  # which changes no weight
        whole = classifier_of(**params).fit(TEXTS, LABELS)
        assert whole.n_iter_ == 2

        def fail(*args, **kwargs):
            raise Stopped

        with monkeypatch.context() as patched:  # the stage behind the training
            patched.setattr("sk_han.fitting.story.scaled_pool", fail)
            with pytest.raises(Stopped):
                classifier_of(**params).fit(TEXTS, LABELS, checkpoint=tmp_path)
        StopAt.step = 0  # it would be reached if an epoch began
        try:
            again = classifier_of(**params).fit(TEXTS, LABELS, checkpoint=tmp_path)
        finally:
            StopAt.step = None
        assert_same(again, whole)

    @pytest.mark.parametrize("random_state", [lambda: None, lambda: np.random.RandomState(3)])
    def test_a_random_state_that_moves_is_stored(self, random_state, tmp_path):
        if random_state() is None:
            np.random.seed(5)
        whole = classifier_of(random_state=random_state()).fit(TEXTS, LABELS)
        if random_state() is None:
            np.random.seed(5)
        given = random_state()
        stop_fit(classifier_of(random_state=given), tmp_path, step=9)
        np.random.rand(7)
        again = classifier_of(random_state=given).fit(TEXTS, LABELS, checkpoint=tmp_path)
        assert_same(again, whole)

    def test_numpys_global_generator_is_not_set_back(self, tmp_path):
        stop_fit(classifier_of(random_state=None), tmp_path, step=9)
        before = np.random.get_state()[1].tolist()
        classifier_of(random_state=None).fit(TEXTS, LABELS, checkpoint=tmp_path)
        assert np.random.get_state()[1].tolist() == before

    def test_a_warm_start_goes_on(self, tmp_path):
        first = classifier_of(warm_start=True, max_epochs=2).fit(TEXTS, LABELS)
        save(first.set_params(callbacks=None), tmp_path / "model.han")
        first.set_params(callbacks=[StopAt()])
        stop_fit(first, tmp_path / "folder", step=8)
        other = load(tmp_path / "model.han").set_params(callbacks=[StopAt()])
        other.fit(TEXTS, LABELS, checkpoint=tmp_path / "folder")
        assert_same(other, first.fit(TEXTS, LABELS))

    def test_a_warm_start_from_other_weights_is_refused(self, tmp_path):
        first, other = (
            classifier_of(warm_start=True, max_epochs=2, random_state=seed).fit(TEXTS, LABELS)
            for seed in (0, 1)
        )
        stop_fit(first, tmp_path, step=8)
        other.set_params(random_state=0)
        with pytest.raises(ValueError, match="weights to start from"):
            other.fit(TEXTS, LABELS, checkpoint=tmp_path)


class TestPretraining:
    @pytest.fixture(autouse=True)
    def pretrains(self, monkeypatch):
        """Take a few hundred texts for enough to pre-train the network."""
        monkeypatch.setattr("sk_han.fitting.linear._ENOUGH_TO_PRETRAIN", 100)
        monkeypatch.setattr("sk_han.fitting.network.PRETRAINING_STEPS", 20)

    def classifier(self):
        return unlabelled.small(batch_size=16, max_epochs=2, callbacks=[StopAt()])

    def fit(self, classifier, **arguments):
        return classifier.fit(
            unlabelled.LABELLED, unlabelled.Y, X_unlabelled=unlabelled.UNLABELLED, **arguments
        )

    @pytest.mark.thorough
    def test_it_goes_on_within_it_and_behind_it_pre_trains_no_more(self, tmp_path, monkeypatch):
        whole = self.fit(self.classifier())
        from sk_han.training.net import Net

        steps, train_step = [], Net.train_step

        def stop_at_five(net, *args, **kwargs):
            steps.append(None)
            if len(steps) == 5:
                raise Stopped
            return train_step(net, *args, **kwargs)

        with monkeypatch.context() as patched:
            patched.setattr(Net, "train_step", stop_at_five)
            with pytest.raises(Stopped):
                self.fit(self.classifier(), checkpoint=Checkpoint(tmp_path, minutes=0))
        with stopping_at(step=5):
            self.fit(self.classifier(), checkpoint=Checkpoint(tmp_path, minutes=0))
        monkeypatch.setattr("sk_han.fitting.network._softly_labelled", None)
        assert_same(self.fit(self.classifier(), checkpoint=tmp_path), whole, unlabelled.UNSEEN)

    @pytest.mark.thorough
    def test_a_generator_of_the_user_ends_in_the_same_state(self, tmp_path):
        def fit(generator):
            classifier = self.classifier().set_params(random_state=generator)
            self.fit(classifier, checkpoint=Checkpoint(tmp_path, minutes=0))

        with stopping_at(step=5):
            fit(np.random.RandomState(3))
        going_on, whole = np.random.RandomState(3), np.random.RandomState(3)
        fit(going_on)
        fit(whole)
        assert going_on.randint(2**31 - 1) == whole.randint(2**31 - 1)


class TestTheFolder:
    def test_it_is_made(self, tmp_path):
        folder = tmp_path / "a" / "b"
        stop_fit(classifier_of(), folder, step=2)
        assert os.listdir(folder) == ["checkpoint.han"]

    def test_a_whole_fit_leaves_nothing_in_it(self, tmp_path):
        stop_fit(classifier_of(), tmp_path, step=2)
        left = tmp_path / ".sk_han-left.tmp"
        left.touch()
        classifier_of().fit(TEXTS, LABELS, checkpoint=tmp_path)
        assert os.listdir(tmp_path) == [left.name]

    def test_behind_the_first_step_there_is_one_whatever_the_minutes(self, tmp_path):
        stop_fit(classifier_of(), tmp_path, step=1, minutes=1e9)
        assert file_of(tmp_path).exists()

    def test_within_an_epoch_they_come_by_the_minutes(self, tmp_path):
        stop_fit(classifier_of(), tmp_path, step=4, minutes=1e9)
        rare = file_of(tmp_path).read_bytes()
        stop_fit(classifier_of(), tmp_path / "often", step=4, minutes=0)
        assert len(file_of(tmp_path / "often").read_bytes()) > len(rare)  # a longer history

    def test_a_file_in_its_place_is_an_error(self, tmp_path):
        (tmp_path / "file").touch()
        with pytest.raises(NotADirectoryError, match="give the name of a folder"):
            classifier_of().fit(TEXTS, LABELS, checkpoint=tmp_path / "file")

    def test_one_that_cannot_be_written_to_is_an_error_before_the_fit(self, tmp_path, monkeypatch):
        monkeypatch.setattr(os, "access", lambda path, mode: False)
        with pytest.raises(PermissionError, match="no permission to write"):
            classifier_of().fit(TEXTS, LABELS, checkpoint=tmp_path)

    def test_something_else_is_refused(self):
        with pytest.raises(TypeError, match="path of a folder or a Checkpoint; got an int"):
            classifier_of().fit(TEXTS, LABELS, checkpoint=3)

    def test_on_a_full_disk_the_fit_goes_on_and_warns_once(self, tmp_path, monkeypatch):
        def full(file, *content):
            file.write(b"some bytes")
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("sk_han.fitting.checkpoints.fit_checkpoints.write_archive", full)
        with pytest.warns(UserWarning, match="No space left on device.* The fit goes on") as seen:
            fitted = classifier_of().fit(TEXTS, LABELS, checkpoint=tmp_path)
        assert len(seen) == 1
        assert_same(fitted, whole_fit())
        assert os.listdir(tmp_path) == []

    def test_the_checkpoint_before_a_full_disk_stays_whole(self, tmp_path, monkeypatch):
        stop_fit(classifier_of(), tmp_path, step=5)
        before = file_of(tmp_path).read_bytes()

        def full(file, *content):
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr("sk_han.fitting.checkpoints.fit_checkpoints.write_archive", full)
            with pytest.warns(UserWarning, match="No space left"):
                stop_fit(classifier_of(), tmp_path, step=9)
        assert file_of(tmp_path).read_bytes() == before

    def test_a_checkpoint_that_cannot_be_deleted_loses_no_fit(self, tmp_path, monkeypatch):
        def refuse(*args, **kwargs):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "unlink", refuse)
        with pytest.warns(UserWarning, match="could not be deleted"):
            fitted = classifier_of().fit(TEXTS, LABELS, checkpoint=tmp_path)
        assert fitted.n_iter_ == 4


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """Give the folder of a fit that stopped in its second epoch."""
    folder = tmp_path_factory.mktemp("fit")
    stop_fit(classifier_of(), folder, step=8)
    return folder


class TestAnotherFit:
    @pytest.mark.parametrize(
        ("params", "named"),
        [
            ({"lr": 0.01}, r"lr \(0\.006 then, 0\.01 now\)"),
            ({"random_state": 1}, "random_state"),
            ({"net_params": {"clip_norm": 2.0}}, "net_params"),
            ({"tokenizer": HierarchicalTokenizer(min_df=2)}, "tokenizer"),
            ({"callbacks": None}, r"callbacks \(\[tests\.interrupted_fits\.StopAt\] then, None"),
            ({"embedding_init": np.ones((20, 7), np.float32)}, "embedding_init"),
        ],
        ids=["lr", "seed", "net", "tokenizer", "callbacks", "vectors"],
    )
    def test_other_parameters_are_named(self, params, named, stopped):
        before = file_of(stopped).read_bytes()
        with pytest.raises(ValueError, match=f"of another fit.*{named}.*another folder, or delete"):
            classifier_of(**params).fit(TEXTS, LABELS, checkpoint=stopped)
        assert file_of(stopped).read_bytes() == before

    @pytest.mark.parametrize(
        ("arguments", "named"),
        [
            ({"X": ["Another good day.", *TEXTS[1:]]}, "the documents"),
            ({"y": LABELS[::-1]}, "the labels"),
            ({"y": np.where(LABELS == "pos", "positive", "neg")}, "the classes"),
            ({"sample_weight": np.arange(1.0, 19.0)}, "the weights of documents"),
            ({"X_val": TEXTS, "y_val": LABELS}, "X_val"),
            ({"X_unlabelled": TEXTS[:3]}, "X_unlabelled"),
        ],
        ids=["X", "y", "classes", "weights", "X_val", "X_unlabelled"],
    )
    def test_other_data_is_named(self, arguments, named, stopped):
        data = {"X": TEXTS, "y": LABELS} | arguments
        with pytest.raises(ValueError, match=f"differs in .*{named}"):
            classifier_of().fit(**data, checkpoint=stopped)

    def test_the_same_words_under_other_names_are_another_fit(self, stopped):
        texts = [text.replace("sun", "son") for text in TEXTS]
        with pytest.raises(ValueError, match="the vocabulary"):
            classifier_of().fit(texts, LABELS, checkpoint=stopped)

    def test_other_versions_are_named(self, stopped, monkeypatch):
        monkeypatch.setattr("sk_han.__version__", "9.9")
        with pytest.raises(ValueError, match=r"sk_han \('?0\.1\.0'? then, '?9\.9'? now\)"):
            classifier_of().fit(TEXTS, LABELS, checkpoint=stopped)

    def test_a_progress_bar_makes_no_other_fit(self, tmp_path, capsys):
        stop_fit(classifier_of(), tmp_path, step=8)
        again = classifier_of(verbose=1).fit(TEXTS, LABELS, checkpoint=tmp_path)
        assert_same(again, whole_fit())

    def test_a_bar_goes_on_where_it_was(self, tmp_path, capsys, monkeypatch):
        monkeypatch.setattr(progress, "rewrites_lines", lambda: True)
        stop_fit(classifier_of(verbose=1), tmp_path, step=8)
        capsys.readouterr()
        classifier_of(verbose=1).fit(TEXTS, LABELS, checkpoint=tmp_path)
        assert f"{4 * N_STEPS}/{4 * N_STEPS}" in capsys.readouterr().err

    def test_a_fit_of_a_terminal_goes_on_in_a_log(self, tmp_path, capsys, monkeypatch):
        with monkeypatch.context() as terminal:
            terminal.setattr(progress, "rewrites_lines", lambda: True)
            stop_fit(classifier_of(verbose=1), tmp_path, step=8)
        capsys.readouterr()
        classifier_of(verbose=1).fit(TEXTS, LABELS, checkpoint=tmp_path)
        assert "epoch 4 of 4: " in capsys.readouterr().err

    def test_a_refused_fit_leaves_the_earlier_model(self, stopped):
        fitted = classifier_of().fit(TEXTS, LABELS)
        before = fitted.predict_proba(UNSEEN)
        with pytest.raises(ValueError, match="of another fit"):
            fitted.set_params(lr=0.5).fit(TEXTS, LABELS, checkpoint=stopped)
        np.testing.assert_array_equal(fitted.predict_proba(UNSEEN), before)

    def test_a_model_file_in_its_place_is_refused(self, tmp_path):
        save(classifier_of(callbacks=None).fit(TEXTS, LABELS), file_of(tmp_path))
        with pytest.raises(ModelFormatError, match="it is a model, and no checkpoint"):
            classifier_of().fit(TEXTS, LABELS, checkpoint=tmp_path)

    def test_a_checkpoint_is_no_model(self, stopped):
        with pytest.raises(ModelFormatError, match=r"checkpoint\.han cannot be loaded"):
            load(file_of(stopped))


class TestInScikitLearn:
    def test_a_pipeline_passes_it_on(self, tmp_path):
        pipeline = make_pipeline(HierarchicalTokenizer(), classifier_of())
        with stopping_at(step=8):
            pipeline.fit(TEXTS, LABELS, hanclassifier__checkpoint=Checkpoint(tmp_path, minutes=0))
        pipeline.fit(TEXTS, LABELS, hanclassifier__checkpoint=tmp_path)
        np.testing.assert_array_equal(
            pipeline.predict_proba(UNSEEN), whole_fit().predict_proba(UNSEEN)
        )

    def test_it_can_be_requested_by_metadata_routing(self, tmp_path):
        with sklearn.config_context(enable_metadata_routing=True):
            classifier = classifier_of().set_fit_request(checkpoint=True)
            pipeline = make_pipeline(HierarchicalTokenizer(), classifier)
            with stopping_at(step=8):
                pipeline.fit(TEXTS, LABELS, checkpoint=tmp_path)
        assert file_of(tmp_path).exists()

    def test_it_is_no_parameter_of_the_constructor(self):
        assert "checkpoint" not in classifier_of().get_params()
        assert cross_val_score(classifier_of(max_epochs=1), TEXTS, LABELS, cv=2).shape == (2,)


@pytest.mark.thorough
class TestKilled:
    PLACES = {  # noqa: RUF012
        "within the first epoch": {"step": 2},
        "at the end of an epoch": {"epoch": 1},
        "while a checkpoint is written": {"file": N_STEPS + 1},
        "while the first one is written": {"file": 1},
        "in a late epoch": {"step": 3 * N_STEPS + 4},
    }

    @pytest.mark.parametrize("engine", ["torch", "numba"])
    @pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
    def test_a_killed_process_costs_no_bit(self, place, engine, tmp_path):
        if engine == "numba":
            pytest.importorskip("numba")
        # Dropout, noise and the one-cycle schedule are defaults.
        params = {"engine": engine, "n_iter_no_change": 3}
        folder = tmp_path / "folder"
        command = [sys.executable, "-W", "ignore", "-m", "tests.interrupted_fits"]
        arguments = [str(folder), json.dumps(place), json.dumps(params)]
        process = subprocess.Popen([*command, *arguments])
        try:
            while not (tmp_path / "reached").exists():
                assert process.poll() is None, "it ended before it was killed"
                time.sleep(0.01)
        finally:
            process.kill()
            process.wait()
        left = os.listdir(folder)
        assert ("checkpoint.han" in left) == (place != {"file": 1})
        assert any(name.endswith(".tmp") for name in left) == ("file" in place)
        again = classifier_of(**params).fit(TEXTS, LABELS, checkpoint=folder)
        assert_same(again, whole_fit(**params))
        assert os.listdir(folder) == []
