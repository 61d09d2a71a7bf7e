"""The progress of a training: a line an epoch, within an epoch one that is rewritten."""

import itertools
import re
import sys
import time

from tests.tiny_models import LABELS, TEXTS, tiny


def told(capsys, **params):
    tiny(**{"max_epochs": 4, "batch_size": 6, "verbose": 1} | params).fit(TEXTS, LABELS)
    return capsys.readouterr().err


def test_a_log_has_one_line_per_epoch(capsys):
    text = told(capsys)
    lines = [line for line in text.splitlines() if line.startswith("epoch")]
    assert [line.partition(":")[0] for line in lines] == [f"epoch {i} of 4" for i in range(1, 5)]
    number = r"\d+\.\d+"
    expected = rf"train_loss {number}, valid_loss {number}, valid_accuracy {number}, {number} s"
    assert all(re.search(rf": {expected}, .* left$", line) for line in lines[:-1])
    assert re.search(rf": {expected}$", lines[-1])
    assert "\r" not in text


def test_a_log_has_lines_within_a_long_epoch(capsys, monkeypatch):
    clock = itertools.count(0, 10)
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    assert "\nepoch 2 of 4: 2 of 3 batches\n" in told(capsys)


def test_a_log_announces_each_stage_in_order(capsys):
    lines = [
        line
        for line in told(capsys, linear_ngrams=(1, 2), linear_chars=(1, 3)).splitlines()
        if line.endswith(" ...") or line.startswith(("Read ", "epoch 1 ", "Fitted "))
    ]
    assert re.fullmatch(r"epoch 1 of 4: .*", lines.pop(6))
    assert re.fullmatch(r"Fitted to 18 documents of 2 classes in .*", lines.pop())
    assert lines == [
        "texts ...",
        "Read 18 documents of 2 classes: 138 words in 36 sentences; 2 are held out",
        "linear models ...",
        "set-up ...",
        "word vectors ...",
        "network ...",
        "scales ...",
    ]


def test_learning_rates_are_shown_only_at_verbose_2(capsys):
    assert "/s" not in told(capsys)
    assert re.search(r" [\d,]+ documents/s, [\d,]+ words/s", told(capsys, verbose=2))


def test_a_terminal_has_one_line_within_an_epoch(capsys, monkeypatch):
    clock = itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    text = told(capsys)
    assert "\repoch 2 of 4: 2 of 3 batches\repoch 2 of 4: 3 of 3 batches\repoch 2 of 4: tr" in text


def test_a_notebook_shows_progress_on_standard_output(monkeypatch, capsys):
    class ZMQInteractiveShell:
        """What IPython calls the shell of a notebook."""

    class IPython:
        get_ipython = ZMQInteractiveShell

    tiny(verbose=1).fit(TEXTS, LABELS)
    assert "\r" not in capsys.readouterr().out
    monkeypatch.setitem(sys.modules, "IPython", IPython)
    tiny(verbose=1).fit(TEXTS, LABELS)
    shown = capsys.readouterr()
    assert "\r" in shown.out
    assert shown.err.count("\r") == 0


def test_a_clock_that_is_set_back_makes_no_epoch_negative(monkeypatch):
    hours = itertools.count(0, -3_600)
    monkeypatch.setattr(time, "time", lambda: float(next(hours)))
    before = time.perf_counter()
    history = tiny(max_epochs=3).fit(TEXTS, LABELS).history_
    taken = time.perf_counter() - before
    assert all(epoch["dur"] > 0 for epoch in history)
    assert sum(epoch["dur"] for epoch in history) < taken
