#!/bin/sh
# Make .venv/ beside this file: Python >= 3.10 with the locked packages of requirements/ and this project, editable.
# Usage: sh setup.sh [--test]. Says one line for each thing it does, nothing when all is in place; log: .harness/setup.log
set -eu
cd "$(dirname "$0")"
root=$(pwd -P)
log=.harness/setup.log
unset PYTHONHOME PYTHONPATH PIP_TARGET PIP_PREFIX  # the caller's packages stay out of the private environment
export PIP_USER=0 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1

say() { printf 'setup: %s\n' "$*" >&2; }
stop() { say "$*"; exit 3; }

case ${1-} in
    '') kind='run' ;;
    --test) kind='test' ;;
    *) say "usage: sh setup.sh [--test]"; exit 2 ;;
esac

# What .venv was made of is written last, so one whose making was cut short never counts as made.
base() { printf '%s\n' "$root" "$(readlink -f .venv/bin/python)"; sha256sum requirements/run.txt requirements/test.txt; }
base_is_made() { [ -x .venv/bin/python ] && [ "$(base)" = "$(cat .venv/.base 2>/dev/null)" ]; }
kind_is_made() { [ "$kind" = run ] || [ -e .venv/.test ]; }
project_is_made() { [ "$(sha256sum pyproject.toml)" = "$(cat .venv/.project 2>/dev/null)" ]; }
all_is_made() { base_is_made && kind_is_made && project_is_made; }

# Run a step with its output in the log; show the end of the log when it fails.
step() {
    printf '\n$ %s\n' "$*" >>"$log"
    "$@" >>"$log" 2>&1 9>&- && return
    tail -n 15 "$log" >&2
    stop "'$1 …' failed; the end of $root/$log is above. Then run the same command again. Behind a proxy or a company's" \
        "certificate set https_proxy, PIP_CERT=<CA bundle> or PIP_INDEX_URL=<mirror> first"
}

find_python() {
    for python in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11 python3.10; do
        "$python" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1 && return
    done
    return 1
}

# Print the command that installs Python on this distribution.
install_command() {
    # shellcheck disable=SC1091  # read where it is, not here
    case " $(. /etc/os-release 2>/dev/null && printf '%s %s' "${ID-}" "${ID_LIKE-}") " in
        *' debian '* | *' ubuntu '*) echo 'apt-get update && apt-get install -y --no-install-recommends python3 python3-venv' ;;
        *' suse '* | *' opensuse'* | *' sles '*) echo 'zypper --non-interactive install python311' ;;
        *' arch '*) echo 'pacman -S --noconfirm python' ;;
        ' fedora '*) echo 'dnf install -y python3' ;;
        *' rhel '* | *' fedora '* | *' centos '*) echo 'dnf install -y python3.12' ;;
        *) echo '(your package manager: python3 >= 3.10 with venv and ensurepip)' ;;
    esac
}

# Set $sudo to what makes a command run as root: nothing, "sudo -n", or "sudo" where somebody can type a password.
can_be_root() {
    sudo=''
    [ "$(id -u)" = 0 ] && return
    command -v sudo >/dev/null || return
    sudo='sudo -n'
    $sudo true 2>/dev/null && return
    sudo=sudo
    [ -t 0 ]
}

install_python() {
    command=$(install_command)
    { command -v apt-get >/dev/null && can_be_root; } || stop "no Python >= 3.10 with venv here. Run as root: $command"
    say "no Python >= 3.10 with venv here: installing python3 and python3-venv with ${sudo:+$sudo }apt-get"
    set -- env DEBIAN_FRONTEND=noninteractive http_proxy="${http_proxy-}" https_proxy="${https_proxy-}" apt-get
    # shellcheck disable=SC2086  # $sudo is up to two words
    {
        step $sudo "$@" update
        step $sudo "$@" install -y --no-install-recommends python3 python3-venv
    }
    find_python || stop "this distribution's python3 is older than 3.10: install a newer one, then run PYTHON=<its path> again"
}

# Wheels only, and no byte code until a module is first imported: compiling all of it takes a third of the whole time.
pip_install() {
    step .venv/bin/python -m pip install --require-hashes --only-binary=:all: --no-compile -r "requirements/$kind.txt"
}

make_base() {
    find_python || install_python
    say "making .venv with $("$python" -V) and requirements/$kind.txt"
    step rm -rf .venv
    step "$python" -m venv .venv
    pip_install
}

all_is_made && exit
mkdir -p .harness || stop "cannot write in $root: run as its owner"
if command -v flock >/dev/null; then
    exec 9>.harness/setup.lock
    flock -n 9 || { say "waiting for another set-up of this folder"; flock 9; }
fi
all_is_made && exit
: >"$log"
if ! base_is_made; then
    make_base
elif ! kind_is_made; then
    say "adding requirements/test.txt to .venv"
    rm -f .venv/.base
    pip_install
fi
[ "$kind" = run ] || : >.venv/.test
base >.venv/.base
if ! project_is_made; then
    step .venv/bin/python -m pip install --no-deps --no-build-isolation --no-index -e .
    sha256sum pyproject.toml >.venv/.project
fi
