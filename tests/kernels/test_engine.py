"""Which engine computes in a process, and what loads its kernels."""

import warnings
from pathlib import Path

import pytest

from sk_han._kernels import engine as engine_choice
from sk_han._kernels.engine import engine_in_use, kernels, using_engine, warm_up


@pytest.fixture
def _nothing_loaded(monkeypatch):
    monkeypatch.setattr(engine_choice, "_LOADED", {})
    monkeypatch.setattr(engine_choice, "_WARNED", set())
    with using_engine("numba"):
        engine_choice._REQUESTED.set("auto")
        yield


class TestUsingEngine:
    def test_the_engine_is_set_only_inside_the_block(self):
        before = engine_in_use()
        with using_engine("torch"):
            assert engine_in_use() == "torch"
            assert kernels("no_such_module") is None
            with using_engine("auto"):
                assert engine_in_use() == "torch"
        assert engine_in_use() == before


@pytest.mark.usefixtures("_nothing_loaded")
class TestWithoutNumba:
    @pytest.fixture(autouse=True)
    def _no_numba(self, monkeypatch):
        monkeypatch.setattr(engine_choice, "find_spec", lambda name: None)

    def test_auto_falls_back_to_pytorch_without_a_warning(self):
        assert engine_in_use() == "torch"

    def test_requesting_numba_warns_once_with_the_install_command(self):
        with using_engine("numba"):
            with pytest.warns(RuntimeWarning, match="pip install numba"):
                assert engine_in_use() == "torch"
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                assert engine_in_use() == "torch"


@pytest.mark.usefixtures("_nothing_loaded")
def test_kernels_that_fail_to_compile_warn_once(monkeypatch):
    def failing(name):
        raise ValueError("no such instruction")

    monkeypatch.setattr(engine_choice, "find_spec", lambda name: object())
    monkeypatch.setattr(engine_choice, "import_module", failing)
    slower = "ValueError: no such instruction.*a fit takes three to four times as long"
    with pytest.warns(RuntimeWarning, match=slower):
        assert kernels("network") is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kernels("network") is None
        assert kernels("ngrams") is None  # the same failure


@pytest.mark.usefixtures("_nothing_loaded")
def test_warming_up_loads_every_kernel():
    warm_up()
    folder = Path(engine_choice.__file__).parent
    compiled = {file.stem for file in folder.glob("*.py")}
    compiled -= {"__init__", "engine", "numpy_network"}  # for everywhere
    compiled -= {"gpu"}  # which Triton compiles
    assert engine_choice._LOADED.keys() == compiled
    assert None not in engine_choice._LOADED.values()


def test_warming_up_without_kernels_is_refused():
    with using_engine("torch"), pytest.raises(RuntimeError, match="unset it"):
        warm_up()


@pytest.mark.usefixtures("_nothing_loaded")
def test_warming_up_fails_if_nothing_compiles(monkeypatch):
    monkeypatch.setattr(engine_choice, "find_spec", lambda name: None)
    with (
        pytest.warns(RuntimeWarning, match="numba is not installed"),
        pytest.raises(RuntimeError, match="the warning above"),
    ):
        warm_up()
