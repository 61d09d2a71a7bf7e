"""A saved model as a web service with a page: a FastAPI app, and uvicorn to serve it."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from importlib.resources import files
from string import Template
from typing import Annotated, Any, NamedTuple
from urllib.parse import parse_qsl

import numpy as np
import uvicorn
from fastapi import APIRouter, Depends, FastAPI, Request, Response
from joblib import cpu_count
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect
from uvicorn.protocols.http.h11_impl import H11Protocol

import sk_han
from sk_han._parts.columns import Coding
from sk_han._rendering.blocks import Block, Heading, Sentence, Span, amount, percent
from sk_han._rendering.colors import stylesheet
from sk_han._rendering.html import escape_text, markup
from sk_han._rendering.result import plain
from sk_han._rendering.shading import document_blocks, label_spans, legend
from sk_han._utils.containers import listed
from sk_han._utils.messages import in_one_line, shorten
from sk_han._utils.progress import tell
from sk_han._validation.cells import read_column
from sk_han._validation.labels import ClassNames
from sk_han.inspection._contributions import METHODS
from sk_han.serving._scorer import Scorer, check_threshold, default_coverage, reaches_threshold

# Limits of a request: bytes of its body, documents, and characters of documents to explain, for
# each of which the answer has up to 400 bytes.
MAX_BODY = 2**20
MAX_DOCUMENTS = 100
MAX_EXPLAINED = 100_000
# Limits of the service: connections, and bytes of answers that slow clients have yet to receive.
MAX_CONNECTIONS = 512
MAX_UNSENT = 2**28
# Seconds from the first byte of a request to the last byte of its answer, and for a free slot.
DEADLINE = 30.0
SECONDS_WAITING = 10.0

_JSON = "application/json"
# Bytes of an answer that are handed to the connection at once.
_CHUNK = 2**16
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}
# Options of requests that make no sense for a model of numbers.
_CLASS_OPTIONS = {"against", "classes", "priors", "target", "targets", "threshold"}
_INPUTS = {"date": ' type="date"', "number": ' type="number" step="any"'}  # by kind
_UNSENT: list[_Answer] = []  # the oldest first
_ROUTER = APIRouter()


class _Model(NamedTuple):
    """A loaded model; without columns, it has neither a text column nor codings of columns."""

    scorer: Scorer
    coverage: float | None  # of the intervals of numbers, if the model has any
    text_columns: tuple[str, ...]
    codings: Mapping[str, Coding]
    is_choice: bool  # whether a document may have columns that are not read

    def document(self, text: str, values: Mapping[str, Any]) -> Any:
        """Return a document in the form that the model reads."""
        return {self.text_columns[-1]: text, **values} if self.text_columns else text

    @property
    def fields(self) -> list[str]:
        """The columns that a page asks for next to the text: those of titles, then the others."""
        return [*self.text_columns[:-1], *self.codings]


class _Source:
    """The model to serve: a Scorer, or a file that is loaded again whenever it is replaced."""

    def __init__(
        self,
        model: Scorer | str | os.PathLike[str],
        threshold: float | None,
        coverage: float | None,
        encoder: Any,
    ) -> None:
        self.path = None if isinstance(model, Scorer) else os.fspath(model)
        self.threshold, self._coverage, self._encoder = threshold, coverage, encoder
        self._stamp = self._stamp_of_file()
        self._loading = threading.Lock()
        self._model = self._prepare(
            model if isinstance(model, Scorer) else Scorer.load(model, encoder=encoder)
        )

    def model(self) -> _Model:
        """Return the model; while one request loads a new file, others get the earlier model."""
        stamp = self._stamp_of_file()
        if stamp in (None, self._stamp) or not self._loading.acquire(blocking=False):
            return self._model
        try:
            self._stamp = stamp
            self._model = self._prepare(Scorer.load(str(self.path), encoder=self._encoder))
            tell(f"{self.path} was replaced, and the new model is served.")
        # Whatever is wrong with the new file, even a MemoryError, the earlier model still answers.
        except Exception as error:
            tell(f"{self.path} was replaced, and the earlier model is served: {error!r}")
        finally:
            self._loading.release()
        return self._model

    def _stamp_of_file(self) -> tuple[int, ...] | None:
        """Return numbers that change when the file is replaced, or None while there is no file."""
        with suppress(OSError):
            status = None if self.path is None else os.stat(self.path)
            return status and (status.st_ino, status.st_size, status.st_mtime_ns)
        return None

    def _prepare(self, scorer: Scorer) -> _Model:
        if self.threshold is not None:
            check_threshold(self.threshold, scorer.target)
        part, coverage = scorer.model_.pool.columns, default_coverage(scorer.model_, self._coverage)
        model = _Model(scorer, coverage, *(((), {}, False) if part is None else part.encoder))
        # The first call compiles kernels, or loads them from a cache, before a client waits for it.
        scorer.explain([model.document("A good day.", dict.fromkeys(model.fields))])
        return model


def create_app(
    model: Scorer | str | os.PathLike[str],
    threshold: float | None = None,
    *,
    coverage: float | None = None,
    encoder: Any = None,
    dependencies: Any = (),
) -> FastAPI:
    """Create a FastAPI app that predicts and explains; it can be mounted in another app.

    ``/`` is a page with a form, ``/predict`` and ``/explain`` take JSON, ``/health`` and
    ``/openapi.json`` describe the model. An error is ``{"error": message}``, whose message does not
    quote the request.

    Parameters
    ----------
    model : Scorer, str or path-like
        A loaded model, or a file of `sk_han.save`, which is loaded again when it is replaced.
    threshold : float, default=None
        A document is accepted if its largest probability is at least this.
    coverage : float, default=None
        For a model of numbers, the share of intervals that hold the true number. None is 0.9, or
        no intervals if the fit held out too few documents for them.
    encoder : object or str, default=None
        The sentence encoder of a model in a file, as for `sk_han.load`. Only one request at a time
        calls it.
    dependencies : sequence of fastapi.Depends, default=()
        Called before each request is answered, for example to check a key. FastAPI does not call
        the dependencies of the app in which this one is mounted.

    Returns
    -------
    fastapi.FastAPI

    Raises
    ------
    ValueError
        If a `Scorer` cannot load the file, if the threshold is not a probability or the model does
        not predict one label per document, or if the model has no intervals of this coverage.
    OSError
        If the file cannot be read.

    Notes
    -----
    A request has at most 1 MiB and 100 documents, and at most 100,000 characters to explain. For
    each processor, one short and one long request are computed at the same time. Answers that wait
    for slow clients take at most 256 MiB. `sk-han serve` also limits connections and the time of a
    request, and checks the header Host. An app that you serve yourself needs a server that sets
    such limits, and Starlette's ``TrustedHostMiddleware`` with the names by which it is reached.

    Examples
    --------
    >>> import os, tempfile
    >>> import sk_han
    >>> from fastapi import FastAPI
    >>> from sk_han.datasets import make_reviews
    >>> from sk_han.serving import Scorer, create_app
    >>> texts, labels = make_reviews(40, random_state=0)
    >>> classifier = sk_han.HANClassifier(embedding_dim=8, max_epochs=1, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "reviews.han")
    ...     sk_han.save(classifier.fit(texts, labels), path)
    ...     scorer = Scorer.load(path)
    >>> app = FastAPI()
    >>> app.mount("/reviews", create_app(scorer, threshold=0.8))
    >>> app.routes[-1].path
    '/reviews'

    ``uvicorn module:app`` then answers ``POST /reviews/predict``.
    """
    app = FastAPI(openapi_url=None, redirect_slashes=False, dependencies=dependencies)
    app.state.source = _Source(model, threshold, coverage, encoder)
    # Separate slots keep short requests from waiting for long ones. joblib's count, unlike that of
    # os, respects the limits of a container.
    app.state.slots = [asyncio.Semaphore(cpu_count()) for _ in range(2)]
    app.include_router(_ROUTER)
    app.add_exception_handler(HTTPException, _error_response)
    return app


class _Answer(Response):
    """A page, or an object as JSON, which is sent as fast as the client receives it.

    If the unsent answers exceed `MAX_UNSENT` bytes together, the oldest ones are dropped and their
    connections closed.
    """

    def __init__(self, data: Any, status: int = 200, headers: Any = None) -> None:
        text, kind = (data, "text/html") if isinstance(data, str) else (json.dumps(data), _JSON)
        super().__init__(text, status, {**_HEADERS, **(headers or {})}, kind)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        start = {"type": "http.response.start", "status": self.status_code}
        await send(start | {"headers": self.raw_headers})
        _UNSENT.append(self)
        try:
            while sum(len(answer.body) for answer in [*_UNSENT]) > MAX_UNSENT:
                next(answer for answer in [*_UNSENT] if answer.body).body = b""
            begin = 0
            while begin < len(self.body):
                part, begin = bytes(self.body[begin : begin + _CHUNK]), begin + _CHUNK
                more = {"more_body": begin < len(self.body)}
                await send({"type": "http.response.body", "body": part} | more)
        # The service is shutting down.
        except asyncio.CancelledError:
            return
        finally:
            _UNSENT.remove(self)


def _error_response(request: Request, error: Any) -> Response:
    messages = {404: "Send to '/', '/predict', '/explain', '/health' or '/openapi.json'."}
    messages[405] = f"Send {(error.headers or {}).get('Allow')} to this path."
    message = messages.get(error.status_code, error.detail)
    return _Answer({"error": message}, error.status_code, error.headers)


async def _body(request: Request) -> AsyncIterator[bytes]:
    """Read the body of a request, and hold a slot until the answer is computed."""
    body = bytearray()
    try:
        async for part in request.stream():
            body += part
            if len(body) > MAX_BODY:
                raise HTTPException(413, f"Send at most {MAX_BODY:,} bytes at once.")
        # The time of a request grows with its length, and explaining takes many times as long.
        cost = len(body) * (1 if request.url.path.endswith("/predict") else 16)
        slots = request.app.state.slots[cost > 2**16]
        await asyncio.wait_for(slots.acquire(), SECONDS_WAITING)
        try:
            yield bytes(body)
        finally:
            slots.release()
            if len(body) > 2**14 and sys.platform == "linux":
                # glibc would keep the megabytes that computing a large answer took.
                getattr(ctypes.CDLL(None), "malloc_trim", id)(0)
    except ClientDisconnect as error:
        raise HTTPException(400, "The body was not sent whole.") from error
    # No slot became free in time, or the service is shutting down.
    except (TimeoutError, asyncio.CancelledError) as error:
        raise HTTPException(503, "Busy: try again in a second.", {"Retry-After": "1"}) from error


_Body = Annotated[bytes, Depends(_body, scope="function")]


@_ROUTER.api_route("/health", methods=["GET", "HEAD"])
def _health(request: Request) -> Response:
    model: _Model = request.app.state.source.model()
    facts = {"status": "ok", "columns": [*model.text_columns, *model.codings]}
    if model.scorer.target.is_number:
        return _Answer(facts | {"coverage": model.coverage})
    return _Answer(facts | {"classes": plain(model.scorer.classes_)})


@_ROUTER.api_route("/openapi.json", methods=["GET", "HEAD"])
def _schema(request: Request) -> Response:
    """Describe the service in OpenAPI's format, built by hand, since its fields are the columns."""
    model: _Model = request.app.state.source.model()
    name, item = "texts", dict[str, Any](type="string")
    if model.text_columns:
        types = ["string", "number", "boolean", "null"]
        columns = {k: {"type": types, "description": c.kind} for k, c in model.codings.items()}
        is_one = len(model.text_columns) == 1  # of several, each may be missing
        item = item if is_one else {"type": ["string", "null"]}
        columns = dict.fromkeys(model.text_columns, item) | columns
        required = model.text_columns[0] if is_one else None
        name, item = "documents", _object(columns, required, model.is_choice)
    array = {"type": "array", "items": item, "minItems": 1, "maxItems": MAX_DOCUMENTS}
    options: dict[str, Any] = {"method": {"enum": [*METHODS]}}
    paths: dict[str, Any] = {}
    if not model.scorer.target.is_number:
        options["target"] = {"enum": plain(model.scorer.classes_)}
    for path, properties in (("/predict", {name: array}), ("/explain", {name: array} | options)):
        body = {"content": {_JSON: {"schema": _object(properties, name)}}, "required": True}
        paths[path] = {"post": {"requestBody": body}}
    if model.scorer.target.is_number:
        numbers = {"type": "array", "items": {"type": "number"}}
        intervals = {"type": ["array", "null"], "items": numbers | {"minItems": 2, "maxItems": 2}}
        optional = {"type": ["array", "null"], "items": {"type": "number"}}
        answers = {"numbers": numbers, "intervals": intervals, "novelty_p_values": optional}
        schema = _object(answers, "numbers", is_open=True)
        answer = {"description": "OK", "content": {_JSON: {"schema": schema}}}
        paths["/predict"]["post"]["responses"] = {"200": answer}
    info = {"title": "sk-han", "version": sk_han.__version__}
    return _Answer({"openapi": "3.1.0", "info": info, "paths": paths})


def _object(
    properties: dict[str, Any], required: str | None, is_open: bool = False
) -> dict[str, Any]:
    facts = {"type": "object", "additionalProperties": is_open, "properties": properties}
    return facts if required is None else facts | {"required": [required]}


@_ROUTER.post("/predict")
def _predict(request: Request, body: _Body) -> Response:
    source: _Source = request.app.state.source
    model = source.model()
    X, _ = _parse(request, body, model)
    documents = _call(model, model.scorer.model_.read, X)
    fitted, target = model.scorer.model_, model.scorer.target
    z, blank = fitted.logits(documents), documents.words_per_document == 0
    p = target.probabilities(z)
    decided, novelty = target.decide_by_proba(p), None
    if fitted.novelty is not None:
        novelty = fitted.novelty_p_values(documents, z).tolist()
    if target.is_number:
        answer = {"numbers": decided.tolist(), "intervals": None, "coverage": model.coverage}
        if model.coverage is not None:
            answer["intervals"] = fitted.interval_ends(p, model.coverage).tolist()
        return _Answer(answer | {"blank": blank.tolist(), "novelty_p_values": novelty})
    classes = plain(model.scorer.classes_)
    if target.has_one_label:
        labels = [classes[i] for i in decided]
    else:
        labels = [[classes[i] for i in row.nonzero()[0]] for row in decided]
    answer = {"classes": classes, "labels": labels, "probabilities": p.tolist()}
    answer |= {"blank": blank.tolist(), "novelty_p_values": novelty}
    if source.threshold is not None:
        answer["accepted"] = reaches_threshold(documents, p, source.threshold).tolist()
    return _Answer(answer)


@_ROUTER.post("/explain")
def _explain(request: Request, body: _Body) -> Response:
    model: _Model = request.app.state.source.model()
    is_number, classes = model.scorer.target.is_number, plain(model.scorer.classes_)
    names = ["method"] if is_number else ["target", "method"]
    documents, options = _parse(request, body, model, *names)
    for name, choices in (("target", classes), ("method", METHODS)):
        if name in options and ClassNames([*choices]).number(options[name]) is None:
            raise HTTPException(400, f"Send one of {listed(choices)} as {name!r}.")
    explanations = _explain_short(model, documents, **options)
    unit = {"unit": "number"} if is_number and explanations[0].signed else {}
    return _Answer({"explanations": [item.to_dict() for item in explanations]} | unit)


def _parse(request: Request, body: bytes, model: _Model, *options: str) -> tuple[Any, Any]:
    """Parse and check the body of a request; return its documents and its options."""
    # A browser lets the page of another site send other types, but not this one.
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _JSON:
        raise HTTPException(415, f"Send Content-Type: {_JSON}.")
    name, kind = ("documents", dict) if model.text_columns else ("texts", str)
    try:
        sent = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, "Send JSON; the body is not.") from error
    refused = sorted(sent.keys() & _CLASS_OPTIONS) if isinstance(sent, dict) else []
    if refused and model.scorer.target.is_number:
        raise HTTPException(400, f"Leave {listed(refused)} out: this model predicts a number.")
    if not isinstance(sent, dict) or not {name} <= sent.keys() <= {name, *options}:
        also = f" and perhaps {listed(options)}" * bool(options)
        raise HTTPException(400, f"Send an object with {name!r}{also}, and nothing else.")
    X = sent.pop(name)
    if not isinstance(X, list) or {*map(type, X)} != {kind} or len(X) > MAX_DOCUMENTS:
        items = "strings" if kind is str else "objects, with a value for each column"
        raise HTTPException(400, f"Send {name!r} as a list of 1 to {MAX_DOCUMENTS} {items}.")
    return X, sent


def _explain_short(model: _Model, documents: list[Any], **options: Any) -> Any:
    """Explain documents, unless they are too long together."""
    n = sum(len(str(document)) for document in documents)
    if n > MAX_EXPLAINED:
        raise HTTPException(413, f"Send at most {MAX_EXPLAINED:,} characters; got {n:,}.")
    return _call(model, model.scorer.explain, documents, **options)


def _call(model: _Model, function: Callable[..., Any], X: list[Any], **options: Any) -> Any:
    """Call a function of the Scorer, and replace its errors, which quote values of the request."""
    try:
        return function(X, **options)
    except (TypeError, ValueError) as error:
        if not model.text_columns:
            raise
        raise HTTPException(400, shorten(_fault(model, X), 500)) from error


def _fault(model: _Model, documents: list[dict[str, Any]]) -> str:
    for i, document in enumerate(documents):
        for name, coding in model.codings.items():
            try:
                read_column([document.get(name)], name, coding.kind)
            except (TypeError, ValueError):
                return f"Column {name!r} of document {i} is not of the kind {coding.kind!r}."
    columns = listed([*model.text_columns, *model.codings], 20)
    return f"Send a string as {listed(model.text_columns)}, and no columns but {columns}."


@_ROUTER.api_route("/", methods=["GET", "HEAD", "POST"])
def _page(request: Request, body: _Body) -> Response:
    """Answer with the page and, after a form was sent, with the explanation of its document."""
    # Forms of other sites are refused: browsers mark them cross-site or same-site. A GET may follow
    # a link from another site.
    if request.method == "POST" and request.headers.get("sec-fetch-site", "").endswith("-site"):
        raise HTTPException(403, "Send the form of this page; another site sent one.")
    source: _Source = request.app.state.source
    fields = parse_qsl(body.decode(errors="replace"), keep_blank_values=True)
    form = {name: value.replace("\r\n", "\n") for name, value in fields}
    model, status = source.model(), 200
    try:
        blocks = _result(model, form, source.threshold) if request.method == "POST" else []
    except HTTPException as error:
        blocks, status = [Sentence(error.detail, "han-note")], error.status_code
    return _Answer(_page_html(model, form, blocks), status)


def _result(model: _Model, form: Mapping[str, str], threshold: float | None) -> list[Block]:
    """Return the prediction and explanation of the document in a form."""
    text = form.get("text", "")
    if not text.strip():
        raise HTTPException(400, "The text is blank. Paste one with words.")
    values = {name: form.get(in_one_line(f"column {name}")) for name in model.fields}
    (explanation,) = _explain_short(model, [model.document(text, values)])
    is_class = explanation.labels is None and not explanation.is_number
    sure = f", {percent(explanation.predicted_probability)}" if is_class else ""
    if (coverage := model.coverage) is not None:
        p = explanation.probabilities[np.newaxis]
        low, high = map(amount, model.scorer.model_.interval_ends(p, coverage)[0])
        sure = f", {percent(coverage)} interval {low} to {high}"
    answer = label_spans(explanation.answer, explanation)
    blocks: list[Block] = [Heading(["Predicted ", *answer, sure])]
    if threshold is not None:
        is_accepted = bool(explanation.words) and explanation.probabilities.max() >= threshold
        relation = "Accepted: at least" if is_accepted else "Hand over to a person: below"
        decision = Span(f"{relation} the threshold of {threshold:g}.", "strong")
        blocks.append(Sentence([decision], "han-lead"))
    blocks += legend([explanation])
    return [*blocks, *document_blocks([explanation])]


def _page_html(model: _Model, form: Mapping[str, str], blocks: list[Block]) -> str:
    """Return the page, with the form as it was sent and the blocks below it."""
    inputs = []
    for i, name in enumerate(model.fields):
        coding, field = model.codings.get(name), in_one_line(f"column {name}")
        values = [] if coding is None else coding.offered[:200]
        kind = "" if coding is None else _INPUTS.get(coding.kind, "")
        options = "".join(f'<option value="{escape_text(value)}"></option>' for value in values)
        inputs.append(
            f'<label>{escape_text(name)} <input name="{escape_text(field)}" list="known{i}" '
            f'value="{escape_text(form.get(field, ""))}"{kind}></label>'
            f'<datalist id="known{i}">{options}</datalist>'
        )
    return Template((files("sk_han.serving") / "page.html").read_text("utf-8")).substitute(
        styles=stylesheet(),
        name=escape_text(model.text_columns[-1] if model.text_columns else "Text"),
        text=escape_text(form.get("text", "")),
        columns="".join(inputs),
        title="Predict a number" if model.scorer.target.is_number else "Classify a text",
        verb="Predict" if model.scorer.target.is_number else "Classify",
        result=markup(blocks),
    )


class _DeadlineProtocol(H11Protocol):
    """uvicorn's protocol, which closes a connection if a request is not answered in time.

    The deadline covers the headers, which an app sees only once they are complete, the body, and
    sending the answer. Between requests, uvicorn's shorter limit applies.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the deadline, and close the connection at once if there are too many."""
        super().connection_made(transport)
        self._deadline = self.loop.call_later(DEADLINE, transport.abort)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()

    def on_response_complete(self) -> None:
        """Restart the deadline for the next request, which may have arrived already."""
        self._deadline.cancel()
        self._deadline = self.loop.call_later(DEADLINE, self.transport.abort)
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the deadline."""
        self._deadline.cancel()
        super().connection_lost(exc)


class Service(uvicorn.Server):
    """A server for an app of `create_app`; `run` ends within 5 s of a signal.

    On a loopback address, or with `allowed_hosts`, the header Host of a request must name this
    machine or an allowed host, which prevents DNS rebinding.
    """

    def __init__(self, app: FastAPI, host: str, port: int, allowed_hosts: Sequence[str]) -> None:
        if not 0 <= port < 2**16:
            raise ValueError(f"Give a port from 0 to 65535; got {port}.")
        try:
            self.listener = socket.create_server((host, port), backlog=MAX_CONNECTIONS)
        except OSError as error:
            raise OSError(f"Give another host or port; got {host}:{port} ({error}).") from error
        # An answer is written in two parts, and Nagle's algorithm would delay the second one.
        # asyncio switches it off only for sockets that it creates.
        self.listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        address, port = self.listener.getsockname()[:2]
        self.url = f"http://{host}:{port}/"
        if allowed_hosts or address.startswith("127."):
            names = [*allowed_hosts, host, "localhost", "127.0.0.1"]
            app.add_middleware(TrustedHostMiddleware, allowed_hosts=names)
        options: dict[str, Any] = {"http": _DeadlineProtocol, "ws": "none", "log_config": None}
        options |= {"log_level": "error", "access_log": False, "timeout_graceful_shutdown": 4}
        # With this threshold (M_MMAP_THRESHOLD), glibc returns arrays above 128 KiB to the system.
        if sys.platform == "linux":
            getattr(ctypes.CDLL(None), "mallopt", max)(-3, 2**17)
        super().__init__(uvicorn.Config(app, **options))

    async def shutdown(self, sockets: Any = None) -> None:
        """Finish the requests in progress; answer those that take over 3 s that it is busy."""
        # uvicorn cancels tasks after 4 s, and does not wait for their answers then.
        loop, tasks = asyncio.get_running_loop(), self.server_state.tasks
        loop.call_later(3, lambda: [task.cancel() for task in tasks])
        await super().shutdown(sockets)
