#!/bin/sh
# Copies what was installed of pgboost and pgboost_train to another root, for the image that runs.
# usage: collect.sh PG_CONFIG ROOT
set -eu

libraries=$("$1" --pkglibdir)
scripts=$("$1" --sharedir)/extension
mkdir -p "$2$libraries" "$2$scripts"
cp -R "$libraries/pgboost.so" "$libraries/pgboost_train.so" "$libraries/pgboost_train" "$2$libraries/"
cp "$scripts"/pgboost.control "$scripts"/pgboost--*.sql "$scripts"/pgboost_train.control \
    "$scripts"/pgboost_train--*.sql "$2$scripts/"
