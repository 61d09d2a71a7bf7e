"""The parts of a model: each scores documents, and their scaled scores are added up."""
