#!/usr/bin/env bash
# Runs tests of the extensions compiled with AddressSanitizer, on a separate PostgreSQL 18:
#
#     tests/extension/asan/run.sh [ARGUMENT...]     arguments go to pytest
#
# The libraries are instrumented by a nightly Rust, and so is pgboost_trainer, which has the sanitizer's own
# allocator, also for libxgboost. The server is as it was compiled, with the sanitizer from Debian's gcc
# loaded before it: what the extensions read or write beyond a block of malloc, a variable or a constant ends
# the process with a report. A palloc within a block of PostgreSQL's is not told apart from its neighbours.
# Tests run as with any other server; where there is a report, this fails.
set -euo pipefail
. "$(dirname "$0")/../../../tools/toolchain/env.sh"

place=$root/.build/asan
reports=$place/reports
runtime=$(gcc -print-file-name=libasan.so)
# Without what bounds a process's memory or time.
tests=("$@")
[ $# -gt 0 ] || tests=(tests/extension/{test_sql_regression.py,batch,e2e,train,lifecycle}
    --ignore=tests/extension/lifecycle/test_{cancel,memory}.py
    --deselect=tests/extension/train/test_trainer.py::test_{out_of_memory,predictions_of_a_connection_share_one_process_that_ends_with_it})

make_server() {
    "$root/tools/toolchain/postgres.sh" 18 >/dev/null
    rm -rf "$place/18"
    mkdir -p "$place"
    cp -a "$root/.build/postgres/18" "$place/18"
    rm -f "$place"/18/*/pginstall/lib/pgboost*.so
}

# A server's own options, in place of the program: postgres finds its files by the name it is called by.
wrap() {
    local program
    program=$(dirname "$PG_CONFIG")/postgres
    [ -x "$program.plain" ] || mv "$program" "$program.plain"
    cat >"$program" <<END
#!/bin/bash
export LD_PRELOAD=$runtime
export ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0:log_path=$reports/report
exec -a "\$0" "$program.plain" "\$@"
END
    chmod 755 "$program"
}

compgen -G "$place/18/*/pginstall/bin/pg_config" >/dev/null || make_server
PG_CONFIG=$(echo "$place"/18/*/pginstall/bin/pg_config)
export PG_CONFIG
(
    export RUSTUP_TOOLCHAIN=nightly CARGO_BUILD_TARGET=x86_64-unknown-linux-gnu RUSTFLAGS='-Zsanitizer=address --cfg sanitized'
    export CARGO_TARGET_DIR=$place/target CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_STRIP=none
    export CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_DEBUG=line-tables-only
    "$root/tools/toolchain/install.sh"
)
wrap
rm -rf "$reports"
mkdir -m 1777 "$reports"
status=0
"$root/.venv/bin/pytest" "${tests[@]}" || status=$?
if compgen -G "$reports/*" >/dev/null; then die "AddressSanitizer has something to report" "see $reports"; fi
say "AddressSanitizer has nothing to report"
exit $status
