"""The comparison of predictions in PostgreSQL with a Python microservice."""
