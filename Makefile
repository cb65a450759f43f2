# Everything a developer or a newcomer runs. Each target sets up what it needs.
.DEFAULT_GOAL := help
.PHONY: help setup demo docs test test-slow test-faults test-long test-mutants test-airflow test-servers servers bench up down lint audit clean

BIN := .venv/bin

help: ## say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

setup: ## make .venv: pinned packages, Retable, Spark's jars
	@PYTHON="$(PYTHON)" sh infra/setup.sh

demo: setup ## replay a real MariaDB change log and a simulated shop through Airflow, and compare with the truth
	@$(BIN)/python infra/demo.py

docs: setup ## make the reference pages from the code, and the site in var/site
	@PYTHONPATH=infra:plugins $(BIN)/python -m reference
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet && echo "written: var/site/index.html"

test: lint ## every test that needs no server and no root
	@$(BIN)/pytest -n auto --dist worksteal -m "not slow" --ignore=tests/faults --ignore=tests/airflow_running --ignore=tests/servers

test-slow: setup ## the tests that take minutes: on-boarding, the life of tables, upkeep, shadows
	@$(BIN)/pytest -n 2 --dist loadfile -m slow --ignore=tests/servers

test-faults: setup ## kill -9 of Spark at every seam, a full disk; wants root
	@$(BIN)/pytest -n 2 --dist loadfile tests/faults

test-airflow: setup ## an Airflow that runs, on PostgreSQL: hours and backfills, gates, kills, alerts, and what is left of them
	@$(BIN)/pytest -n 2 tests/airflow_running

servers: setup ## get the servers of test-servers that need no root, and say which packages the others are
	@$(BIN)/python infra/get_servers.py

test-servers: servers ## the same jobs where users have their data: Kafka, S3, PostgreSQL, REST, Glue, a Spark cluster
	@$(BIN)/pytest -n 4 --dist loadfile --no-loadscope-reorder tests/servers

test-long: setup ## backfill a day in a running Airflow, draw more examples of the laws (MINUTES=60), then 300 faults of a lake
	@SHOP_HOURS=25 $(BIN)/pytest tests/airflow_running/test_replay.py
	@$(BIN)/python tests/laws/long.py $(or $(MINUTES),60) $(SEED)
	@RETABLE_DRAWS=300 $(BIN)/pytest -s tests/faults/test_drawn.py

test-mutants: setup ## plant bugs into a copy of the core, and say which test catches each
	@$(BIN)/python tests/mutants/run.py

bench: setup ## how fast messages become change events, against merely parsing them; what a replay costs, against MERGE
	@$(BIN)/python bench/decode.py
	@$(BIN)/python -m bench.replay
	@PYTHONPATH=infra:tests $(BIN)/python -m bench.land
	@$(BIN)/python -m bench.history
	@$(BIN)/python -m bench.scale --rows 10000
	@$(BIN)/python -m bench.start

up: setup ## start Airflow on 127.0.0.1 (another port: make up RETABLE_PORT=8081)
	@$(BIN)/python infra/local_airflow.py up

down: ## stop it
	@[ ! -x $(BIN)/python ] || $(BIN)/python infra/local_airflow.py down

lint: setup ## ruff, mypy, import-linter, deptry, vulture
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/deptry src plugins
	@$(BIN)/vulture

audit: setup ## what runs, as a bill of materials (var/sbom.json), and its known advisories; wants the network
	@$(BIN)/python infra/audit.py

clean: down ## remove what make made: .venv, the demo, Airflow's own files, caches
	@rm -rf .venv var/demo var/airflow var/sbom.json .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis dist
