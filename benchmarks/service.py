"""Requests a second that `sk-han serve` answers to concurrent clients.

``python benchmarks/service.py`` fits a small model to `make_reviews`, starts ``sk-han serve`` in a
process of its own, and sends single reviews to ``/predict`` and ``/explain`` from threads. A client
keeps its connection where the server does.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from itertools import cycle
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
from results import add_save, publish

from sk_han import HANClassifier, save
from sk_han.datasets import make_reviews


@contextmanager
def running_service(path: Path) -> Iterator[str]:
    """Start `sk-han serve`, and yield its host and port."""
    arguments = [sys.executable, "-m", "sk_han", "serve", str(path), "--port", "0"]
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            yield process.stderr.readline().partition("http://")[2].partition("/")[0]
        finally:
            process.terminate()


def client_latencies(address: str, path: str, texts: list[str], seconds: float) -> list[float]:
    """Send one review after another for a time, and return the seconds of each request."""
    connection = HTTPConnection(address, timeout=60)
    latencies, end = [], perf_counter() + seconds
    for text in cycle(texts):
        start = perf_counter()
        if start > end:
            break
        body = json.dumps({"texts": [text]})
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        response.read()
        assert response.status == 200
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=3.0, help="of a round")
    parser.add_argument("--rounds", type=int, default=3)
    add_save(parser)
    arguments = parser.parse_args()
    rows = []
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.han"
        texts, labels = make_reviews(500, random_state=0)
        save(HANClassifier(random_state=0, max_epochs=1, device="cpu").fit(texts, labels), path)
        with running_service(path) as address:
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
    publish("service", rows, arguments.save)


if __name__ == "__main__":
    main()
