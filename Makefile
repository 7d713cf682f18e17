# One word for everything the project does.  `make` alone lists the words.

PYTHON ?= python3
V := .venv/bin
# one thread for the linear algebra: the same digits and, on two cores, half
# the time
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
export PYTHONHASHSEED := 0

NOTEBOOKS := $(wildcard book/*.ipynb)
# what the outputs of a notebook depend on besides its own cells
LIBRARY := $(wildcard prml4/*.py book/data/*) tools/nbval.cfg .venv/ok

.DEFAULT_GOAL := help
.PHONY: help book test lab outputs lint bench mutants a11y lock clean

help:  ## list these targets
	@sed -n 's/^\([a-z0-9]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 18

book: .venv/ok  ## build the HTML, strictly, and check it
	rm -rf _build/html _build/.doctrees
	$(V)/jupyter-book build . -W -n --keep-going --all
	$(V)/python tools/check_html.py _build/html

test: .venv/ok  ## unit tests, gates, and every notebook output
	$(V)/python -m pytest -q
	@$(MAKE) --no-print-directory .make/notebooks

# compares the notebooks that changed since they last passed; all of them when
# the library did
.make/notebooks: $(NOTEBOOKS) $(LIBRARY)
	$(V)/python -m pytest -q -p no:cacheprovider --nbval --nbval-current-env \
	  --nbval-cell-timeout=300 --nbval-sanitize-with=tools/nbval.cfg \
	  $(if $(filter-out $(NOTEBOOKS),$?),$(NOTEBOOKS),$?)
	@mkdir -p $(@D) && touch $@

lab: .venv/ok  ## open the notebooks in JupyterLab
	$(V)/jupyter lab book

outputs: .venv/ok  ## run the notebooks again and keep their outputs
	$(V)/python tools/execute.py

lint: .venv/ok  ## style of code and notebooks
	$(V)/ruff check .
	$(V)/ruff format --check .

bench: .venv/ok  ## time the library against its peers
	$(V)/python benchmarks/logistic.py

mutants: .venv/ok  ## plant errors in the library; the checks must object
	$(V)/python tools/mutants.py

a11y: .venv/ok  ## open the built book in Chromium: access, offline, search
	$(V)/python -m pytest -q -m browser

lock: .venv/ok  ## renew requirements.txt from pyproject.toml
	$(V)/uv pip compile --universal --upgrade --no-header --no-annotate -q \
	  --all-extras pyproject.toml -o requirements.txt

clean:  ## remove everything that was made
	rm -rf _build .venv .make .pytest_cache .ruff_cache .hypothesis *.egg-info

.venv/ok: requirements.txt pyproject.toml
	$(PYTHON) -m venv .venv
	$(V)/python -m pip install -q uv
	$(V)/uv pip install -p .venv -r requirements.txt -e .
	touch $@
