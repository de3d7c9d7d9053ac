#!/bin/bash
# Whether PgBouncer accepts connections; the image has no client of PostgreSQL's to ask more with.
exec 3<>/dev/tcp/127.0.0.1/6432
