"""The load test of the service counts each wrong answer."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from serving_load import Answers, arrivals, clients, question

ASKED = question("A good day.", [0.25, 0.75])
RIGHT = b'{"probabilities": [[0.25, 0.75]]}'
WRONG = b'{"probabilities": [[0.26, 0.74]]}'


def answer(body: bytes, status: int = 200) -> bytes:
    return f"HTTP/1.1 {status} -\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def asked_of(said: bytes, ask: object) -> Answers:
    """Ask a server that always says the same; of nothing to say it closes."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while said and await reader.read(len(ASKED.request)):
            writer.write(said)
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    async def run() -> Answers:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with server:
            return await ask(server.sockets[0].getsockname()[1])

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("said", "n_errors"),
    [
        (answer(RIGHT), 0),
        (answer(WRONG), 6),
        (answer(RIGHT, status=503), 6),
        (answer(b"{}"), 6),
        (answer(b"no JSON"), 6),
        (b"", 6),
    ],
    ids=["right", "wrong", "status", "no probabilities", "no JSON", "closed"],
)
def test_what_is_no_right_answer_is_an_error(said, n_errors):
    found = asked_of(said, lambda port: clients(port, [ASKED], 2, 6))
    assert (len(found.latencies), found.n_errors) == (6, n_errors)
    found = asked_of(said, lambda port: arrivals(port, [ASKED], 1000.0, 6))
    assert (len(found.latencies), found.n_errors) == (6, n_errors)
