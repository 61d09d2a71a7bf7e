"""A stored classifier as a web service, without PyTorch; SERVICE.md tells how to start it."""

from __future__ import annotations

import asyncio
import gc
import json
import os
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

from fastapi import FastAPI, HTTPException, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from sk_han.serving import Scorer


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class Settings:
    """What the environment says; the variable of `max_body` is SK_HAN_MAX_BODY, and so on."""

    model: str
    max_documents: int = 64  # of a request
    max_characters: int = 100_000  # of a document
    max_explained: int = 100_000  # characters of all documents; the answer is 400 times as long
    max_body: int = 2**20  # bytes
    threads: int = usable_cores()  # that compute
    waiting: int = 128  # requests, beyond those that are computed

    @classmethod
    def from_environment(cls) -> Settings:
        """Read the variables."""
        names = [field.name for field in fields(cls)]
        given = {name: os.environ.get(f"SK_HAN_{name.upper()}") for name in names}
        model = given.pop("model")
        if not model:
            raise SystemExit("Set SK_HAN_MODEL to the path of a file that sk_han.save wrote.")
        numbers = {}
        for name, text in given.items():
            if text is not None:
                least = 0 if name == "waiting" else 1
                if not (text.isascii() and text.isdigit() and int(text) >= least):
                    raise SystemExit(
                        f"SK_HAN_{name.upper()} must be a whole number of {least} or more; "
                        f"got {text!r}."
                    )
                numbers[name] = int(text)
        return cls(model, **numbers)


class ToPredict(BaseModel):
    """Documents to predict."""

    model_config = ConfigDict(extra="forbid")  # a field with a typo would be left out

    documents: Annotated[list[str], Field(min_length=1)]


class ToExplain(ToPredict):
    """Documents to explain.

    "random" is left out: it is a control for measurements.
    """

    target: str | int | float | None = None
    method: Literal["shapley", "gradient_attention", "attention"] = "shapley"


class BodyLimit:
    """ASGI middleware: a body with more bytes is refused before it is in memory."""

    def __init__(self, app: Any, max_body: int) -> None:
        self._app, self._max_body = app, max_body

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer, and count what is received."""
        n_read = 0

        async def counted() -> Any:
            nonlocal n_read
            message = await receive()
            n_read += len(message.get("body", b""))
            if n_read > self._max_body:
                raise too_large(f"The body has more than {self._max_body:,} bytes", "MAX_BODY")
            return message

        await self._app(scope, counted if scope["type"] == "http" else receive, send)


class Workers:
    """Threads that compute, and a bounded queue in front of them: the event loop stays free."""

    def __init__(self, n_threads: int, n_waiting: int) -> None:
        self._pool = ThreadPoolExecutor(n_threads, thread_name_prefix="scorer")
        self.n_taken, self._most = 0, n_threads + n_waiting

    async def run(self, function: Callable[[], Response]) -> Response:
        """Call the function in one of the threads."""
        if self.n_taken >= self._most:
            message = "The server is busy. Try again in a second."
            raise HTTPException(503, message, headers={"Retry-After": "1"})
        self.n_taken += 1
        future = asyncio.get_running_loop().run_in_executor(self._pool, function)
        # Of a client that went away the place is free when its documents are computed, not before.
        future.add_done_callback(self._free)
        return await asyncio.shield(future)

    def _free(self, future: asyncio.Future[Response]) -> None:
        self.n_taken -= 1
        if not future.cancelled():
            future.exception()  # else it would be logged as never retrieved

    def close(self) -> None:
        """Wait for those that compute."""
        self._pool.shutdown(cancel_futures=True)


def too_large(what: str, variable: str) -> HTTPException:
    """Make the error of what is over a limit."""
    return HTTPException(413, f"{what}. Send less at once; SK_HAN_{variable} is the limit.")


def create_app(settings: Settings | None = None) -> FastAPI:
    """Make the application; uvicorn calls it with ``--factory``."""
    settings = settings or Settings.from_environment()
    scorer = Scorer.load(settings.model)
    first = ["The first call compiles kernels, or reads them from a cache."]
    scorer.predict_proba(first)
    scorer.explain(first, method="attention")
    gc.collect()
    gc.freeze()  # a full collection of model and compiler would hold all requests for 0.2 s
    workers = Workers(settings.threads, settings.waiting)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        workers.close()

    app = FastAPI(title="sk_han", lifespan=lifespan)
    app.add_middleware(BodyLimit, max_body=settings.max_body)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        # FastAPI's own handler sends the documents back.
        found = [
            {"where": ".".join(map(str, each["loc"])), "what": each["msg"]}
            for each in error.errors()[:10]
        ]
        sent = request.headers.get("content-type", "")
        if "json" not in sent and any(each["where"] == "body" for each in found):
            what = f"Send Content-Type: application/json; got {sent[:60] or 'no such header'}"
            found = [{"where": "header.content-type", "what": what}]
        return JSONResponse({"detail": found}, status_code=422)

    def within_limits(documents: list[str]) -> list[str]:
        if len(documents) > settings.max_documents:
            raise too_large(
                f"{len(documents):,} documents; a request takes {settings.max_documents:,}",
                "MAX_DOCUMENTS",
            )
        for number, document in enumerate(documents):
            if len(document) > settings.max_characters:
                raise too_large(
                    f"Document {number} has {len(document):,} characters; a document takes "
                    f"{settings.max_characters:,}",
                    "MAX_CHARACTERS",
                )
            try:
                document.encode()
            except UnicodeEncodeError:
                message = f"Document {number} has half of a surrogate pair, which is no character."
                raise HTTPException(422, message) from None
        return documents

    @app.get("/health")
    async def health() -> Response:
        """Say that the model is loaded, what its classes are, and how much it has to do."""
        classes = [as_json(label) for label in scorer.classes_.tolist()]
        return written({"status": "ok", "classes": classes, "requests": workers.n_taken})

    @app.post("/predict")
    async def predict(body: ToPredict) -> Response:
        """Give label and probabilities of each document."""
        documents = within_limits(body.documents)

        def compute() -> Response:
            probabilities = scorer.predict_proba(documents)
            classes = [as_json(label) for label in scorer.classes_.tolist()]
            if scorer.target.has_one_label:
                labels = [classes[number] for number in probabilities.argmax(axis=1)]
            else:
                has = probabilities >= scorer.target.thresholds
                labels = [[classes[number] for number in row.nonzero()[0]] for row in has]
            return written(
                {
                    "classes": classes,
                    "labels": labels,
                    "probabilities": probabilities.tolist(),
                }
            )

        return await workers.run(compute)

    @app.post("/explain")
    async def explain(
        body: ToExplain, format: Annotated[Literal["json", "html"], Query()] = "json"
    ) -> Response:
        """Give the contribution of each word, as JSON or as a page."""
        documents = within_limits(body.documents)
        n_characters = sum(map(len, documents))
        if n_characters > settings.max_explained:
            raise too_large(
                f"{n_characters:,} characters to explain; a request takes "
                f"{settings.max_explained:,}",
                "MAX_EXPLAINED",
            )

        def compute() -> Response:
            try:
                found = scorer.explain(documents, target=body.target, method=body.method)
            except ValueError as error:  # a target or a method that this model does not have
                raise HTTPException(422, str(error)) from None
            if format == "html":
                return HTMLResponse(found.to_html())
            return written({"explanations": [each.to_dict() for each in found]})

        return await workers.run(compute)

    return app


def written(answer: dict[str, Any]) -> Response:
    """Write an answer as JSON, in the thread that computed it."""
    return Response(json.dumps(answer), media_type="application/json")


def as_json(label: Any) -> Any:
    """Return what JSON has for a label."""
    return label if isinstance(label, str | int | float | bool) else str(label)
