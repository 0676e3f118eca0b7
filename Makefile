# Every target sets itself up: the first one makes .venv and installs what it needs, after that nothing is installed again
# until a pyproject.toml or constraints.txt changes. Variables:
#   PYTHON=python3.12     the Python that .venv is made with, 3.11 to 3.14
#   TORCH_INDEX=URL       the package index of PyTorch: on Linux PyTorch's own, without graphics cards; pypi: the usual one
#   WORKERS=3             tests at once: on two cores three, as they wait for browsers and kernels much of the time
#   VERSION=1.0.0         what make release makes
#   ARGS="..."            handed on, as in make lab ARGS="--no-browser --port 8900"

SHELL := bash
PYTHON ?= python3
WORKERS ?= 3
BIN := .venv/bin
START := $(PYTHON) course/start.py $(if $(TORCH_INDEX),--torch-index $(TORCH_INDEX))
INSTALL := $(START) --venv .venv --set-up --constraints constraints.txt
SWEPT := 02_feed_forward 08_experts
PINS := pyproject.toml course/pyproject.toml constraints.txt course/constraints.txt
# Say what .venv holds. Where it holds everything, it holds the others' parts.
INSTALLED := .venv/autograder-installed.txt
GRADING_INSTALLED := $(or $(wildcard $(INSTALLED)),.venv/grading-installed.txt)
SITE_INSTALLED := $(or $(wildcard $(INSTALLED)),.venv/site-installed.txt)
OTTER := .venv/otter/bin/otter
# The bytecode of what grading imports: the processes that grade keep none, and would compile PyTorch each for itself.
WARM_UP := from autograder.jail import warm_process; warm_process.warm_up(); import autograder.engine.preload, autograder.grading.grade_class
PROXY := .venv/hub/node_modules/.bin/configurable-http-proxy

# Programs that pip can't install: Debian's package | its command | what is skipped without it.
define GRADING_PROGRAMS
bubblewrap|bwrap|grading in the jail, and its tests
uidmap|newuidmap|grading as another user than root
endef
define PROGRAMS
$(GRADING_PROGRAMS)
chromium|chromium|the tests in a browser
postgresql|pg_ctlcluster|the tests with a PostgreSQL gradebook
npm|npm|the tests with a JupyterHub, and whether everybody can use the desk's pages
xfsprogs|mkfs.xfs|what a power cut leaves on XFS
endef

unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup setup-grading system system-grading lab grade test quick format build matrix stability mutants bench soak sweep built handout site release hub

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

lab: ## open the course in JupyterLab, as a student sees it
	@$(START) --venv .venv $(ARGS)

grade: setup-grading ## grade grading/submitted; while that is empty, a sample class
	@$(BIN)/autograder grade $(ARGS)

test: setup $(PROXY) ## run every check: ruff, mypy, pytest, and the solutions through nbval
	@BIN=$(BIN) WORKERS=$(WORKERS) tests/run.sh all $(ARGS)

quick: setup ## before a commit, in a minute: ruff, mypy, and the tests nearest to what has changed
	@$(BIN)/ruff check && { $(BIN)/ruff format --check || { echo "make format mends it"; exit 1; }; } && BIN=$(BIN) tests/run.sh nearest $(ARGS)

format: setup ## format the code, which makes nothing out of date
	@$(BIN)/ruff check --quiet --fix --select I && $(BIN)/ruff format

build: setup-grading ## make notebooks and shipped reference outputs again where their source changed
	@$(BIN)/autograder build $(ARGS)

matrix: setup-grading ## print exercise × answer → points and message
	@$(BIN)/autograder matrix $(ARGS)

stability: setup-grading ## grade kept answers on twenty secrets, where an exercise has changed, and record what they get
	@$(BIN)/autograder stability $(ARGS)

mutants: setup-grading ## grade every solution with one small change in it: what still earns full marks, and why it may
	@$(BIN)/autograder mutants $(ARGS)

soak: setup ## kill graders at random, many times over, and grade a large class (half an hour)
	@AUTOGRADER_SOAK=25 $(BIN)/pytest -q tests/test_survival.py tests/test_soak.py $(ARGS)

bench: setup $(OTTER) ## measure how fast grading is here, beside nbgrader and otter-grader
	@$(BIN)/autograder bench --otter $(OTTER) $(or $(ARGS),02_feed_forward)

# otter-grader in an environment of its own, which sees all that is installed in .venv.
$(OTTER): $(INSTALLED)
	@$(BIN)/python -m venv --clear .venv/otter
	@$(BIN)/python -c "import pathlib, site; here = site.getsitepackages()[0]; \
	    there = next(pathlib.Path('.venv/otter/lib').glob('python3*')) / 'site-packages' / 'course.pth'; \
	    there.write_text(f'import site; site.addsitedir({here!r})')"
	@.venv/otter/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt otter-grader==7.0.0
	@touch $@

# What others need built first; ARGS are for them alone.
built: setup-grading
	@$(BIN)/autograder build

handout: built ## zip the class's notebooks for students into dist/
	@$(BIN)/autograder handout $(ARGS)

site: built $(SITE_INSTALLED) ## make web pages of the course and its documentation in dist/site, with figures that answer without a kernel
	@$(BIN)/autograder site $(ARGS)

release: built $(INSTALLED) ## make release/ with all that a version consists of, and tag the commit: make release VERSION=1.0.0
	@test -n "$(VERSION)" || { echo "make release: say which version, as in make release VERSION=1.0.0"; exit 2; }
	@$(BIN)/autograder release $(VERSION)

sweep: setup ## run the cases that make test leaves out, then two notebooks and a grading with the oldest and the newest versions
	@$(BIN)/pytest -n 2 --dist loadfile --everything -m sweep $(ARGS)
	@$(call grade_with,lowest-direct,.venv/oldest)
	@.venv/oldest/bin/python -c "import matplotlib as m; m.__version__.startswith('3.10.0') or exit(f'uv did not choose the oldest versions: matplotlib {m.__version__}')"
	@$(call grade_with,highest,.venv/newest)

# Two notebooks and a sample class with the versions that uv resolves in one way: what conda's and pip's users get who have no constraints.txt.
define grade_with
set -e; echo "── uv's resolution: $(1)"; UV_RESOLUTION=$(1) $(START) --venv $(2) --set-up --constraints /dev/null --package .; \
$(2)/bin/python -c "import importlib.metadata as m; print(*(f'{name} {m.version(name)}' for name in ('torch', 'numpy', 'matplotlib', 'ipywidgets', 'nbgrader')), sep=', ')"; \
$(2)/bin/python -c "from autograder.authoring.build import execute; [execute(name) for name in '$(SWEPT)'.split()]"; \
$(2)/bin/autograder matrix --problems; \
folder=$$(mktemp -d); $(2)/bin/autograder sample 4 --grading $$folder; $(2)/bin/autograder grade 02_feed_forward --grading $$folder; rm -r $$folder
endef

setup: system $(INSTALLED) ## install everything, once: for grading, for the web pages, for the tests
	@:

setup-grading: system-grading $(GRADING_INSTALLED) ## install what grading needs, once
	@:

hub: setup ## install what a JupyterHub needs of npm; the tests do it too
	@test -x $(PROXY) || { said=$$($(NPM) 2>&1) || { echo "make hub: npm can't install JupyterHub's proxy: $$($(REASON))"; exit 1; }; }

$(INSTALLED): $(PINS)
	@$(INSTALL) --package '.[test]'
	@$(BIN)/python -c "$(WARM_UP)"
	@touch $@

.venv/grading-installed.txt: $(PINS)
	@$(INSTALL) --package .
	@$(BIN)/python -c "$(WARM_UP)"
	@touch $@

.venv/site-installed.txt: $(PINS)
	@$(INSTALL) --package '.[site]'
	@touch $@

# What comes from npm: JupyterHub's proxy, whose version 5.0 runs on the node 18 of Debian 12, and, for tests, axe-core, which
# looks whether everybody can use a page. Where the registry does not answer, npm alone would wait for many minutes.
NPM = timeout 90 npm install --no-audit --no-fund --no-save --prefix .venv/hub configurable-http-proxy@5.0.1 axe-core@4.10.3
REASON = grep -v 'complete log' <<< "$${said:-no answer in 90 seconds}" | tail -n 1

$(PROXY): | system $(INSTALLED)
	@! command -v npm >/dev/null || said=$$($(NPM) 2>&1) || \
	    echo "configurable-http-proxy and axe-core can't be installed ($$($(REASON))); skipped without them: the tests with a JupyterHub, and whether everybody can use a page"

system: export WANTED := $(PROGRAMS)
system: ## install missing system packages where that is allowed, name them elsewhere
	@$(install_programs)

system-grading: export WANTED := $(GRADING_PROGRAMS)
system-grading:
	@$(install_programs)

define install_programs
missing() { while IFS='|' read -r package command without; do \
    command -v "$$command" >/dev/null || echo "$$package|$$without"; done <<< "$$WANTED"; \
    ! command -v $(PYTHON) >/dev/null || $(PYTHON) -c 'import ensurepip' 2>/dev/null || echo "python3-venv|everything else"; }; \
wanted=$$(missing | cut -d '|' -f 1); \
if [ -n "$$wanted" ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
    echo "Installing" $$wanted "…"; apt-get -qq update; \
    for package in $$wanted; do DEBIAN_FRONTEND=noninteractive apt-get -qq install -y "$$package" </dev/null; done; \
fi; \
missing | while IFS='|' read -r package without; do echo "$$package is missing; skipped without it: $$without"; done
endef
