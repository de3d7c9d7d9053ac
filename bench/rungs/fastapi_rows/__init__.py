"""FastAPI on uvicorn."""
