#!/usr/bin/env bash
# Gradescope runs this once, as root, when it builds the image that all submissions are graded in.
#   AUTOGRADER_HOME    instead of /autograder, in tests
#   AUTOGRADER_PYTHON  a Python that has all that is needed: nothing is installed
set -eu
umask 022
home=${AUTOGRADER_HOME:-/autograder}
source=$home/source
project=$source/project
python=${AUTOGRADER_PYTHON:-$source/venv/bin/python}

# 3.11 or newer, able to make an environment, and not in a folder that other users are kept out of. No candidate for 3.11.0, as Ubuntu 22.04 has it:
# whoever is on the same machine can make its multiprocessing run code as root (CVE-2022-42919).
is_good() {
    command -v "$1" >/dev/null && "$1" -c '
import ensurepip, os, pathlib, sys
open_to_all = all(place.stat().st_mode & 1 for place in pathlib.Path(os.__file__).resolve().parents)
sys.exit(not open_to_all or sys.version_info < (3, 11, 0, "final"))' 2>/dev/null
}

# The first good Python; with `install`, after trying to install it.
choose() {
    for name in python3.11 python3.12 python3.13 python3; do
        if [ "${1:-}" = install ]; then
            DEBIAN_FRONTEND=noninteractive apt-get -qq install -y "$name" "$name-venv" </dev/null || continue
        fi
        if is_good "$name"; then found=$name; return 0; fi
    done
    return 1
}

add_newer_pythons() {
    DEBIAN_FRONTEND=noninteractive apt-get -qq install -y software-properties-common </dev/null &&
        add-apt-repository -y ppa:deadsnakes/ppa && apt-get -qq update
}

if [ -z "${AUTOGRADER_PYTHON:-}" ]; then
    if ! choose; then
        apt-get -qq update
        choose install || { add_newer_pythons && choose install; } ||
            { echo "autograder: there is no Python 3.11 or newer here, and none could be installed" >&2; exit 1; }
    fi
    "$found" -m venv "$source/venv"
    # Where PyTorch's own index has the version without CUDA, that is taken: it is gigabytes smaller.
    "$python" -m pip install --quiet --no-cache-dir --disable-pip-version-check \
        --extra-index-url https://download.pytorch.org/whl/cpu -c "$project/constraints.txt" -r "$project/requirements.txt"
fi

"$python" -m compileall -q "$project"

# Students' code runs as other users. They may read what it needs, and nothing else of this project: not the key, not the hidden inputs.
chmod 755 "$home" "$source"
find "$home" -maxdepth 2 -name '*.zip' -exec chmod go-rwx {} + # what this was unpacked from, if it is still there
chmod -R go-rwx "$project"
chmod go+x "$project" "$project/autograder" "$project/course"
course={course}
chmod -R go+rX "$project/autograder/jail" "$project/course/ffnlab" "$project/course/${course%%.*}"

# Whether grading works here: what fails now would fail for every student.
bash "$source/run_autograder" --check
