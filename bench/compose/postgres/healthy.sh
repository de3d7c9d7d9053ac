#!/bin/sh
# Whether the server accepts connections over TCP, as the other containers come.
exec pg_isready --quiet --host=127.0.0.1 --dbname=flights --username=flights
