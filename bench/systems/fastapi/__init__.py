"""The tuned service's parts behind FastAPI on uvicorn."""
