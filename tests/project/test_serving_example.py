"""examples/serve: a real server, real requests, and no PyTorch in its process."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import numpy as np
import pytest

import sk_han
from sk_han.serving import Scorer
from tests.tiny_models import LABELS, TEXTS, fitted_classifier, tiny

pytest.importorskip("fastapi", reason='fastapi is not installed: pip install "sk-han[serve]"')
pytest.importorskip("uvicorn", reason='uvicorn is not installed: pip install "sk-han[serve]"')
pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "serve"
SERVE = """
import sys
sys.modules |= dict.fromkeys(["torch", "skorch", "sklearn", "scipy", "joblib"])
from uvicorn.main import main
main(["--factory", "app:create_app", "--app-dir", {folder!r}, "--fd", {fd!r}])
"""
LIMITS = {
    "SK_HAN_MAX_DOCUMENTS": "5",
    "SK_HAN_MAX_CHARACTERS": "200000",
    "SK_HAN_MAX_EXPLAINED": "1000",
    "SK_HAN_MAX_BODY": "900000",
    "SK_HAN_THREADS": "1",
    "SK_HAN_WAITING": "2",
}
SLOW = 5 * ["A good day. " * 13_000]  # some seconds of work
READY = 60  # seconds that a server may take to start, on a busy machine


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Server(NamedTuple):
    process: subprocess.Popen
    port: int

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json", **headers})
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.headers), answer.read())
        finally:
            connection.close()

    def post(self, path: str, **body: Any) -> Answer:
        return self.ask("POST", path, json.dumps(body))

    def post_in_thread(self, path: str, answers: list[Answer], **body: Any) -> Thread:
        thread = Thread(target=lambda: answers.append(self.post(path, **body)))
        thread.start()
        return thread


@contextmanager
def serving(model: Path, **environment: str) -> Iterator[Server]:
    """Start a server on a port of its own, and wait until it answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        code = SERVE.format(folder=str(FOLDER), fd=str(listening.fileno()))
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env=os.environ | environment | {"SK_HAN_MODEL": str(model), "SK_HAN_ENGINE": "torch"},
            stderr=subprocess.PIPE,
            text=True,
            pass_fds=[listening.fileno()],
        )
        server = Server(process, listening.getsockname()[1])
        try:
            assert server.ask("GET", "/health").status == 200  # waits in the socket's queue
            yield server
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "days.han"
    sk_han.save(fitted_classifier(), path)
    return path


@pytest.fixture(scope="module")
def server(model: Path) -> Iterator[Server]:
    with serving(model, **LIMITS) as started:
        yield started


@pytest.fixture
def scorer(model: Path) -> Scorer:
    return Scorer.load(model)


class TestAnswers:
    def test_health_names_the_classes(self, server):
        found = server.ask("GET", "/health").json()
        assert found == {"status": "ok", "classes": ["neg", "pos"], "requests": 0}

    @pytest.mark.parametrize("texts", [TEXTS[:1], [*TEXTS[2:6], ""]], ids=["one", "five"])
    def test_predictions_are_those_of_the_scorer(self, server, scorer, texts):
        answer = server.post("/predict", documents=texts)
        assert answer.status == 200
        found = answer.json()
        assert found["classes"] == ["neg", "pos"]
        assert found["labels"] == scorer.predict(texts).tolist()
        np.testing.assert_allclose(found["probabilities"], scorer.predict_proba(texts), atol=1e-6)

    def test_explanations_are_those_of_the_scorer(self, server, scorer):
        (expected,) = scorer.explain(["A good <b>day</b>."], target="neg")
        answer = server.post("/explain", documents=["A good <b>day</b>."], target="neg")
        (found,) = answer.json()["explanations"]
        assert found.keys() == expected.to_dict().keys()
        assert (found["text"], found["target"]) == (expected.text, "neg")

    def test_a_page_is_html_and_escaped(self, server):
        answer = server.post("/explain?format=html", documents=["<script>alert(1)</script> Good."])
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert b"<script" not in answer.body
        assert b"&lt;script&gt;" in answer.body

    def test_labels_that_are_numbers_stay_numbers(self, tmp_path):
        sk_han.save(fitted_classifier_of_numbers(), tmp_path / "numbers.han")
        with serving(tmp_path / "numbers.han") as started:
            found = started.post("/predict", documents=TEXTS[:2]).json()
            assert found["classes"] == [0, 1]
            assert set(found["labels"]) <= {0, 1}
            assert started.post("/explain", documents=TEXTS[:1], target=1).status == 200

    @pytest.mark.parametrize("path", ["/predict", "/explain"])
    def test_a_field_that_it_does_not_know_is_refused(self, server, path):
        answer = server.post(path, documents=["A good day."], against="neg")
        assert answer.status == 422
        assert "against" in answer.body.decode()

    def test_several_labels_are_a_list_by_their_thresholds(self, tmp_path):
        good = LABELS == "pos"
        y = np.stack([good, ~good, np.arange(len(good)) % 2 == 0], axis=1).astype(int)
        model = tiny(max_epochs=2, threshold=[0.3, 0.6, 0.5]).fit(TEXTS, y)
        sk_han.save(model, tmp_path / "several.han")
        with serving(tmp_path / "several.han") as server:
            found = server.post("/predict", documents=TEXTS).json()["labels"]
        assert found == [row.nonzero()[0].tolist() for row in model.predict(TEXTS)]


def fitted_classifier_of_numbers() -> sk_han.HANClassifier:
    classifier = fitted_classifier()
    return classifier.fit(TEXTS, (LABELS == "pos").astype(int))


class TestRefusals:
    @pytest.mark.parametrize(
        ("path", "body", "status", "message"),
        [
            ("/predict", {}, 422, "body.documents"),
            ("/predict", {"documents": "A good day."}, 422, "valid list"),
            ("/predict", {"documents": []}, 422, "at least 1 item"),
            ("/predict", {"documents": ["a", None]}, 422, "body.documents.1"),
            ("/predict", {"documents": ["a", "\ud800"]}, 422, "Document 1 has half"),
            ("/predict", {"documents": ["a"] * 6}, 413, "a request takes 5"),
            ("/predict", {"documents": ["a", "b" * 200_001]}, 413, "Document 1 has 200,001"),
            ("/predict", {"documents": ["b" * 150_000] * 7}, 413, "more than 900,000 bytes"),
            ("/explain", {"documents": ["b" * 1001]}, 413, "SK_HAN_MAX_EXPLAINED"),
            ("/explain", {"documents": ["a"], "target": "good"}, 422, "the classes are"),
            ("/explain", {"documents": ["a"], "method": "random"}, 422, "body.method"),
            ("/explain?format=pdf", {"documents": ["a"]}, 422, "query.format"),
            ("/nowhere", {"documents": ["a"]}, 404, "Not Found"),
        ],
    )
    def test_it_says_what_is_wrong(self, server, path, body, status, message):
        answer = server.post(path, **body)
        assert answer.status == status
        assert message in answer.body.decode()
        assert len(answer.body) < 500  # the documents are not sent back

    @pytest.mark.parametrize(
        "body", ['{"documents": ["', b'{"documents": ["\xff"]}', "[" * 100_000, "", "3"]
    )
    def test_what_is_no_json_object_is_an_error_of_the_client(self, server, body):
        assert server.ask("POST", "/predict", body).status in {400, 422}

    def test_a_request_of_a_form_is_told_the_header_of_json(self, server):
        body, form = '{"documents": ["A good day."]}', "application/x-www-form-urlencoded"
        answer = server.ask("POST", "/predict", body, **{"Content-Type": form})  # curl -d
        assert answer.status == 422
        (found,) = answer.json()["detail"]
        assert found["where"] == "header.content-type"
        assert form in found["what"]
        assert "Content-Type: application/json" in found["what"]

    def test_a_body_without_a_declared_length_is_bounded_too(self, server):
        answer = server.ask("POST", "/predict", iter([b"x" * 300_000] * 4))
        assert answer.status == 413

    def test_the_server_answers_after_them(self, server):
        assert server.post("/predict", documents=["A good day."]).status == 200


class TestUnderLoad:
    def test_a_full_queue_is_said_and_health_is_answered_meanwhile(self, server):
        answers: list[Answer] = []
        threads = fill(server, answers)
        refused = [each for each in answers if each.status == 503]
        assert server.ask("GET", "/health").json()["requests"] > 0
        for thread in threads:
            thread.join()
        assert refused[0].headers["retry-after"] == "1"
        assert {each.status for each in answers} == {200, 503}
        assert len(answers) == len(threads)
        assert server.post("/predict", documents=["A good day."]).status == 200

    def test_a_terminated_server_answers_what_it_has_begun(self, model):
        with serving(model, **LIMITS) as started:
            answers: list[Answer] = []
            threads = fill(started, answers)
            n_answered = len(answers)
            started.process.send_signal(signal.SIGTERM)
            for thread in threads:
                thread.join()
            _, log = started.process.communicate(timeout=READY)
        assert len(answers) == len(threads) > n_answered
        assert {each.status for each in answers} == {200, 503}
        assert started.process.returncode in {0, -signal.SIGTERM}
        assert "Application shutdown complete" in log
        assert "Traceback" not in log


class TestStart:
    def test_the_model_is_no_work_for_the_garbage_collector(self, model):
        code = (
            "import app, gc; app.create_app(app.Settings({path!r})); "
            "frozen = gc.get_freeze_count(); left = len(gc.get_objects()); "
            "assert left < frozen / 10, (left, frozen)"
        )
        subprocess.run(
            [sys.executable, "-c", code.format(path=str(model))],
            env=os.environ | {"PYTHONPATH": f"{FOLDER}{os.pathsep}{ROOT}"},
            check=True,
        )

    @pytest.mark.parametrize(
        ("environment", "message"),
        [
            ({}, "Set SK_HAN_MODEL"),
            ({"SK_HAN_MODEL": "nowhere.han"}, "nowhere.han"),
            ({"SK_HAN_MODEL": "x", "SK_HAN_THREADS": "two"}, "SK_HAN_THREADS must be a whole"),
            ({"SK_HAN_MODEL": "x", "SK_HAN_MAX_BODY": "0"}, "of 1 or more; got '0'"),
        ],
    )
    def test_a_server_that_cannot_start_says_why(self, environment, message):
        plain = {k: v for k, v in os.environ.items() if not k.startswith("SK_HAN_")}
        done = subprocess.run(
            [sys.executable, "-m", "uvicorn", "--factory", "app:create_app", "--app-dir", FOLDER],
            env=plain | environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        assert done.returncode != 0
        assert message in done.stderr


def fill(server: Server, answers: list[Answer]) -> list[Thread]:
    """Send slow requests, the next when the last is taken, until one is refused."""
    threads: list[Thread] = []

    def all_taken() -> bool:
        n_taken = server.ask("GET", "/health").json()["requests"]
        return n_taken + len(answers) == len(threads)

    while not any(each.status == 503 for each in answers):
        assert len(threads) < 100, "the server is quicker than its clients"
        threads.append(server.post_in_thread("/predict", answers, documents=SLOW))
        wait_for(all_taken)
    return threads


def wait_for(found: Any) -> Any:
    """Call until something is found."""
    end = time.perf_counter() + READY
    while not (result := found()):
        assert time.perf_counter() < end, "it did not come"
        time.sleep(0.01)
    return result
