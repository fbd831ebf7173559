#!/bin/sh
# Compiles and runs every self-test in every image and prints a table, subjects × images.
# usage: tests/run.sh [-n times] [-t subject,...] [-c chip] [image...]     (run `make` first)
# The images are those that the harness makes; IMAGES names others.
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
times=1
only=
chip=gfx90a
while getopts n:t:c: option; do
  case $option in
    c) chip=$OPTARG ;;
    n) times=$OPTARG ;;
    t) only=$(echo "$OPTARG" | tr , ' ') ;;
    *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))
arch=$(cat "$here"/chips/*.chip | awk -v c="$chip" -F\" '/^gfx/ { g = $2 } /^id/ { i = $2 } /^alias/ { if (c == g || c == i || c == $2) print g }' | head -n 1)
images=${*:-${IMAGES:-explore:bookworm explore:trixie explore:forky explore:sid}}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
failed=0
for image in $images; do
  name=$(echo "$image" | tr -c 'a-zA-Z0-9\n' _)
  docker run --rm --network none --security-opt no-new-privileges --cap-drop ALL --init \
    -v "$here:/softgpu:ro" --tmpfs /tmp:exec,size=2g -e LD_LIBRARY_PATH=/softgpu/build -e HOME=/tmp \
    -e "SOFTGPU_GFX=$chip" -e "ARCH=$arch" -e "ONLY=$only" -e "TIMES=$times" "$image" sh /softgpu/tests/in_image.sh > "$out/$name" 2>&1 || failed=1
  grep -v '^result ' "$out/$name" | sed "s|^|$image: |"
done
subjects=$(cat "$out"/* | awk '/^result / { print $2 }' | awk '!seen[$1]++')
printf '%-18s' subject
for image in $images; do printf '%-18s' "$image"; done
echo
for subject in $subjects; do
  printf '%-18s' "$subject"
  for image in $images; do
    name=$(echo "$image" | tr -c 'a-zA-Z0-9\n' _)
    printf '%-18s' "$(awk -v s="$subject" '$1 == "result" && $2 == s { $1 = $2 = ""; sub(/^  */, ""); print }' "$out/$name")"
  done
  echo
done
grep -q '^result .* FAIL' "$out"/* && failed=1
exit $failed
