"""`sk-han serve`: real requests to a real server, and its page in a browser."""

from __future__ import annotations

import http.client
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import Any, NamedTuple
from unittest.mock import Mock
from urllib.parse import urlencode

import numpy as np
import pandas as pd
import pytest
import uvicorn
from fastapi import Depends, FastAPI, HTTPException, Request

import sk_han
from sk_han import HANRegressor
from sk_han._model.fitted_model import FittedModel
from sk_han.serving import Scorer, create_app
from sk_han.serving import _service as service
from sk_han.serving._service import Service
from tests.encoders_of_sentences import HashEncoder
from tests.html_page import Page
from tests.tiny_models import GOOD, LABELS, TEXTS, fitted_classifier, tiny, with_classes, with_model

THRESHOLD = 0.6
SCRIPT = "<script>document.title = 'run'</script><img src=x onerror=\"document.title='run'\"> Good."
PRODUCT = "product <i>"
ROW = {"body": "A good day.", PRODUCT: "<b>loan</b>", "amount": 3.5, "sent": "2024-05-01"}
LONG = " ".join(f"{text} A word{i}." for i, text in enumerate(500 * TEXTS))[:99_000]
JSON, FORM = "application/json", "application/x-www-form-urlencoded"


def fitted_regressor():
    """Fit a model of numbers that has intervals."""
    texts = [f"{text} Flat{i}." for i in range(15) for text in TEXTS[:6]]
    numbers = [500.0 + 300 * ("ood" in text) + i for i, text in enumerate(texts)]
    sizes = {"embedding_dim": 7, "word_hidden": 5, "sentence_hidden": 3, "max_epochs": 2}
    model = HANRegressor(validation_fraction=0.3, device="cpu", random_state=0, **sizes)
    return model.fit(texts, numbers)


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: str

    def json(self) -> Any:
        return json.loads(self.body)


def ask(url, method, path, body=None, **headers) -> Answer:
    host, port = url.removeprefix("http://").rstrip("/").split(":")
    with closing(http.client.HTTPConnection(host, int(port), timeout=60)) as connection:
        connection.request(method, path, body, {"Content-Type": JSON, **headers})
        answer = connection.getresponse()
        return Answer(
            answer.status,
            {name.lower(): value for name, value in answer.headers.items()},
            answer.read().decode(),
        )


def post(started, path, **body) -> Answer:
    return ask(started.url, "POST", path, json.dumps(body))


def send_form(started, **fields) -> Answer:
    return ask(started.url, "POST", "/", urlencode(fields), **{"Content-Type": FORM})


def wait(is_true, seconds=20):
    """Wait until a function is true."""
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.01)


@contextmanager
def running(server, listener):
    thread = threading.Thread(target=server.run, args=[[listener]])
    thread.start()
    try:
        yield server
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def mounted(app):
    """Run an app that is mounted at /tickets, and give the URL of the outer one."""
    outer = FastAPI()
    outer.mount("/tickets", app)
    listener = socket.create_server(("127.0.0.1", 0))
    with running(uvicorn.Server(uvicorn.Config(outer, log_config=None)), listener):
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def serving(path, threshold=None, host="127.0.0.1", allowed_hosts=(), **options):
    started = Service(create_app(path, threshold, **options), host, 0, allowed_hosts)
    return running(started, started.listener)


@contextmanager
def connected(started, data=b""):
    address = started.url[7:-1].split(":")
    with socket.create_connection((address[0], int(address[1])), timeout=60) as connection:
        connection.sendall(data)
        yield connection


def silent_reader(started):
    """Connect, and ask for an answer of megabytes, which nobody reads."""
    body = json.dumps({"texts": [LONG]})
    head = f"POST /explain HTTP/1.1\r\nHost: localhost\r\nContent-Type: {JSON}\r\n"
    head += f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    return connected(started, (head + body).encode())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of models: texts.han, columns.han, numbers.han, several.han, rents.han."""
    folder = tmp_path_factory.mktemp("models")
    of_texts = fitted_classifier(max_epochs=3, lr=0.05)
    good = LABELS == "pos"
    frame = pd.DataFrame(
        {
            "body": TEXTS,
            PRODUCT: np.where(good, "<b>loan</b>", "card"),
            "amount": np.arange(len(good)) + 0.5,
            "sent": pd.date_range("2024-01-01", periods=len(good)),
        }
    )
    several = np.stack([good, ~good, np.arange(len(good)) % 2 == 0], axis=1).astype(int)
    models = {
        "texts": of_texts,
        "columns": tiny(text_column="body", max_epochs=3, lr=0.05).fit(frame, LABELS),
        "numbers": with_classes(of_texts, np.array([0, 1])),
        "several": tiny(threshold=[0.3, 0.6, 0.5]).fit(TEXTS, several),
        "rents": fitted_regressor(),
    }
    for name, model in models.items():
        sk_han.save(model, folder / f"{name}.han")
    return folder


@pytest.fixture(scope="module")
def texts(folder):
    with serving(folder / "texts.han", THRESHOLD) as started:
        yield started


@pytest.fixture(scope="module")
def rents(folder):
    with serving(folder / "rents.han", coverage=0.8) as started:
        yield started


@pytest.fixture(scope="module")
def columns(folder):
    with serving(folder / "columns.han") as started:
        yield started


class TestAnswers:
    def test_health_names_classes_and_columns(self, texts, columns):
        found = ask(texts.url, "GET", "/health").json()
        assert found == {"status": "ok", "classes": ["neg", "pos"], "columns": []}
        found = ask(columns.url, "GET", "/health").json()
        assert found["columns"] == ["body", PRODUCT, "amount", "sent"]

    @pytest.mark.parametrize("given", [TEXTS[:1], [*TEXTS[2:6], "", "half \ud800"]])
    def test_predictions_match_the_scorer(self, texts, folder, given):
        scorer = Scorer.load(folder / "texts.han")
        answer = post(texts, "/predict", texts=given)
        found, p = answer.json(), scorer.predict_proba(given)
        assert (answer.status, found["classes"]) == (200, ["neg", "pos"])
        assert found["labels"] == scorer.predict(given).tolist()
        np.testing.assert_allclose(found["probabilities"], p, atol=1e-6)
        assert found["novelty_p_values"] is None  # few documents were held out

    def test_a_text_without_words_is_marked_and_not_accepted(self, texts):
        found = post(texts, "/predict", texts=["Good.", " ", "\u2192"]).json()
        assert found["blank"] == [False, True, True]
        assert not any(found["accepted"][1:])

    def test_documents_below_the_threshold_are_not_accepted(self, texts):
        found = post(texts, "/predict", texts=[*TEXTS, "A good zebra. Bad!", ""]).json()
        assert found["accepted"] == [max(row) >= THRESHOLD for row in found["probabilities"]]
        assert set(found["accepted"]) == {True, False}
        lines = [Page(send_form(texts, text=text).body).line for text in (GOOD[2], "A zebra.")]
        assert "Accepted: at least the threshold of 0.6." in lines[0]
        assert "Hand over to a person: below the threshold of 0.6." in lines[1]

    def test_columns_are_read_next_to_the_text(self, columns, folder):
        rows = [ROW, {**ROW, PRODUCT: "card", "amount": None}]
        found = post(columns, "/predict", documents=rows).json()
        expected = Scorer.load(folder / "columns.han").predict_proba(rows)
        np.testing.assert_allclose(found["probabilities"], expected, atol=1e-6)
        assert "accepted" not in found  # there is no threshold

    def test_explanations_match_the_scorer(self, texts, folder):
        expected = Scorer.load(folder / "texts.han").explain([SCRIPT], target="neg")[0]
        (found,) = post(texts, "/explain", texts=[SCRIPT], target="neg").json()["explanations"]
        assert found.keys() == expected.to_dict().keys()
        assert (found["text"], found["target"]) == (SCRIPT, "neg")

    def test_the_answer_lists_the_labels_that_reach_their_thresholds(self, folder):
        with serving(folder / "several.han") as started:
            found = post(started, "/predict", texts=TEXTS).json()["labels"]
            assert "Predicted" in Page(send_form(started, text=TEXTS[0]).body).line
        expected = Scorer.load(folder / "several.han").predict(TEXTS)
        assert found == [row.nonzero()[0].tolist() for row in expected]
        with pytest.raises(ValueError, match="accepts documents of one label"):
            create_app(folder / "several.han", 0.5)


class TestNumbers:
    """A model of numbers answers with these and their intervals, and knows no classes."""

    def test_predictions_and_intervals_match_the_scorer(self, rents, folder):
        scorer = Scorer.load(folder / "rents.han")
        found = post(rents, "/predict", texts=TEXTS).json()
        expected = scorer.predict_frame(TEXTS, coverage=0.8, novelty=True).to_numpy()
        assert found.keys() == {"numbers", "intervals", "coverage", "blank", "novelty_p_values"}
        np.testing.assert_allclose(found["numbers"], expected[:, 0], rtol=1e-6)
        np.testing.assert_allclose(found["intervals"], expected[:, 1:3], rtol=1e-6)
        np.testing.assert_allclose(found["novelty_p_values"], expected[:, 3], atol=1e-6)
        assert found["coverage"] == ask(rents.url, "GET", "/health").json()["coverage"] == 0.8

    def test_the_schema_has_numbers_and_intervals_but_no_target(self, rents):
        paths = ask(rents.url, "GET", "/openapi.json").json()["paths"]
        answer = paths["/predict"]["post"]["responses"]["200"]["content"][JSON]["schema"]
        assert answer["properties"]["numbers"]["items"] == {"type": "number"}
        assert answer["properties"]["intervals"]["items"]["maxItems"] == 2
        body = paths["/explain"]["post"]["requestBody"]["content"][JSON]["schema"]
        assert body["properties"].keys() == {"texts", "method"}

    def test_the_page_shows_the_number_with_its_interval(self, rents, folder):
        frame = Scorer.load(folder / "rents.han").predict_frame(TEXTS[:1], coverage=0.8)
        number, low, high = (f"{value:.4g}" for value in frame.to_numpy()[0])
        page = Page(send_form(rents, text=TEXTS[0]).body)
        assert f"Predicted {number}, 80 % interval {low} to {high}" in page.line
        assert "Numbers are in the unit of the predicted number." in page.line
        assert "Classify" not in page.line

    @pytest.mark.filterwarnings("ignore:method='attention' shows the network alone")
    def test_explanations_add_up_and_name_the_unit(self, rents):
        found = post(rents, "/explain", texts=TEXTS[:1]).json()
        (explained,) = found["explanations"]
        parts = [each["contribution"] for each in explained["sentences"]]
        assert found["unit"] == "number"
        assert explained["base_value"] + sum(parts) == pytest.approx(explained["expected"])
        weights = post(rents, "/explain", texts=TEXTS[:1], method="attention").json()
        assert "unit" not in weights

    @pytest.mark.parametrize("name", ["classes", "target", "targets", "threshold"])
    def test_requests_for_classes_are_refused_by_name(self, rents, name):
        for path in ("/predict", "/explain"):
            answer = post(rents, path, texts=TEXTS[:1], **{name: "pos"})
            expected = f"Leave '{name}' out: this model predicts a number."
            assert (answer.status, answer.json()) == (400, {"error": expected})

    def test_a_model_without_intervals_answers_with_numbers(self, folder, tmp_path):
        stored = sk_han.load(folder / "rents.han")
        sk_han.save(with_model(stored, interval_scores=None), tmp_path / "few.han")
        with serving(tmp_path / "few.han") as started:
            found = post(started, "/predict", texts=TEXTS[:1]).json()
            assert found["intervals"] is found["coverage"] is None
            assert "interval" not in Page(send_form(started, text=TEXTS[0]).body).line
        with pytest.raises(ValueError, match=r"Intervals of coverage=0\.8 need 19 documents"):
            create_app(tmp_path / "few.han", coverage=0.8)

    def test_threshold_for_numbers_and_coverage_for_classes_are_refused(self, folder):
        with pytest.raises(ValueError, match="for a number give coverage"):
            create_app(folder / "rents.han", 0.5)
        with pytest.raises(ValueError, match="Intervals are of numbers, and this model"):
            create_app(folder / "texts.han", coverage=0.8)


class TestApp:
    def test_the_schema_names_texts_columns_and_classes(self, texts, columns):
        paths = ask(texts.url, "GET", "/openapi.json").json()["paths"]
        body = paths["/explain"]["post"]["requestBody"]["content"][JSON]["schema"]
        assert body["required"] == ["texts"]
        assert body["properties"]["texts"]["items"] == {"type": "string"}
        assert body["properties"]["target"] == {"enum": ["neg", "pos"]}
        paths = ask(columns.url, "GET", "/openapi.json").json()["paths"]
        body = paths["/predict"]["post"]["requestBody"]["content"][JSON]["schema"]
        item = body["properties"]["documents"]["items"]
        assert item["properties"].keys() == ROW.keys()
        assert item["properties"]["amount"]["description"] == "number"
        assert item["required"] == ["body"]
        assert "loan" not in json.dumps(paths)  # no training value

    def test_the_given_encoder_encodes_each_request(self, tmp_path):
        model = fitted_classifier(encoder=HashEncoder())
        sk_han.save(model, tmp_path / "model.han")
        with pytest.raises(sk_han.ModelFormatError, match="encoder HashEncoder of tests makes"):
            create_app(tmp_path / "model.han")
        encoder = HashEncoder()
        with serving(tmp_path / "model.han", encoder=encoder) as started:
            answer = post(started, "/predict", texts=["A good zebra."]).json()
            assert encoder.calls[-1] == ["A good zebra."]
            assert post(started, "/explain", texts=["A bad zebra."]).status == 200
            assert encoder.calls[-1] == ["A bad zebra."]
        expected = model.predict_proba(["A good zebra."])[0]
        np.testing.assert_allclose(answer["probabilities"][0], expected, atol=1e-6)

    def test_the_app_can_be_mounted_in_another_app(self, folder):
        with mounted(create_app(Scorer.load(folder / "texts.han"), THRESHOLD)) as url:
            answer = ask(url, "POST", "/tickets/predict", json.dumps({"texts": TEXTS[:3]}))
            assert "<textarea" in ask(url, "GET", "/tickets/", Host="example.org").body
            assert ask(url, "GET", "/tickets/nowhere").status == 404
        expected = Scorer.load(folder / "texts.han").predict(TEXTS[:3])
        assert answer.json()["labels"] == expected.tolist()

    def test_dependencies_run_before_each_answer_even_if_mounted(self, folder):
        def check_key(request: Request):
            if request.headers.get("x-key") != "lock":
                raise HTTPException(401, "Send the header X-Key.")

        app = create_app(folder / "texts.han", dependencies=[Depends(check_key)])
        with mounted(app) as url:
            for method, path in [("GET", "/"), ("GET", "/health"), ("POST", "/predict")]:
                answer = ask(url, method, f"/tickets{path}", json.dumps({"texts": TEXTS[:1]}))
                assert (answer.status, answer.json()) == (401, {"error": "Send the header X-Key."})
                headers = {"X-Key": "lock"}
                body = json.dumps({"texts": TEXTS[:1]})
                assert ask(url, method, f"/tickets{path}", body, **headers).status == 200

    @pytest.mark.thorough
    def test_a_scorer_needs_no_web_framework(self):
        hidden = "sys.modules |= dict.fromkeys(['fastapi', 'starlette', 'uvicorn'])"
        code = f"import sys; {hidden}; import sk_han.serving as s; s.Scorer; s.create_app"
        command = [sys.executable, "-c", code]
        told = subprocess.run(command, capture_output=True, text=True, check=False).stderr
        assert told.endswith('create_app needs fastapi: pip install "sk-han[serve]"\n')


class TestRefusals:
    @pytest.mark.parametrize(
        ("path", "body", "status", "message"),
        [
            ("/predict", [1], 400, "Send an object with 'texts', and nothing else."),
            ("/predict", {"texts": ["a"], "target": "neg"}, 400, "'texts', and nothing else."),
            ("/predict", {"documents": [ROW]}, 400, "'texts', and nothing else."),
            ("/predict", {"texts": "A good day."}, 400, "'texts' as a list of 1 to 100 strings"),
            ("/predict", {"texts": []}, 400, "'texts' as a list of 1 to 100 strings"),
            ("/predict", {"texts": ["a"] * 101}, 400, "'texts' as a list of 1 to 100 strings"),
            ("/predict", {"texts": ["b" * 150_000] * 7}, 413, "at most 1,048,576 bytes at once"),
            ("/explain", {"texts": ["b" * 60_000] * 2}, 413, "at most 100,000 characters"),
            ("/explain", {"texts": ["a"], "target": "good"}, 400, "'neg', 'pos' as 'target'."),
            ("/explain", {"texts": ["a"], "method": "guess"}, 400, "as 'method'."),
            ("/nowhere", {"texts": ["a"]}, 404, "Send to '/', '/predict', '/explain'"),
        ],
    )
    def test_errors_explain_invalid_requests(self, texts, path, body, status, message):
        answer = ask(texts.url, "POST", path, json.dumps(body))
        assert answer.status == status
        assert message in answer.json()["error"]
        assert len(answer.body) < 600  # documents are not sent back

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"amount": "Jane Doe"}, "Column 'amount' of document 0 is not of the kind 'number'."),
            ({"Jane Doe": "red"}, "no columns but 'body', 'product <i>', 'amount', 'sent'."),
            ({"body": None}, "Send a string as 'body', and no columns but"),
            ({"body": ["Jane Doe"]}, "Send a string as 'body', and no columns but"),
        ],
    )
    def test_errors_name_the_column(self, columns, change, message):
        answer = post(columns, "/predict", documents=[ROW | change])
        assert answer.status == 400
        assert message in answer.json()["error"]
        assert "Jane" not in answer.body  # what was sent
        assert "with 'documents', and nothing else" in post(columns, "/predict", texts=["a"]).body
        assert "objects, with a value" in post(columns, "/predict", documents=["a"]).body

    @pytest.mark.parametrize("body", ['{"texts": ["', b'{"texts": ["\xff"]}', "[" * 100_000, ""])
    def test_invalid_json_is_a_client_error(self, texts, body):
        answer = ask(texts.url, "POST", "/predict", body)
        assert answer.status == 400
        assert answer.json()["error"] == "Send JSON; the body is not."
        answer = ask(texts.url, "POST", "/predict", body, **{"Content-Type": FORM})  # curl -d
        assert (answer.status, answer.json()["error"]) == (415, f"Send Content-Type: {JSON}.")

    def test_chunks_are_read_up_to_the_limit(self, texts):
        def send(n_parts):
            parts = iter([b'{"texts": ["', *n_parts * [b"Good day. " * 1000], b'"]}'])
            return ask(texts.url, "POST", "/predict", parts)  # without a length

        assert send(3).status == 200
        assert send(120).status == 413

    @pytest.mark.parametrize(
        ("method", "path", "allowed"),
        [
            ("PUT", "/predict", {"POST"}),
            ("DELETE", "/", {"GET", "HEAD", "POST"}),
            ("POST", "/health", {"GET", "HEAD"}),
        ],
    )
    def test_a_wrong_http_method_is_answered_with_the_allowed_ones(
        self, texts, method, path, allowed
    ):
        answer = ask(texts.url, method, path)
        assert answer.status == 405
        assert {*answer.headers["allow"].split(", ")} == allowed
        assert "to this path" in answer.json()["error"]

    def test_any_host_is_served_unless_bound_to_this_machine(self, texts, folder):
        assert ask(texts.url, "GET", "/", Host=texts.url[7:-1]).status == 200
        with serving(folder / "texts.han", host="0.0.0.0") as started:
            url = started.url.replace("0.0.0.0", "127.0.0.1")
            assert ask(url, "GET", "/", Host="example.org").status == 200

    @pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
    def test_allowed_hosts_and_this_machine_are_served_and_no_others(self, folder, host):
        allowed = ["example.org", "*.example.com"]
        with serving(folder / "texts.han", host=host, allowed_hosts=allowed) as started:
            url = started.url.replace("0.0.0.0", "127.0.0.1")
            for name in ("example.org", "a.example.com:80", "localhost", "127.0.0.1"):
                assert ask(url, "GET", "/health", Host=name).status == 200
            for name in ("example.net", "a.example.org", "example.org.evil.net"):
                assert ask(url, "GET", "/health", Host=name).status == 400

    def test_a_failure_is_answered_and_its_traceback_logged(self, texts, monkeypatch, caplog):
        def fail(self, X):
            raise ZeroDivisionError("of the model")

        monkeypatch.setattr(FittedModel, "logits", fail)
        answer = post(texts, "/predict", texts=["A secret."])
        assert answer.status == 500
        assert answer.body == "Internal Server Error"
        wait(lambda: "ZeroDivisionError: of the model" in caplog.text)  # logged after the answer
        assert "secret" not in caplog.text


ZETA = "Zeta <b>" + '"'  # must not be in any error
ODD = [None, True, 0, -1, 1.5, 10**400, 1e400, float("nan"), "", "\ud800", ZETA, [], {}, [ZETA]]
ODD += [{ZETA: 1}, [[ZETA]], [{}], [None]]
HOST = b"Host: localhost\r\n"
POST = b"POST /predict HTTP/1.1\r\n" + HOST
RAW = [
    b"GET / HTTP/Zeta\r\n" + HOST + b"\r\n",
    b"GET / HTTP/1.1\r\n" + HOST + b"Zeta\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost/Zeta\r\n\r\n",
    b"HEAD / HTTP/1.1\r\nHost: Zeta\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: \r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: Zeta\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost.zeta\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: Zeta\r\n" + HOST + b"\r\n",
    b"GET / HTTP/1.1\r\nHost: Zeta\r\nX-Forwarded-Host: localhost\r\n\r\n",
    b"GET http://localhost/ HTTP/1.1\r\nHost: Zeta\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: Zeta\r\nContent-Length: 11\r\n\r\ntext=a+Zeta",
    b"OPTIONS * HTTP/1.1\r\n" + HOST + b"X-Zeta: Zeta\r\n\r\n",
    b"ZETA / HTTP/1.1\r\n" + HOST + b"\r\n",
    b"GET /../%00%ffZeta HTTP/1.1\r\n" + HOST + b"\r\n",
    b"GET /docs HTTP/1.1\r\n" + HOST + b"\r\n",
    b"GET /" + 20_000 * b"Zeta" + b" HTTP/1.1\r\n" + HOST + b"\r\n",
    b"GET /nowhere HTTP/1.1\r\n" + HOST + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    POST + b"Content-Length: Zeta\r\n\r\n",
    POST + b"Transfer-Encoding: chunked\r\n\r\nZeta\r\n",
    POST + b"Transfer-Encoding: chunked\r\n\r\n4\r\nZeta\r\n0\r\n\r\n",
    POST + b"Content-Type: Zeta\r\nContent-Length: 4\r\n\r\nZeta",
    b"\x16\x03\x01\x02\x00Zeta",
]


class TestAttacks:
    @pytest.mark.filterwarnings("ignore:Column .* has 1 value that no two")
    @pytest.mark.parametrize("value", ODD, ids=range(len(ODD)))
    def test_answers_do_not_quote_odd_values(self, texts, columns, value):
        bodies = [value]
        for key in ("texts", "documents", "target", ZETA):
            bodies += [{key: value}, {key: [value]}]
        bodies += [{"documents": [ROW | {column: value}]} for column in [*ROW, ZETA]]
        for name in ("target", "method", ZETA):
            bodies += [{"texts": ["A good day."], name: value}, {"documents": [ROW], name: value}]
        n_answered = 0
        for started in (texts, columns):
            for path, body in itertools.product(["/predict", "/explain"], bodies):
                answer = ask(started.url, "POST", path, json.dumps(body))
                assert answer.status in (200, 400), body
                answered = json.loads(answer.body, parse_constant=pytest.fail)
                assert answer.status == 200 or ("Zeta" not in answer.body and "error" in answered)
                n_answered += answer.status == 200
        assert n_answered < len(bodies)

    @pytest.mark.parametrize("request_", RAW, ids=range(len(RAW)))
    def test_errors_do_not_quote_odd_requests(self, columns, request_):
        with connected(columns, request_) as connection:
            answer = http.client.HTTPResponse(
                connection, method=request_.partition(b" ")[0].decode()
            )
            answer.begin()
            body = answer.read()
        assert 400 <= answer.status < 500
        assert b"zeta" not in f"{answer.headers}".lower().encode() + body.lower()
        assert b"<" not in body  # no page
        assert b"product" not in body  # no column

    def test_the_page_asks_for_each_column_of_texts(self, tmp_path):
        frame = pd.DataFrame({"title": TEXTS, "body": "It was a day."})
        sk_han.save(tiny(text_column=["title", "body"]).fit(frame, LABELS), tmp_path / "model.han")
        with serving(tmp_path / "model.han") as started:
            (field,) = Page(ask(started.url, "GET", "/").body).attributes("input")
            assert field["name"] == "column title"
            page = send_form(started, text="A day.", **{"column title": TEXTS[0]}).body
            assert "title: " in page
            documents = [{"title": TEXTS[0], "body": "A day."}]
            (explained,) = json.loads(post(started, "/explain", documents=documents).body)[
                "explanations"
            ]
            assert explained["sentences"][0]["field"] == "title"

    @pytest.mark.filterwarnings("ignore:Column .* has 1 value that no two training documents")
    def test_names_and_values_are_text_on_the_page(self, tmp_path):
        names = [f'{tag}"name' for tag in ("<script>", "<img src=x onerror=a>", "</textarea><u>")]
        body, kind, *_ = names
        values = np.where(LABELS == "pos", "</option><script>", "\"><script>'")
        frame = pd.DataFrame({body: TEXTS, kind: values})
        labels = np.where(LABELS == "pos", names[2], "<script>neg")
        model = tiny(text_column=body, max_epochs=1).fit(frame, labels)
        sk_han.save(model, tmp_path / "model.han")
        with serving(tmp_path / "model.han", THRESHOLD) as started:
            field = f"column {kind}"
            pages = [
                ask(started.url, "GET", "/"),
                send_form(started, text=SCRIPT, **{field: values[0]}),
                send_form(started, text="", **{field: f'"><u>{SCRIPT}', SCRIPT: SCRIPT}),
                send_form(started, text=SCRIPT * 2_000, **{field: SCRIPT}),
            ]
            assert [page.status for page in pages] == [200, 200, 400, 413]
            for page in map(Page, (each.body for each in pages)):
                assert not {"script", "img", "u"} & {tag for tag, _ in page.tags}
                (field_of_page,) = page.attributes("input")
                assert field_of_page["name"] == field
            for path in ("/health", "/openapi.json", "/nowhere"):
                headers = ask(started.url, "GET", path).headers
                assert headers["content-type"] == JSON
                assert headers["x-content-type-options"] == "nosniff"
            document = {body: SCRIPT, kind: SCRIPT}
            assert names[2] in post(started, "/explain", documents=[document]).body.replace(
                "\\", ""
            )


class TestLoad:
    def test_busy_processors_are_reported_and_health_still_answers(self, folder, monkeypatch):
        monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")  # joblib's, which knows limits of containers
        monkeypatch.setattr(service, "SECONDS_WAITING", 0.01)
        free, computing = threading.Event(), FittedModel.logits
        monkeypatch.setattr(
            FittedModel, "logits", lambda *args: (free.wait(60), computing(*args))[1]
        )
        with serving(folder / "texts.han") as started, ThreadPoolExecutor(8) as users:
            documents = 4 * ["Good."] + 4 * [LONG]
            jobs = [users.submit(post, started, "/predict", texts=[each]) for each in documents]
            wait(lambda: sum(job.done() for job in jobs) == 6)
            assert ask(started.url, "GET", "/health").status == 200
            free.set()
            answers = [job.result() for job in jobs]
        busy = [answer for answer in answers if answer.status == 503]
        assert busy[0].headers["retry-after"] == "1"
        assert "try again" in busy[0].json()["error"]
        for of_a_length in (answers[:4], answers[4:]):
            assert sorted(answer.status for answer in of_a_length) == [200, 503, 503, 503]

    @pytest.mark.thorough
    @pytest.mark.parametrize("n", [8, 64])
    def test_clients_that_read_nothing_keep_nobody_waiting(self, folder, n):
        with serving(folder / "texts.han") as started, ExitStack() as silent:
            for _ in range(n):
                silent.enter_context(silent_reader(started))
            end = time.monotonic() + 15  # they had all slots for 30 s
            while (start := time.monotonic()) < end:
                assert post(started, "/predict", texts=TEXTS).status == 200
                assert post(started, "/explain", texts=TEXTS[:1]).status == 200
                assert "<textarea" in ask(started.url, "GET", "/").body
                assert time.monotonic() - start < 3

    def test_waiting_answers_hold_no_slot_and_few_bytes(self, folder, monkeypatch):
        monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
        with serving(folder / "texts.han") as started, ExitStack() as silent:
            size = len(post(started, "/explain", texts=[LONG]).body)
            monkeypatch.setattr(service, "MAX_UNSENT", 2.5 * size)
            readers = []
            for n in (1, 2, 3):
                readers.append(silent.enter_context(silent_reader(started)))
                wait(lambda n=n: len(service._UNSENT) == n)
            sizes = [len(reader.makefile("rb").read()) for reader in readers]
        assert sizes[0] < size < min(sizes[1:])
        assert not service._UNSENT

    def test_connections_beyond_the_limit_are_closed(self, texts, monkeypatch):
        monkeypatch.setattr(service, "MAX_CONNECTIONS", 0)
        with pytest.raises(ConnectionError):
            ask(texts.url, "GET", "/health")
        monkeypatch.undo()
        assert ask(texts.url, "GET", "/health").status == 200

    @pytest.mark.parametrize(
        "head",
        [
            b"POST /predict HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
            b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999\r\n\r\n{",
            b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\nGET / HTTP/1.1\r\nX-Slow: ",
        ],
        ids=["headers", "body", "second request"],
    )
    def test_a_slow_client_is_disconnected_at_the_deadline(self, texts, monkeypatch, head):
        monkeypatch.setattr(service, "DEADLINE", 0.3)
        start = time.monotonic()
        with connected(texts, head) as connection, suppress(ConnectionError):
            while time.monotonic() < start + 20:
                connection.sendall(b"a")
                time.sleep(0.02)
        assert 0.25 < time.monotonic() - start < 10

    def test_a_model_that_is_replaced_is_served_without_a_restart(
        self, folder, tmp_path, capfd, monkeypatch
    ):
        def classes():
            return ask(started.url, "GET", "/health").json()["classes"]

        path = tmp_path / "model.han"
        shutil.copy(folder / "texts.han", path)
        with serving(path) as started:
            shutil.copy(folder / "numbers.han", tmp_path / "next.han")
            os.replace(tmp_path / "next.han", path)
            assert classes() == [0, 1]
            assert "model.han was replaced, and the new model is served." in capfd.readouterr().err
            assert classes() == [0, 1]
            assert capfd.readouterr().err == ""  # it is read once
            path.write_bytes(path.read_bytes()[:-100])  # as while it is copied
            assert classes() == [0, 1]
            assert "the earlier model is served" in capfd.readouterr().err
            with monkeypatch.context() as patched:
                patched.setattr(service.Scorer, "load", Mock(side_effect=MemoryError("no room")))
                shutil.copy(folder / "texts.han", path)
                assert classes() == [0, 1]
            assert "the earlier model is served: MemoryError" in capfd.readouterr().err
            path.unlink()
            assert classes() == [0, 1]
            shutil.copy(folder / "texts.han", path)
            assert classes() == ["neg", "pos"]

    def test_a_truncated_request_is_not_processed(self, texts, monkeypatch):
        computed = Mock(side_effect=ValueError)
        monkeypatch.setattr(service, "_call", computed)
        head = f"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: {FORM}\r\nContent-Length: 99"
        with connected(texts, f"{head}\r\n\r\ntext=Good+day".encode()):
            pass
        assert ask(texts.url, "GET", "/health").status == 200
        time.sleep(0.2)
        assert not computed.called


class TestForm:
    @pytest.mark.parametrize("site", ["none", "same-origin", "same-site", "cross-site"])
    def test_other_sites_may_link_to_the_page_but_not_post(self, texts, site):
        headers = {"Content-Type": FORM, "Sec-Fetch-Site": site}
        status = 403 if site in ("same-site", "cross-site") else 200
        assert ask(texts.url, "POST", "/", "text=Good+day", **headers).status == status
        link = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}
        assert {ask(texts.url, method, "/", **link).status for method in ("GET", "HEAD")} == {200}

    def test_a_text_is_predicted_and_explained(self, texts):
        text = f"{GOOD[1]}\n{GOOD[2]}"
        page = Page(send_form(texts, text=text.replace("\n", "\r\n")).body)  # as browsers send it
        assert "Predicted pos, " in page.line
        assert page.text == text
        assert page.attributes("form")[0]["action"].endswith("#result")
        assert "autofocus" in page.attributes("textarea")[0]
        assert page.texts["textarea"] == [f"\n{text}"]  # browsers leave a first line feed out

    def test_columns_have_fields_of_their_kind_and_are_read(self, columns):
        page = Page(ask(columns.url, "GET", "/").body)
        kinds = [each.get("type") for each in page.attributes("input")]
        assert kinds == [None, "number", "date"]
        fields = {f"column {name}": ROW[name] for name in (PRODUCT, "amount", "sent")}
        page = Page(send_form(columns, text=ROW["body"], **fields).body)
        assert f"{PRODUCT} = <b>loan</b>" in page.line
        assert "Predicted pos, " in page.line
        assert "threshold" not in page.line

    @pytest.mark.parametrize(
        ("fields", "status", "message"),
        [
            ({"text": " \n"}, 400, "The text is blank. Paste one with words."),
            ({"text": "a " * 50_001}, 413, "at most 100,000 characters"),
        ],
    )
    def test_an_error_keeps_the_text(self, texts, fields, status, message):
        answer = send_form(texts, **fields)
        assert answer.status == status
        page = Page(answer.body)
        assert message in page.line
        assert page.texts["textarea"] == [f"\n{fields['text']}"]

    def test_markup_is_text_and_nothing_may_run_or_be_loaded(self, texts):
        answer = send_form(texts, text=SCRIPT)
        assert Page(answer.body).text == SCRIPT
        assert not {"script", "img", "link"} & {tag for tag, _ in Page(answer.body).tags}
        policy = answer.headers["content-security-policy"]
        assert policy.startswith(
            "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'"
        )
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"


@pytest.mark.thorough
class TestCommand:
    CODE = "sys.modules |= dict.fromkeys(['torch', 'skorch', 'sklearn', 'scipy', 'pandas'])"

    @contextmanager
    def started(self, path, code="pass"):
        arguments = ["sk-han", "serve", str(path), "--port", "0", "--allowed-host", "Example.org"]
        code = f"import sys; {self.CODE}; {code}; from sk_han.cli import main; sys.exit(main())"
        start = f"import sys; sys.argv = {arguments}; {code}"
        environment = os.environ | {"SK_HAN_ENGINE": "torch"}  # PyTorch is not there: NumPy alone
        with subprocess.Popen(
            [sys.executable, "-c", start], stderr=subprocess.PIPE, text=True, env=environment
        ) as process:
            line = process.stderr.readline()
            assert line.endswith("/; Ctrl-C ends it.\n")
            url = line.partition(" is served at ")[2].partition(";")[0]
            host, port = url[7:-1].split(":")
            with socket.create_connection((host, int(port)), timeout=60) as connection:
                head = f"POST /predict HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: {JSON}"
                connection.sendall(f"{head}\r\nContent-Length: 26\r\n\r\n".encode())
                # It came after the other one.
                assert ask(url, "GET", "/health", Host="example.org").status == 200
                yield process, connection, host, int(port)

    def test_a_terminated_service_finishes_requests_in_progress(self, folder):
        with self.started(folder / "texts.han") as (process, connection, host, port):
            process.send_signal(signal.SIGTERM)
            wait_for_refusal(host, port)
            connection.sendall(b'{"texts": ["A good day."]}')
            assert connection.makefile("rb").readline() == b"HTTP/1.1 200 OK\r\n"
            assert process.wait(60) == 0
            assert process.stderr.read() == ""

    def test_the_server_stops_promptly_despite_a_slow_client(self, folder):
        with self.started(folder / "texts.han") as (process, connection, _, _):
            process.send_signal(signal.SIGTERM)
            start = time.monotonic()
            with suppress(ConnectionError):
                while process.poll() is None and time.monotonic() < start + 20:
                    connection.sendall(b"a" if time.monotonic() < start + 0.2 else b"")
                    time.sleep(0.05)
            process.wait(20)
            assert time.monotonic() - start < 6

    def test_the_server_stops_without_traceback_if_a_client_reads_nothing(self, folder):
        large = "from unittest.mock import Mock; from sk_han.serving import Scorer"
        large += "; Scorer.explain = lambda *_, **__: [Mock(to_dict=lambda: 2**25 * 'a')]"
        with self.started(folder / "texts.han", large) as (process, *_, host, port):
            with silent_reader(Mock(url=f"http://{host}:{port}/")) as reader:
                reader.recv(1)  # the answer has begun
                process.send_signal(signal.SIGTERM)
                assert process.wait(20) == 0
            assert "Traceback" not in process.stderr.read()

    def test_the_server_stops_promptly_while_a_request_is_running(self, folder):
        slow = "import time; from sk_han._model.fitted_model import FittedModel"
        slow += "; FittedModel.logits = lambda *_: time.sleep(30)"
        with self.started(folder / "texts.han", slow) as (process, connection, *_):
            connection.sendall(b'{"texts": ["A good day."]}')
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            start = time.monotonic()
            answer = connection.makefile("rb").read()
            assert answer.startswith(b"HTTP/1.1 503 ")
            assert b'{"error": "Busy: try again in a second."}' in answer
            assert process.wait(60) == 0
            assert time.monotonic() - start < 6
            assert process.stderr.read() == ""


def wait_for_refusal(host, port):
    """Wait until nobody listens any more."""
    end = time.monotonic() + 60
    with suppress(ConnectionError):
        while time.monotonic() < end:
            socket.create_connection((host, port)).close()
            time.sleep(0.01)
        pytest.fail("it still listens")
