"""Explanations of predictions, and measures of models, explanations, labels and data.

Each public function has a module that is named after it: it opens the user's model, computes, and
returns a result of `_results`. A result is data; what it shows are blocks, which `_rendering` turns
into text, a page or a figure.

- `_estimators` finds the fitted model inside of searches, Pipelines and Scorers, and reads
  documents as it does.
- `_explanations` runs `explain`: it checks options, reads documents in batches, and divides the
  contributions of a batch among documents. `_contributions` has the methods.
- `_summarizing` sums contributions over a corpus, with the help of `_tallies`.
- `_reporting` evaluates a model; `_selecting` and `_coarsening` choose thresholds by its errors.
- `_auditing` finds labels that are likely wrong; `_drift` and `_class_mix` compare documents with
  those of the fit; `_faithfulness` measures explanations; `_training` describes a fit.

The classes load on first use, since a `Scorer` predicts without them.
"""

from sk_han._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
