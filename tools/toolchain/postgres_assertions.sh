#!/usr/bin/env bash
# Builds Debian's PostgreSQL 15 with assertions into .build/postgres/15-assertions, and prints its pg_config:
#
#     PG_CONFIG=$(tools/toolchain/postgres_assertions.sh) make install
#
# The source is that of Debian's package, which apt checks by its signature. It is built without what the
# tests do not need. apt's lists of sources are kept in the same place, so that the system's stay as they are.
set -euo pipefail
. "$(dirname "$0")/env.sh"

place=$root/.build/postgres/15-assertions
built=$place/installed/bin/pg_config

# Debian's source, by separate lists.
fetch() {
    mkdir -p parts lists/partial cache/archives/partial
    sed 's/^Types: .*/Types: deb-src/' /etc/apt/sources.list.d/debian.sources >parts/debian.sources
    cat >apt.conf <<END
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$place/parts";
Dir::State::lists "$place/lists";
Dir::Cache "$place/cache";
APT::Sandbox::User "root";
END
    export APT_CONFIG=$place/apt.conf
    apt-get update -q
    # A mirror may list a version that it no longer has.
    local version
    for version in $(apt-cache showsrc --only-source postgresql-15 | sed -n 's/^Version: //p' | sort -rV); do
        ! apt-get source -q --download-only --only-source "postgresql-15=$version" || break
    done
    mkdir -p source
    tar --extract --file postgresql-15_*.orig.tar.* --directory source --strip-components 1
}

# PostgreSQL's makefiles generate headers only where no other make called them.
build() {
    unset MAKELEVEL MAKEFLAGS
    cd source &&
        ./configure --quiet --prefix="$place/installed" --enable-cassert --enable-debug \
            --without-readline --without-zlib CFLAGS=-O1 &&
        make -s install &&
        make -s -C contrib/auto_explain install
}

if [ ! -x "$built" ]; then
    say "building PostgreSQL 15 with assertions, some four minutes of processor time" >&2
    rm -rf "$place"
    mkdir -p "$place"
    log=$place/build.log
    (cd "$place" && fetch && build) >"$log" 2>&1 ||
        die "it was not built: the last lines of $log are" "$(tail -5 "$log")"
    chmod -R a+rX "$place/installed"
fi
echo "$built"
