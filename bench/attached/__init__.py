"""Measures servers that already run elsewhere, such as those of docker-compose.yml.

They are named by environment variables and are neither started nor stopped, loaded nor set up. What is
asked, compared and measured is the harness's own; what the servers themselves use cannot be seen
from here, so a result says nothing of it.
"""
