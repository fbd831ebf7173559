#!/bin/sh
# Build the variants of a repro, each in its own copy of the sources: sh build.sh PLAN
#
# The plan is a shell file of our own making that calls `variant NAME` and `step COMMAND...` with quoted words.
# A step that fails ends its variant, and the record stays in the image: a failing build is a result (of the experiment
# or of the repro), while a failing `docker build` always means trouble with the image itself.
set -u
here=$(dirname "$0")
. "$here/capture.sh"
: "${KEEP:=65536}" "${LIMIT:=60}" "${EXPERIMENT=}" # yes: how the build ends is the result
ulimit -c 0
# Proxies are for package downloads; their addresses may hold a password, and what a build prints is recorded.
unset http_proxy https_proxy ftp_proxy no_proxy all_proxy HTTP_PROXY HTTPS_PROXY FTP_PROXY NO_PROXY ALL_PROXY

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
    cat .build-step >>.build-record || exit 1
    while read -r word value _; do
        [ "$word" != status ] || echo "$value" >.build-status
    done <.build-step
    rm .build-step
    trouble
}

# End the whole build where a step failed for want of disk, memory or time: what the host could not give today must not stay
# in the image as a result.
trouble() {
    read -r status <.build-status
    [ "$status" != 0 ] || return 0
    while IFS= read -r line; do
        case $line in std*) ;; *) continue ;; esac
        line=${line#* }
        printf '%s' "${line%% *}" | base64 -d
        line=${line#* }
        printf '%s' "${line%% *}" | base64 -d
    done <.build-record >/tmp/.output
    late=
    if [ "$status" = 124 ] && [ -z "$EXPERIMENT" ]; then late=yes; fi
    if [ "$status" = 137 ] || [ -n "$late" ] || grep -E 'No space left on device|(clang|g\+\+|ld|cc1plus)[^ ]*: .*(Killed|signal 9)' /tmp/.output; then
        echo "the host could not build this (status $status)"
        exit 1
    fi
    rm /tmp/.output
}

mkdir -p /repro/cases /repro/source # a repro may have no file but its repro.yaml
. "$1"
