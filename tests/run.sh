#!/usr/bin/env bash
# What `make test` and `make quick` run.
#
#   tests/run.sh all [ARGUMENT ...]       every check, whatever the first ones say; arguments go to pytest
#   tests/run.sh nearest [ARGUMENT ...]   mypy, and the tests nearest to what has changed
#
#   BIN       the folder of programs of the environment
#   WORKERS   tests at once

set -o pipefail
BIN=${BIN:-.venv/bin}
WORKERS=${WORKERS:-3}

LEFT_FOR_SWEEP="a JupyterHub, CONTRIBUTING.md step by step, nine notebooks in a browser, kept answers on draws for which the \
record is up to date, and a few long tests"

# step NAME COMMAND...: run it, show and log what it prints, and add to `summary` whether it succeeded.
step() {
    local name=$1
    shift
    echo "── $name"
    if "$@" 2>&1 | tee -a "$log"; then
        summary+="  ok      $name"$'\n'
    else
        summary+="  FAILED  $name"$'\n'
        status=1
    fi
}

# Tests wait for browsers and kernels much of the time, so these run beside them.
run_beside() {
    summary=
    status=0
    step "mypy" "$BIN/mypy"
    step "nbval on the solutions" env FFNLAB_STRICT=1 OMP_NUM_THREADS=1 "$BIN/pytest" -n 1 --nbval-lax "${solutions[@]}"
    printf '%s' "$summary" > "$beside/summary"
    return "$status"
}

run_all() {
    log=$(mktemp)
    beside=$(mktemp -d)
    trap 'kill -- -$! 2>/dev/null; rm -rf "$log" "$beside"' EXIT
    # The last ones take longest, so they come first. The bash of macOS has no mapfile.
    solutions=()
    local notebook
    for notebook in solutions/*/*.ipynb; do solutions=("$notebook" ${solutions[@]+"${solutions[@]}"}); done

    summary=
    status=0
    step "ruff check" "$BIN/ruff" check
    step "ruff format" "$BIN/ruff" format --check
    # In a process group of its own, so that the trap ends all of it.
    set -m
    run_beside > "$beside/output" 2>&1 &
    set +m
    step "pytest" env OMP_NUM_THREADS=1 "$BIN/pytest" -p no:nbval -n "$WORKERS" --dist loadfile --no-loadscope-reorder "$@"
    wait $! || status=1

    cat "$beside/output"
    summary+=$(cat "$beside/summary")$'\n'
    echo "── run"
    printf '%s' "$summary"
    echo "── left for make sweep: $LEFT_FOR_SWEEP"
    echo "── skipped"
    sed -n 's/^SKIPPED/ /p' "$log" | grep . || echo "  nothing"
    exit "$status"
}

# What mypy says follows the tests. Ten seconds are left for the test that is the last to begin.
run_nearest() {
    types=$(mktemp)
    trap 'kill $! 2>/dev/null; rm -f "$types"' EXIT
    local status=0
    "$BIN/mypy" > "$types" 2>&1 &
    "$BIN/pytest" -q --nearest 50 "$@" || status=1
    wait $! || status=1
    cat "$types"
    exit "$status"
}

case ${1:-} in
    all) run_all "${@:2}" ;;
    nearest) run_nearest "${@:2}" ;;
    *) sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
