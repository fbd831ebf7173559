#!/bin/sh
# Run one subject with the variables that its source asks for; fail when it leaves a process behind.
# Usage: sh run.sh SUBJECT
set -u
variables=$(sed -n 's|^// env: ||p' "$1.hip")
# shellcheck disable=SC2086
env $variables ./main
status=$?
here=$(pwd -P)
left=0
for process in /proc/[0-9]*; do
  [ "$(readlink "$process/exe" 2> /dev/null)" = "$here/main" ] || continue
  left=$((left + 1))
  kill -9 "${process#/proc/}"
done
[ "$left" = 0 ] && exit "$status"
echo "$left processes were left behind"
[ "$status" = 0 ] && exit 1
exit "$status"
