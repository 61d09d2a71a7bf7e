"""Labels, weights, parameters and the lack of a fit, as a user meets them in `HANClassifier`.

`tests/validation/test_weights.py` holds the numbers of labels and weights.
"""

import inspect
from enum import Enum

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import DataConversionWarning, NotFittedError

from sk_han import HierarchicalTokenizer, audit_labels, explain, report
from tests.thorough import first_fast
from tests.tiny_models import tiny

TEXTS = ["It was a good day. The sun shone!", "A bad day. Rain, and more rain."] * 6
LABELS = ["pos", "neg"] * 6


def twelve(*labels):
    return list(labels) * 6


NUMBERS = twelve(2, 1)


def kinds_of_labels():
    """Containers of labels with the sorted labels and the kind of their dtype."""
    strings, numbers, truths = twelve("pos", "neg"), twelve(3, 1), twelve(True, False)
    yield "strings", strings, ["neg", "pos"], "U"
    yield "pandas categorical", pd.Series(strings, dtype="category"), ["neg", "pos"], "O"
    yield "polars", pl.Series(strings), ["neg", "pos"], None
    yield "bool", truths, [False, True], "b"
    yield "nullable int", pd.Series(numbers, dtype="Int64"), [1, 3], "i"
    yield "arrow int", pa.array(numbers), [1, 3], "i"
    yield "odd characters", twelve("\ud800", "\u202e"), ["\u202e", "\ud800"], "U"


KINDS = {name: values for name, *values in kinds_of_labels()}


class Colour(str, Enum):  # noqa: UP042 - str() of a member of a StrEnum would be its value
    RED = "red"
    GREEN = "green"


class TestLabels:
    def test_enum_members_are_read_as_their_strings(self):
        classifier = tiny().fit(TEXTS, twelve(Colour.RED, Colour.GREEN))
        assert classifier.classes_.tolist() == ["green", "red"]
        assert {type(label) for label in classifier.classes_.tolist()} == {str}

    @pytest.mark.parametrize("name", first_fast(KINDS, 5))
    def test_classes_and_predictions_keep_the_type_of_the_labels(self, name):
        y, classes, kind = KINDS[name]
        classifier = tiny().fit(TEXTS, y)
        found = classifier.classes_
        assert found.tolist() == classes
        assert kind is None or found.dtype.kind == kind
        assert classifier.predict(TEXTS).dtype == found.dtype

    @pytest.mark.parametrize("y", [twelve("pos", "neg"), pl.Series(twelve(3, 1))], ids=type)
    def test_partial_fit_takes_classes_in_any_order(self, y):
        classifier = tiny().partial_fit(TEXTS, y, classes=y).partial_fit(TEXTS, y, classes=y)
        assert classifier.classes_.tolist() == sorted(set(y))


MISSING = "every document needs a label"
NO_LIST = "or array of labels, such as .*; got a"
COLLECTION = r"y\[1\] holds a collection of labels.*MultiLabelBinarizer"
REFUSED = {
    "nothing": (None, ValueError, "requires y to be passed, but the target y is None"),
    "mixed": (
        [1, *LABELS[1:]],
        TypeError,
        r"y\[1\] is 'neg', of type str; labels are all .* first is of type number",
    ),
    "bool and int": (
        [True, *NUMBERS[1:]],
        TypeError,
        r"y\[1\] is 1, of type number; .* first is of type bool",
    ),
    "None": (
        [None, *LABELS[1:]],
        ValueError,
        rf"y\[0\] is None, .*{MISSING}: 1 label of 12 is missing",
    ),
    "NaN": ([1.0, np.nan] * 6, ValueError, rf"y\[1\] is nan, .*{MISSING}: 6 labels of 12"),
    "infinite": ([1.0, np.inf] * 6, ValueError, rf"y\[1\] is inf, .*{MISSING}"),
    "None, category": (pd.Series(twelve("a", None), dtype="category"), ValueError, MISSING),
    "None, Int64": (pd.Series(twelve(1, None), dtype="Int64"), ValueError, MISSING),
    "None, polars": (pl.Series(twelve("a", None)), ValueError, MISSING),
    "continuous": (np.linspace(0, 1, 12), ValueError, "Unknown label type: continuous"),
    "two columns": (np.full((12, 2), 3), ValueError, r"\(12, 2\) holds 3; .* 0 and 1 alone"),
    "three axes": (np.zeros((12, 1, 2), int), ValueError, "dim 3, while dim <= 2 is required"),
    "objects that are int": (np.array(NUMBERS, object), ValueError, r"astype\(int64\)"),
    "objects that are bool": (np.array(twelve(True, False), object), ValueError, r"type\(bool\)"),
    "integers beyond 64 bits": (twelve(10**30, 1), ValueError, r"astype\(str\)"),
    "lists": ([["a"], ["a", "b"]] * 6, TypeError, COLLECTION),
    "dates": (list(pd.date_range("2020", periods=12)), TypeError, "type Timestamp.*str"),
    "too few": (LABELS[:-1], ValueError, "12 documents in X, 11 labels in y"),
    "too many": ([*LABELS, "pos"], ValueError, "12 documents in X, 13 labels in y"),
    "NUL": (
        ["neg\0", *LABELS[1:]],
        ValueError,
        r"y\[0\] ends in NUL, 'neg\\x00': .*Replace it, .*rst",
    ),
    "NUL, objects": (np.array([*LABELS[1:], "neg\0"], object), ValueError, r"y\[11\] ends in NUL"),
    "bytes": ([label.encode() for label in LABELS], TypeError, r"type bytes.*label\.decode\(\)"),
    "NumPy's bytes": (np.array([b"pos", b"neg"] * 6), TypeError, r"type bytes.*label\.decode"),
    "a string": ("posneg" * 2, ValueError, f"{NO_LIST} str"),
    "a set": (set(LABELS), ValueError, f"{NO_LIST} set"),
    "a generator": ((label for label in LABELS), ValueError, f"{NO_LIST} generator"),
}
WEIGHTS = {
    "zero throughout": ([0.0] * 12, "zero"),
    "two columns": (np.ones((12, 2)), "1D array"),
    "text": (["heavy"] * 12, "a number for each document; got strings"),
}


if hasattr(np.dtypes, "StringDType"):
    strings = np.array(LABELS, dtype=np.dtypes.StringDType())
    REFUSED["StringDType"] = strings, ValueError, r"dtype StringDType.*astype\(str\)"


class Unread(BaseException):
    """A text was read."""


def never(text):
    raise Unread


WRITTEN = [  # labels that a model learns, and the same as a table or other code writes them
    (NUMBERS, twelve("2", "1")),
    (NUMBERS, twelve("2.0", "1.0")),
    (twelve("2", "1"), NUMBERS),
    (twelve("2", "1"), [float(number) for number in NUMBERS]),
    (twelve(True, False), twelve("True", "False")),
    (twelve(True, False), twelve("true", "false")),
]


class TestMatchedByValue:
    @pytest.mark.parametrize(("learnt", "written"), WRITTEN)
    def test_labels_written_in_another_form_match_the_same_classes(self, learnt, written):
        model = tiny(class_weight=dict(zip(written[:2], [1.0, 2.0], strict=True)))
        model.fit(TEXTS, learnt, X_val=TEXTS, y_val=written)
        assert model.score(TEXTS, written) == model.score(TEXTS, learnt)
        expected = explain(model, TEXTS, y_true=learnt, target=learnt)
        found = explain(model, TEXTS, y_true=written, target=written)
        assert found == expected
        assert explain(model, TEXTS, target=written[0])[0].target == learnt[0]
        found, expected = (report(model, TEXTS, y, baseline=None) for y in (written, learnt))
        assert found.labels == expected.labels
        np.testing.assert_array_equal(found.targets, expected.targets)
        model.partial_fit(TEXTS, written)

    def test_a_label_of_an_unknown_class_counts_as_missed(self):
        model = tiny().fit(TEXTS, NUMBERS)
        others = ["strange", *map(str, NUMBERS[1:])]
        right = model.predict(TEXTS)[1:] == NUMBERS[1:]
        with pytest.warns(UserWarning, match="'strange'.*counts as a mistake"):
            assert model.score(TEXTS, others) == right.sum() / 12
        found = report(model, TEXTS, others, baseline=None)
        assert found.labels == (1, 2, "strange")
        assert found.right.tolist() == [False, *right]

    def test_labels_with_leading_zeros_are_not_numbers(self):
        model = tiny().fit(TEXTS, twelve("007", "7"))
        with pytest.raises(ValueError, match="None of the labels"):
            report(model, TEXTS, [8] * 12)
        assert explain(model, TEXTS[:1], target=7)[0].target == "7"
        assert explain(model, TEXTS[:1], target="007")[0].target == "007"


class TestRefused:
    def test_errors_name_the_labels_that_were_given(self):
        with pytest.raises(ValueError, match=r"classes must be a list or array of labels.* an int"):
            tiny().partial_fit(TEXTS, LABELS, classes=2)
        with pytest.raises(TypeError, match=r"classes\[2\] is 3, of type number"):
            tiny().partial_fit(TEXTS, LABELS, classes=["neg", "pos", 3])
        with pytest.raises(TypeError, match=r"y_val\[1\] is .*, of type str"):
            tiny().fit(TEXTS, LABELS, X_val=TEXTS, y_val=[0, *LABELS[1:]])
        with pytest.raises(ValueError, match="2 documents in X_val, 1 label in y_val"):
            tiny().fit(TEXTS, LABELS, X_val=TEXTS[:2], y_val=["pos"])
        with pytest.raises(ValueError, match="not classes of this classifier: 'so-so'"):
            tiny().partial_fit(TEXTS, [*LABELS[1:], "so-so"], classes=["neg", "pos"])
        with pytest.raises(ValueError, match=r"y_val contains .*: 'so-so'; its classes are "):
            tiny().fit(TEXTS, LABELS, X_val=TEXTS[:2], y_val=["pos", "so-so"])

    @pytest.mark.parametrize("values", [LABELS, NUMBERS, np.array(NUMBERS, float)], ids=type)
    def test_a_masked_label_is_missing(self, values):
        masked = np.ma.masked_array(values, mask=[False, True] * 6)
        for y, groups in ((masked, None), (LABELS, masked)):
            with pytest.raises(ValueError, match="masked values, the first at position 1"):
                tiny().fit(TEXTS, y, groups=groups)

    def test_a_column_vector_of_labels_is_read_with_a_warning(self):
        with pytest.warns(DataConversionWarning, match="column-vector"):
            classifier = tiny().fit(TEXTS, np.array(LABELS)[:, None])
        assert classifier.classes_.tolist() == ["neg", "pos"]

    @pytest.mark.parametrize(("y", "error", "message"), REFUSED.values(), ids=REFUSED.keys())
    def test_wrong_labels_are_refused_before_a_text_is_read(self, y, error, message):
        classifier = tiny(tokenizer=HierarchicalTokenizer(word_tokenizer=never))
        with pytest.raises(error, match=message):
            classifier.fit(TEXTS, y)

    @pytest.mark.parametrize(("sample_weight", "message"), WEIGHTS.values(), ids=WEIGHTS.keys())
    def test_wrong_weights_are_refused_before_a_text_is_read(self, sample_weight, message):
        classifier = tiny(tokenizer=HierarchicalTokenizer(word_tokenizer=never))
        with pytest.raises(ValueError, match=message):
            classifier.fit(TEXTS, LABELS, sample_weight)

    @pytest.mark.parametrize("several", [False, True])
    def test_every_function_refuses_collections_of_labels_alike(self, several):
        wrapped = pd.Series(twelve(["pos"], ["neg", "day"]))
        target = np.tile([[1, 0, 0], [0, 1, 1]], (6, 1)) if several else LABELS
        model = tiny(warm_start=True).fit(TEXTS, target)
        doors = {
            "fit": lambda: model.fit(TEXTS, wrapped),
            "y_val": lambda: tiny().fit(TEXTS, target, X_val=TEXTS, y_val=wrapped),
            "partial_fit": lambda: tiny().partial_fit(TEXTS, wrapped, classes=["neg", "pos"]),
            "score": lambda: model.score(TEXTS, wrapped),
            "report": lambda: report(model, TEXTS, wrapped),
            "explain": lambda: explain(model, TEXTS, y_true=wrapped),
            "audit": lambda: audit_labels(model, TEXTS, wrapped),
        }
        for door, call in doors.items():
            with pytest.raises(TypeError, match=r"collection of labels.*MultiLabelBinarizer"):
                pytest.fail(f"{door} returned {call()}")

    @pytest.mark.parametrize("mark", [-1, np.nan, None])
    def test_markers_of_missing_labels_are_recognized(self, mark):
        y = np.tile([[1, 0], [0, 1]], (6, 1)).astype(object)
        y[3, 1] = mark
        for given in (y, pd.DataFrame(y), y.astype(float)):
            with pytest.raises(ValueError, match=r"labels are missing.*Give 0 .*or leave"):
                tiny().fit(TEXTS, given)


NET_PARAMS = {
    "an unknown name": ({"nonsense": 3}, "nonsense"),
    "an unknown name of the module": ({"module__nonsense": 3}, "nonsense"),
    "an unknown name of the optimizer": ({"optimizer__nonsense": 3}, "nonsense"),
    "a number of words below one": ({"module__max_words": 0}, "max_words .* at least 1; got 0"),
    "a batch of no documents": ({"valid_batch_size": 0}, "valid_batch_size .* at least 1; got 0"),
    "an excerpt of no words": ({"excerpt_words": 0}, "excerpt_words .* at least 1; got 0"),
    "a number for a loss": ({"criterion": 3}, "criterion"),
    "what HANClassifier sets": ({"module__dropout": 0.1}, "module__dropout.*sets itself"),
    "what has no effect": ({"iterator_train": None}, "iterator_train.*no effect"),
    "a loss without weights": ({"criterion__reduction": "mean"}, "criterion__reduction"),
    "a key that is no name": ({3: 4}, "no name: 3"),
}


class TestParameters:
    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ({"token_pattern": "("}, "token_pattern='\\(' is not a regular expression"),
            ({"stop_words": ["the", 1]}, "stop_words holds 1"),
        ],
    )
    def test_an_invalid_parameter_of_the_tokenizer_is_named(self, params, message):
        with pytest.raises(ValueError, match=message):
            tiny(tokenizer=HierarchicalTokenizer(**params)).fit(TEXTS, LABELS)

    def test_learning_rates_beyond_single_precision_are_refused(self):
        with pytest.raises(ValueError, match="The 'lr' parameter of HANClassifier"):
            tiny(lr=1e38).fit(TEXTS, LABELS)
        with pytest.raises(FloatingPointError, match="Lower lr"):
            tiny(lr=9e35, max_epochs=3, net_params={"clip_norm": None}).fit(TEXTS, LABELS)

    @pytest.mark.parametrize(("net_params", "message"), NET_PARAMS.values(), ids=NET_PARAMS.keys())
    def test_invalid_net_params_are_named(self, net_params, message):
        with pytest.raises(ValueError, match=message):
            tiny(net_params=net_params).fit(TEXTS, LABELS)


def public_methods(estimator):
    """Methods that need a fit: all public ones but those that fit and scikit-learn's own."""
    fitting = {"fit", "partial_fit", "fit_transform", "fit_transform_both", "from_state"}
    inherited = {"get_params", "set_params", "get_metadata_routing", "set_output"}
    return [
        name
        for name, method in inspect.getmembers(estimator, callable)
        if not name.startswith("_")
        and name not in fitting | inherited
        and not name.endswith("_request")
    ]


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (estimator, name)
        for estimator in (tiny(), HierarchicalTokenizer())
        for name in public_methods(type(estimator))
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_every_method_of_an_unfitted_estimator_raises_an_error(estimator, name):
    arguments = {"score": [TEXTS, LABELS], "to_state": []}.get(name, [TEXTS])
    with pytest.raises(NotFittedError, match=f"{type(estimator).__name__} instance is not fitted"):
        getattr(estimator, name)(*arguments)
