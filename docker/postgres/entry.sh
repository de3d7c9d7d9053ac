#!/usr/bin/env bash
# The container's first process: makes the cluster on the first start, then becomes the server.
# Arguments are the server's: -c shared_buffers=1GB.
set -euo pipefail

[ -s "$PGDATA/PG_VERSION" ] || initialise.sh
exec postgres -c listen_addresses='*' "$@"
