# One word for everything the project does; `make` alone lists the words.
# Needs Python 3.11 or newer and make; the rest is set up in .venv by itself.

PYTHON ?= python3
V := .venv/bin
# one thread for the linear algebra: the same digits everywhere and, where
# there are two cores, half the time
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
export PYTHONHASHSEED := 0

NOTEBOOKS := $(wildcard book/[0-9][0-9]_*.ipynb book/back/*.ipynb)
OPENED = $(if $(NB),$(wildcard $(addsuffix .ipynb,book/$(NB)_* book/0$(NB)_* \
  book/$(NB) book/back/$(NB))),book)
# what the outputs of a notebook depend on besides its own cells
LIBRARY := $(wildcard prml4/*.py prml4/*/*.py book/support/*.py \
  book/support/data/*) tools/nbval.cfg .venv/ok

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help book pdf test lab outputs data lint bench mutants mutants-library
.PHONY: sides heights dist a11y lock clean campaigns versions times slips
.PHONY: error-bars
.PHONY: teach teach-run reset

help:  ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*  ## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 24

book: .venv/ok  ## build the pages, strictly, and look at them
	rm -rf _build/html _build/pdf _build/.doctrees
	$(V)/jupyter-book build . -W -n --keep-going --all
	$(V)/python tools/check_html.py _build/html
	@echo "open file://$(CURDIR)/_build/html/index.html"

pdf: book  ## print the book, whole and page by page, with links to both
	$(V)/python tools/pdf.py
	$(V)/python -m pytest -q -n auto -m pdf

test: .venv/ok  ## unit tests, gates, and the outputs of every notebook
	$(V)/python -m pytest -q -n auto
	$(V)/python -m pytest -q -m dask
	@$(MAKE) --no-print-directory .make/notebooks

# the notebooks that changed since they last passed, or all of them when
# anything did that they depend on
.make/notebooks: $(NOTEBOOKS) $(LIBRARY)
	$(V)/python -m pytest -q -n auto --dist loadscope -p no:cacheprovider \
	  --nbval --nbval-current-env --nbval-cell-timeout=300 --nbval-sanitize-with=tools/nbval.cfg \
	  $(if $(filter-out $(NOTEBOOKS),$?),$(NOTEBOOKS),$?)
	@mkdir -p $(@D) && touch $@

lab: .venv/ok  ## open the notebooks in JupyterLab, one with NB=07
	@test -n "$(OPENED)" || { echo "NB must be a chapter's number; got $(NB)"; exit 1; }
	@echo "trusting the notebooks as they are here, or JupyterLab hides their pictures"
	@$(V)/jupyter trust $(NOTEBOOKS) >/dev/null
	@echo "opening $(OPENED) in a browser, or at the address below"
	@echo "what you change is saved in book/; to have a chapter back: make reset NB=07"
	@echo "to stop: Ctrl-C here, and y"
	$(V)/jupyter lab $(OPENED) $(LAB)

reset: .venv/ok  ## put back a notebook, NB=07, and keep yours in book/mine
	@$(V)/python tools/reset.py $(NB)

teach: .venv/ok  ## write notebooks for students, and others with solutions
	$(V)/python tools/teach.py

teach-run: .venv/ok  ## run every student's notebook to its end
	$(V)/python -m pytest -q -m "teach or not teach" tests/machine/test_teach.py

outputs: .venv/ok  ## run the notebooks again and keep what they print
	$(V)/python tools/execute.py

data: .venv/ok  ## simulate again what takes too long for a chapter
	set -e; for program in tools/precompute_*.py; do \
	  $(V)/python $$program; done

lint: .venv/ok  ## style of code and notebooks
	$(V)/ruff check .
	$(V)/ruff format --check .

bench: .venv/bench  ## time the library against its peers
	$(V)/python benchmarks/logistic.py
	$(V)/python benchmarks/generative.py
	$(V)/python benchmarks/softmax.py
	$(V)/python benchmarks/glm.py
	$(V)/python benchmarks/bayes_logistic.py
	$(V)/python benchmarks/gp_laplace.py
	$(V)/python benchmarks/gp_ep.py
	$(V)/python benchmarks/many_rows.py

mutants: .venv/ok  ## plant errors in the printed formulas and see who notices
	$(V)/python tools/page_mutants.py

sides: .venv/ok  ## compute other sides without the library, and spoil its own
	$(V)/python tools/sides.py

mutants-library: .venv/ok  ## plant errors in the library and see who notices
	$(V)/python tools/mutants.py

campaigns: .venv/ok  ## fit random problems, and count what becomes of them
	$(V)/python -m tests.campaigns $(CAMPAIGN)

error-bars: .venv/ok  ## see whether error bars cover known answers
	$(V)/python -m tests.campaigns.error_bars

slips: .venv/ok  ## plant the slips of the ledger in the library
	$(V)/python -m tests.campaigns.slips

versions: .venv/ok  ## unit tests on several Pythons, oldest and newest NumPy
	$(V)/python tools/versions.py

times: .venv/ok  ## seconds and peak memory of each notebook
	$(V)/python tools/times.py

dist: .venv/ok  ## build what is published, and try it where nothing else is
	rm -rf dist *.egg-info
	$(V)/python -m build
	$(V)/python -m twine check --strict dist/*
	$(V)/python -m pytest -q -m wheel

a11y: book  ## open every page in Chromium: access, network, search
	$(V)/python -m pytest -q -n auto -m browser

heights: .venv/ok  ## measure the built chapters, in screens
	$(V)/python tools/heights.py

lock: .venv/ok  ## renew requirements.txt, the exact environment
	$(V)/uv pip compile --universal --upgrade --no-header --no-annotate \
	  --extra book --extra browser --extra pdf --extra dist \
	  --no-emit-package prml4 \
	  pyproject.toml -o requirements.txt

clean:  ## remove everything that was made
	rm -rf _build dist .venv .make .pytest_cache .ruff_cache .hypothesis
	rm -rf *.egg-info book/*.egg-info

# uv where it can be had, since it takes seconds; pip otherwise. Both compile
# now, or each notebook would, where Python is told to keep no bytecode
.venv/ok: requirements.txt pyproject.toml book/pyproject.toml
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and \
	  '$(PYTHON) is Python %d.%d; 3.11 or newer is needed, for example:' \
	  ' make PYTHON=python3.12 ...' % sys.version_info[:2])"
	@echo "setting up .venv, once: seconds with uv, a minute with pip"
	$(PYTHON) -m venv .venv
	@$(V)/python -m pip install -q --disable-pip-version-check uv \
	  || echo "no uv to be had: going on with pip"
	if test -x $(V)/uv; then $(V)/uv pip install -p .venv --compile-bytecode \
	  -r requirements.txt -e . -e book; \
	else $(V)/python -m pip install -r requirements.txt -e . -e book; fi
	@touch $@

.venv/bench: .venv/ok benchmarks/requirements.txt
	if test -x $(V)/uv; then $(V)/uv pip install -p .venv --compile-bytecode \
	  -c requirements.txt -r benchmarks/requirements.txt; \
	else $(V)/python -m pip install -c requirements.txt \
	  -r benchmarks/requirements.txt; fi
	@touch $@
