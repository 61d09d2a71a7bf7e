"""A report as a page, as text for a terminal, and as tables."""
