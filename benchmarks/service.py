"""A running `sk-han serve`: requests a second, memory after long texts, answers under load.

``python benchmarks/service.py`` fits small models to `make_reviews`, and starts ``sk-han serve`` in
a process of its own. By default concurrent clients send single reviews to ``/predict`` and
``/explain``; a client keeps its connection where the server does. ``--memory`` explains texts of
100,000 characters and reads the resident memory (Linux). ``--load`` checks every answer to many
clients while others send slowly and two models replace each other in the file.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from itertools import cycle
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import Event
from time import perf_counter, sleep
from typing import Any

import numpy as np
from results import add_save, publish

from sk_han import HANClassifier, save
from sk_han.datasets import make_reviews
from sk_han.serving import Scorer

N_REQUESTS, N_CLIENTS, N_SLOW, N_SWAPS = 5_000, 200, 127, 42  # of --load
N_LONG, SECONDS_LATER = 16, 60  # of --memory


@contextmanager
def running_service(path: Path) -> Iterator[tuple[str, int]]:
    """Start `sk-han serve`, and yield its host and port, and the number of its process."""
    arguments = [sys.executable, "-m", "sk_han", "serve", str(path), "--port", "0"]
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            yield line.partition("http://")[2].partition("/")[0], process.pid
        finally:
            process.terminate()


def answered(connection: HTTPConnection, path: str, text: str) -> tuple[int, bytes]:
    """Send one text, and return the status and the body of the answer."""
    body = json.dumps({"texts": [text]})
    connection.request("POST", path, body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    return response.status, response.read()


def client_latencies(address: str, path: str, texts: list[str], seconds: float) -> list[float]:
    """Send one review after another for a time, and return the seconds of each request."""
    connection = HTTPConnection(address, timeout=60)
    latencies, end = [], perf_counter() + seconds
    for text in cycle(texts):
        start = perf_counter()
        if start > end:
            break
        assert answered(connection, path, text)[0] == 200
        latencies.append(perf_counter() - start)
    connection.close()
    return latencies


def measured(address: str, path: str, n_clients: int, seconds: float, rounds: int) -> list[Any]:
    """Return requests a second, the median of rounds, and the latencies of all requests."""
    texts = make_reviews(200, random_state=1)[0]
    rates, latencies = [], list[float]()
    with ThreadPoolExecutor(n_clients) as clients:
        for number in range(rounds + 1):
            duration = seconds if number else 1.0  # the first round warms up
            jobs = [
                clients.submit(client_latencies, address, path, texts[i::n_clients], duration)
                for i in range(n_clients)
            ]
            results = [latency for job in jobs for latency in job.result()]
            if number:
                rates.append(len(results) / duration)
                latencies += results
    return [median(rates), latencies]


def rates(path: Path, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    rows = []
    with running_service(path) as (address, _):
        for route in ("/predict", "/explain"):
            rate, latencies = measured(
                address, route, arguments.clients, arguments.seconds, arguments.rounds
            )
            rows.append(
                {
                    "request": f"POST {route}, one review",
                    "clients": arguments.clients,
                    "requests/s": round(rate),
                    "median ms": round(1000 * np.median(latencies), 1),
                    "95 % ms": round(1000 * np.quantile(latencies, 0.95), 1),
                }
            )
    return rows


def resident_megabytes(process: int) -> int:
    pages = int(Path(f"/proc/{process}/statm").read_text("ascii").split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6)


def memory(path: Path, n_clients: int) -> list[dict[str, Any]]:
    text = " ".join(make_reviews(2_000, random_state=2)[0])[:100_000]
    with running_service(path) as (address, process), ThreadPoolExecutor(n_clients) as clients:

        def explain(text: str) -> tuple[int, bytes]:
            connection = HTTPConnection(address, timeout=300)
            try:
                return answered(connection, "/explain", text)
            finally:
                connection.close()

        for _ in range(20):
            explain("A good day.")
        before = resident_megabytes(process)
        answers = list(clients.map(explain, N_LONG * [text]))
        after = resident_megabytes(process)
        sleep(SECONDS_LATER)
        return [
            {
                "request": f"POST /explain, {len(text):,} characters",
                "requests": len(answers),
                "answered": sum(status == 200 for status, _ in answers),
                "MB of an answer": round(len(answers[0][1]) / 1e6, 1),
                "MB at the start": before,
                "after the last": after,
                f"{SECONDS_LATER} s later": resident_megabytes(process),
            }
        ]


def send_slowly(address: str, number: int, ended: Event) -> None:
    """Send a header or a body byte by byte, over a new connection where the server ends one."""
    host, _, port = address.partition(":")
    head = "POST /predict HTTP/1.1\r\nHost: localhost\r\n"
    head += ("X-Slow: ", "Content-Length: 9999\r\n\r\n{")[number % 2]
    while not ended.is_set():
        with suppress(OSError), socket.create_connection((host, int(port))) as connection:
            connection.sendall(head.encode())
            while not ended.wait(0.5):
                connection.sendall(b"a")


def load(path: Path, other: Path) -> list[dict[str, Any]]:
    texts = make_reviews(200, random_state=1)[0]
    expected = [Scorer.load(each).predict_proba(texts) for each in (path, other)]
    assert np.abs(expected[0] - expected[1]).max(axis=1).min() > 1e-4  # the models differ
    served, spare = path.with_name("served.han"), path.with_name("spare.han")
    shutil.copy(path, served)
    outcomes, ended = list[str](), Event()

    def client(number: int) -> None:
        connection = HTTPConnection(address, timeout=60)
        for i in range(number, N_REQUESTS, N_CLIENTS):
            try:
                status, body = answered(connection, "/predict", texts[i % len(texts)])
            except (OSError, HTTPException):
                connection.close()
                outcomes.append("without an answer")
                continue
            if status != 200:
                outcomes.append("busy" if status == 503 else "wrong")
                continue
            p = np.array(json.loads(body)["probabilities"])
            is_right = any(np.allclose(p, each[i % len(texts)], atol=1e-5) for each in expected)
            outcomes.append("right" if is_right else "wrong")
        connection.close()

    with running_service(served) as (address, _), ThreadPoolExecutor(N_CLIENTS + N_SLOW) as pool:
        for number in range(N_SLOW):
            pool.submit(send_slowly, address, number, ended)
        sleep(1)
        start = perf_counter()
        jobs = [pool.submit(client, number) for number in range(N_CLIENTS)]
        for number in range(1, N_SWAPS + 1):
            while len(outcomes) < number * N_REQUESTS / (N_SWAPS + 1):
                sleep(0.01)
            shutil.copy((path, other)[number % 2], spare)
            os.replace(spare, served)
        for job in jobs:
            job.result()
        seconds = perf_counter() - start
        ended.set()
    counts = Counter(outcomes)
    return [
        {
            "requests": N_REQUESTS,
            "clients": N_CLIENTS,
            "slow clients": N_SLOW,
            "models replaced": N_SWAPS,
            **{kind: counts[kind] for kind in ("right", "wrong", "busy", "without an answer")},
            "seconds": round(seconds),
        }
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=3.0, help="of a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory", action="store_true", help="after long texts")
    parser.add_argument("--load", action="store_true", help="check every answer under load")
    add_save(parser)
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        path, other = Path(folder) / "model.han", Path(folder) / "other.han"
        for seed, file in enumerate((path, other)):
            texts, labels = make_reviews(500, random_state=seed)
            model = HANClassifier(random_state=seed, max_epochs=1, device="cpu")
            save(model.fit(texts, labels), file)
        if arguments.memory:
            publish("service_memory", memory(path, arguments.clients), arguments.save)
        elif arguments.load:
            publish("service_load", load(path, other), arguments.save)
        else:
            publish("service", rates(path, arguments), arguments.save)


if __name__ == "__main__":
    main()
