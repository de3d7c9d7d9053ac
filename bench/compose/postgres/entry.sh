#!/usr/bin/env bash
# The container's first process: makes the cluster on the first start, as a standby
# of the server PRIMARY if that is set, then becomes the server.
# Arguments are the server's: -c shared_buffers=1GB.
set -euo pipefail

if [ ! -s "$PGDATA/PG_VERSION" ]; then
    if [ -n "${PRIMARY:-}" ]; then follow.sh; else initialise.sh; fi
fi
exec postgres -c listen_addresses='*' "$@"
