# Run trials FIRST to LAST of one cell in this container: runner FIRST LAST VARIANT COMMAND...
#
# capture.sh stands in front of this file when it is handed to the container's shell. Every trial prints, on the
# container's standard output, its number, the three lines of capture.sh, and
#
#   events BASE64                  what it wrote to $REPRO_EVENTS
#   oom COUNT                      processes that the kernel killed for memory during it
#   software BASE64                the trust report of the software GPU, its lines without their padding
#   home TYPE WRITABLE FILES LOG   of the home: the file system's type, "yes" or "no" or nothing; in base64, what
#                                  lies there (kind, size, path, NUL), and what its own file system tells of it
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

# A home that is served by a program of ours comes a moment after this container.
if [ -n "$WATCH" ]; then
    rounds=0
    until grep -q "^restricted $HOME_AT " /proc/self/mounts; do
        rounds=$((rounds + 1))
        if [ "$rounds" -ge 500 ]; then exit 1; fi
        sleep 0.02
    done
fi
home_type=
while read -r _ at kind _; do
    if [ "$at" = "$HOME_AT" ]; then home_type=$kind; fi
done </proc/self/mounts

# See what the repro left in its home. Nothing is started where it is empty, which it is after most trials; one that was
# in use before is searched for what is younger than $1, in seconds, and for a few seconds only.
look_home() {
    writable= files= log=
    if [ -n "$WATCH" ]; then
        # Without its program every call below the home fails, which is no result of the repro.
        [ -r "$HOME_AT/$WATCH" ] || exit 1
        log=$(head -c "$KEEP" "$HOME_AT/$WATCH" 2>/dev/null | base64 -w 0)
        return
    fi
    if [ -w "$HOME_AT" ]; then writable=yes; else writable=no; fi
    since=$1
    set -- "$HOME_AT"/* "$HOME_AT"/.[!.]*
    if [ $# -eq 2 ] && ! [ -e "$1" ] && ! [ -e "$2" ]; then return; fi
    set -- "$HOME_AT" -xdev
    if [ -n "$THERE_BEFORE" ]; then set -- "$@" -newermt "@$since"; fi
    files=$(timeout 5 find "$@" '(' ! -type d -o -empty ')' -printf '%y %s %P\0' 2>/dev/null |
        head -c "$KEEP" | base64 -w 0)
}

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
    started=${record#status * }
    started=${started%% *}
    look_home "${started%?????????}"
    say home "$home_type" "$writable" "$files" "$log"
    say end "$n"
    record=${record#status }
    if [ "${record%% *}" -ge 124 ]; then exit 0; fi
    n=$((n + 1))
done
