"""Shared by the demo, the comparison and the tests: models, loading and console output."""
