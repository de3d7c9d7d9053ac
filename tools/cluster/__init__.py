"""Throw-away PostgreSQL clusters for the demo, the benchmarks and the tests."""

from tools.cluster.server import Cluster, ClusterError, start, stop

__all__ = ["Cluster", "ClusterError", "start", "stop"]
