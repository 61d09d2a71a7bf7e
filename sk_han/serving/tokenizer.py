"""The tokenizer of a stored model, without scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from sk_han.documents import DocumentArray
from sk_han.model_files.decoding import tokenizer_fields
from sk_han.model_files.fields import fields_of
from sk_han.model_files.json_values import from_plain
from sk_han.text.reader import DocumentReader, DocumentSpans, documents_of
from sk_han.text.reading_params import check_reading, with_named_tokens
from sk_han.text.tokens import TOKEN_PATTERNS
from sk_han.validation.texts import check_texts

__all__ = ["ServedTokenizer"]
