#!/bin/sh
# Puts PostgreSQL PG_MAJOR into the image, unless its base has it, as postgres:16 has.
# The user postgres has the number that it has there, so that a volume may outlive a change of the base.
set -eu

if [ -x "/usr/lib/postgresql/$PG_MAJOR/bin/postgres" ]; then
    exit 0
fi
groupadd --system --gid 999 postgres
useradd --system --uid 999 --gid postgres --home-dir /var/lib/postgresql --shell /bin/bash postgres
# The package would make a cluster when it is installed.
mkdir -p /etc/postgresql-common/createcluster.d
echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.d/none.conf
exec "$(dirname "$0")/packages.sh" "postgresql-$PG_MAJOR"
