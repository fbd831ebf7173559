# Say what is inside an image: one "key value" line each. Needs a POSIX shell; what is missing is simply not said.
exec 2>/dev/null
[ -r /etc/os-release ] && . /etc/os-release && echo "os $PRETTY_NAME"
for file in /opt/rocm/.info/version /opt/rocm/core/.info/version; do
    [ -r "$file" ] && echo "rocm_file $(head -n 1 "$file")"
done
PATH=$PATH:/opt/rocm/bin
echo "hip $(hipconfig --version | head -n 1)"
hipcc --version | while read -r line; do
    case $line in *clang\ version*) echo "compiler $line" ;; esac
done
if command -v dpkg-query >/dev/null; then
    # shellcheck disable=SC2016 # dpkg-query's own variables
    dpkg-query -W -f 'package ${Package} ${Version}\n' |
        grep -E '^package (lib)?(amd|hip|hsa|roc|clang-[0-9]|llvm-[0-9]|miopen|comgr|rccl|torch|python3-torch)'
fi
# The build id is the note of type 3 and owner "GNU" (elf(5)): its bytes are searched for, so that no tool is needed.
{ ldconfig -p | sed -n 's/.* => //p'; ls /opt/rocm/lib/*.so* /opt/rocm/lib64/*.so*; } |
    grep -E '/lib(amdhip64|hsa-runtime64|amd_comgr|hiprtc|rocblas|hipblas|hipblaslt|MIOpen)\.so\.[0-9]+$' | sort -u |
    while read -r library; do
        file=$(readlink -f "$library")
        start=$(LC_ALL=C grep -obUaP '\x14\x00\x00\x00\x03\x00\x00\x00GNU\x00' "$file" | head -n 1 | cut -d : -f 1)
        [ -n "$start" ] || continue
        id=$(dd if="$file" bs=1 skip=$((start + 12)) count=20 | od -An -tx1 | tr -d ' \n')
        echo "library ${library##*/} $id ${file##*/}"
    done
for tool in compiler:hipcc python:python3; do
    command -v "${tool#*:}" >/dev/null && echo "offers ${tool%%:*}"
done
for library in rocblas hipblas hipblaslt miopen:MIOpen; do
    ls /usr/lib/*/lib"${library#*:}".so* /opt/rocm/lib/lib"${library#*:}".so* | grep -q . &&
        echo "offers ${library%%:*}"
done
for module in hip-python:hip torch:torch; do
    python3 -c "import importlib.util as u, sys; sys.exit(u.find_spec('${module#*:}') is None)" &&
        echo "offers ${module%%:*}"
done
# What was missing was not said; that is no failure of looking.
exit 0
