#!/usr/bin/env bash
# Makes this host the feature store: Redis, which the harness starts with its own configuration, by a
# Python program that needs only Python and psutil.
#
# Where systemd runs, Debian's Redis service is kept from also taking memory and the port.
set -euo pipefail
# shellcheck source=role.sh
. "$(dirname "$0")/role.sh"

begin store "$@"
need redis-server redis-server python3 python3
fresh=${#noted[@]}
# The harness's program runs by the repository's Python where there is one.
[ -x "$root/.venv/bin/python" ] || python3 -c "import psutil" 2>/dev/null || noted+=(python3-psutil)
install_noted
if [ "$fresh" -gt 0 ] && [ -d /run/systemd/system ]; then
    systemctl --quiet disable --now redis-server
fi
end
