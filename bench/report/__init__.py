"""Generates the pages and pictures of docs/benchmarks/ from the result files alone."""
