"""Model files: the format, the description of a model, and the schemas that check fitted state."""
