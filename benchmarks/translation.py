"""Translation of Multi30k, German to English: BLEU, perplexity and time.

    python translation.py                         # 10 epochs; choices on the validation pairs
    python translation.py --keep multi30k.han     # keep the model
    python translation.py --model multi30k.han    # measure a kept model

Prints sacrebleu of cased text with its signature, BLEU of lower-cased tokens as tutorials report
it, perplexity, and seconds; each on the 1,000 pairs of test 2016. The number of beams and the
length penalty are those of the highest BLEU on the validation pairs.

Needs sacrebleu (``pip install "sk-han[translate]"``).
"""

from __future__ import annotations

import argparse
import gzip
import re
import time
from pathlib import Path

import numpy as np
import sacrebleu
from corpora import data_folder
from results import add_save, publish
from scipy.special import log_softmax

import sk_han
from sk_han import AttentionTranslator
from sk_han.translation._alignment import SIGN_PATTERN
from sk_han.translation._fit import TextPairs, as_sequences

PAIRS_READ = 64  # whose logits are in memory at once
SEARCHES = [(1, 1.0), (5, 1.0), (5, 1.5)]  # beams, length penalty


def read(part: str) -> tuple[list[str], list[str]]:
    sides = []
    for language in ("de", "en"):
        path = data_folder() / "multi30k" / f"{part}.{language}.gz"
        with gzip.open(path, "rt", encoding="utf-8") as file:
            sides.append(file.read().split("\n")[:-1])
    return sides[0], sides[1]


def tokens(texts: list[str]) -> list[str]:
    return [" ".join(re.findall(SIGN_PATTERN, text.lower())) for text in texts]


def perplexity(translator: AttentionTranslator, sources: list[str], targets: list[str]) -> float:
    """Of words and end marks; a word outside of the vocabulary is the unknown word."""
    pairs = TextPairs(
        as_sequences(translator.source_tokenizer_.transform(sources)),
        as_sequences(translator.target_tokenizer_.transform(targets)),
        np.ones(len(sources)),
    )
    found = []
    for start in range(0, len(pairs), PAIRS_READ):
        batch = pairs[start : start + PAIRS_READ]
        logs = log_softmax(translator.net_.outputs(batch).astype(np.float64), axis=1)
        found.append(logs[np.arange(len(logs)), batch.targets])
    return float(np.exp(-np.concatenate(found).mean()))


def fitted(options: argparse.Namespace) -> AttentionTranslator:
    (sources, targets), validation = read("train"), read("val")
    rows = slice(options.pairs)
    translator = AttentionTranslator(
        max_epochs=options.epochs, n_threads=options.threads, random_state=options.seed, verbose=1
    )
    wall, cpu = time.perf_counter(), time.process_time()
    translator.fit(sources[rows], targets[rows], X_val=validation[0], y_val=validation[1])
    print(
        f"fit: {time.perf_counter() - wall:.0f} s, of cores {time.process_time() - cpu:.0f} s; "
        f"{len(translator.forms_)} target words, best epoch {translator.best_epoch_}",
        flush=True,
    )
    for epoch in translator.history_:
        print({name: round(value, 3) for name, value in epoch.items()}, flush=True)
    return translator


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=29_000)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--model", type=Path, help="a saved model, which is not trained")
    parser.add_argument("--keep", type=Path, help="file for the fitted model")
    add_save(parser)
    options = parser.parse_args()

    translator = sk_han.load(options.model) if options.model else fitted(options)
    if options.keep:
        sk_han.save(translator, options.keep)
    best, (sources, targets) = (-1.0, SEARCHES[0]), read("val")
    for beams, penalty in SEARCHES:
        translator.set_params(beam_size=beams, length_penalty=penalty)
        bleu = translator.score(sources, targets)
        best = max(best, (bleu, (beams, penalty)))
        print(f"validation, {beams} beams, length penalty {penalty}: BLEU {bleu:.2f}", flush=True)
    rows = [{"documents": "validation", "sacrebleu of plain, cased text": round(best[0], 2)}]
    rows[0] |= {"BLEU of lower-cased tokens": None}
    rows[0]["perplexity"] = round(perplexity(translator, sources, targets), 2)

    beams, penalty = best[1]
    translator.set_params(beam_size=beams, length_penalty=penalty)
    sources, targets = read("test_2016_flickr")
    start = time.perf_counter()
    found = translator.predict(sources)
    seconds = time.perf_counter() - start
    metric = sacrebleu.BLEU()
    cased = metric.corpus_score(found, [targets])
    lower = sacrebleu.corpus_bleu(tokens(found), [tokens(targets)], tokenize="none", force=True)
    print(f"test 2016, {beams} beams, length penalty {penalty}, {seconds:.0f} s")
    print(metric.get_signature())
    row = {"documents": "test 2016", "sacrebleu of plain, cased text": round(cased.score, 2)}
    row |= {"BLEU of lower-cased tokens": round(lower.score, 2)}
    rows.append(row | {"perplexity": round(perplexity(translator, sources, targets), 2)})
    publish("translation", rows, options.save)


if __name__ == "__main__":
    main()
