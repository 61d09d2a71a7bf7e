"""What a message advises in Python, said as options of the command line."""

from __future__ import annotations

import re

# Of messages that a table or a setting brings about: what they say, and what is said in its place.
BY_OPTIONS = {
    r"(has no column .+?)\. It has": r"\1; options such as --text and --label name columns. It has",
    r"Or give the separator\.": "Or give it by --sep.",
    r"give the separator of its columns": "give the separator of its columns by --sep",
    r'perhaps encoding="([\w-]+)"': r"perhaps by --encoding \1",
    r", or load the texts alone with label=None": "",
    r"(is a JSON array\. A label is .* false\.)": r"\1 fit --separator reads several labels.",
    r"Give X_val and y_val or more": "Give --validation or more",
    r"y holds a single class": "--label holds a single class",
    r"labels in y (is a class of the model\.) y holds": r"labels \1 --label holds",
    r"Documents come first, then their labels: fit\(X, y\)": "--text and --label name the columns",
    # After --hold-out, rows are those of the documents that are left, of which there is no table.
    r" \(rows [^)]*\)(: nothing can .*)sk_han\.describe\(.*\)\.conflicting has all rows": (
        r"\1sk-han audit shows all of them"
    ),
    r", as by str\.strip\(\) and str\.lower\(\)": "",
    r"use sklearn\.model_selection\.FixedThresholdClassifier, or leave the default of 0\.5": (
        "use the probabilities of predict --proba; --separator reads several labels"
    ),
    r"Files of vectors are read by sk_han\.embeddings\.load_embeddings": "Files need Python",
    r"Try a lower min_df": "Try a lower --set tokenizer__min_df",
    r", for example with os\.makedirs\(.*\)": "",
}


def by_options(message: str) -> str:
    """Return a message with options of the command line in place of advice for Python."""
    for pattern, said in BY_OPTIONS.items():
        message = re.sub(pattern, said, message)
    return message
