# Run trials FIRST to LAST of one cell in this container: runner FIRST LAST VARIANT COMMAND...
#
# capture.sh stands in front of this file when it is handed to the container's shell. Every trial prints, on the
# container's standard output, its number, the three lines of capture.sh, and
#
#   events BASE64                  what it wrote to $REPRO_EVENTS
#   oom COUNT                      processes that the kernel killed for memory during it
#   end NUMBER
#
# A trial that ends by a signal or a timeout is the last one of its container: what it leaves in memory and in files
# must not reach the next.
set -u
exec 9>&1 </dev/null
ulimit -c 0
ulimit -f "$FILE_BLOCKS"
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

cd "/repro/cases/$variant" || exit 1
read -r built <.build-status
printf 'build %s\n' "$built" >&9
shift 3
# trial.sh stands between only where there is no command to run: that is one process less in every other trial.
if [ $# -eq 0 ] || [ "$built" != 0 ]; then set -- sh /repro/harness/trial.sh "$variant" "$@"; fi
n=$first
while [ "$n" -le "$last" ]; do
    export REPRO_TRIAL="$n" REPRO_EVENTS="/tmp/.repro-events-$n"
    oom_kills
    before=$oom
    printf 'trial %s\n' "$n" >&9
    record=$(captured "$@" 9>&1)
    oom_kills
    events=
    if [ -s "$REPRO_EVENTS" ]; then events=$(head -c "$KEEP" "$REPRO_EVENTS" 2>/dev/null | base64 -w 0); fi
    printf '%s\nevents %s\noom %s\nend %s\n' "$record" "$events" $((oom - before)) "$n" >&9
    record=${record#status }
    if [ "${record%% *}" -ge 124 ]; then exit 0; fi
    n=$((n + 1))
done
