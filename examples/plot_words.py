"""
What it takes for words and sentences
=====================================

Before anything is learnt, a text is cut into sentences and words. ``tokens`` says what a word is:
letters and digits alone, marks too (the default), or the units of the web.
"""

from matplotlib import pyplot as plt

from sk_han import HierarchicalTokenizer

text = "Dr. Novak paid $9.99 at 8 p.m. on Sunday. He isn't into C++. But his #code :-) does run!"

# %%
# A box is a word, and a colour is a sentence; what has no box is left out. Put a text of your own
# here before you fit: where the signs that matter to you get lost or are cut apart, choose another
# ``tokens``, and where sentences break at the wrong place, another ``sentence_splitter``.
figure, axes = plt.subplots(figsize=(10, 2.2), layout="constrained")
settings = ["words", "words+marks", "web"]
for row, tokens in enumerate(settings):
    (spans,) = HierarchicalTokenizer(tokens=tokens).fit([text]).spans([text])
    for (start, end), sentence in zip(spans.word_spans, spans.sentence_of_word, strict=True):
        box = (start + 0.05, row - 0.36), end - start - 0.1, 0.72
        axes.add_patch(plt.Rectangle(*box, color=f"C{sentence}", alpha=0.3, lw=0))
    for place, character in enumerate(text):
        axes.text(place + 0.5, row, character, ha="center", va="center", family="monospace")
axes.set(xlim=(0, len(text)), ylim=(len(settings) - 0.5, -0.5), xticks=[])
axes.set_yticks(range(len(settings)), settings)
axes.tick_params(left=False)
axes.spines[:].set_visible(False)
