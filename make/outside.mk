# Everything from outside: system packages; Kafka, ZooKeeper and Python by Maven; the benchmarks.

KAFKA_VERSION := $(shell sed -n 's:.*<kafka.version>\(.*\)</kafka.version>.*:\1:p' tests/compat/kafka/pom.xml)
JARS := build/kafka/$(KAFKA_VERSION)/jars
NEWEST_POM := tests/compat/kafka-4.4/pom.xml
NEWEST_JARS := build/kafka/$(shell sed -n 's:.*<kafka.version>\(.*\)</kafka.version>.*:\1:p' $(NEWEST_POM))/jars
ZOOKEEPER_POM := tests/compat/kafka-3.9/pom.xml
ZOOKEEPER_JARS := build/kafka/$(shell sed -n 's:.*<kafka.version>\(.*\)</kafka.version>.*:\1:p' $(ZOOKEEPER_POM))/jars

KAFKA_TESTS_POM := tests/compat/kafka-tests/pom.xml
KAFKA_TESTS := build/kafka/tests/jars

.PHONY: kafka
kafka: $(JARS)/classes.jsa $(NEWEST_JARS)/ready $(ZOOKEEPER_JARS)/ready ## Fetch Apache Kafka into build/kafka, for tests that compare with it

.PHONY: kafka-tests
kafka-tests: .venv/test-ready $(KAFKA_TESTS)/ready | jdk ## Run Kafka's own tests that need a cluster against a node, into docs/reference/kafka-tests.md
	$(BIN)/python -m tests.support.kafka.own_tests $(KAFKA_TESTS)

.PHONY: demo
demo: .venv/ready $(JARS)/ready ## Make metalog_sources/demo again, with a real Kafka
	$(BIN)/python tests/fixtures/make/make_demo.py

.PHONY: bench bench-quick
bench: build/bench/ready ## Measure Kafka's authorizer and ours side by side, into bench/results.md
	$(BIN)/python bench/run.py
	METALOG_FIGURES=write $(BIN)/python -m pytest --quiet tests/house/test_bench_results.py

bench-quick: build/bench/ready ## The same in under five minutes, with rough results, into build/bench
	$(BIN)/python bench/run.py --quick

.PHONY: bench-changes
bench-changes: build/bench/ready $(JARS)/ready ## Measure changes and snapshots, Kafka's and ours, into bench/changes.md
	$(BIN)/python bench/changes.py $(if $(QUICK),--quick)

.PHONY: bench-verbs
bench-verbs: build/bench/ready $(JARS)/ready ## Measure the reading verbs on a big log, beside Kafka's tools, into bench/verbs.md
	$(BIN)/python bench/verbs.py $(if $(QUICK),--quick)

.PHONY: report-picture
report-picture: .venv/test-ready java browser ## Draw the guide's picture of a report again, from a small demo
	rm -rf build/metalog-demo
	cd build && ../$(BIN)/metalog pipeline demo --requests 60000 --days 45
	$(BIN)/python docs/images/draw_report.py build/metalog-demo/report.html

# The bundle is committed, so that a report needs no Node. Its parts' licences go with it.
.PHONY: vendor
vendor: npm ## Make the report's charts again, from the locked Apache ECharts
	@rm -rf build/vendor && mkdir -p build && cp -r $(VENDOR) build/vendor
	@cd build/vendor && npm ci --silent --no-audit --no-fund --ignore-scripts && npm run --silent bundle
	@cd build/vendor && cp node_modules/echarts/LICENSE node_modules/echarts/NOTICE . \
	    && cp node_modules/zrender/LICENSE LICENSE-zrender && cp node_modules/echarts/licenses/LICENSE-d3 . \
	    && { echo '/*!'; cat NOTICE LICENSE-zrender LICENSE-d3; echo '*/'; } >>echarts.js \
	    && sha256sum echarts.js charts.js package-lock.json LICENSE* NOTICE >SHA256SUMS
	@cd build/vendor && cp echarts.js LICENSE* NOTICE SHA256SUMS $(CURDIR)/$(VENDOR)
	@cd $(VENDOR) && wc -c echarts.js

.PHONY: bench-pipeline
bench-pipeline: .venv/test-ready | jdk ## Measure decisions on Spark, beside other ways, into bench/pipeline.md
	$(BIN)/python bench/pipeline.py $(if $(QUICK),--quick)

.PHONY: bench-builds
bench-builds: .venv/test-ready | jdk ## Measure whole builds, of one large file and of many small files, into bench/builds.md
	$(BIN)/python bench/builds.py $(if $(QUICK),--quick)

.PHONY: bench-proofs
bench-proofs: .venv/test-ready ## Measure proofs on up to 50,000 ACLs, into bench/proofs.md
	$(BIN)/python bench/proofs.py $(if $(QUICK),--quick)

.PHONY: bench-node
bench-node: .venv/test-ready $(JARS)/ready ## Measure a node and Kafka over sockets, with 2,000 clients, into bench/node.md
	$(BIN)/python bench/node.py $(if $(QUICK),--quick)

# As root on Debian, a missing system package is installed without a terminal, in CI, with
# INSTALL=yes, or if the person at the terminal agrees within a minute. Otherwise a line says what
# to install.
define INSTALL_OR_SAY
install() { export DEBIAN_FRONTEND=noninteractive; apt-get update -qq \
    && apt-get install -y -qq --no-install-recommends $(1) >/dev/null </dev/null; }; \
agrees() { [[ "$${CI:-}" == true || "$${INSTALL:-}" == yes ]] || ! { : >/dev/tty; } 2>/dev/null || { \
    read -r -t 60 -p 'make: install $(1) by apt-get? [y/N] ' said </dev/tty 2>/dev/tty && [[ $$said == [yY]* ]]; }; }; \
mkdir -p build; \
if [[ "$$(id -u)" != 0 ]] || ! command -v apt-get >/dev/null || ! { flock 9; agrees && install; } 9>build/apt-lock; \
then echo 'make: $(2) is not installed; on Debian: sudo apt-get install $(1), or as root make INSTALL=yes' >&2; exit 2; fi
endef

.PHONY: java
java:
	@major=$$(java -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' || true); \
	if [[ "$${major:-0}" -lt 17 ]]; then $(call INSTALL_OR_SAY,openjdk-17-jre-headless,Java 17); fi

.PHONY: maven
maven: java
	@if ! command -v mvn >/dev/null; then $(call INSTALL_OR_SAY,maven,Maven); fi

.PHONY: npm
npm:
	@if ! command -v npm >/dev/null; then $(call INSTALL_OR_SAY,npm,npm); fi

.PHONY: browser
browser:
	@if ! command -v chromedriver >/dev/null; then $(call INSTALL_OR_SAY,chromium chromium-driver,Chromium with its driver); fi

.PHONY: zsh fish
zsh fish:
	@if ! command -v $@ >/dev/null; then $(call INSTALL_OR_SAY,$@,$@); fi

.PHONY: jdk
jdk: java
	@if ! command -v javac >/dev/null; then $(call INSTALL_OR_SAY,openjdk-17-jdk-headless,a Java 17 compiler); fi

define FETCH_JARS
@echo 'make: fetching $(if $(1),$(1),Apache Kafka $(notdir $(patsubst %/jars/,%,$(dir $@)))) by Maven'
@rm -rf $(@D)
@export MAVEN_OPTS="-XX:+UseSerialGC -XX:TieredStopAtLevel=1 $${MAVEN_OPTS:-}"; \
fetch() { mvn --batch-mode --quiet -Dstyle.color=never --file $< dependency:copy-dependencies \
    -DoutputDirectory='$(CURDIR)/$(@D)' </dev/null; }; fetch || fetch
@touch $@
endef

$(JARS)/ready: tests/compat/kafka/pom.xml | maven
	$(FETCH_JARS)

# One after the other: two Mavens at once would fetch the same files into one folder. The newest
# Kafka shares most jars with the first one, so Maven has them already.
$(NEWEST_JARS)/ready: $(NEWEST_POM) | maven $(JARS)/ready
	$(FETCH_JARS)

$(ZOOKEEPER_JARS)/ready: $(ZOOKEEPER_POM) | maven $(NEWEST_JARS)/ready
	$(FETCH_JARS)

# This Python can be moved to any folder, except that ctypes needs libffi beside itself. Python's
# zipfile module does not keep the permission to execute.
.PHONY: python-3.14
python-3.14: ## Fetch Python 3.14 by Maven into build/python-3.14, if none is installed (Linux on x86-64)
	@if [[ -n "$(call INSTALLED_PYTHON,3.14)" ]]; then :; \
	elif [[ "$$(uname -sm)" == 'Linux x86_64' ]]; then $(MAKE) --no-print-directory build/python-3.14/ready; \
	else echo 'make: goes on without Python 3.14, which is not installed'; fi

build/python-3.14/ready: make/python-3.14/pom.xml | maven
	$(call FETCH_JARS,Python 3.14)
	@cd $(@D) && "$(PYTHON)" -m zipfile --extract cpython-*.jar . && rm cpython-*.jar \
	    && cd org/bytedeco/cpython/linux-x86_64 && cp libffi.so.8 lib/python3.14/lib-dynload \
    && mv libpython3.14.so.1.0 bin && chmod +x bin/*

$(KAFKA_TESTS)/ready: $(KAFKA_TESTS_POM) | maven
	$(FETCH_JARS)

# This takes ten seconds of CPU; then two dozen nodes start in half the time.
$(JARS)/classes.jsa: $(JARS)/ready tests/support/kafka/classes.py
	@echo 'make: having Java keep the classes of $(@D)'
	@"$(PYTHON)" -m tests.support.kafka.classes $(@D)

build/bench/ready: .venv/ready requirements-bench.lock bench/peer/pom.xml $(shell find bench/peer/src -name '*.java') | maven jdk
	@echo 'make: building bench/peer over Apache Kafka by Maven'
	@build() { mvn --batch-mode --quiet -Dstyle.color=never --file bench/peer/pom.xml \
	    -Dpeer.directory='$(CURDIR)/build/bench/peer' package dependency:copy-dependencies \
	    -DoutputDirectory='$(CURDIR)/build/bench/peer/jars' </dev/null; }; build || build
	@"$(PYTHON)" -m venv build/bench/libraries
	@build/bench/libraries/bin/python -m pip $(PIP_INSTALL_LOCKED) requirements-bench.lock
	@touch $@
