"""Exceptions of handlers of signals, which pass the code that translates errors."""

import signal
import sys

import pytest

from sk_han import load, save
from sk_han.engines import engine_choice
from sk_han.storage import archive
from sk_han.utils.signals import from_signal, stands_for_one_from_signal
from tests.crafted_files import WHOLE
from tests.tiny_models import fitted_classifier

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGUSR1")

KINDS = [type("Alarm", (Exception,), {}), TimeoutError, ValueError, RuntimeError, TypeError]


class Handler:
    """Raises; as an object, which a handler may be too."""

    def __init__(self, kind):
        self.kind = kind

    def __call__(self, number, frame):
        raise self.kind("time is up")

    def method(self, number, frame):
        raise self.kind("time is up")


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def alarmed(request):
    """Give a function that raises a signal, whose handler raises."""

    def handler(number, frame):
        raise request.param("time is up")

    before = signal.signal(signal.SIGUSR1, handler)
    yield lambda *args, **kwargs: signal.raise_signal(signal.SIGUSR1)
    signal.signal(signal.SIGUSR1, before)


def is_what_the_handler_raised(error):
    return str(error.value) == "time is up" and type(error.value) in KINDS


@pytest.mark.parametrize(
    "place",
    ["file_checks.sha256", "archive._check_directory", "archive._array", "archive.json.loads"],
)
def test_one_while_a_file_is_loaded_does_not_blame_the_file(alarmed, tmp_path, monkeypatch, place):
    path = tmp_path / "model.han"
    path.write_bytes(WHOLE)
    monkeypatch.setattr(f"sk_han.storage.{place}", alarmed)
    with pytest.raises(Exception) as raised:
        load(path)
    assert is_what_the_handler_raised(raised)


def test_one_while_a_model_is_saved_passes_as_it_is(alarmed, tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "_entry", alarmed)
    with pytest.raises(Exception) as raised:
        save(fitted_classifier(), tmp_path / "model.han")
    assert is_what_the_handler_raised(raised)
    assert list(tmp_path.iterdir()) == []


def test_one_while_kernels_load_is_no_fault_of_numba(alarmed, monkeypatch):
    monkeypatch.setattr(engine_choice, "_LOADED", {})
    monkeypatch.setattr(engine_choice, "import_module", alarmed)
    with engine_choice.using_engine("numba"), pytest.raises(Exception) as raised:
        engine_choice.kernels("gru_recurrence")
    assert is_what_the_handler_raised(raised)
    assert engine_choice._LOADED == {}


@pytest.mark.parametrize("handler", [Handler(ValueError), Handler(ValueError).method])
def test_a_handler_may_be_any_callable(handler):
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with pytest.raises(ValueError, match="time is up") as raised:
            signal.raise_signal(signal.SIGUSR1)
    finally:
        found = from_signal(raised.value)
        signal.signal(signal.SIGUSR1, before)
    assert found


def test_an_error_that_stands_for_one_of_a_handler_is_known_unless_that_is_older():
    before = signal.signal(signal.SIGUSR1, Handler(TimeoutError))
    try:
        raised = []
        for is_older in (False, True):
            try:
                signal.raise_signal(signal.SIGUSR1)
            except TimeoutError as error:
                outer = error if is_older else None
                with pytest.raises(KeyError) as caught:
                    raise KeyError("cleaned up")  # noqa: B904  (the context is what counts)
                raised.append(stands_for_one_from_signal(caught.value, outer))
                assert not from_signal(caught.value)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert raised == [True, False]


def test_an_error_of_the_code_itself_is_none():
    with pytest.raises(ValueError, match="invalid literal") as raised:
        int("a")
    assert not from_signal(raised.value)
