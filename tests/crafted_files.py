"""Files of saved models made by hand, as someone with malice would."""

import contextlib
import copy
import hashlib
import io
import json
import struct
import zipfile
from pathlib import Path

from sklearn.pipeline import Pipeline

from sk_han import (
    AttentionTranslator,
    HANClassifier,
    HierarchicalTokenizer,
    ModelFormatError,
    SequenceTagger,
)
from sk_han.storage.archive import read_archive, write_archive

# What a file may hold.
KINDS = (HANClassifier, HierarchicalTokenizer, SequenceTagger, AttentionTranslator, Pipeline)
GOLDEN = Path(__file__).parent / "golden"
WHOLE = (GOLDEN / "format_2.han").read_bytes()


def sealed(content):
    """Give a file the checksum that belongs to it, as someone with malice would."""
    return content[:-64] + hashlib.sha256(content[:-64]).hexdigest().encode()


def archive_of(description, arrays):
    file = io.BytesIO()
    write_archive(file, description, arrays)
    return file.getvalue()


def zipped(entries, compression=zipfile.ZIP_STORED):
    """Zip named entries as nothing but the names and the seal has been thought of."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        archive.comment = WHOLE[-len("sk_han format 2 sha256 ") - 64 :]
        for name, content in entries:
            archive.writestr(name, content)
    return sealed(file.getvalue())


def golden_entries(content=WHOLE):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


def golden_parts(content=WHOLE):
    """Give the description and the arrays of a file."""
    description, arrays = read_archive(io.BytesIO(content))
    return description, arrays


def loads_or_is_a_format_error(load_bytes, content):
    with contextlib.suppress(ModelFormatError):
        assert isinstance(load_bytes(content), KINDS)


def npy(descr="<f4", shape="(2,)", data=bytes(8), fortran="False"):
    header = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def set_at(tree, path, value):
    tree = copy.deepcopy(tree)
    place = tree
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return tree


def with_text(text, place=(), content=WHOLE):
    """Give a file in whose description a JSON text stands, whatever it is."""
    description, _ = golden_parts(content)
    whole = json.dumps(set_at([description], (0, *place), "HERE")[0])
    entries = [entry for entry in golden_entries(content) if entry[0] != "model.json"]
    text = whole.replace('"HERE"', text).encode("utf-8", "surrogatepass")
    return zipped([("model.json", text), *entries])


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
