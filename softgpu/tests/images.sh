# Sourced by the check scripts: sets `images` from the arguments or from $IMAGES. There is no default, since an image is
# known by the harness that made it: `harness images` lists those of a matrix.
images=${*:-${IMAGES:-}}
if [ -z "$images" ]; then
  echo "usage: $0 IMAGE...   (or IMAGES=\"...\"): images with ROCm, such as those of \`harness images\`" >&2
  exit 2
fi
