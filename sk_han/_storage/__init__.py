"""What is in a file of a model, below the estimators: data, how it is written and checked."""
