"""gRPC in Python."""
