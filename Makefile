# Every target sets itself up: the first one makes .venv, after that nothing is installed again until a pyproject.toml
# or constraints.txt changes. Variables:
#   TORCH_INDEX=https://download.pytorch.org/whl/cpu   PyTorch's CPU wheels; Linux's default brings gigabytes of CUDA
#   PYTHON=python3.12                                  the Python that .venv is made with, 3.11 or newer
#   ARGS="..."                                         handed on, as in make lab ARGS="--no-browser --port 8900"

SHELL := bash
PYTHON ?= python3
BIN := .venv/bin
START := $(PYTHON) course/start.py --venv .venv $(if $(TORCH_INDEX),--torch-index $(TORCH_INDEX))
INSTALLED := .venv/autograder-installed.txt
OTTER := .venv/otter/bin/otter
PROXY := .venv/hub/node_modules/.bin/configurable-http-proxy

# Programs that pip can't install: Debian's package | its command | what is skipped without it.
define SYSTEM_PACKAGES
bubblewrap|bwrap|grading in the jail, and its tests
uidmap|newuidmap|grading as another user than root
chromium|chromium|the tests in a browser
postgresql|pg_ctlcluster|the tests with a PostgreSQL gradebook
npm|npm|the tests with a JupyterHub, and whether everybody can use the desk's pages
endef

.PHONY: help setup system lab grade test quick build matrix luck mutants bench soak handout site hub

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile

lab: ## open the course in JupyterLab, as a student sees it
	@$(START) $(ARGS)

grade: setup ## grade grading/submitted; while that is empty, a sample class
	@$(BIN)/autograder grade $(ARGS)

test: setup $(PROXY) ## run every check: ruff, mypy, pytest, and the solutions through nbval
	@$(run_tests)

quick: setup ## before a commit, in two minutes: ruff, mypy, and the tests nearest to what has changed
	@$(BIN)/ruff check && $(BIN)/ruff format --check && $(BIN)/mypy && $(BIN)/pytest -q --nearest 60 $(ARGS)

build: setup ## make notebooks and shipped answers again where their source changed
	@$(BIN)/autograder build $(ARGS)

matrix: setup ## print exercise × answer → points and message
	@$(BIN)/autograder matrix $(ARGS)

luck: setup ## grade every kept answer on twenty secrets, where a key has changed, and record what it gets
	@$(BIN)/autograder luck $(ARGS)

mutants: setup ## grade every solution with one small change in it: what still earns full marks, and why it may
	@$(BIN)/autograder mutants $(ARGS)

soak: setup ## kill graders at random, many times over, and grade a large class (half an hour)
	@AUTOGRADER_SOAK=25 $(BIN)/pytest -q tests/test_survival.py tests/test_soak.py $(ARGS)

bench: setup $(OTTER) ## measure how fast grading is here, beside nbgrader and otter-grader
	@$(BIN)/autograder bench --otter $(OTTER) $(ARGS)

# otter-grader in an environment of its own, which sees all that is installed in .venv.
$(OTTER): $(INSTALLED)
	@$(BIN)/python -m venv --clear .venv/otter
	@$(BIN)/python -c "import pathlib, site; here = site.getsitepackages()[0]; \
	    there = next(pathlib.Path('.venv/otter/lib').glob('python3*')) / 'site-packages' / 'course.pth'; \
	    there.write_text(f'import site; site.addsitedir({here!r})')"
	@.venv/otter/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt otter-grader==7.0.0
	@touch $@

handout: build ## zip the class's notebooks for students into dist/
	@$(BIN)/autograder handout $(ARGS)

site: build ## make web pages of the course and its documentation in dist/site, with figures that answer without a kernel
	@$(BIN)/autograder site $(ARGS)

setup: system $(INSTALLED) ## install everything in .venv, once; the other targets do it too
	@:

hub: setup $(PROXY) ## install what a JupyterHub needs of npm; the tests do it too
	@:

$(INSTALLED): pyproject.toml course/pyproject.toml constraints.txt course/constraints.txt
	@$(START) --set-up
	@$(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt -e '.[test]'
	@touch $@

# What comes from npm: JupyterHub's proxy, whose version 5.0 runs on the node 18 of Debian 12, and, for tests, axe-core, which
# looks whether everybody can use a page. Where the registry does not answer, npm alone would wait for many minutes.
$(PROXY): | system $(INSTALLED)
	@! command -v npm >/dev/null || \
	    timeout 90 npm install --silent --no-audit --no-fund --no-save --prefix .venv/hub configurable-http-proxy@5.0.1 axe-core@4.10.3 || \
	    echo "configurable-http-proxy and axe-core can't be installed; skipped without them: the tests with a JupyterHub, and whether everybody can use a page"

system: export PACKAGES := $(SYSTEM_PACKAGES)
system: ## install missing system packages where that is allowed, name them elsewhere
	@missing() { while IFS='|' read -r package command without; do \
	    command -v "$$command" >/dev/null || echo "$$package|$$without"; done <<< "$$PACKAGES"; }; \
	wanted=$$(missing | cut -d '|' -f 1); \
	if [ -n "$$wanted" ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "Installing" $$wanted "…"; apt-get -qq update; \
	    for package in $$wanted; do DEBIAN_FRONTEND=noninteractive apt-get -qq install -y "$$package" </dev/null; done; \
	fi; \
	missing | while IFS='|' read -r package without; do echo "$$package is missing; skipped without it: $$without"; done

# Runs all steps whatever the first ones say; ends with what was run and what was skipped, and why.
define run_tests
set -o pipefail; log=$$(mktemp); trap 'rm -f "$$log"' EXIT; summary=; status=0; \
step() { name=$$1; shift; echo "── $$name"; \
    if "$$@" 2>&1 | tee -a "$$log"; then summary+="  ok      $$name"$$'\n'; \
    else summary+="  FAILED  $$name"$$'\n'; status=1; fi; }; \
step "ruff check" $(BIN)/ruff check; \
step "ruff format" $(BIN)/ruff format --check; \
step "mypy" $(BIN)/mypy; \
step "pytest" $(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder $(ARGS); \
step "nbval on the solutions" env FFNLAB_STRICT=1 $(BIN)/pytest -n 2 --dist loadfile --nbval-lax solutions; \
echo "── run"; printf '%s' "$$summary"; \
echo "── skipped"; sed -n 's/^SKIPPED/ /p' "$$log" | grep . || echo "  nothing"; \
exit $$status
endef
