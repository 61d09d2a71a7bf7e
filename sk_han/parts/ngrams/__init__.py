"""The n-gram model and the latent model: one kind of model, two ways to learn."""
