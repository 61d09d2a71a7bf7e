"""One call of `fit`, from the user's data to a fitted model.

`fit_model` in `fit` runs the steps in this order; each module has one of them:

- `data` checks the user's data, encodes labels, converts texts to word ids and holds out
  documents. The result is `FitState`, which every later step takes.
- `sources` decides which n-grams the linear models read, and tries on a sample whether models of
  characters pay.
- `linear` fits the linear models: of n-grams, latent ones on text without labels, of sentence
  vectors (`vectors`) and of columns. They learn from all labelled documents. Their scores of
  held-out documents come from cross-fitting, by models of the other folds.
- `network` trains the network on the documents that are not held out. It may first pre-train it on
  text without labels, which linear models have labelled.
- `scales` calibrates the scale of each part on the held-out documents, and chooses thresholds.
- `summary` measures the result, keeps the reference statistics, and warns of a useless network.

The network is fitted after the linear models, since it is trained longer if it is better than they
are. Each step returns new objects, and the estimator gets the model at the very end, so a failed
fit leaves no traces. `single_network` is the corresponding base of the tagger and the translator,
which have a network alone.
"""
