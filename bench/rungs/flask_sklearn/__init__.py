"""Flask behind Gunicorn."""
