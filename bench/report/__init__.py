"""The pages and pictures of docs/benchmarks/, made from the result files and from nothing else."""
