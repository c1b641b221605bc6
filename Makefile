# Slipway's commands. `make` alone lists them.
PYTHON ?= python3.11
RUN := $(shell command -v $(PYTHON) || command -v python3) -m launcher

.DEFAULT_GOAL := help
.PHONY: help up down test smoke lint format lock clean

help: ## this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

up: ## set up and start the product, with an emulated cluster; Ctrl-C ends all of it
	@exec $(RUN) up

down: ## stop a product that runs elsewhere
	@$(RUN) down

test: ## lint, types and every test
	@$(RUN) test

smoke: ## run the example through the running product and check the result
	@$(RUN) smoke

lint: ## lint, format check, directions and types
	@$(RUN) test lint format directions types migrations

format: ## rewrite the code in its format
	@.venv/bin/ruff check --quiet --fix . ; .venv/bin/ruff format --quiet .

lock: ## write the hashed locks from requirements/*.in
	@.venv/bin/python -m pip install --quiet uv
	@.venv/bin/uv pip compile --quiet --generate-hashes --python-version 3.11 requirements/run.in -o requirements/run.txt
	@.venv/bin/uv pip compile --quiet --generate-hashes --python-version 3.11 requirements/dev.in -o requirements/dev.txt
	@.venv/bin/uv pip compile --quiet --generate-hashes --python-version 3.11 requirements/production.in -o requirements/production.txt

clean: ## remove all state (var/)
	@$(RUN) clean
