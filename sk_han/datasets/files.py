"""Read texts and labels from the user's files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from sk_han.datasets.tables import Table, read_records


@overload
def load_csv(
    path: str | os.PathLike[str],
    *,
    text: str | Sequence[str] = ...,
    label: str = ...,
    encoding: str = ...,
    separator: str | None = ...,
) -> tuple[list[str], NDArray[Any]]: ...


@overload
def load_csv(
    path: str | os.PathLike[str],
    *,
    text: str | Sequence[str] = ...,
    label: None,
    encoding: str = ...,
    separator: str | None = ...,
) -> list[str]: ...


def load_csv(
    path: str | os.PathLike[str],
    *,
    text: str | Sequence[str] = "text",
    label: str | None = "label",
    encoding: str = "utf-8",
    separator: str | None = None,
) -> tuple[list[str], NDArray[Any]] | list[str]:
    r"""Load texts and their labels from a table: CSV, TSV or JSON lines.

    Parameters
    ----------
    path : str or path-like
        A file named ``.csv``, ``.tsv`` or ``.jsonl``, or one of these with ``.gz`` appended. A
        CSV or TSV file starts with a row of column names, and has quotes like a spreadsheet's; a
        JSON lines file has an object on each line.
    text : str or list of str, default="text"
        Name of the column, or key, of the texts. Several columns, such as title and body, are
        joined in this order with a blank line between them, where a sentence ends.
    label : str or None, default="label"
        Name of the column, or key, of the labels; a blank one is refused. None loads the texts
        alone.
    encoding : str, default="utf-8"
        Encoding of the file. A byte order mark is removed.
    separator : str or None, default=None
        The character between columns, such as ``";"``. None takes that of the file's name: a comma
        for ``.csv``, a tab for ``.tsv``. A file of columns may have any name if it is given.

    Returns
    -------
    texts : list of str, length n_documents
    labels : ndarray of shape (n_documents,)
        Strings. From JSON lines also integers or booleans, if all labels are. Not returned if
        `label` is None.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    TypeError
        If `text` is no name and no list of names.
    ValueError
        If the name ends otherwise, the file has no document or lacks a column, or a line is
        invalid. The message names the line and the likely repair.

    Notes
    -----
    Other columns are not kept, and documents may have any size.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sk_han.datasets import load_csv
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "notes.csv")
    ...     _ = path.write_text('note,kind\n"Out of ink, again.",complaint\nAll well.,praise\n')
    ...     texts, labels = load_csv(path, text="note", label="kind")
    >>> texts
    ['Out of ink, again.', 'All well.']
    >>> labels.tolist()
    ['complaint', 'praise']
    """
    table = Table.at(Path(path), separator, encoding)
    columns: list[Any] = list(text) if isinstance(text, (list, tuple)) else [text]
    if not columns or not all(isinstance(column, str) for column in columns):
        raise TypeError(f"text must be the name of a column, or a list of names; got {text!r}.")
    texts: list[str] = []
    labels: list[Any] = []
    for record in read_records(table, columns, label):
        texts.append(record.text)
        labels.append(record.label)
    return texts if label is None else (texts, np.array(labels))
