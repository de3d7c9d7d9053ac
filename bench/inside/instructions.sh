#!/usr/bin/env bash
# Counts the instructions of one execution of a prepared statement, by callgrind in a single-user server, where times
# are too noisy: instructions.sh DIRECTORY [SUBJECT...]
#
# Subjects are numbers of rows, models, ids and planning, the functions below. A line has the statement with
# batches (on), without (off), and with array_length in place of predict (plain). The difference between 60 and 20
# executions is divided by 40. valgrind has no AVX-512, so the kernel is avx2 at best. The cluster is made in DIRECTORY,
# by the extensions that are installed; run it as a user that may start a server, who is not root.
set -euo pipefail
directory=$1
shift
bin=$("${PG_CONFIG:-pg_config}" --bindir)
data=$directory/data
columns=c1,c2,c3,c4,c5,c6,c7,c8,c9,c10
length="array_length(ARRAY[$columns], 1)"
by_key="FROM f WHERE id BETWEEN \$1 AND \$1 + \$2 - 1"

single() { "$bin/postgres" --single -j -D "$data" postgres; }

# statements QUERY COUNT ROWS SETTING: what the server reads, a statement before each empty line. The query's parameters
# are the first id, the number of ids, and the ids as an array.
statements() {
    printf 'SET plan_cache_mode = force_generic_plan;\n\n%s;\n\nPREPARE q(int, int, int[]) AS %s;\n\n' "$4" "$1"
    local ids=
    for i in $(seq "$2"); do
        if [[ $1 == *'$3'* ]]; then ids=$(seq -s, $((i * 700)) 7 $((i * 700 + 7 * ($3 - 1)))); fi
        printf "EXECUTE q(%d, %d, '{%s}');\n\n" $((i * 700)) "$3" "$ids"
    done
}

# counted ARGUMENT...: the instructions of the process that reads these statements.
counted() {
    statements "$@" >"$directory/statements.sql"
    valgrind --tool=callgrind --callgrind-out-file="$directory/callgrind.out" "$bin/postgres" --single -j -D "$data" postgres \
        2>&1 >/dev/null <"$directory/statements.sql" | sed -n 's/.*Collected : //p'
}

# per_execution QUERY ROWS SETTING
per_execution() {
    local few many
    few=$(counted "$1" 20 "$2" "$3")
    many=$(counted "$1" 60 "$2" "$3")
    echo $(((many - few) / 40))
}

# compared LABEL ROWS EXPRESSION PLAIN FROM
compared() {
    printf '%-28s %5d rows' "$1" "$2"
    printf '  on %9d' "$(per_execution "SELECT id, $3 $5" "$2" "SET pgboost.enable_batch = on")"
    printf '  off %9d' "$(per_execution "SELECT id, $3 $5" "$2" "SET pgboost.enable_batch = off")"
    printf '  plain %9d\n' "$(per_execution "SELECT id, $4 $5" "$2" "SELECT 1")"
}

# rows K: that many by key, and of an array.
rows() {
    local packed="FROM packed WHERE k = \$2"
    compared "25x6" "$1" "predict('m', $columns)" "$length" "$by_key"
    printf '%-28s %5d rows  predict_batch %9d  cardinality %9d\n' "25x6, an array" "$1" \
        "$(per_execution "SELECT cardinality(predict_batch('m', m)) $packed" "$1" "SELECT 1")" \
        "$(per_execution "SELECT cardinality(m) $packed" "$1" "SELECT 1")"
}

models() {
    for k in 1 10 100; do
        compared "100 trees of 31 leaves" "$k" "predict('leafwise', $columns)" "$length" "$by_key"
        compared "200x8" "$k" "predict('deep', $columns)" "$length" "$by_key"
    done
    compared "contributions, 31 leaves" 100 "predict_contribs('leafwise', $columns)" "$length" "$by_key"
    compared "three models" 100 "predict('m', $columns), predict('leafwise', $columns), predict('deep', $columns)" \
        "$length, $length, $length" "$by_key"
}

ids() {
    for k in 1 10 100; do
        compared "id = ANY" "$k" "predict('m', $columns)" "$length" "FROM f WHERE id = ANY(\$3)"
        compared "unnest" "$k" "predict('m', $columns)" "$length" "FROM unnest(\$3) AS wanted JOIN f ON id = wanted"
        compared "ten of them, sorted" "$k" "predict('m', $columns)" "$length" "$by_key ORDER BY 2 DESC LIMIT 10"
    done
}

# Execution and planning of a statement without predict, before and after the library is loaded.
planning() {
    local query="SELECT id, $length $by_key" load="SELECT predict('m', $columns) FROM f WHERE id = 1"
    local custom="SET plan_cache_mode = force_custom_plan"
    printf 'without predict, 1 row: generic plan %d, with the library %d; planned %d, with the library %d\n' \
        "$(per_execution "$query" 1 "SELECT 1")" "$(per_execution "$query" 1 "$load")" \
        "$(per_execution "$query" 1 "$custom")" "$(per_execution "$query" 1 "$custom;"$'\n\n'"$load")"
    printf 'with predict, 1 row: generic plan %d, planned %d, planned without batches %d\n' \
        "$(per_execution "SELECT id, predict('m', $columns) $by_key" 1 "SELECT 1")" \
        "$(per_execution "SELECT id, predict('m', $columns) $by_key" 1 "$custom")" \
        "$(per_execution "SELECT id, predict('m', $columns) $by_key" 1 "$custom;"$'\n\n'"SET pgboost.enable_batch = off")"
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

CREATE VIEW source AS SELECT $columns, c1*c2 + c3*sin(c4*9) + c5*c6 - c7*c8*c9 + c10*0.3 AS y FROM f WHERE id <= 50000;

SELECT train_model('m', 'source', 'y', '{"max_depth":6}', rounds => 25);

SELECT train_model('leafwise', 'source', 'y', '{"grow_policy":"lossguide","max_depth":0,"max_leaves":31}', rounds => 100);

SELECT train_model('deep', 'source', 'y', '{"max_depth":8}', rounds => 200);

VACUUM ANALYZE;
SQL
fi
[ $# -gt 0 ] || set -- 1 10 30 100 300 1000 models ids planning
for subject; do
    case $subject in
    [0-9]*) rows "$subject" ;;
    models | ids | planning) "$subject" ;;
    *) echo "unknown subject: $subject" >&2 && exit 2 ;;
    esac
done
