#!/bin/sh
# Runs inside an image: builds the self-tests with its hipcc, runs them, prints "result <subject> <word>" lines.
set -u
tests=/softgpu/tests
work=$(mktemp -d)
cd "$work" || exit 1

compile() {
  link=
  # Since ROCm 7 the runtime compiler is a library of its own.
  [ "$1" = modules ] && [ -e /usr/lib/x86_64-linux-gnu/libhiprtc.so ] && link=-lhiprtc
  hipcc --offload-arch="${ARCH:-gfx90a}" -O1 -Wno-unused-result -I"$tests/hip" -o "$1" "$tests/hip/$1.hip" $link > "$1.build" 2>&1
}

run_once() {
  variables=$(sed -n 's|^// env: ||p' "$tests/hip/$1.hip")
  env $variables timeout -k 5 "${LIMIT:-120}" "./$1" > "$1.out" 2>&1
}

status=0
subjects=$(ls "$tests/hip" | sed -n 's/\.hip$//p')
for subject in ${ONLY:-$subjects}; do
  if ! compile "$subject"; then
    cat "$subject.build"
    echo "result $subject BUILD-FAIL"
    status=1
    continue
  fi
  good=0 skipped=0 turn=0
  while [ "$turn" -lt "${TIMES:-1}" ]; do
    turn=$((turn + 1))
    run_once "$subject"
    code=$?
    case $code in
      0) good=$((good + 1)) ;;
      77) skipped=1; break ;;
      *) echo "$subject: exit status $code"; tail -n 12 "$subject.out" ;;
    esac
  done
  grep '^figure:' "$subject.out"
  if [ "$skipped" = 1 ]; then
    grep '^skipped' "$subject.out" | sed "s/^/$subject: /"
    echo "result $subject skip"
  elif [ "$good" = "$turn" ]; then
    echo "result $subject pass $good/$turn"
  else
    echo "result $subject FAIL $good/$turn"
    status=1
  fi
done
# Nobody may be left behind.
left=$(ps -e -o comm= 2> /dev/null | grep -cE "^($(echo $subjects | tr ' ' '|'))$")
[ "${left:-0}" = 0 ] || { echo "processes left: $left"; status=1; }
exit $status
