#!/usr/bin/env bash
# Runs the engine's unit tests under miri, which finds undefined behaviour: readers, the builder, the image
# and its sections, the walk by the portable kernel. Needs a nightly Rust with miri and rust-src.
#
# Left out is what would take hours: random models of all sizes, contributions of features, every flipped bit,
# trees of a hundred thousand nodes, golden models, which come out of an archive, and images tampered with
# everywhere: the fuzz target `image` has those, with AddressSanitizer. Instructions of AVX2 and AVX-512 are
# not covered.
set -euo pipefail
cd "$(dirname "$0")/.."

slow=(
    a_tree_too_large_for_compact_links
    a_chunk_of_tiles_with_exits
    a_call_takes_fewer_rows_of_a_deep_forest
    a_compound_of_a_missing_mask_is_refused
    chunks_without_tiles_are_refused
    sorting_cuts_polls_for_cancellation
    a_tree_polls_for_cancellation
    searching_all_columns_finds_the_rank_in_each
    outcomes_in_wrong_places_are_refused
    numbers_that_are_taken_for_their_own_decimals_are
    decimals_are_the_shortest_and_ascend
    cells_agree_with_the_test_for_every_number
    every_double_and_real_stays_on_its_side_of_every_threshold
    chains_are_short
    every_flipped_bit_is_detected
    every_node
    leaf_vectors_have_the_oracles_bits
    quadrature::tests
    explain::tests
    every_truncation_and_extension_is_detected
    one_set_of_many_codes_leaves_an_image_without_outcomes
    missing_sets_and_values_stop_evaluation
    missing_statistics_are_refused
    tampered_images_are_refused
    with_the_oracle
)
for name in "${slow[@]}"; do
    grep -rqE "(fn|mod) \w*${name##*::}" gbtrees/src || { echo "error: no test is called $name" >&2; exit 1; }
done
# Floats are as the processor has them: miri otherwise errs at random in the last digit of exp.
export MIRIFLAGS="-Zmiri-deterministic-floats ${MIRIFLAGS:-}"
cargo +nightly miri test --locked -p gbtrees --lib --target-dir target/miri -- "${slow[@]/#/--skip=}"
