#!/usr/bin/env bash
# Counts the instructions of one execution of a prepared statement, by callgrind in a single-user server, where times
# are too noisy: instructions.sh DIRECTORY [ROWS...]
#
# Of K rows by key: with batches (on), without (off), with array_length in place of predict (plain); and of an array of
# K rows, predict_batch and cardinality. The difference between 60 and 20 executions is divided by 40. valgrind has no
# AVX-512, so the kernel is avx2 at best. The cluster is made in DIRECTORY, by the extensions that are installed;
# run it as a user that may start a server, who is not root.
set -euo pipefail
directory=$1
shift
bin=$("${PG_CONFIG:-pg_config}" --bindir)
data=$directory/data
columns=c1,c2,c3,c4,c5,c6,c7,c8,c9,c10

single() { "$bin/postgres" --single -j -D "$data" postgres; }

# statements EXPRESSION FROM COUNT ROWS SETTING: what the server reads, a statement before each empty line.
statements() {
    printf 'SET plan_cache_mode = force_generic_plan;\n\n%s;\n\nPREPARE q(int, int) AS SELECT %s %s;\n\n' "$5" "$1" "$2"
    for i in $(seq "$3"); do printf 'EXECUTE q(%d, %d);\n\n' $((i * 700)) "$4"; done
}

# counted ARGUMENT...: the instructions of the process that reads these statements.
counted() {
    statements "$@" >"$directory/statements.sql"
    valgrind --tool=callgrind --callgrind-out-file="$directory/callgrind.out" "$bin/postgres" --single -j -D "$data" postgres \
        2>&1 >/dev/null <"$directory/statements.sql" | sed -n 's/.*Collected : //p'
}

# per_execution LABEL EXPRESSION FROM ROWS SETTING
per_execution() {
    local few many
    few=$(counted "$2" "$3" 20 "$4" "$5")
    many=$(counted "$2" "$3" 60 "$4" "$5")
    printf '%6d rows  %-14s %d\n' "$4" "$1" $(((many - few) / 40))
}

if ! [ -d "$data" ]; then
    "$bin/initdb" --no-sync --auth=trust -D "$data" >/dev/null
    printf '%s\n' jit=off max_parallel_workers_per_gather=0 fsync=off >>"$data/postgresql.conf"
    single >"$directory/setup.log" 2>&1 <<SQL
CREATE EXTENSION pgboost_train CASCADE;

SELECT setseed(0.5);

CREATE TABLE f AS SELECT id, $(for c in ${columns//,/ }; do printf 'random()::real AS %s, ' "$c"; done) 0 AS z
FROM generate_series(1, 200000) AS id;

ALTER TABLE f ADD PRIMARY KEY (id);

CREATE TABLE packed AS SELECT k, (SELECT array_agg(ARRAY[$columns] ORDER BY id) FROM f WHERE id <= k) AS m
FROM unnest(ARRAY[1, 10, 30, 100, 300, 1000]) AS k;

SELECT train_model('m', 'SELECT $columns, c1*c2 + c3*sin(c4*9) + c5*c6 - c7*c8*c9 + c10*0.3 AS y FROM f WHERE id <= 50000',
'y', '{"max_depth":6}', rounds => 25);

VACUUM ANALYZE;
SQL
fi
by_key="FROM f WHERE id BETWEEN \$1 AND \$1 + \$2 - 1"
[ $# -gt 0 ] || set -- 1 10 100 300 1000
for rows; do
    per_execution on "id, predict('m', $columns)" "$by_key" "$rows" "SET pgboost.enable_batch = on"
    per_execution off "id, predict('m', $columns)" "$by_key" "$rows" "SET pgboost.enable_batch = off"
    per_execution plain "id, array_length(ARRAY[$columns], 1)" "$by_key" "$rows" "SELECT 1"
    packed="FROM packed WHERE k = \$2"
    per_execution predict_batch "cardinality(predict_batch('m', m))" "$packed" "$rows" "SELECT 1"
    per_execution cardinality "cardinality(m)" "$packed" "$rows" "SELECT 1"
done
