#!/bin/sh
# Writes stubs.cpp: one function for each name of the list that the object files do not define.
# A name may be followed by the status that its stub returns; HSA_STATUS_ERROR when it is not.
# usage: make_stubs.sh names.txt object...
set -eu
names=$1
shift
defined=$(nm --defined-only "$@" | awk '$2 == "T" && $3 ~ /^hsa_/ { print $3 }')
echo '// Made by surface/make_stubs.sh.'
echo '#include "abi.hpp"'
echo '#include "stubs.hpp"'
echo "$defined" | awk '
  NR == FNR { have[$1] = 1; next }
  /^#/ || NF == 0 || $1 in have { next }
  {
    status = NF > 1 ? $2 : "HSA_STATUS_ERROR"
    printf "namespace sg::stubs { int %s_() SG_EXPORT(%s);\n", $1, $1
    printf "int %s_() { static Hit hit(\"%s\"); return hit(%s); } }\n", $1, $1, status
  }' - "$names"
