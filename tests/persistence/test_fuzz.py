"""Files crafted to do harm: none loads in silence. Accidents: `test_damage.py`."""

import re
import tracemalloc
from functools import reduce
from operator import getitem

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import from_dtype
from sklearn.pipeline import Pipeline

from sk_han import (
    DocumentArray,
    HANClassifier,
    HierarchicalTokenizer,
    ModelFormatError,
    explain,
    load,
    save,
)
from sk_han.serving import Scorer
from tests.crafted_files import (
    GOLDEN,
    HOSTILE,
    archive_of,
    golden_parts,
    header_of,
    paths,
    set_at,
    with_header,
    with_text,
    without,
)
from tests.encoders_of_sentences import NAMED
from tests.tiny_models import fitted_classifier

FILES = sorted(GOLDEN.glob("*.han"))
TEXTS = ["It was a good day. The sun shone!", "", "A bad zebra; bad, bad. " * 20]
WORD_IDS = [[[2, 3], [4]], [], [[5, 2, 2, 1, 6, 7]]]
TIMES, CONSTANT = 64, 4 << 20  # the promise of docs/reliability.md
FACTORS = [-1, 0, 1e-45, 1e-20, 1e3, 1e6, 1e12, 1e20, 1e38, np.inf, np.nan]
N_OF_A_KIND, N_FLOODS = 250, 10  # of which each takes a second


def with_another_value(draw, content):
    description, arrays = golden_parts(content)
    places = st.sampled_from([*paths(description)])
    path, others = draw(places), places.map(lambda other: reduce(getitem, other, description))
    numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    value = draw(st.just("left out") | st.sampled_from(HOSTILE) | numbers | others)
    if value == "left out":
        return archive_of(without(description, path), arrays)
    return archive_of(set_at(description, path, value), arrays)


def with_another_array(draw, content):
    description, arrays = golden_parts(content)
    name = draw(st.sampled_from(sorted(arrays)))
    changed = array = arrays[name].copy()
    of_floats = ["scaled"] * (array.dtype.kind == "f")
    match draw(st.sampled_from(["shorter", "deeper", "zeros", "bytes", "item", *of_floats])):
        case "shorter":
            changed = np.atleast_1d(array)[:-1]
        case "deeper":
            changed = array[..., None]
        case "zeros":
            changed = np.zeros(array.shape, draw(st.sampled_from(["f8", "i1", "U1", "?"])))
        case "bytes":
            noise = np.random.RandomState(draw(st.integers(0, 99))).bytes(array.nbytes)
            changed = np.frombuffer(noise, array.dtype).reshape(array.shape)
        case "item" if array.size:
            changed.flat[draw(st.integers(0, array.size - 1))] = draw(from_dtype(array.dtype))
        case "scaled":
            factor, least = draw(st.sampled_from(FACTORS)), draw(st.sampled_from([-np.inf, 0]))
            largest = np.finfo(array.dtype).max
            scaled = np.clip(array * np.float64(factor), -largest, largest).astype(array.dtype)
            changed = np.where(array > least, scaled, array)
    if changed.dtype == np.float64:  # weights of sentence vectors have no limit, their squares have
        changed = np.clip(changed, -1e100, 1e100)
    return archive_of(description, arrays | {name: changed})


def with_another_header(draw, content):
    header, data = header_of(content)
    entry = {
        "dtype": st.sampled_from(["F32", "F64", "I64", "U8", "BOOL", "BF16", "F8_E4M3", "?", None]),
        "shape": st.lists(st.sampled_from([0, 1, 2, 10**8, 10**17, -1]), max_size=3),
        "data_offsets": st.lists(
            st.sampled_from([0, 1, 8, len(data), 10**12, 2**64]), min_size=2, max_size=2
        ),
    }
    name = draw(st.sampled_from(sorted(header.keys() - {"__metadata__"})))
    key = draw(st.sampled_from([*entry]))
    header[name][key] = draw(entry[key])
    return with_header(header, data)


def with_a_flood(draw, content):
    units = ["[]", "[[]]", "{}", '{"":0}', "[12345]", '["ab",12]', "1.5", '"ab"']
    unit, before = draw(st.sampled_from(units)), draw(st.sampled_from(["", '"😀",', "[" * 300]))
    text = f"[{','.join([unit] * (300_000 // len(unit)))}]"
    text = f"[{before}{text}{']' * before.count('[')}]"
    return with_text(text, draw(st.sampled_from([*paths(golden_parts(content)[0])])), content)


MALICE = [with_another_value, with_another_array, with_another_header, with_a_flood]


def numbers_of(model):
    """Let a model of texts predict and explain; a tokenizer reads, and others have loaded."""
    if isinstance(model, HierarchicalTokenizer):
        model.transform(TEXTS)
    if not isinstance(model, (HANClassifier, Pipeline)):
        return np.zeros(0)
    needs_ids = getattr(model, "tokenizer_", True) is None
    documents = DocumentArray.from_nested(WORD_IDS) if needs_ids else TEXTS
    numbers = [model.predict_log_proba(documents).ravel()]
    for explanation in explain(model, documents):
        numbers += [explanation.contributions, explanation.word_attention]
    return np.concatenate(numbers)


@pytest.mark.thorough
@pytest.mark.parametrize("change", MALICE, ids=lambda change: change.__name__)
def test_a_changed_file_is_refused_or_loads_a_sound_model(change, tmp_path):
    path = tmp_path / "model.han"
    for whole in FILES:  # what is imported late is there now
        assert np.isfinite(numbers_of(load(whole, encoder=NAMED))).all()

    @settings(max_examples=N_FLOODS if change is with_a_flood else N_OF_A_KIND)
    @given(data=st.data(), whole=st.sampled_from(FILES))
    def check(data, whole):
        content = change(data.draw, whole.read_bytes())
        path.write_bytes(content)
        tracemalloc.start()
        try:
            model = load(path, encoder=NAMED)
        except ModelFormatError:
            model = None
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak <= TIMES * len(content) + CONSTANT
        if model is not None:
            assert np.isfinite(numbers_of(model)).all()
            return
        with pytest.raises(ModelFormatError):
            Scorer.load(path, encoder=NAMED)

    check()


# A Scorer refuses the files that `load` refuses, also for what it does not use.


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Give a file of a network that a Scorer computes."""
    path = tmp_path_factory.mktemp("served") / "model.han"
    save(fitted_classifier(), path)
    return path


def crafted(content):
    """Give files with each value of the description replaced, and with each taken out."""
    description, arrays = golden_parts(content)
    model = description["model"]
    fitted = (model["steps"][1][1] if model["class"] == "Pipeline" else model)["fitted"]
    fitted |= {"history": fitted["history"][:1], "best_epoch": None, "best_score": None}
    yield "as it is", archive_of(description, arrays)
    for number, path in enumerate(paths(description)):
        value = HOSTILE[number % len(HOSTILE)]
        yield f"{path} = {value!r:.40}", archive_of(set_at(description, path, value), arrays)
        yield f"without {path}", archive_of(without(description, path), arrays)
    for name, array in arrays.items():
        yield f"short {name}", archive_of(description, arrays | {name: array.ravel()[:-1]})
        yield f"without {name}", archive_of(description, without(arrays, [name]))
    yield "more", archive_of(description, arrays | {"more": np.ones(3)})


# A Scorer checks all else before it refuses another network, but not its sizes and weights.
NETWORK = re.compile(r"'network', 'state'|parts\.network\.")


def answer(reads, path):
    try:
        reads(path)
    except ModelFormatError as error:
        return "another network" if "sk_han.load reads it" in str(error) else "refused"
    return "taken"


def differences(files, path):
    found, n_taken = [], 0
    for what, content in files:
        path.write_bytes(content)
        of_scorer, by_load = answer(Scorer.load, path), answer(load, path) == "taken"
        by_scorer = of_scorer != "refused"
        n_taken += by_load
        is_unread = of_scorer == "another network" and NETWORK.search(what) is not None
        if by_scorer != by_load and not is_unread:
            found.append(f"{what}: {'taken' if by_scorer else 'refused'} by the Scorer alone")
    assert n_taken > 0
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["served", "pipeline.han", "word_ids.han"])
def test_a_scorer_refuses_the_files_that_load_refuses(name, served, tmp_path):
    whole = served if name == "served" else GOLDEN / name
    assert differences(crafted(whole.read_bytes()), tmp_path / "model.han") == []
