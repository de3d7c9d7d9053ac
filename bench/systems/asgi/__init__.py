"""The best service in Python that we could build: bare ASGI, and a library of trees called directly."""
