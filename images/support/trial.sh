#!/bin/sh
# Run one trial of a built variant: trial.sh VARIANT [COMMAND...]
#
# Without a command the build was the experiment: print what it printed and end as it did. With one, a build that failed
# ends with 99 (environment broken): it says nothing about the bug.
cd "/repro/cases/$1" || exit 99
shift
read -r built <.build-status

# The fields may be empty, so they are cut off one by one: read would take two blanks for one.
replay() {
    while IFS= read -r line; do
        case $line in stdout* | stderr*) ;; *) continue ;; esac
        line=${line#* }
        printf '%s' "${line%% *}" | base64 -d
        line=${line#* }
        if [ -n "${line%% *}" ]; then
            printf '\n[... the last of %s more bytes ...]\n' "${line#* }"
            printf '%s' "${line%% *}" | base64 -d
        fi
    done <.build-record
}

if [ $# -eq 0 ]; then
    replay >&2
    case $built in
    0) exit 0 ;;
    # 137 is SIGKILL: the kernel's out-of-memory killer or a stopped builder, not the compiler's judgement.
    137) exit 99 ;;
    124) echo "the build timed out" >&2 ;;
    esac
    exit 1
fi
case ${LD_LIBRARY_PATH-} in
/opt/softgpu*)
    if [ ! -e /opt/softgpu/libhsa-runtime64.so.1 ]; then
        echo "the volume of the software GPU is empty; 'harness run' fills it" >&2
        exit 99
    fi
    ;;
esac
if [ "$built" != 0 ]; then
    replay >&2
    echo "the build failed with status $built, so the repro cannot run" >&2
    exit 99
fi
exec "$@"
