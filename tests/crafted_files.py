"""Files of saved models made by hand, as someone with malice would."""

import contextlib
import copy
import io
import json
import tempfile
from pathlib import Path

from safetensors.numpy import save
from sklearn.pipeline import Pipeline

from sk_han import (
    AttentionTranslator,
    HANClassifier,
    HANRegressor,
    HierarchicalTokenizer,
    ModelFormatError,
    SequenceTagger,
)
from sk_han._storage import model_file
from sk_han._storage.model_file import read_model, write_model

# What a file may hold.
KINDS = (HANClassifier, HANRegressor, HierarchicalTokenizer, SequenceTagger)
KINDS += (AttentionTranslator, Pipeline)
GOLDEN = Path(__file__).parent / "golden"
WHOLE = (GOLDEN / "classifier.han").read_bytes()
# Values that a place of a description is not expected to hold.
HOSTILE = [None, True, -1, 0, 1.5, 10**9, 10**30, 10**400, 1e308, 5e-324, "", "\0", "os.system"]
HOSTILE += [[], {}, [[1, "a"]], {"tuple": []}, {"dict": [["a", 1]]}, {"float": "nan"}]
HOSTILE += [{"array": "target.classes"}, {"class": "HierarchicalTokenizer"}, {"labels": [1, 2]}]
HOSTILE += [{"words": "tokenizer"}, {"options": {"class": "RNN", "num_layers": 10**9}}]


def archive_of(description, arrays):
    """Give a file of a description and of arrays, with the checksum that belongs to it."""
    file = io.BytesIO()
    write_model(file, description, arrays)
    return file.getvalue()


def golden_parts(content=WHOLE):
    """Give the description and the arrays of a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.han"
        path.write_bytes(content)
        return read_model(path)


def with_text(text, place=(), content=WHOLE):
    """Give a file in whose description a JSON text stands, whatever it is."""
    description, arrays = golden_parts(content)
    whole = set_at([description], (0, *place), "HERE")[0]
    strings = [name for name, array in arrays.items() if array.dtype.kind == "U"]
    arrays |= {name: model_file._code_points(arrays[name]) for name in strings}
    return sealed(whole, arrays, strings, lambda inside: inside.replace('"HERE"', text))


def sealed(description, numbers, strings, change=str):
    """Give a file of numbers, some of which are `strings`, whose JSON text may be changed."""
    inside = {"format": model_file.FORMAT_VERSION, "strings": strings, "description": description}
    as_text = change(model_file._json(inside))
    return save(numbers, {"sk_han": model_file._add_digest(as_text, numbers)})


def with_header(header, data=b""):
    """Give a file with a header of safetensors, a value or bytes, and the bytes after it."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def header_of(content):
    """Give the header of a file as a value, and the bytes of its arrays."""
    end = 8 + int.from_bytes(content[:8], "little")
    return json.loads(content[8:end]), content[end:]


def loads_or_is_a_format_error(load_bytes, content):
    with contextlib.suppress(ModelFormatError):
        assert isinstance(load_bytes(content), KINDS)


def set_at(tree, path, value):
    tree = copy.deepcopy(tree)
    place = tree
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return tree


def without(tree, path):
    tree = copy.deepcopy(tree)
    place = tree
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    return tree


def paths(tree, above=()):
    """Give the path to every value inside nested lists and dicts."""
    inside = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in inside:
        yield (*above, key)
        if isinstance(value, (dict, list)):
            yield from paths(value, (*above, key))
