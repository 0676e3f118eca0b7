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

# 3.11 or newer, and able to make an environment.
is_good() { command -v "$1" >/dev/null && "$1" -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

if [ -z "${AUTOGRADER_PYTHON:-}" ]; then
    found=
    for name in python3.11 python3.12 python3.13 python3; do
        if is_good "$name"; then found=$name; break; fi
    done
    if [ -z "$found" ]; then
        apt-get -qq update
        for name in python3.11 python3.12 python3.13; do
            if DEBIAN_FRONTEND=noninteractive apt-get -qq install -y "$name" "$name-venv" && is_good "$name"; then found=$name; break; fi
        done
    fi
    if [ -z "$found" ]; then echo "autograder: there is no Python 3.11 or newer here, and none could be installed" >&2; exit 1; fi
    "$found" -m venv "$source/venv"
    # Where PyTorch's own index has the version without CUDA, that is taken: it is gigabytes smaller.
    "$python" -m pip install --quiet --no-cache-dir --disable-pip-version-check \
        --extra-index-url https://download.pytorch.org/whl/cpu -c "$project/constraints.txt" -r "$project/requirements.txt"
fi

"$python" -m compileall -q "$project"

# Students' code runs as other users. They may read what it needs, and nothing else of this project: not the key, not the hidden inputs.
chmod go+x "$home" "$source"
chmod -R go-rwx "$project"
chmod go+x "$project" "$project/autograder" "$project/course"
chmod -R go+rX "$project/autograder/jail" "$project/course/ffnlab"

# Whether grading works here: what fails now would fail for every student.
bash "$source/run_autograder" --check
