#!/usr/bin/env bash
# Makes this host the feature store: Redis, which the harness starts with a configuration of its own, by a
# Python program that needs nothing beside Python.
#
# Debian's own Redis service is kept from taking memory and the port beside it, where systemd runs.
set -euo pipefail
# shellcheck source=role.sh
. "$(dirname "$0")/role.sh"

begin store "$@"
need redis-server redis-server python3 python3
if [ ${#noted[@]} -gt 0 ]; then
    install_noted
    [ ! -d /run/systemd/system ] || systemctl --quiet disable --now redis-server
fi
end
