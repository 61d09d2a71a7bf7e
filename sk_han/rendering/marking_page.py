"""A page on which people mark words: the only one with a script."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import Any

from sk_han.rendering.markup import escaped, isolated, page
from sk_han.utils.counts import counted

_HOW = (
    "Mark the words that tell the label: click a word, or draw over several with the mouse. Once "
    "more, and the mark is gone. With the keyboard, Tab goes to a word and Space marks it. Tick a "
    "text without such words as read."
)


def marking_markup(
    texts: Sequence[str], labels: Sequence[list[Any]], words: Sequence[Iterable[tuple[int, int]]]
) -> str:
    """Return the page: each text with its labels, and the places (start, end) of its words."""
    script = (files("sk_han.rendering") / "styles" / "marking.js").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    records = [_record(*each) for each in zip(texts, labels, strict=True)]
    # No "<" can end the element or begin a comment; other characters are escaped by JSON.
    data = json.dumps(records).replace("<", r"\u003c")
    body = "".join(
        _section(i, *each) for i, each in enumerate(zip(texts, labels, words, strict=True))
    )
    return page(
        f'<main><p>{_HOW}</p><p><b><span id="han-count" aria-live="polite">0</span> of '
        f"{counted(len(texts))} read</b></p>{body}<footer>"
        '<button id="han-save" type="button">Save as highlights.jsonl</button>'
        '<p class="han-small"><label for="han-lines">The same to copy, once saved; '
        "<code>sk_han.read_highlights</code> reads it:</label></p>"
        '<textarea id="han-lines" readonly></textarea></footer></main>'
        f'<script id="han-records" type="application/json">{data}</script>'
        f"<script>{script}</script>",
        f"{counted(len(texts))} to mark",
        True,
        "marking",
        head=f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n',
    )


def _record(text: str, labels: list[Any]) -> dict[str, Any]:
    """Return a record as Prodigy writes it, without spans: nobody has looked at the text."""
    return {"text": text} | ({"label": labels[0]} if len(labels) == 1 else {"accept": labels})


def _section(number: int, text: str, labels: list[Any], words: Iterable[tuple[int, int]]) -> str:
    pieces, end = [], 0
    for start, stop in words:
        if not end <= start < stop:
            continue
        pieces.append(
            f'{escaped(text[end:start])}<span role="checkbox" aria-checked="false" tabindex="0" '
            f'data-start="{start}" data-end="{stop}">{escaped(text[start:stop])}</span>'
        )
        end = stop
    names = ", ".join(map(isolated, labels))
    return (
        f'<section><span class="han-number">{number}</span> <b>{names}</b> '
        f'<label class="han-small"><input type="checkbox"> read</label>'
        f'<p dir="auto">{"".join(pieces)}{escaped(text[end:])}</p></section>'
    )
