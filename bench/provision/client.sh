#!/usr/bin/env bash
# Makes this host the client: pgbench, wrk, the open-loop client for HTTP, and Python for the loaders.
set -euo pipefail
# shellcheck source=role.sh
. "$(dirname "$0")/role.sh"

begin client "$@"
install_toolchains
make --silent -C "$root" bench-packages venv
end
