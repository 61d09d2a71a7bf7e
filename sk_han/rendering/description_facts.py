"""A `TextDescription` as lines of text and as HTML."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

from sk_han.rendering.facts import (
    fact_lines,
    facts_page,
    facts_table,
    rows_in_words,
    table_lines,
    table_markup,
)
from sk_han.rendering.markup import fold, isolated
from sk_han.rendering.numbers import percent
from sk_han.utils.counts import counted
from sk_han.utils.progress import duration
from sk_han.utils.visible_text import in_one_line

LOOKED_INTO = 1000  # texts; their characters are gone through one by one
_CLASSES_SHOWN = 10
_SCRIPTS_SHOWN = 5
_DROPPED_SHOWN = 8
_SENTENCES_SHOWN = 4
_WORDS_SHOWN = 25
_CHARACTERS_SHOWN = 80  # of what is no word of a language, such as base64


def description_text(description: Any) -> str:
    """Return the description as lines of text, as `print` shows it."""
    table = table_lines(*_lengths(description))
    lines = [_title(description), "", *table, "", *fact_lines(_facts(description))]
    for row in description.samples:
        lines += ["", f"Row {row} is read as"]
        lines += [f"  {sentence}" for sentence in _sentences(description, row)]
    return "\n".join(lines)


def description_html(description: Any, *, full_page: bool) -> str:
    """Return the description as HTML."""
    samples = ""
    for row in description.samples:
        sentences = map(isolated, _sentences(description, row))
        listed = "".join(f"<li>{sentence}</li>" for sentence in sentences)
        samples += fold(f"Row {row} is read as", f'<ol class="han-small">{listed}</ol>')
    content = table_markup(*_lengths(description)) + facts_table(_facts(description)) + samples
    return facts_page(_title(description), content, full_page)


def _title(description: Any) -> str:
    of_vocabulary = "different ones known" if description.unknown_share else "of them different"
    return (
        f"{counted(description.n_documents)}, {counted(description.n_words, 'word')}, "
        f"{description.n_distinct_words:,} {of_vocabulary}"
    )


def _lengths(description: Any) -> tuple[list[str], list[list[str]]]:
    names = list(next(iter(description.lengths.values())))
    rows = [
        [what, *(_length(values[name]) for name in names)]
        for what, values in description.lengths.items()
    ]
    return ["", *names], rows


def _length(value: float) -> str:
    """Write a number of things; of few a mean, or what lies between two, has a decimal."""
    return f"{value:,.{int(value < 10 and value % 1 > 0)}f}"


def _facts(description: Any) -> list[tuple[str, str]]:
    facts = []
    if description.without_labels is not None:
        facts.append(("labels", _classes(description)))
        facts.append(("without a label", _count(description.without_labels)))
    elif description.class_counts is not None:
        facts.append(("classes", _classes(description)))
    scripts = list(description.scripts.items())[:_SCRIPTS_SHOWN]
    shares = ", ".join(f"{name} {percent(share)}" for name, share in scripts)
    facts.append(
        ("scripts of known words" if description.unknown_share else "scripts", shares or "none")
    )
    facts.append(("without words", _count(description.without_words)))
    # Limits may leave out what tells texts apart.
    is_whole = not description.truncated and not description.unknown_share
    repeated, same = ("repeated texts", "same text") if is_whole else ("read alike", "read alike")
    facts.append((repeated, _count(description.repeated)))
    if description.class_counts is not None:
        facts.append((f"{same}, other label", _count(description.conflicting)))
    facts.append(("dropped characters", _dropped(description)))
    if description.truncated:
        facts.append(("cut texts", _count(description.truncated)))
    if description.unknown_share:
        facts.append(("unknown words", percent(description.unknown_share)))
    cost = description.cost
    memory = f"{cost.megabytes:.0f} MB"
    if cost.megabytes >= 1000:
        memory = f"{cost.megabytes / 1000:.1f} GB"
    threads, epochs = counted(cost.n_threads, "thread"), counted(cost.epochs, "epoch")
    fit = f"about {duration(cost.seconds)} and {memory} on {threads}, {epochs} (an estimate)"
    return [*facts, ("a fit", fit)]


def _classes(description: Any) -> str:
    counts = description.class_counts or {}
    by_size = sorted(counts.items(), key=lambda pair: -pair[1])
    if len(by_size) <= _CLASSES_SHOWN:
        shares = [
            f"{in_one_line(repr(label))} {n:,} ({percent(n / description.n_documents)})"
            for label, n in by_size
        ]
        return ", ".join(shares)
    (most, n_most), (least, n_least) = by_size[0], by_size[-1]
    return (
        f"{len(by_size):,}, from {in_one_line(repr(least))} with {n_least:,} to "
        f"{in_one_line(repr(most))} with {counted(n_most)}"
    )


def _count(rows: Sequence[int]) -> str:
    return f"{len(rows):,}: {rows_in_words(rows)}" if len(rows) else "none"


def _dropped(description: Any) -> str:
    if not description.dropped_characters:
        return "none"
    some = list(description.dropped_characters.items())[:_DROPPED_SHOWN]
    named = ", ".join(f"{_seen(character)} {n:,}" for character, n in some)
    where = f" in {LOOKED_INTO:,} of the texts" if description.n_documents > LOOKED_INTO else ""
    return f"{percent(description.dropped_share)}{where}: {named}"


def _seen(character: str) -> str:
    """Return a character, or its number if alone it is not seen, as a mark of emoji."""
    category = unicodedata.category(character)[0]
    return f"U+{ord(character):04X}" if category in "CMZ" else character


def _sentences(description: Any, row: int) -> list[str]:
    """Return the first sentences of a sample, their words apart."""
    sentences = description.samples[row]
    lines = []
    for words in sentences[:_SENTENCES_SHOWN]:
        more = f" ... and {len(words) - _WORDS_SHOWN:,} more" if len(words) > _WORDS_SHOWN else ""
        shown = [in_one_line(word, _CHARACTERS_SHOWN) for word in words[:_WORDS_SHOWN]]
        lines.append(" | ".join(shown) + more)
    if len(sentences) > _SENTENCES_SHOWN:
        n_more = len(sentences) - _SENTENCES_SHOWN
        lines.append(f"... and {counted(n_more, 'more sentence')}")
    return lines
