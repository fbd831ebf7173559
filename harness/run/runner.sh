# Run trials FIRST to LAST of one cell in this container: runner FIRST LAST VARIANT COMMAND...
#
# capture.sh stands in front of this file when it is handed to the container's shell. Every trial prints, on the
# container's standard output, its number, the three lines of capture.sh, and
#
#   events BASE64                  what it wrote to $REPRO_EVENTS
#   oom COUNT                      processes that the kernel killed for memory during it
#   software BASE64                the trust report of the software GPU, its lines without their padding
#   end NUMBER
#
# A trial that ends by a signal or a timeout is the last one of its container: what it leaves in memory and in files
# must not reach the next.
# Every line begins with $NONCE: a repro may print to the container's output too (/proc/1/fd/1), and is not believed.
set -u
exec 9>&1 </dev/null
say() { printf '%s %s\n' "$NONCE" "$*" >&9; }
ulimit -c 0
# Soft: the software GPU lifts it for the sparse file that its memory is.
ulimit -S -f "$FILE_BLOCKS"
newline='
'
first=$1
last=$2
variant=$3

# Count the processes killed for memory so far: cgroup v2, then v1.
oom_kills() {
    for counter in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
        [ -r "$counter" ] || continue
        while read -r name value; do
            if [ "$name" = oom_kill ]; then
                oom=$value
                return
            fi
        done <"$counter"
    done
    oom=0
}

# A volume that somebody removed comes back empty: what a cell gave without it would be no result.
for folder in $MOUNTED; do [ -n "$(ls -A "$folder")" ] || exit 1; done

cd "/repro/cases/$variant" || exit 1
read -r built <.build-status
say build "$built"
shift 3
# trial.sh stands between only where there is no command to run: that is one process less in every other trial.
if [ $# -eq 0 ] || [ "$built" != 0 ]; then set -- sh /repro/harness/trial.sh "$variant" "$@"; fi
n=$first
while [ "$n" -le "$last" ]; do
    export REPRO_TRIAL="$n" REPRO_EVENTS="/tmp/.repro-events-$n" SOFTGPU_REPORT="/tmp/.softgpu-report-$n"
    oom_kills
    before=$oom
    say trial "$n"
    record=$(captured "$@" 9>&1)
    oom_kills
    events=
    if [ -s "$REPRO_EVENTS" ]; then events=$(head -c "$KEEP" "$REPRO_EVENTS" 2>/dev/null | base64 -w 0); fi
    say "${record%%"$newline"*}"
    lines=${record#*"$newline"}
    say "${lines%%"$newline"*}"
    say "${lines#*"$newline"}"
    say events "$events"
    say oom $((oom - before))
    software=
    if [ -s "$SOFTGPU_REPORT" ]; then software=$(sed 's/ *$//' "$SOFTGPU_REPORT" | head -c "$KEEP" | base64 -w 0); fi
    say software "$software"
    say end "$n"
    record=${record#status }
    if [ "${record%% *}" -ge 124 ]; then exit 0; fi
    n=$((n + 1))
done
