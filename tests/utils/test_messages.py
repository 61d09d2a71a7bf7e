"""What messages are made of: counts, missing packages, visible text, the line of a warning."""

import sys
import warnings

import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from sk_han import HierarchicalTokenizer
from sk_han._utils.messages import (
    import_optional,
    in_one_line,
    in_reading_order,
    shorten_apart,
    visible,
)
from tests.tiny_models import TEXTS, tiny


def test_a_missing_package_is_named_with_its_command(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("import no_such_dependency")
    monkeypatch.syspath_prepend(tmp_path)
    assert import_optional("json.decoder", "plot", "this test") is sys.modules["json.decoder"]
    missing = r'^Explanation\.plot needs no_such_package: pip install "sk-han\[plot\]"$'
    with pytest.raises(ModuleNotFoundError, match=missing):
        import_optional("no_such_package.sub", "plot", "Explanation.plot")
    with pytest.raises(ModuleNotFoundError, match="No module named 'no_such_dependency'"):
        import_optional("broken_package", "plot", "this test")


@pytest.mark.parametrize(
    ("function", "text", "shown"),
    [
        (visible, "a\x00b\x1b[31m", "a␀b␛[31m"),
        (visible, "tab\tand\nline \ud800\x85", "tab\tand\nline ��"),
        (in_reading_order, "price \u202e001\x00", "price �001␀"),
        (in_one_line, "very\n good\x00", "very good␀"),
    ],
)
def test_control_and_direction_characters_are_replaced(function, text, shown):
    assert function(text) == shown


@pytest.mark.parametrize(
    ("label", "longest", "shown"),
    [
        ("abcdefgh", 8, "abcdefgh"),
        ("a common begin", 8, "a co…gin"),
        ("a common end", 8, "a co…end"),
        ("a common end", 7, "a c…end"),
        ("another common end", 7, "ano…end"),
        ("long", 1, "…"),
    ],
)
def test_a_shortened_label_lacks_its_middle(label, longest, shown):
    assert in_one_line(label, longest) == shown


@pytest.mark.parametrize("n", [50, 1_100])
@pytest.mark.parametrize("end", ["", 1_000 * "z"])
def test_labels_that_differ_late_get_distinct_names(n, end):
    alike = [f"{'x' * 1_000}{'a' * i}b{'a' * (n - i)}{end}" for i in range(n)]
    names = shorten_apart([*alike, "short", alike[0]], 24)
    assert len(set(names)) == n + 1
    assert names[0] == names[-1]
    assert max(map(len, names)) <= 24


def places(function, *args):
    """Return the files that the warnings of a call point at."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(*args)
    return [(warning.filename, warning.category) for warning in caught]


IN_USE = {"sk_han": __file__, "joblib": __file__, "sk_hand": "/sk_hand/module.py"}


@pytest.mark.parametrize(("package", "file"), IN_USE.items())
def test_a_warning_points_at_the_line_of_the_user(package, file):
    code = "from sk_han._utils.messages import warn_user\nwarn_user('Careful.')"
    compiled = compile(code, f"/{package}/module.py", "exec")
    assert places(exec, compiled, {"__name__": f"{package}.module"}) == [(file, UserWarning)]


@pytest.mark.parametrize(
    "fit",
    [
        tiny().fit,
        make_pipeline(HierarchicalTokenizer(), tiny()).fit,
        lambda X, y: cross_val_score(tiny(), X, y, cv=2),
    ],
    ids=["classifier", "Pipeline", "search"],
)
def test_a_single_class_warns_at_the_line_of_fit(fit):
    found = places(fit, TEXTS, ["only"] * len(TEXTS))
    assert found
    assert {file for file, _ in found} == {__file__}
