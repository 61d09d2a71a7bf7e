"""Files with a right checksum and wrong content: it protects from accidents only."""

import contextlib
import time

import numpy as np
import pytest

from sk_han import ModelFormatError
from tests.crafted_files import (
    WHOLE,
    archive_of,
    golden_parts,
    header_of,
    sealed,
    set_at,
    with_header,
    without,
)
from tests.thorough import first_fast
from tests.tiny_models import fitted_classifier, tiny

MODEL, FITTED = ("model",), ("model", "fitted")
PARAMS = (*MODEL, "params")
PARTS, CLASSES = (*FITTED, "parts", "state"), (*FITTED, "target", "state", "classes")
NETWORK = (*PARTS, "network", "state", "learnt", "state")
NETWORK_SCALE = (*PARTS, "network", "state", "scale")
NGRAMS_SCALE = (*PARTS, "ngrams", "state", "scale")
WEIGHTS = "parts.network.learnt.weights"  # arrays
OPTIONS = (*NETWORK, "options", "state")
NGRAMS = (*PARTS, "ngrams", "state", "learnt", "state")
TOKENIZER = (*FITTED, "tokenizer")
VOCABULARY = (*TOKENIZER, "fitted", "vocabulary")


class TestCraftedHeader:
    def test_an_array_that_the_model_does_not_name_is_refused(self, load_bytes):
        description, arrays = golden_parts()
        with pytest.raises(ModelFormatError, match=r"does not name: \['more'\]"):
            load_bytes(archive_of(description, arrays | {"more": np.ones(3)}))

    def test_a_missing_array_is_named(self, load_bytes):
        description, arrays = golden_parts()
        for missing in arrays:
            with pytest.raises(ModelFormatError, match=f"lacks the array '{missing}'"):
                load_bytes(archive_of(description, without(arrays, [missing])))

    @pytest.mark.parametrize(
        "change",
        [
            {"shape": [3]},
            {"shape": [10**18, 10**18]},
            {"shape": [1] * 90},
            {"data_offsets": [0, 10**12]},
            {"dtype": "BF16"},
            {"dtype": "object"},
        ],
        ids=str,
    )
    def test_an_array_that_contradicts_its_header_is_refused(self, load_bytes, change):
        header, data = header_of(WHOLE)
        header[f"{WEIGHTS}.output.bias"] |= change
        with pytest.raises(ModelFormatError, match=r"cannot be loaded: it is (cut off|damaged)"):
            load_bytes(with_header(header, data))

    @pytest.mark.parametrize("size", [10**8 + 1, 2**63, 2**64 - 1])
    def test_a_giant_header_is_refused_unread(self, load_bytes, size):
        with pytest.raises(ModelFormatError, match="it is cut off, or not a file"):
            load_bytes(size.to_bytes(8, "little") + WHOLE[8:])

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("{}", "do not describe a model"),
            ('{"format":NaN}', "NaN is not a number"),
            ('{"format":4,"description":{}}', "have the entries"),
            ("[" * 5000, "is not JSON|nested too deeply"),
        ],
    )
    def test_metadata_that_describe_no_model_are_refused(self, load_bytes, text, message):
        with pytest.raises(ModelFormatError, match=message):
            load_bytes(with_header({"__metadata__": {"sk_han": text}}))

    @pytest.mark.parametrize("strings", [["absent"], [f"{WEIGHTS}.output.bias"], [3], [[]]])
    def test_invalid_strings_are_refused(self, load_bytes, strings):
        description, arrays = golden_parts()
        numbers = {name: array for name, array in arrays.items() if array.dtype.kind != "U"}
        with pytest.raises(ModelFormatError, match="does not hold strings"):
            load_bytes(sealed(description, numbers, strings))


class TestCraftedArrays:
    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_weights_of_nan_or_infinity_are_refused(self, load_bytes, value):
        description, arrays = golden_parts()
        name = f"{WEIGHTS}.word_attention.bias"
        weight = arrays[name].copy()
        weight[1] = value
        with pytest.raises(ModelFormatError, match=r"word_attention\.bias holds values"):
            load_bytes(archive_of(description, arrays | {name: weight}))

    @pytest.mark.parametrize(
        ("classes", "message"),
        [
            (np.array(["good", "bad"]), "sorted and distinct"),
            (np.array([["bad", "good"]]), "not an array of labels"),
            (np.array([], dtype="U3"), "not an array of labels"),
            (np.array(["bad", "bad"]), "sorted and distinct"),
            (np.array([1.0, np.inf]), "not finite"),
            (np.array(["a", "b", "c"]), "n_classes is 2, and elsewhere in it K is 3"),
            (np.array([0, 2], np.uint8).view(bool), "neither true nor false"),
            (np.array([1, 0x110000], np.uint32).view("U1"), "not characters"),
        ],
    )
    def test_invalid_classes_are_refused(self, load_bytes, classes, message):
        description, arrays = golden_parts()
        with pytest.raises(ModelFormatError, match=message):
            load_bytes(archive_of(description, arrays | {"target.classes": classes}))

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            (f"{WEIGHTS}.embedding.weight", 1e38),
            ("parts.ngrams.learnt.weights", 1e38),
            ("parts.ngrams.learnt.ratios", -1e20),
            ("parts.ngrams.learnt.intercept", 1e38),
        ],
    )
    def test_weights_whose_products_would_overflow_are_refused(self, load_bytes, name, value):
        description, arrays = golden_parts()
        changed = arrays[name].copy()
        changed.flat[0] = value
        with pytest.raises(ModelFormatError, match="holds values beyond"):
            load_bytes(archive_of(description, arrays | {name: changed}))

    @pytest.mark.parametrize("method", first_fast(["gradient_attention", "shapley"]))
    def test_the_largest_allowed_weights_give_finite_results(self, load_bytes, method):
        description, arrays = golden_parts()
        largest = {"parts.ngrams.learnt.ratios": 1e6, "parts.ngrams.learnt.weights": 1e12}
        largest |= {name: 1e12 for name in arrays if name.startswith(WEIGHTS)}
        for name, value in largest.items():
            arrays[name] = np.copysign(np.float32(value), arrays[name])
        for path in (NETWORK_SCALE, NGRAMS_SCALE):
            description = set_at(description, path, 9e5)
        for engine in ("torch", "auto"):
            description["model"]["params"]["engine"] = engine
            model = load_bytes(archive_of(description, arrays))
            texts = ["A good day. The sun shone!", "", 40 * "bad "]
            assert np.isfinite(model.predict_log_proba(texts)).all()
            found = []
            # A gradient is a product of the weights of all layers, which may overflow.
            with contextlib.suppress(ValueError):
                found = model.explain(texts, method=method)
            assert all(np.isfinite(each.contributions).all() for each in found)


def test_latent_models_have_squared_ratios_and_no_counts():
    state = fitted_classifier(linear_ngrams=(1, 2)).to_state()
    ngrams = state["parts"]["ngrams"]
    learnt = ngrams["learnt"] | {"ratios": ngrams["learnt"]["ratios"] ** 2, "counts": None}
    state["parts"]["latent"] = ngrams | {"scale": 0.5, "learnt": learnt}
    assert tiny().from_state(state).latent_scale_ == 0.5
    for name, changes, message in [
        ("latent", {"ratios": -learnt["ratios"]}, "ratios are no squares"),
        ("latent", {"counts": ngrams["learnt"]["counts"]}, "its part latent has counts"),
        ("ngrams", learnt, "its part ngrams lacks counts"),
    ]:
        part = state["parts"][name]["learnt"] | changes
        with pytest.raises(ModelFormatError, match=message):
            tiny().from_state(set_at(state, ("parts", name, "learnt"), part))


def test_keys_that_share_a_hash_do_not_make_loading_slow(load_bytes):
    description, arrays = golden_parts()
    pairs = [[i * (2**61 - 1) + 5, 1.0] for i in range(20_000)]
    description["model"]["params"]["class_weight"] = {"dict": pairs}
    start = time.process_time()
    with pytest.raises(ModelFormatError, match="too large"):
        load_bytes(archive_of(description, arrays))
    assert time.process_time() - start < 2


@pytest.mark.parametrize("pattern", ["(?i)" + "[\u0100-\uffff]" * 60, "[Ā-\uffff]" * 3000])
def test_a_pattern_that_takes_long_to_compile_is_refused(load_bytes, pattern):
    path = (*TOKENIZER, "params", "token_pattern")
    description, arrays = golden_parts()
    start = time.process_time()
    with pytest.raises(ModelFormatError, match="more classes of characters than"):
        load_bytes(archive_of(set_at(description, path, pattern), arrays))
    assert time.process_time() - start < 2


class TestCraftedContent:
    @pytest.mark.parametrize(
        ("path", "value", "message"),
        [
            ((*MODEL, "class"), "subprocess.Popen", "class 'subprocess.Popen'"),
            ((*PARAMS, "optimiser"), "adam", "'optimiser'.*does not know"),
            ((*PARAMS, "lr"), -1, r"its params\.lr must be a number above 0"),
            ((*PARAMS, "tokenizer"), {"class": "Evil"}, "stands where a value should"),
            ((*PARAMS, "class_weight"), {"dict": [[[], 1]]}, "key that is a list"),
            ((*PARAMS, "class_weight"), {"dict": [[1, 1], [1, 2]]}, "key 1 twice"),
            ((*PARAMS, "class_weight"), {"dict": [1]}, "not a pair"),
            (PARAMS, [], "is a list"),
            ((*MODEL, "requests"), {"dict": [["predict", {"dict": []}]]}, "'predict'"),
            (
                (*MODEL, "requests"),
                {"dict": [["fit", {"dict": [["evil", True]]}]]},
                r"requests\.fit has \['evil'\] too many",
            ),
            ((*FITTED, "device"), 3, "device"),
            ((*FITTED, "history"), [{"dict": [["epoch", "one"]]}], "history"),
            (CLASSES, ["a", "b"], "not an array of labels"),
            (CLASSES, {"labels": ["a", 1]}, "all strings, all numbers or all booleans"),
            (CLASSES, {"array": f"{WEIGHTS}.output.bias"}, "lacks the array"),
            ((*TOKENIZER, "class"), "HANClassifier", "stands where a value should"),
            (TOKENIZER, "words", "tokenizer is not a fitted HierarchicalTokenizer"),
            (NETWORK_SCALE, -0.5, r"network\.scale must be a number of at least 0"),
            ((*FITTED, "best_epoch"), 10**6, "best_epoch must be one of"),
            ((*FITTED, "best_score"), 1.5, "best_score must be an accuracy"),
            (NETWORK_SCALE, 1e308, r"network\.scale must be a number of at least 0"),
            ((*TOKENIZER, "params", "token_pattern"), "a" * 10**5, "100000 characters"),
            ((*TOKENIZER, "params", "stop_words"), ["a", 1], "stop_words holds 1"),
            ((*TOKENIZER, "params", "n_jobs"), 0, "n_jobs is 0"),
            ((*TOKENIZER, "fitted", "reading"), 1, r"tokenizer\.reading must be"),
            ((*PARTS, "ngrams", "state", "kind"), "network", r"its parts\.ngrams\.learnt lacks"),
            ((*PARTS, "ngrams", "state", "kind"), "magic", "kind .magic.; known here are"),
            ((*NGRAMS, "ngram_range"), [2, 1], "ngram_range is no range"),
            ((*NGRAMS, "ngram_range"), [2**40, 2**41], "ngram_range is no range"),
            ((*PARAMS, "pooling"), {"options": {"class": "Evil"}}, "none of the options"),
            ((*PARAMS, "embedding_init"), {"array": "classes"}, "stands where a value"),
            (VOCABULARY, {"words": "absent"}, r"lacks the array 'absent\.words'"),
            (VOCABULARY, ["a"], "does not name arrays"),
        ],
    )
    def test_errors_name_the_invalid_content(self, load_bytes, path, value, message):
        description, arrays = golden_parts()
        with pytest.raises(ModelFormatError, match=message):
            load_bytes(archive_of(set_at(description, path, value), arrays))

    @pytest.mark.parametrize(
        ("path", "value", "message"),
        [
            ((*OPTIONS, "embedding_dim"), 10**12, "has the shape .* must have"),
            ((*NETWORK, "vocabulary_size"), 10**12, "elsewhere in it V is 21"),
            ((*OPTIONS, "rnn"), {"state": {"class": "RNN", "num_layers": 10**9}}, "10.* layers"),
            ((*OPTIONS, "pooling", "state", "hops"), 10**12, "has the shape .* must have"),
            ((*OPTIONS, "class"), "RNN", "RNN"),
            ((*NETWORK, "n_classes"), 3, "elsewhere in it K is 2"),
            ((*NETWORK, "max_words"), 0, r"network\.learnt\.max_words must be"),
            ((*NETWORK, "weights"), None, r"network\.learnt\.weights must be"),
        ],
    )
    def test_a_wrong_network_is_refused_before_it_is_made(
        self, load_bytes, monkeypatch, path, value, message
    ):
        monkeypatch.setattr(type(fitted_classifier().net_), "initialize", None)
        description, arrays = golden_parts()
        with pytest.raises(ModelFormatError, match=message):
            load_bytes(archive_of(set_at(description, path, value), arrays))

    @pytest.mark.parametrize(
        ("path", "message"),
        [
            ((*PARTS, "network"), "its parts have no network"),
            ((*NETWORK, "weights", "state", "output.bias"), r"lacks \['output\.bias'\]"),
            ((*NGRAMS, "counts", "state", "inside"), r"lacks \['inside'\]"),
        ],
    )
    def test_a_missing_part_is_named(self, load_bytes, path, message):
        description, arrays = golden_parts()
        with pytest.raises(ModelFormatError, match=message):
            load_bytes(archive_of(without(description, path), arrays))

    def test_a_parameter_missing_in_an_older_file_gets_its_default(self, load_bytes):
        description, arrays = golden_parts()
        del description["model"]["params"]["n_iter_no_change"]
        assert load_bytes(archive_of(description, arrays)).n_iter_no_change is None

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"ids": np.full(3, 2)}, "several words"),
            ({"ids": np.array([2, 3, 999])}, "beyond the 21 word vectors"),
            ({"ids": np.array([2.0, 3.0, 4.0])}, "is not a vector of int64"),
            ({"ids": np.array([2, 3])}, "do not belong together"),
            ({"ends": np.array([1, 2, 9])}, "do not belong together"),
            ({"ends": np.array([-1, 2, 3])}, "do not belong together"),
            ({"ends": np.array([[1], [2], [3]])}, "is not a vector of int64"),
            ({"ends": np.array([2, 1, 3])}, "does not rise"),
            ({"words": np.frombuffer(b"aba", "u1")}, "has a word twice"),
            ({"words": np.frombuffer(b"a\xffb", "u1")}, "codec can't decode"),
        ],
        ids=str,
    )
    def test_an_invalid_vocabulary_is_refused(self, load_bytes, change, message):
        description, arrays = golden_parts()
        words = {"words": np.frombuffer(b"abc", "u1"), "ends": np.array([1, 2, 3])}
        words["ids"] = words["ends"] + 1
        of_tokenizer = {f"tokenizer.{part}": array for part, array in (words | change).items()}
        assert of_tokenizer.keys() <= arrays.keys()
        with pytest.raises(ModelFormatError, match=message):
            load_bytes(archive_of(description, arrays | of_tokenizer))

    @pytest.mark.parametrize("steps", [[], [["a", {}]], [["a", {}], ["a", {}]], [1, 2], None])
    def test_a_pipeline_of_other_steps_is_refused(self, load_bytes, steps):
        model = {"class": "Pipeline", "params": {}, "steps": steps}
        with pytest.raises(ModelFormatError, match="other steps"):
            load_bytes(archive_of({"versions": {}, "model": model}, {}))

    def test_padded_documents_of_giant_limits_are_refused(self, load_bytes):
        description, arrays = golden_parts()
        params = description["model"]["fitted"]["tokenizer"]["params"]
        params |= {"output": "padded", "max_words": 10**6}
        assert load_bytes(archive_of(description, arrays)).tokenizer_.max_words == 10**6
        params["max_sentences"] = 100
        with pytest.raises(ModelFormatError, match="100000000 numbers for every document"):
            load_bytes(archive_of(description, arrays))
