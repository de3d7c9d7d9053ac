#!/usr/bin/env bash
# Names the libraries of newest.txt that have a newer release, and fails if there is one. PYTHON is 3.12 or later.
set -euo pipefail
cd "$(dirname "$0")"

"${PYTHON:-python3}" -m pip install --quiet --disable-pip-version-check --dry-run --ignore-installed --report - \
    $(sed -n 's/^\([a-z-]*\)==.*/\1/p' newest.txt) |
    "${PYTHON:-python3}" -c '
import json, re, sys
pinned = dict(re.findall(r"^([a-z-]+)==(\S+)$", open("newest.txt").read(), re.M))
found = {one["metadata"]["name"].lower(): one["metadata"]["version"] for one in json.load(sys.stdin)["install"]}
newer = {name: found[name] for name in pinned if found.get(name, pinned[name]) != pinned[name]}
for name, version in newer.items():
    print(f"{name} {version} is newer than {pinned[name]} of tests/python/newest.txt")
sys.exit(bool(newer))
'
