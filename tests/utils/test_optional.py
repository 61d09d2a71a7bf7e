import sys

import pytest

from sk_han.utils.messages import import_optional


def test_an_installed_module_is_imported():
    assert import_optional("json.decoder", "plot", "this test") is sys.modules["json.decoder"]


def test_a_missing_package_is_named_with_its_caller_and_one_command():
    with pytest.raises(ModuleNotFoundError) as caught:
        import_optional("no_such_package.sub", "plot", "DocumentExplanation.plot")
    assert str(caught.value) == (
        'DocumentExplanation.plot needs no_such_package: pip install "sk-han[plot]"'
    )


def test_a_package_of_no_extra_is_installed_by_its_own_name():
    with pytest.raises(ModuleNotFoundError, match=r"pip install no_such_package$"):
        import_optional("no_such_package", None, "to_frame")


def test_the_error_of_a_broken_package_is_its_own(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("import no_such_dependency")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="No module named 'no_such_dependency'"):
        import_optional("broken_package", "plot", "this test")
