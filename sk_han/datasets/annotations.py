"""Read what people marked in texts from the files of annotation tools."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sk_han.datasets.tables import NO_GZIP, about_gzip

Span = tuple[int, int]


def read_highlights(
    path: str | os.PathLike[str], *, text: str = "text"
) -> tuple[list[str], list[Any], list[list[Span] | None]]:
    """Read texts, labels and marked spans that Prodigy, doccano or Label Studio have exported.

    Parameters
    ----------
    path : str or path-like
        JSON lines, or a JSON array as Label Studio writes it; ``.gz`` may be appended. The tool is
        known by the keys of each record.
    text : str, default="text"
        Key of the text; in Label Studio, within ``data``.

    Returns
    -------
    texts : list of str
        Records that were rejected, ignored or cancelled are left out.
    labels : list
        Labels of the documents: strings, None for a text without one, or, if a text has several, a
        list of labels for each. In Prodigy ``accept`` or ``label``, in doccano ``cats`` or a
        ``label`` without places, in Label Studio choices of the last annotation. An object with 0
        or 1 for each label, as spaCy's ``cats``, gives those of 1. Labels of spans
        are not read: that a span is marked is what counts.
    highlights : list
        For each text its spans (start, end) of characters, ``[]`` if nothing was marked, None if
        the record says nothing of spans: what ``HANClassifier.fit(highlights=)`` takes.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If a record is none of these, or a span does not lie within its text. The message names the
        number of the record.

    Notes
    -----
    Offsets are counted in characters of Python. Where a span of Label Studio has another text at
    its place, it is read as offsets of UTF-16, which earlier versions wrote after emoji.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sk_han import read_highlights
    >>> line = '{"text": "A dull film.", "label": "neg", "spans": [{"start": 2, "end": 6}]}'
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "marked.jsonl")
    ...     _ = path.write_text(line)
    ...     read_highlights(path)
    (['A dull film.'], ['neg'], [[(2, 6)]])
    """
    texts: list[str] = []
    labels: list[list[Any]] = []
    highlights: list[list[Span] | None] = []
    for number, record in _records(Path(path)):
        where = f"Record {number} of {os.fspath(path)}"
        if not isinstance(record, Mapping):
            raise ValueError(f"{where} is {record!r}; a record is an object with a text.")
        try:
            found = _read(record, text, where)
            if found is None:
                continue
            own, of_text, spans = found
            places = None if spans is None else dict.fromkeys(_span(s, own, where) for s in spans)
            highlights.append(None if places is None else [*places])
        except (AttributeError, TypeError) as error:
            raise ValueError(f"{where} is not as these tools write it: {error}.") from error
        texts.append(own)
        labels.append(of_text)
    if not texts:
        raise ValueError(f"{os.fspath(path)} has no record that was accepted.")
    if max(map(len, labels)) <= 1:
        return texts, [own[0] if own else None for own in labels], highlights
    return texts, labels, highlights


def _records(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield the records with their number, from 1: of an array, or one a line."""
    read = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with read(path, "rt", encoding="utf-8-sig") as file:
            content = file.read()
    except UnicodeDecodeError as error:
        repair = "Save it as UTF-8, or add .gz to its name if it is compressed."
        raise ValueError(f"{path} is not UTF-8: {error}. {repair}") from error
    except NO_GZIP as error:
        raise ValueError(about_gzip(f"{path}", error)) from error
    if content.lstrip().startswith("["):
        yield from enumerate(_parsed(content, f"{path}"), 1)
        return
    for number, line in enumerate(content.split("\n"), 1):
        if line.strip():
            yield number, _parsed(line, f"Line {number} of {path}")


def _parsed(content: str, where: str) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where} is no JSON: {error}.") from error


def _read(
    record: Mapping[str, Any], key: str, where: str
) -> tuple[str, list[Any], list[Any] | None] | None:
    """Return text, labels and spans of a record; None if it was not accepted."""
    data, labels, spans = record.get("data"), [], None
    if isinstance(data, Mapping):  # Label Studio
        own = data.get(key)
        annotations = record.get("annotations") or record.get("completions") or []
        kept = [each for each in annotations if not each.get("was_cancelled")]
        if annotations and not kept:
            return None
        if kept:
            results = kept[-1].get("result", [])
            # Of several texts the marks of this one; its tag may have another name than its key.
            if any(result.get("to_name") == key for result in results):
                results = [result for result in results if result.get("to_name") == key]
            values = [result.get("value", {}) for result in results]
            spans = [value for value in values if "start" in value]
            of_text = [value for value in values if "start" not in value]
            labels = [label for value in of_text for label in _labels(value.get("choices", []))]
    else:
        if record.get("answer", "accept") != "accept":  # Prodigy
            return None
        own = record.get(key, data)  # "data" in early versions of doccano
        given = record.get("label", record.get("labels"))
        listed = given if isinstance(given, list) else [] if given is None else [given]
        placed = [each for each in listed if isinstance(each, (list, Mapping))]
        labels = record.get("accept", record.get("cats", [e for e in listed if e not in placed]))
        spans = record.get("spans", record.get("entities"))
        if spans is None and (placed or (listed == given == [])):
            spans = placed
    if not isinstance(own, str):
        raise ValueError(
            f"{where} has no {key!r} that is a text; it has {sorted(record)}. text= names the key."
        )
    return own, _labels(labels), spans


def _labels(given: Any) -> list[Any]:
    """Return labels: one, a list, or those that are true of an object, as spaCy writes them."""
    if isinstance(given, Mapping):
        if not all(value in (0, 1) for value in given.values()):
            raise TypeError(f"{given!r} does not tell by 0 or 1 which labels are true")
        return [label for label, value in given.items() if value]
    return [given] if isinstance(given, str) else list(given)


def _letters(text: str) -> str:
    """Return a text without blanks, which Label Studio joins, and without escaped line ends."""
    return "".join(text.replace("\\n", " ").split())


def _span(span: Any, text: str, where: str) -> Span:
    """Return start and end of a span of any of the tools."""
    said = None
    if isinstance(span, Mapping):
        said = span.get("text")
        start = span.get("start", span.get("start_offset"))
        end = span.get("end", span.get("end_offset"))
    else:
        start, end = span[:2] if isinstance(span, list) and len(span) > 1 else (None, None)
    if type(start) is int and type(end) is int:
        if isinstance(said, str) and _letters(text[start:end]) != _letters(said):
            units = text.encode("utf-16-le", "surrogatepass")
            before = len(units[: 2 * start].decode("utf-16-le", "replace"))
            if text[before : before + len(said)] != said:
                raise ValueError(
                    f"{where} has the span {span!r}, and its text is not there. Are the marks of "
                    "another text? text= names the key."
                )
            start, end = before, before + len(said)
        if 0 <= start < end <= len(text):
            return start, end
    raise ValueError(
        f"{where} has the span {span!r}, which is no place in its text of length {len(text)}."
    )
