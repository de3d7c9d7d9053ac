"""The fastest service in Python that we could build: bare ASGI on uvicorn, and a library of trees called directly."""
