"""`sk-han serve`: real requests to a real server, and its page in a browser."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager, suppress
from typing import Any, NamedTuple
from urllib.parse import urlencode

import numpy as np
import pandas as pd
import pytest

import sk_han
from sk_han.serving import Scorer, service
from sk_han.serving.service import Service
from tests.browser import CHROMIUM, Browser
from tests.html_page import Page
from tests.tiny_models import BAD, GOOD, LABELS, TEXTS, fitted_classifier, tiny, with_classes

THRESHOLD = 0.6
SCRIPT = "<script>document.title = 'run'</script><img src=x onerror=\"document.title='run'\"> Good."
PRODUCT = "product <i>"
ROW = {"body": "A good day.", PRODUCT: "<b>loan</b>", "amount": 3.5, "sent": "2024-05-01"}
JSON, FORM = "application/json", "application/x-www-form-urlencoded"
needs_browser = [
    pytest.mark.thorough,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine"),
]


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
        return Answer(answer.status, dict(answer.headers), answer.read().decode())


def post(started, path, **body) -> Answer:
    return ask(started.url, "POST", path, json.dumps(body))


def send_form(started, **fields) -> Answer:
    return ask(started.url, "POST", "/", urlencode(fields), **{"Content-Type": FORM})


@contextmanager
def serving(path, threshold=None, host="127.0.0.1"):
    with Service(str(path), host, 0, threshold) as started:
        thread = threading.Thread(target=started.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield started
        finally:
            started.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of models: texts.han, columns.han, numbers.han, several.han."""
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
    }
    for name, model in models.items():
        sk_han.save(model, folder / f"{name}.han")
    return folder


@pytest.fixture(scope="module")
def texts(folder):
    with serving(folder / "texts.han", THRESHOLD) as started:
        yield started


@pytest.fixture(scope="module")
def columns(folder):
    with serving(folder / "columns.han") as started:
        yield started


class TestAnswers:
    def test_health_names_classes_and_columns(self, texts, columns):
        found = ask(texts.url, "GET", "/health").json()
        assert found == {"status": "ok", "classes": ["neg", "pos"]}
        found = ask(columns.url, "GET", "/health").json()
        assert found["columns"] == ["body", PRODUCT, "amount", "sent"]

    @pytest.mark.parametrize("given", [TEXTS[:1], [*TEXTS[2:6], "", "half \ud800"]])
    def test_predictions_are_those_of_the_scorer(self, texts, folder, given):
        scorer = Scorer.load(folder / "texts.han")
        answer = post(texts, "/predict", texts=given)
        found, p = answer.json(), scorer.predict_proba(given)
        assert (answer.status, found["classes"]) == (200, ["neg", "pos"])
        assert found["labels"] == scorer.predict(given).tolist()
        np.testing.assert_allclose(found["probabilities"], p, atol=1e-6)

    def test_documents_below_the_threshold_are_not_accepted(self, texts):
        found = post(texts, "/predict", texts=[*TEXTS, "A good zebra. Bad!", ""]).json()
        assert found["accepted"] == [max(row) >= THRESHOLD for row in found["probabilities"]]
        assert set(found["accepted"]) == {True, False}

    def test_blank_texts_are_never_accepted(self, folder):
        with serving(folder / "columns.han", 0.0) as started:
            rows = [{**ROW, "body": text} for text in ("Good.", " ", "")]
            assert post(started, "/predict", documents=rows).json()["accepted"] == [
                True,
                False,
                False,
            ]

    def test_columns_are_read_next_to_the_text(self, columns, folder):
        rows = [ROW, {**ROW, PRODUCT: "card", "amount": None}]
        found = post(columns, "/predict", documents=rows).json()
        expected = Scorer.load(folder / "columns.han").predict_proba(rows)
        np.testing.assert_allclose(found["probabilities"], expected, atol=1e-6)
        assert "accepted" not in found  # there is no threshold

    def test_explanations_are_those_of_the_scorer(self, texts, folder):
        expected = Scorer.load(folder / "texts.han").explain([SCRIPT], target="neg")[0]
        (found,) = post(texts, "/explain", texts=[SCRIPT], target="neg").json()["explanations"]
        assert found.keys() == expected.to_dict().keys()
        assert (found["text"], found["target"]) == (SCRIPT, "neg")

    def test_labels_that_are_numbers_stay_numbers(self, folder):
        with serving(folder / "numbers.han") as started:
            found = post(started, "/predict", texts=TEXTS[:4]).json()
            assert found["classes"] == [0, 1]
            assert set(found["labels"]) == {0, 1}
            assert post(started, "/explain", texts=TEXTS[:1], target=1).status == 200

    def test_several_labels_are_a_list_by_their_thresholds(self, folder):
        with serving(folder / "several.han") as started:
            found = post(started, "/predict", texts=TEXTS).json()["labels"]
            assert "Predicted" in Page(send_form(started, text=TEXTS[0]).body).line
        expected = Scorer.load(folder / "several.han").predict(TEXTS)
        assert found == [row.nonzero()[0].tolist() for row in expected]
        with pytest.raises(ValueError, match="accepts documents of one label"):
            Service(str(folder / "several.han"), "127.0.0.1", 0, 0.5)

    def test_two_users_at_once_get_their_own_answers(self, texts):
        found, both_ask = {}, threading.Barrier(2)

        def use(text):
            both_ask.wait()
            answers = [post(texts, "/explain", texts=[text]).json() for _ in range(5)]
            found[text] = [answer["explanations"][0]["text"] for answer in answers]

        users = [threading.Thread(target=use, args=[text]) for text in (GOOD[0], BAD[0])]
        for user in users:
            user.start()
        for user in users:
            user.join()
        assert found == {text: 5 * [text] for text in (GOOD[0], BAD[0])}


class TestRefusals:
    @pytest.mark.parametrize(
        ("path", "body", "status", "message"),
        [
            ("/predict", {}, 400, "Send an object with 'texts'; got none."),
            ("/predict", [1], 400, "Send an object with 'texts'; got a list."),
            ("/predict", {"texts": ["a"], "target": "neg"}, 400, "got 'texts', 'target'."),
            ("/predict", {"texts": "A good day."}, 400, "'texts' as a list of strings"),
            ("/predict", {"texts": []}, 400, "'texts' as a list of strings"),
            ("/predict", {"texts": ["a", None]}, 400, "'texts' as a list of strings"),
            ("/predict", {"documents": [ROW]}, 400, "got 'documents'"),
            ("/predict", {"texts": ["a"] * 101}, 413, "at most 100 at once; got 101"),
            ("/predict", {"texts": ["b" * 150_000] * 7}, 413, "at most 1,048,576 bytes at once"),
            ("/explain", {"texts": ["b" * 60_000] * 2}, 413, "at most 100,000 characters"),
            ("/explain", {"texts": ["a"], "target": "good"}, 400, "the classes are 'neg', 'pos'"),
            ("/explain", {"texts": ["a"], "method": "guess"}, 400, "method must be one of"),
            ("/nowhere", {"texts": ["a"]}, 404, "Send to '/', '/predict', '/explain'"),
        ],
    )
    def test_it_says_what_is_wrong(self, texts, path, body, status, message):
        answer = ask(texts.url, "POST", path, json.dumps(body))
        assert answer.status == status
        assert message in answer.json()["error"]
        assert len(answer.body) < 600  # documents are not sent back

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"amount": "much"}, "Column 'amount' holds a str in row 0, 'much'"),
            ({"sent": 7}, "Column 'sent' holds an int"),
            ({"color": "red"}, "unseen at fit time:\n- color"),
            ({"body": None}, "Column 'body', row 0"),
        ],
    )
    def test_it_names_the_column(self, columns, change, message):
        answer = post(columns, "/predict", documents=[ROW | change])
        assert answer.status == 400
        assert message in answer.json()["error"]

    def test_a_model_of_columns_asks_for_documents(self, columns):
        assert "'documents'; got 'texts'" in post(columns, "/predict", texts=["a"]).body
        assert "objects, with a value" in post(columns, "/predict", documents=["a"]).body

    @pytest.mark.parametrize("body", ['{"texts": ["', b'{"texts": ["\xff"]}', "[" * 100_000, ""])
    def test_what_is_not_json_is_an_error_of_the_client(self, texts, body):
        answer = ask(texts.url, "POST", "/predict", body)
        assert answer.status == 400
        assert answer.json()["error"].startswith("Send JSON; the body is not")

    def test_a_form_is_told_the_content_type_of_json(self, texts):
        body = '{"texts": ["A good day."]}'
        answer = ask(texts.url, "POST", "/predict", body, **{"Content-Type": FORM})  # curl -d
        assert answer.status == 415
        assert answer.json()["error"] == f"Send Content-Type: {JSON}; got {FORM!r}."

    def test_a_body_without_its_length_is_refused(self, texts):
        answer = ask(texts.url, "POST", "/predict", **{"Transfer-Encoding": "chunked"})
        assert answer.status == 411

    def test_another_method_is_refused(self, texts):
        answer = ask(texts.url, "PUT", "/predict")
        assert (answer.status, answer.json()) == (501, {"error": "Unsupported method ('PUT')"})

    def test_a_site_whose_name_leads_to_this_machine_is_refused(self, texts, folder):
        answer = ask(texts.url, "GET", "/", Host="example.org")
        assert answer.status == 403
        assert ask(texts.url, "GET", "/", Host=texts.url[7:-1]).status == 200
        with serving(folder / "texts.han", host="0.0.0.0") as started:  # others have its name
            url = f"http://127.0.0.1:{started.server_address[1]}/"
            assert ask(url, "GET", "/", Host="example.org").status == 200

    def test_a_failure_is_an_answer_and_a_traceback(self, texts, monkeypatch, capfd):
        def fail(self, X):
            raise ZeroDivisionError("of the model")

        monkeypatch.setattr(Scorer, "predict_proba", fail)
        answer = post(texts, "/predict", texts=["A secret."])
        assert answer.status == 500
        assert answer.json() == {"error": "The service failed; its log has the traceback."}
        log = capfd.readouterr().err
        assert "ZeroDivisionError: of the model" in log
        assert "secret" not in log


class TestLoad:
    def test_busy_processors_are_said_and_health_is_answered(self, texts, monkeypatch):
        monkeypatch.setattr(service, "SECONDS", 0.01)
        n_taken = 0
        while texts.processors.acquire(blocking=False):
            n_taken += 1
        try:
            answer = post(texts, "/predict", texts=["A good day."])
            assert ask(texts.url, "GET", "/health").status == 200
        finally:
            texts.processors.release(n_taken)
        assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
        assert "try again" in answer.json()["error"]
        assert n_taken == os.cpu_count()
        assert post(texts, "/predict", texts=["A good day."]).status == 200

    def test_connections_beyond_a_number_are_closed(self, texts, monkeypatch):
        monkeypatch.setattr(service, "MAX_THREADS", 1)
        with pytest.raises(ConnectionError):
            ask(texts.url, "GET", "/health")
        monkeypatch.undo()
        assert ask(texts.url, "GET", "/health").status == 200

    def test_a_client_that_sends_nothing_more_is_closed(self, texts, monkeypatch):
        monkeypatch.setattr(texts.RequestHandlerClass, "timeout", 0.05)
        with socket.create_connection(texts.server_address, timeout=60) as connection:
            connection.sendall(b"POST /predict HTTP/1.1\r\nContent-Length: 9\r\n\r\n{")
            assert connection.recv(1) == b""

    def test_a_client_that_goes_away_leaves_nothing_in_the_log(self, texts, capfd):
        with socket.create_connection(texts.server_address) as connection:
            reset = np.array([1, 0], dtype=np.int32).tobytes()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
            connection.sendall(b"GET /health HTTP/1.1\r\n")
        assert ask(texts.url, "GET", "/health").status == 200
        assert capfd.readouterr().err == ""

    def test_a_model_that_is_replaced_is_served_without_a_restart(self, folder, tmp_path, capfd):
        def classes():
            return ask(started.url, "GET", "/health").json()["classes"]

        path = tmp_path / "model.han"
        shutil.copy(folder / "texts.han", path)
        with serving(path) as started:
            shutil.copy(folder / "numbers.han", tmp_path / "next.han")
            os.replace(tmp_path / "next.han", path)
            assert classes() == [0, 1]
            assert "model.han was replaced, and the new model is served." in capfd.readouterr().err
            path.write_bytes(path.read_bytes()[:-100])  # as while it is copied
            assert classes() == [0, 1]
            assert "the earlier model is served" in capfd.readouterr().err
            path.unlink()
            assert classes() == [0, 1]
            shutil.copy(folder / "texts.han", path)
            assert classes() == ["neg", "pos"]


class TestForm:
    def test_a_text_is_predicted_and_explained(self, texts):
        text = f"{GOOD[1]}\n{GOOD[2]}"
        page = Page(send_form(texts, text=text.replace("\n", "\r\n")).body)  # as browsers send it
        assert "Predicted pos, " in page.line
        assert page.text == text
        assert page.texts["textarea"] == [f"\n{text}"]  # browsers leave a first line feed out

    def test_it_says_whether_a_person_should_decide(self, texts):
        lines = [Page(send_form(texts, text=text).body).line for text in (GOOD[2], "A zebra.")]
        assert "Accepted: at least the threshold of 0.6." in lines[0]
        assert "To be handed over to a person: below the threshold of 0.6." in lines[1]

    def test_columns_have_fields_of_their_kind(self, columns):
        page = Page(ask(columns.url, "GET", "/").body)
        kinds = {each["name"]: each.get("type") for each in page.attributes("input")}
        assert kinds == {
            f"column {PRODUCT}": None,
            "column amount": "number",
            "column sent": "date",
        }
        assert "<b>" not in page.line

    def test_columns_are_read(self, columns, folder):
        fields = {f"column {name}": ROW[name] for name in (PRODUCT, "amount", "sent")}
        page = Page(send_form(columns, text=ROW["body"], **fields).body)
        assert f"{PRODUCT} = <b>loan</b>" in page.line
        assert "Predicted pos, " in page.line
        assert "threshold" not in page.line

    @pytest.mark.parametrize(
        ("fields", "status", "message"),
        [
            ({"text": " \n"}, 400, "The text is blank. Paste one with words."),
            (
                {"text": SCRIPT},
                400,
                "replaced the last one; fill in 'product <i>', 'amount', 'sent'.",
            ),
            ({"text": "a " * 50_001}, 413, "at most 100,000 characters"),
        ],
    )
    def test_an_error_keeps_the_text(self, columns, texts, fields, status, message):
        answer = send_form(columns if fields["text"] == SCRIPT else texts, **fields)
        assert answer.status == status
        page = Page(answer.body)
        assert message in page.line
        assert page.texts["textarea"] == [f"\n{fields['text']}"]

    def test_markup_is_text_and_nothing_may_run_or_be_loaded(self, texts):
        answer = send_form(texts, text=SCRIPT)
        assert Page(answer.body).text == SCRIPT
        assert not {"script", "img", "link"} & {tag for tag, _ in Page(answer.body).tags}
        policy = answer.headers["Content-Security-Policy"]
        assert policy.startswith(
            "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'"
        )
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.thorough
class TestCommand:
    CODE = (
        "sys.modules |= dict.fromkeys(['torch', 'skorch', 'sklearn', 'scipy', 'joblib', 'pandas'])"
    )

    def test_a_terminated_service_answers_what_it_has_begun(self, folder):
        arguments = ["sk-han", "serve", str(folder / "texts.han"), "--port", "0"]
        code = f"import sys; {self.CODE}; from sk_han.cli import main; sys.exit(main())"
        start = f"import sys; sys.argv = {arguments}; {code}"
        environment = os.environ | {"SK_HAN_ENGINE": "torch"}  # PyTorch is not there: NumPy alone
        with subprocess.Popen(
            [sys.executable, "-c", start], stderr=subprocess.PIPE, text=True, env=environment
        ) as process:
            line = process.stderr.readline()
            assert line.endswith("/; Ctrl-C ends it.\n")
            url = line.partition(" is served at ")[2].partition(";")[0]
            host, port = url[7:-1].split(":")
            body = b'{"texts": ["A good day."]}'
            with socket.create_connection((host, int(port)), timeout=60) as connection:
                head = f"POST /predict HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: {JSON}"
                connection.sendall(f"{head}\r\nContent-Length: {len(body)}\r\n\r\n".encode())
                assert ask(url, "GET", "/health").status == 200  # which came after it
                process.send_signal(signal.SIGTERM)
                wait_for_refusal(host, int(port))
                connection.sendall(body)
                assert connection.makefile("rb").readline() == b"HTTP/1.1 200 OK\r\n"
            assert process.wait(60) == 0
            assert process.stderr.read() == ""


def wait_for_refusal(host, port):
    """Wait until nobody listens any more."""
    end = time.monotonic() + 60
    with suppress(ConnectionError):
        while time.monotonic() < end:
            socket.create_connection((host, port)).close()
            time.sleep(0.01)
        pytest.fail("it still listens")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("browser")) as started:
        yield started


def classify(page, text):
    """Write a text where the cursor is, and send the form by keys alone."""
    page.wait("document.activeElement.name == 'text'")
    page.write(text)
    page.press("Tab")
    while page.value("document.activeElement.tagName") != "BUTTON":
        page.press("Tab")
    page.press("Enter")
    page.wait("location.hash == '#result' && document.readyState == 'complete'")


class TestBrowser:
    pytestmark = needs_browser

    def test_the_keyboard_suffices(self, browser, texts):
        page = browser.open(texts.url)
        classify(page, GOOD[1])
        assert page.text("h2").startswith("Predicted pos, ")
        assert page.value("document.querySelector('textarea').value") == GOOD[1]
        assert page.value("scrollY + innerHeight") > page.value("result.offsetTop")

    def test_columns_are_filled_by_the_keyboard(self, browser, columns):
        page = browser.open(columns.url)
        page.wait("document.activeElement.name == 'text'")
        page.write(BAD[1])
        for value in ("card", "7.5"):
            page.press("Tab")
            page.write(value)
        page.press("Enter")
        page.wait("location.hash == '#result' && document.readyState == 'complete'")
        assert page.text("h2").startswith("Predicted neg, ")
        assert f"{PRODUCT} = card" in page.text("#result")
        assert "sent = missing" in page.text("#result")

    def test_markup_is_shown_and_does_not_run(self, browser, texts):
        page = browser.open(texts.url)
        classify(page, SCRIPT)
        assert page.text(".han-text").count("</script>") == 1
        assert page.value("document.title") == "Classify a text"
        assert page.value("performance.getEntriesByType('resource').length") == 0

    @pytest.mark.parametrize("theme", ["light", "dark"])
    def test_it_fits_a_narrow_screen_in_either_theme(self, browser, columns, theme):
        page = browser.open(columns.url, width=360, theme=theme)
        classify(page, f"{'Good' * 100}. {SCRIPT}")
        assert page.value("document.documentElement.scrollWidth") == 360
        for element in ("body", "textarea", "input"):
            color = f"getComputedStyle(document.querySelector('{element}')).backgroundColor"
            found = page.value(f"{color}.match(/\\d+/g).map(Number)")
            assert (min(found[:3]) > 200) == (theme == "light")
            assert (max(found[:3]) < 60) == (theme == "dark")

    def test_ten_thousand_words_are_explained(self, browser, texts):
        text = " ".join(f"{TEXTS[i % 18]} Word{i}." for i in range(1600))
        assert len(text.split()) > 10_000
        page = browser.open(texts.url)
        classify(page, text)
        assert page.text("h2").startswith("Predicted ")
        assert "Word1599." in page.value("document.querySelector('.han-text').textContent")
