"""Training documents known again by their hashes."""

import pickle

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from sk_han import HierarchicalTokenizer, ModelFormatError, load, report, save
from sk_han.serving import Scorer
from tests.tiny_models import LABELS, TEXTS, tiny

SEEN = {"A long day": "pos", "Rain and rain again": "neg", "The sun was bad": "neg"}
NEW = ["It was a day.", "the sun was bad", "RAIN and rain again", "A zebra."]
TRAINING, KINDS = TEXTS + list(SEEN), [*LABELS, *SEEN.values()]
LABELS_OF_NEW = ["pos", "neg", "neg", "pos"]


@pytest.fixture(scope="module", params=["classifier", "pipeline"])
def model(request):
    if request.param == "classifier":
        return tiny().fit(TRAINING, KINDS)
    return make_pipeline(HierarchicalTokenizer(), tiny()).fit(TRAINING, KINDS)


def of_report(model, **how):
    return report(model, NEW, LABELS_OF_NEW, baseline=None, **how)


def test_a_report_recognizes_training_documents(model):
    found = of_report(model)
    assert found.trained_on.tolist() == [1, 2]
    assert "2 documents have the same or nearly the same words" in found.to_text()


def test_documents_of_unknown_words_are_reported_as_not_comparable(model):
    said = "1 document has too few known words to be compared with the training documents."
    assert said not in of_report(model).notes
    more = [*NEW, "Zebra of zebra", ""], [*LABELS_OF_NEW, "pos", "neg"]
    assert said in report(model, *more, baseline=None).notes
    given = {"X_train": TRAINING, "y_train": KINDS}
    assert said not in report(model, *more, baseline=None, **given).notes
    few = make_pipeline(HierarchicalTokenizer(max_features=1), tiny()).fit(TRAINING, KINDS)
    assert of_report(few).trained_on is None
    assert "is not known" in of_report(few).to_text()


def test_pickles_keep_hashes_and_files_only_on_request(model, tmp_path):
    assert of_report(pickle.loads(pickle.dumps(model))).trained_on.tolist() == [1, 2]
    path = tmp_path / "model.han"
    save(model, path)
    assert of_report(load(path)).trained_on is None
    save(model, path, text_hashes=True)
    assert of_report(load(path)).trained_on.tolist() == [1, 2]
    assert Scorer.load(path).predict(NEW).tolist() == model.predict(NEW).tolist()


def test_x_train_and_stored_hashes_both_identify_training_documents(model):
    found = of_report(model, X_train=["It was a day", "Other"], y_train=["pos", "neg"])
    assert found.trained_on.tolist() == [0, 1, 2]


def test_portions_and_warm_starts_add_hashes_of_their_documents():
    model = tiny().partial_fit(TEXTS, LABELS, classes=["neg", "pos"])
    assert of_report(model).trained_on.tolist() == []
    model.partial_fit(["The sun was bad"], ["neg"])
    assert of_report(model).trained_on.tolist() == [1]
    model.set_params(warm_start=True).fit(TEXTS, LABELS)
    assert of_report(model).trained_on.tolist() == [1]
    model.set_params(warm_start=False).fit(TEXTS, LABELS)
    assert of_report(model).trained_on.tolist() == []


def test_hashes_depend_on_the_seed():
    first, same, other = (
        tiny(random_state=seed).fit(TRAINING, KINDS).text_hashes_ for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first.hashes, same.hashes)
    assert not np.isin(first.hashes, other.hashes).any()


@pytest.mark.parametrize(
    ("name", "array"),
    [("salt", np.zeros(3, dtype=np.uint8)), ("hashes", np.array([3, 2], dtype=np.uint64))],
)
def test_damaged_hashes_are_refused(name, array):
    state = tiny().fit(TEXTS, LABELS).to_state()
    state["text_hashes"] = {**state["text_hashes"], name: array}
    with pytest.raises(ModelFormatError, match="text_hashes"):
        tiny().from_state(state)
