#!/bin/sh
# Installs Debian packages into an image, and nothing that they merely recommend.
# The lists are fetched again and deleted after, so that no layer holds any.
set -eu

export DEBIAN_FRONTEND=noninteractive
apt-get update -q
apt-get install -y -q --no-install-recommends "$@"
rm -rf /var/lib/apt/lists/* /var/log/apt /var/log/dpkg.log /var/log/alternatives.log
