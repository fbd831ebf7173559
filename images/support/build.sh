#!/bin/sh
# Build the variants of a repro, each in its own copy of the sources: sh build.sh PLAN
#
# The plan is a shell file of our own making that calls `variant NAME` and `step COMMAND...` with quoted words.
# A step that fails ends its variant, and the record stays in the image: a failing build is a result (of the experiment
# or of the repro), while a failing `docker build` always means trouble with the image itself.
set -u
here=$(dirname "$0")
. "$here/capture.sh"
: "${KEEP:=65536}" "${LIMIT:=60}"
ulimit -c 0

variant() {
    cp -r /repro/source "/repro/cases/$1"
    cd "/repro/cases/$1" || exit 1
    echo 0 >.build-status
    : >.build-record
}

step() {
    read -r before <.build-status
    [ "$before" = 0 ] || return 0
    captured "$@" 9>.build-step
    cat .build-step >>.build-record
    while read -r word value _; do
        [ "$word" != status ] || echo "$value" >.build-status
    done <.build-step
    rm .build-step
}

mkdir -p /repro/cases
. "$1"
