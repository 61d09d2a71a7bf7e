"""What the service of examples/serve stands: rate, latency, memory and errors.

``python benchmarks/serving_load.py`` starts it with uvicorn in a process without PyTorch and sends
it reviews as raw text, one in a request. First 1, 8 and 32 clients ask again as soon as they are
answered; then requests arrive at random moments (a Poisson process), half as many a second as 32
clients were given, and latency counts from the moment of arrival. An answer is an error if its
status is not 200, if its probabilities are not those of a `Scorer` here, or if the connection
breaks; with one error the exit code is 1. The clients take a share of the same cores.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, sleep
from typing import Any, NamedTuple

import numpy as np
from results import add_save, publish
from served import HIDDEN, add_arguments, reviews, saved_model

from sk_han.serving import Scorer

CLIENTS = {1: 10, 8: 2, 32: 1}  # each with the divisor of its number of requests
FOLDER = Path(__file__).parents[1] / "examples" / "serve"
SERVE = HIDDEN + "from uvicorn.main import main\nmain({arguments})"
MOST_IDLE = 3  # seconds; uvicorn closes a connection that was idle for 5, as all servers do
TOLERANCE = 1e-5  # of the order of the sums in single precision


class Question(NamedTuple):
    """A request as bytes, and the probabilities that are its answer."""

    request: bytes
    probabilities: list[float]


class Connection:
    """An HTTP/1.1 connection that is kept; it reads no more of the protocol than it needs."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._used = 0.0

    async def ask(self, question: Question) -> bool:
        """Say whether the answer is right."""
        if perf_counter() - self._used > MOST_IDLE:
            await self.close()
        try:
            if self._streams is None:
                self._streams = await asyncio.open_connection("127.0.0.1", self._port)
            reader, writer = self._streams
            writer.write(question.request)
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
            body = await reader.readexactly(length)
            self._used = perf_counter()
            if b" 200 " not in head.split(b"\r\n")[0]:
                return False
            (found,) = json.loads(body)["probabilities"]
            return bool(np.allclose(found, question.probabilities, rtol=0, atol=TOLERANCE))
        except (OSError, EOFError, ValueError, LookupError):
            await self.close()
            return False

    async def close(self) -> None:
        """Leave it."""
        if self._streams is not None:
            (_, writer), self._streams = self._streams, None
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


class Answers(NamedTuple):
    """What came back."""

    seconds: float
    latencies: list[float]
    n_errors: int

    @property
    def rate(self) -> float:
        """Requests a second."""
        return len(self.latencies) / self.seconds

    def row(self) -> dict[str, Any]:
        """Give the cells of the table."""
        p50, p99 = 1000 * np.quantile(self.latencies, [0.5, 0.99])
        return {
            "requests": len(self.latencies),
            "a second": round(self.rate),
            "p50 ms": round(p50, 1),
            "p99 ms": round(p99, 1),
            "errors": self.n_errors,
        }


def question(text: str, probabilities: list[float]) -> Question:
    body = json.dumps({"documents": [text]}).encode()
    head = (
        "POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return Question(head.encode() + body, probabilities)


async def clients(port: int, questions: list[Question], n_clients: int, n: int) -> Answers:
    """Let some clients ask, each as soon as it is answered."""
    numbers, latencies, right = iter(range(n)), [], []

    async def client() -> None:
        connection = Connection(port)
        for number in numbers:
            start = perf_counter()
            right.append(await connection.ask(questions[number % len(questions)]))
            latencies.append(perf_counter() - start)
        await connection.close()

    start = perf_counter()
    await asyncio.gather(*(client() for _ in range(n_clients)))
    return Answers(perf_counter() - start, latencies, right.count(False))


async def arrivals(port: int, questions: list[Question], rate: float, n: int) -> Answers:
    """Ask at random moments, so many times a second on average."""
    rng, free, latencies, right = random.Random(0), [], [], []

    async def one(number: int, arrival: float) -> None:
        connection = free.pop() if free else Connection(port)
        right.append(await connection.ask(questions[number % len(questions)]))
        latencies.append(perf_counter() - arrival)
        free.append(connection)

    start = arrival = perf_counter()
    tasks = []
    for number in range(n):
        arrival += rng.expovariate(rate)
        await asyncio.sleep(arrival - perf_counter())
        tasks.append(asyncio.create_task(one(number, arrival)))
    await asyncio.gather(*tasks)
    seconds = perf_counter() - start
    for connection in free:
        await connection.close()
    return Answers(seconds, latencies, right.count(False))


@contextmanager
def serving(model: Path, environment: dict[str, str]) -> Iterator[tuple[subprocess.Popen, int]]:
    """Start the service, and wait until it answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]  # free, and not taken by another in the next moment
    # With --fd uvicorn would not know that the socket is one of TCP, and Nagle's algorithm would
    # hold each answer for 40 ms.
    arguments = ["--factory", "app:create_app", "--app-dir", str(FOLDER), "--port", str(port)]
    arguments += ["--no-access-log", "--log-level", "warning"]
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE.format(arguments=arguments)],
        env=os.environ | {"SK_HAN_MODEL": str(model), "OPENBLAS_NUM_THREADS": "1"} | environment,
    )
    try:
        while not answers(port):
            if process.poll() is not None:
                sys.exit("The service did not start.")
            sleep(0.05)
        yield process, port
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def answers(port: int) -> bool:
    """Say whether somebody listens."""
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return False
    return True


def resident(process: subprocess.Popen) -> float:
    """Give the resident megabytes of another process (Linux)."""
    status = Path(f"/proc/{process.pid}/status").read_text("ascii")
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def measured(
    model: Path, texts: list[str], n_requests: int, environment: dict[str, str]
) -> Iterator[tuple[str, Answers, float]]:
    """Yield what was measured, what came back, and the memory of the server then."""
    probabilities = Scorer.load(model).predict_proba(texts).tolist()
    questions = [question(*pair) for pair in zip(texts, probabilities, strict=True)]
    with serving(model, environment) as (process, port):
        asyncio.run(clients(port, questions, 8, min(200, n_requests)))  # warms up
        for n_clients, divisor in CLIENTS.items():
            n = max(n_clients, n_requests // divisor)
            answers = asyncio.run(clients(port, questions, n_clients, n))
            yield f"{n_clients} client{'s'[: n_clients > 1]}", answers, resident(process)
        rate = answers.rate / 2
        answers = asyncio.run(arrivals(port, questions, rate, max(1, n_requests // 4)))
        yield "half of that load", answers, resident(process)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_arguments(parser)
    parser.add_argument("--requests", type=int, default=20_000, help="of 32 clients")
    parser.add_argument("--threads", type=int, help="of the server; its cores by default")
    parser.add_argument("--engine", choices=("auto", "numba", "torch"), default="auto")
    add_save(parser)
    arguments = parser.parse_args()
    environment = {"SK_HAN_ENGINE": arguments.engine}
    if arguments.threads:
        environment["SK_HAN_THREADS"] = str(arguments.threads)
    n_errors = 0
    with TemporaryDirectory() as folder:
        found = reviews(arguments)
        model, texts = saved_model(arguments, found, Path(folder)), found.sent
        print(f"{found.what}; {np.mean([len(text) for text in texts]):.0f} characters each")
        rows = []
        for name, answers, megabytes in measured(model, texts, arguments.requests, environment):
            rows.append({"": name, **answers.row(), "MB": round(megabytes)})
            n_errors += answers.n_errors
    publish("serving_load", rows, arguments.save)
    if n_errors:
        sys.exit(f"{n_errors} of the answers were errors.")


if __name__ == "__main__":
    main()
