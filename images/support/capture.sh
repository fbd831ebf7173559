# Run one command under a time limit and print on descriptor 9 what it did. Sourced by build.sh inside images and put in
# front of runner.sh in containers; needs a POSIX shell, /proc and GNU coreutils, nothing else.
#
#   status STATUS START END        STATUS as a shell has it (128 + signal for a death), clocks in nanoseconds
#   stderr HEAD TAIL REST          base64 of the first $KEEP bytes and of the last $KEEP of the REST bytes after them
#   stdout HEAD TAIL REST
#
# Nothing is kept in files: a program that fills or scribbles over every path it can reach cannot touch its own record.

# Keep $KEEP bytes of the head and of the tail of standard input; name the line $1.
keep() {
    head=$(head -c "$KEEP" | base64 -w 0)
    printf '%s %s ' "$1" "$head"
    if [ ${#head} -lt $(((KEEP + 2) / 3 * 4)) ]; then
        printf ' 0\n'
        return
    fi
    # One copy of the rest is counted (descriptor 5) while the other passes through tail to the output (descriptor 6).
    { rest=$({ { tee /dev/fd/4 | wc -c >&5; } 4>&1 | tail -c "$KEEP" | base64 -w 0 >&6; } 5>&1); } 6>&1
    printf ' %d\n' "$rest"
}

# Kill what a command left behind, also where it moved to a session of its own: a survivor would hold the pipes open.
# This shell and its pipelines are the process group $$; process 1 is the container's init.
reap() {
    rounds=0
    while [ "$rounds" -lt 100 ]; do
        left=
        for stat in /proc/[0-9]*/stat; do
            IFS= read -r line <"$stat" || continue
            pid=${stat#/proc/}
            pid=${pid%/stat}
            # After the name in parentheses: state, parent, process group.
            # shellcheck disable=SC2086 # the split is wanted
            set -- ${line##*) }
            if [ "$pid" = 1 ] || [ "$1" = Z ] || [ "$3" = $$ ]; then continue; fi
            kill -KILL "$pid" && left=1
        done
        [ -n "$left" ] || return
        rounds=$((rounds + 1))
        sleep 0.02
    done
}

# Run "$@" for at most $LIMIT seconds. timeout makes itself the leader of a process group, so the whole group gets
# SIGTERM, and SIGKILL two seconds later.
limited() {
    start=$(date +%s%N)
    timeout -k 2 "$LIMIT" "$@" </dev/null 9>&- &
    group=$!
    wait "$group" 2>/dev/null # hides the shell's own "Killed" from the stderr of the command
    status=$?
    end=$(date +%s%N)
    kill -KILL "-$group" 2>/dev/null
    reap 2>/dev/null
    printf 'status %s %s %s\n' "$status" "$start" "$end" >&9
}

# Run "$@" and print its three lines. The stderr line is out before the last reader of stdout sees the end, so the
# lines never mix.
captured() {
    out=$({ limited "$@" 2>&1 >&3 3>&- | keep stderr >&9; } 3>&1 | keep stdout)
    printf '%s\n' "$out" >&9
}
