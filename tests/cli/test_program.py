"""What goes wrong is a line and an exit code."""

import os
import signal
import socket
import subprocess
import sys
import warnings

import pytest

import sk_han
from sk_han.serving import Scorer

COMMANDS = ["fit", "predict", "explain", "evaluate", "serve"]
SEPARATED = ["predict", "evaluate"]
HOLD_OUT = "fit {data} -o {new} --hold-out"
READ = "is read; write to another file"
CLASSES = "this one gives each document one of its classes"


def start(*arguments, **kwargs):
    command = [sys.executable, "-m", "sk_han", *map(str, arguments)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **kwargs)


class TestUsage:
    @pytest.mark.parametrize("command", [[], *([each] for each in COMMANDS)])
    def test_help_is_printed(self, run, command):
        code, output, told = run(*command, "--help")
        assert (code, told) == (0, "")
        assert output.startswith(f"usage: {' '.join(['sk-han', *command])}")

    def test_the_version_is_printed(self, run):
        assert run("--version") == (0, f"sk-han {sk_han.__version__}\n", "")

    @pytest.mark.parametrize(
        "arguments",
        [
            [],
            ["predict", "model.han"],
            ["predict", "model.han", "data.csv", "--priors", "neg=.1,pos"],
            ["fit", "data.csv"],
            ["explain", "model.han", "data.csv", "--rows", "0"],
            *([*HOLD_OUT.split(), each] for each in ("0", "1", "1.5", "-.2", "nan", "a_fifth")),
        ],
    )
    def test_wrong_usage_exits_with_2(self, run, arguments):
        code, output, told = run(*arguments)
        assert (code, output) == (2, "")
        assert told.startswith("usage: sk-han")

    def test_a_value_separated_from_its_parameter_points_to_the_help(self, run):
        _, _, told = run("fit", "data.csv", "-o", "m.han", "--set", "max_epochs", "5")
        assert told.endswith("unrecognized arguments: 5; see sk-han fit --help\n")

    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            ("predict {model} {data} -o a.jsonl", "a table is written; name it .csv"),
            ("explain {model} {data} -o a.png", "a page is written; name it .html: a.png"),
            ("predict {model} {data} -o {model}", READ),
            ("fit - --validation - -o {new}", "standard input (-) can be read once"),
            ("fit {data} -o -", "a model goes to a file"),
            ("audit {data} --csv {data}", READ),
            *((f"{each} {{model}} {{data}} --separator ;", CLASSES) for each in SEPARATED),
            # The table is not there yet; later it would be read, and hold what was held out.
            (f"{HOLD_OUT} 0.2 --validation {{part}}", READ),
            ("fit {data} -o {new} --set max_epochs", "takes name=value"),
            ("fit {data} -o {new} --set epochs=5", "Did you mean 'max_epochs'?"),
            ("evaluate {model} {data} --text label", "'label' is both --text and --label"),
            ("fit {data} -o {new} --set min_df=2", "the tokenizer; set tokenizer__min_df"),
            ("fit {data} -o {new} --set random_state=3", "Use --seed"),
            ("fit {data} -o {new} --set callbacks=[]", "They need Python"),
            ("fit {data} -o {new} --set tokenizer=web", "tokenizer__tokens=web"),
        ],
    )
    def test_contradictory_options_exit_with_2(
        self, run, model, table, tmp_path, arguments, expected
    ):
        new = tmp_path / "new.csv"
        places = {"model": model, "data": table(), "other": table(name="other.csv"), "new": new}
        places["part"] = tmp_path / "new.test.csv"
        code, output, told = run(*(each.format(**places) for each in arguments.split()))
        assert (code, output) == (2, "")
        assert expected in told
        assert told.count("\n") == 1
        assert not new.exists()


class TestErrors:
    @pytest.mark.parametrize(
        "arguments",
        [
            "predict {model} {data} -o {old}",
            "evaluate {model} {data} -o {page}",
            "fit {data} -o {old} --set max_epochs=1",
            "fit {data} -o {new} --set max_epochs=1 --hold-out 0.3",
        ],
    )
    def test_an_existing_file_is_replaced_only_with_force(
        self, run, model, table, tmp_path, arguments
    ):
        old = tmp_path / ("page.html" if "{page}" in arguments else "m.test.csv")
        old.write_bytes(b"mine")
        places = {"model": model, "data": table(), "old": old, "new": tmp_path / "m.han"}
        arguments = arguments.format(**places, page=old).split()
        code, output, told = run(*arguments)
        assert (code, output) == (1, "")
        assert told.startswith(f"sk-han: error: {old} exists")
        assert told.endswith("Give another name, or --force to replace it.\n")
        assert old.read_bytes() == b"mine"
        assert run(*arguments, "--force")[0] == 0
        assert old.read_bytes() != b"mine"

    def test_fit_replaces_a_model(self, run, table, tmp_path):
        arguments = ("fit", table(), "-o", tmp_path / "m.han", "--set", "max_epochs=1", "--quiet")
        assert run(*arguments) == run(*arguments) == (0, "", "")

    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            ("predict no.han {data}", "no.han: No such file or directory"),
            (
                "evaluate {tokenizer} {data}",
                "{tokenizer} cannot be loaded: it holds no classifier and",
            ),
            ("predict {model} no.csv", "no.csv: No such file or directory"),
            ("predict {model} {data} --sep ;;", "sep must be one character"),
            ("predict {model} {data} --encoding utf-88", "unknown encoding: utf-88"),
            ("predict {model} {data} --priors neg=.1,poss=.9", "Did you mean 'pos'?"),
            ("serve {model} --threshold 80", "threshold must be a probability"),
            ("serve {model} --port 70000", "Give a port from 0 to 65535; got 70000."),
        ],
    )
    def test_an_error_is_one_line(self, run, model, table, tmp_path, arguments, expected):
        places = {"model": model, "data": table(), "tokenizer": tmp_path / "tokenizer.han"}
        sk_han.save(sk_han.HierarchicalTokenizer().fit(["Good.", "Bad."]), places["tokenizer"])
        code, output, told = run(*arguments.format(**places).split())
        assert (code, output) == (1, "")
        assert told.startswith("sk-han: error: ")
        assert expected.format(**places) in told
        assert told.count("\n") == 1
        code, _, told = run(*arguments.format(**places).split(), "-v")
        assert (code, told[:9]) == (1, "Traceback")

    def test_a_port_in_use_is_reported(self, run, model):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
            code, _, told = run("serve", model, "--port", port)
        assert code == 1
        assert told.startswith(f"sk-han: error: Give another host or port; got 127.0.0.1:{port} (")

    @pytest.mark.parametrize(
        ("error", "line"), [(ValueError("one\ntwo"), "one two"), (MemoryError(), "MemoryError")]
    )
    def test_every_kind_of_error_is_one_line(self, run, model, table, monkeypatch, error, line):
        monkeypatch.setattr(Scorer, "predict_frame", failing(error))
        assert run("predict", model, table())[::2] == (1, f"sk-han: error: {line}\n")

    def test_an_internal_error_is_not_hidden(self, run, model, table, monkeypatch):
        monkeypatch.setattr(Scorer, "predict_frame", failing(AssertionError("ours")))
        with pytest.raises(AssertionError, match="ours"):
            run("predict", model, table())

    @pytest.mark.parametrize(("stream", "data"), [("stdin", "-"), ("stdout", "{data}")])
    def test_a_closed_stream_is_one_line(self, run, model, table, monkeypatch, stream, data):
        data = data.format(data=table())
        with monkeypatch.context() as patch:
            patch.setattr(sys, stream, None)
            code, output, told = run("predict", model, data)
        assert (code, output) == (1, "")
        assert told.count("\n") == 1
        assert "is closed; give a file" in told

    def test_ctrl_c_exits_with_130(self, run, model, table, tmp_path, monkeypatch):
        monkeypatch.setattr(Scorer, "predict_frame", failing(KeyboardInterrupt()))
        found = run("predict", model, table(), "-o", tmp_path / "out.csv")
        assert found == (130, "", "sk-han: interrupted\n")
        assert not (tmp_path / "out.csv").exists()

    def test_a_warning_is_one_line(self, run, model, table, monkeypatch):
        predict_frame = Scorer.predict_frame

        def warn(self, X, **options):
            warnings.warn("take\ncare", stacklevel=1)
            return predict_frame(self, X, **options)

        monkeypatch.setattr(Scorer, "predict_frame", warn)
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            code, _, told = run("predict", model, table(), "--quiet")
        assert (code, told) == (0, "sk-han: warning: take care\n")


def failing(error):
    def fail(*args, **kwargs):
        raise error

    return fail


@pytest.mark.thorough
class TestProcesses:
    def test_a_closed_pipe_is_not_an_error(self, model, table):
        path = table([(i, "Good. Very good.", "pos") for i in range(20_000)])
        process = start("predict", model, path, "--keep", "text", stdout=subprocess.PIPE)
        assert process.stdout.readline() == "text,prediction\n"
        process.stdout.close()
        assert (process.stderr.read(), process.wait()) == ("", 141)
        process.stderr.close()

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
    def test_a_full_disk_is_one_line(self, model, table):
        with open("/dev/full", "w") as full:
            process = start("evaluate", model, table(), "-q", stdout=full)
            told = process.communicate()[1]
        assert process.returncode == 1
        assert told == "sk-han: error: [Errno 28] No space left on device\n"

    def test_ctrl_c_in_training_leaves_no_model(self, table, tmp_path):
        options = ["--set", "max_epochs=100000", "--set", "embedding_dim=8"]
        process = start("fit", table(), "-o", tmp_path / "m.han", *options)
        while not (line := process.stderr.readline()).startswith("epoch 2"):
            assert line, process.wait()
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read().splitlines()
        process.stderr.close()
        assert process.wait() == 130
        assert rest[-1] == "sk-han: interrupted"
        assert os.listdir(tmp_path) == ["data.csv"]

    def test_help_needs_no_numpy(self):
        command = [sys.executable, "-X", "importtime", "-m", "sk_han", "--help"]
        assert "numpy" not in subprocess.run(command, capture_output=True, text=True).stderr


class TestEscapeCharacters:
    """What an argument or a name holds cannot control the terminal of who reads the messages."""

    ODD = "odd\x1b[31m\x9b.csv"

    @pytest.mark.parametrize(
        "arguments",
        [
            ["predict", "no{odd}", "{odd}"],
            ["predict", "m.han", "data.csv", "--{odd}"],
            ["{odd}"],
            ["fit", "data.csv", "-o", "m.han", "--set", "{odd}"],
        ],
    )
    def test_escape_characters_of_arguments_are_printed_as_visible_text(self, run, arguments):
        code, output, told = run(*(each.format(odd=self.ODD) for each in arguments))
        assert code in (1, 2)
        assert output == ""
        assert "odd\u241b[31m" in told or "odd\\x1b[31m" in told  # as `repr` shows it
        assert not set(told) & {"\x1b", "\x9b"}

    def test_escape_characters_of_columns_and_labels_are_not_printed(self, run, table, model):
        data = table([(1, "Good.", self.ODD)], header=("id", "te\x1bxt", "label"))
        for arguments in (["--text", "text"], ["--text", "te\x1bxt", "--label", "label"]):
            code, _, told = run("evaluate", model, data, *arguments)
            assert code in (1, 2)
            assert told
            assert "\x1b" not in told


def test_errors_are_not_written_to_standard_output(run, table, monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    code, output, _ = run("predict", "no.han", table())
    assert (code, output) == (1, "")
