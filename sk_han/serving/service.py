"""A stored classifier as a small HTTP service with a page, by Python's standard library."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from importlib.resources import files
from socketserver import TCPServer, ThreadingMixIn
from string import Template
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from sk_han.inspection.results.result import plain
from sk_han.parts.columns import Coding
from sk_han.parts.pool import COLUMNS
from sk_han.rendering.blocks import Block, Heading, Sentence, Span, percent
from sk_han.rendering.colors import stylesheet
from sk_han.rendering.html import escaped, markup
from sk_han.rendering.shading import document_blocks, legend, named
from sk_han.serving.scorer import Scorer, check_threshold
from sk_han.utils.containers import listed
from sk_han.utils.messages import a_kind, in_one_line, shortened
from sk_han.utils.progress import tell

MAX_BODY = 2**20  # bytes of a request
MAX_DOCUMENTS = 100  # of a request
MAX_EXPLAINED = 100_000  # characters of a request; the answer has up to 400 bytes for each
MAX_THREADS = 128  # one for each connection
SECONDS = 10.0  # to wait for a part of a request, and for a processor

_DISCARDED = 2**24  # bytes of a body that is too large: clients send it before they read an answer
_VALUES_OFFERED = 200  # of a column
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'"
_HEADERS = {
    "Cache-Control": "no-store",
    "Connection": "close",
    "Content-Security-Policy": f"{_POLICY}; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}
_INPUTS = {"date": ' type="date"', "number": ' type="number" step="any"'}  # by kind


class RequestError(Exception):
    """An error of HTTP, whose message says what to send, and what was got instead."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(shortened(message, 500))
        self.status = status


class _Model(NamedTuple):
    """A loaded model; one of texts alone has no text column and no codings of other columns."""

    scorer: Scorer
    text_column: str | None
    codings: Mapping[str, Coding]

    def document(self, text: str, values: Mapping[str, Any]) -> Any:
        """Return a document as the model reads it."""
        return text if self.text_column is None else {self.text_column: text, **values}


class Service(ThreadingMixIn, TCPServer):
    """A server that predicts and explains with the model of a file, read anew when it is replaced.

    `serve_forever` answers requests, and `server_close` waits for those that have begun.

    Parameters
    ----------
    path : str
        File of `sk_han.save`, for a `Scorer`.
    host : str
        Name or IPv4 address to listen at. If only this machine reaches it, a request must have it
        in its header Host: a page whose site was made to lead here has the name of the site there
        (DNS rebinding), and is refused.
    port : int
        0 takes one that is free.
    threshold : float or None
        A document is accepted if its largest probability is at least this.

    Raises
    ------
    ValueError
        If the file is not the model of a `Scorer`, the threshold is not a probability, or there is
        one for a model of several labels a document.
    OSError
        If the file cannot be read, or the port is taken.
    """

    allow_reuse_address = True
    daemon_threads = False
    request_queue_size = MAX_THREADS

    def __init__(self, path: str, host: str, port: int, threshold: float | None) -> None:
        self.path, self.threshold = path, threshold
        self._stamp: Any = None  # of the file that was read last
        self._loading = threading.Lock()
        self._model = self._load()
        cores = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))
        self.processors = threading.Semaphore(len(cores(0)))
        try:
            super().__init__((host, port), _Handler)
        except (OSError, OverflowError) as error:
            raise OSError(f"Give another host or port; got {host}:{port} ({error}).") from error
        address, port = self.server_address[:2]
        self.url = f"http://{host}:{port}/"
        names = {host, "localhost", "127.0.0.1"}
        is_local = str(address).startswith("127.")
        ends = [f":{port}", ""] if port == 80 else [f":{port}"]  # browsers leave out port 80
        self.hosts = {name.lower() + end for name in names for end in ends} if is_local else None

    def model(self) -> _Model:
        """Return the model, read anew if another one has replaced its file."""
        if _stamp(self.path) not in (None, self._stamp) and self._loading.acquire(blocking=False):
            try:
                self._model = self._load()
                tell(f"{self.path} was replaced, and the new model is served.")
            except (OSError, ValueError) as error:
                tell(f"{self.path} was replaced, and the earlier model is served: {error}")
            finally:
                self._loading.release()
        return self._model

    def _load(self) -> _Model:
        self._stamp = _stamp(self.path)
        scorer = Scorer.load(self.path)
        if self.threshold is not None:
            check_threshold(self.threshold, scorer.target)
        part: Any = scorer._pool.parts.get(COLUMNS)
        model = _Model(scorer, *((None, {}) if part is None else part.encoder[:2]))
        text = "The first call compiles kernels, or reads them from a cache."
        scorer.explain([model.document(text, dict.fromkeys(model.codings))])
        return model

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Close a connection at once if there are too many."""
        return threading.active_count() < MAX_THREADS

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print the traceback of an error, unless the client has gone."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """One request of a `Service`."""

    protocol_version = "HTTP/1.1"  # for "Expect: 100-continue", which curl sends with large bodies
    server_version, sys_version = "sk-han", ""
    timeout = SECONDS
    server: Service
    form: Mapping[str, str] = {}

    def do_GET(self) -> None:
        """Show the form, or the state of the service."""
        self._answer({"/": lambda model, _: _page(model, {}, []), "/health": self._health})

    def do_POST(self) -> None:
        """Predict or explain."""
        self._answer({"/": self._result, "/predict": self._predict, "/explain": self._explain})

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer a request that is not HTTP, or has another method."""
        self._send(code, {"error": message or self.responses[code][1]})

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""

    def _answer(self, routes: Mapping[str, Callable[[_Model, bytes], Any]]) -> None:
        path, status, model = self.path.partition("?")[0], 200, self.server.model()
        try:
            body = self._body() if self.command == "POST" else b""
            hosts, host = self.server.hosts, self.headers.get("Host", "")
            if hosts is not None and host.lower() not in hosts:
                raise RequestError(403, f"Send to {listed(sorted(hosts))}; got Host {host[:99]!r}.")
            if path not in routes:
                raise RequestError(404, f"Send to {listed([*routes])}; got {self.command} {path}.")
            found = routes[path](model, body)
        except RequestError as error:
            status, found = error.status, {"error": str(error)}
            if path == "/":
                found = _page(model, self.form, [Sentence(str(error), "han-note")])
        except OSError:  # the client has gone, or sends nothing more
            raise
        except Exception:
            self.server.handle_error(self.request, self.client_address)
            status, found = 500, {"error": "The service failed; its log has the traceback."}
        self._send(status, found)

    def _send(self, status: int, found: str | dict[str, Any]) -> None:
        """Send a page, or an object as JSON."""
        is_page = isinstance(found, str)
        content = (str(found) if is_page else json.dumps(found)).encode()
        kind = "text/html; charset=utf-8" if is_page else "application/json"
        headers = {"Content-Type": kind, "Content-Length": len(content), **_HEADERS}
        self.send_response(status)
        for name, value in (headers | {"Retry-After": 1} if status == 503 else headers).items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(content)

    def _body(self) -> bytes:
        given = self.headers.get("Content-Length", "")
        if not (given.isascii() and given.isdigit() and len(given) < 16):
            raise RequestError(411, f"Send the number of bytes as Content-Length; got {given!r}.")
        if int(given) <= MAX_BODY:
            return self.rfile.read(int(given))
        n_left = min(int(given), _DISCARDED)
        while n_left > 0 and (part := self.rfile.read(min(n_left, 2**16))):
            n_left -= len(part)
        raise RequestError(413, f"Send at most {MAX_BODY:,} bytes at once; got {int(given):,}.")

    def _check_type(self, expected: str) -> None:
        given = self.headers.get("Content-Type", "")
        if given.partition(";")[0].strip().lower() != expected:
            raise RequestError(415, f"Send Content-Type: {expected}; got {given[:60]!r}.")

    def _health(self, model: _Model, body: bytes) -> dict[str, Any]:
        found = {"status": "ok", "classes": plain(model.scorer.classes_)}
        return found | ({"columns": [*model.document("", model.codings)]} if model.codings else {})

    def _predict(self, model: _Model, body: bytes) -> dict[str, Any]:
        documents, _ = self._documents(model, body)
        p = self._computed(model.scorer.predict_proba, documents)
        classes = plain(model.scorer.classes_)
        thresholds = getattr(model.scorer.target, "thresholds", None)
        if thresholds is None:
            labels = [classes[i] for i in p.argmax(axis=1)]
        else:
            labels = [[classes[i] for i in row.nonzero()[0]] for row in p >= thresholds]
        found = {"classes": classes, "labels": labels, "probabilities": p.tolist()}
        if self.server.threshold is not None:
            texts = [
                each if isinstance(each, str) else each[model.text_column] for each in documents
            ]
            has_text = [
                bool(str(text or "").strip()) for text in texts
            ]  # a person reads the others
            found["accepted"] = (has_text & (p.max(axis=1) >= self.server.threshold)).tolist()
        return found

    def _explain(self, model: _Model, body: bytes) -> dict[str, Any]:
        documents, options = self._documents(model, body, "target", "method")
        found = self._explanations(model, documents, **options)
        return {"explanations": [each.to_dict() for each in found]}

    def _result(self, model: _Model, body: bytes) -> str:
        """Return the page with the explanation of the document in a form."""
        self._check_type("application/x-www-form-urlencoded")
        fields = parse_qsl(body.decode(errors="replace"), keep_blank_values=True)
        self.form = {name: value.replace("\r\n", "\n") for name, value in fields}
        text = self.form.get("text", "")
        if not text.strip():
            raise RequestError(400, "The text is blank. Paste one with words.")
        values = {name: self.form.get(_field(name)) for name in model.codings}
        if None in values.values():
            now = listed([*values], 20)
            raise RequestError(400, f"Another model has replaced the last one; fill in {now}.")
        (found,) = self._explanations(model, [model.document(text, values)])
        p, threshold = found.predicted_probability, self.server.threshold
        sure = "" if found.labels is not None else f", {percent(p)}"
        blocks: list[Block] = [Heading(["Predicted ", *named(found.answer), sure])]
        if threshold is not None:
            is_accepted = p >= threshold
            said = Span("Accepted" if is_accepted else "To be handed over to a person", "strong")
            why = f": {'at least' if is_accepted else 'below'} the threshold of {threshold:g}."
            blocks.append(Sentence([said, why], "han-lead"))
        blocks += [*legend([found], "contributions"), *document_blocks([found], "contributions")]
        return _page(model, self.form, blocks)

    def _documents(
        self, model: _Model, body: bytes, *options: str
    ) -> tuple[list[Any], dict[str, Any]]:
        """Return the documents and the options of a request."""
        self._check_type("application/json")
        name, kind = ("texts", str) if model.text_column is None else ("documents", dict)
        try:
            given = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise RequestError(400, f"Send JSON; the body is not: {error}.") from error
        if not isinstance(given, dict) or not {name} <= given.keys() <= {name, *options}:
            got = listed([*given]) if isinstance(given, dict) else a_kind(given)
            also = f" and perhaps {listed(options)}" * bool(options)
            raise RequestError(400, f"Send an object with {name!r}{also}; got {got or 'none'}.")
        documents = given.pop(name)
        if not isinstance(documents, list) or {type(each) for each in documents} != {kind}:
            of = "strings" if kind is str else "objects, with a value for each column"
            raise RequestError(400, f"Send {name!r} as a list of {of}; got another one.")
        if len(documents) > MAX_DOCUMENTS:
            raise RequestError(
                413, f"Send at most {MAX_DOCUMENTS} at once; got {len(documents):,}."
            )
        return documents, given

    def _explanations(self, model: _Model, documents: list[Any], **options: Any) -> Any:
        n = sum(len(str(each)) for each in documents)
        if n > MAX_EXPLAINED:
            raise RequestError(413, f"Send at most {MAX_EXPLAINED:,} characters; got {n:,}.")
        return self._computed(model.scorer.explain, documents, **options)

    def _computed(self, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Call a function when a processor is free."""
        if not self.server.processors.acquire(timeout=SECONDS):
            raise RequestError(503, "All processors are busy; try again in a second.")
        try:
            return function(*args, **options)
        except (TypeError, ValueError) as error:  # of a class, a column or a value
            raise RequestError(400, str(error)) from error
        finally:
            self.server.processors.release()


def _page(model: _Model, form: Mapping[str, str], blocks: list[Block]) -> str:
    """Return the page: the form as it was sent, and what is below it."""
    inputs = []
    for i, (name, coding) in enumerate(model.codings.items()):
        field, known = _field(name), coding.offered[:_VALUES_OFFERED]
        options = "".join(f'<option value="{escaped(each)}"></option>' for each in known)
        inputs.append(
            f'<label>{escaped(name)} <input name="{escaped(field)}" list="known{i}" '
            f'value="{escaped(form.get(field, ""))}"{_INPUTS.get(coding.kind, "")}></label>'
            f'<datalist id="known{i}">{options}</datalist>'
        )
    return Template((files("sk_han.serving") / "page.html").read_text("utf-8")).substitute(
        styles=stylesheet(),
        name=escaped(model.text_column or "Text"),
        text=escaped(form.get("text", "")),
        columns="".join(inputs)
        + '<p class="han-small">Leave blank what is missing.</p>' * bool(inputs),
        result=markup(blocks),
    )


def _field(column: str) -> str:
    """Return the name of a column's field in the form."""
    return in_one_line(f"column {column}")


def _stamp(path: str) -> tuple[int, ...] | None:
    """Return what changes when a file is replaced; None while there is no file."""
    with suppress(OSError):
        found = os.stat(path)
        return found.st_ino, found.st_size, found.st_mtime_ns
    return None
