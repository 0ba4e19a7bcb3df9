# The parts of a release. The workflows in .github/workflows run only these targets.

RELEASE := build/release-venv
DOCS := build/docs-venv
PYTHONS = $(foreach version,3.11 3.12 3.13 3.14,$(call INSTALLED_PYTHON,$(version)))

.PHONY: dist
dist: $(RELEASE)/ready python-3.14 ## Build the sdist and wheel of HEAD in dist/ twice, compare, check, and try them in clean environments
	@make/dist build/dist-once
	@make/dist build/dist-twice
	diff -r build/dist-once/dist build/dist-twice/dist
	@rm -rf dist && cp -r build/dist-once/dist dist
	$(RELEASE)/bin/twine check --strict dist/*
	$(RELEASE)/bin/check-wheel-contents dist/*.whl
	@for python in $(PYTHONS); do make/smoke "$$python" dist/*.whl; done
	@sha256sum dist/*

.PHONY: smoke
smoke: ## Try the wheel of dist/ in a clean environment of PYTHON: the tour, the README's table, a release's tests
	@make/smoke "$(PYTHON)" dist/*.whl

.PHONY: image-check
image-check: ## Check the Dockerfile and the image without a container runtime: as root, in Linux namespaces
	$(if $(filter 0,$(shell id -u)),,sudo) make/image-check "$(firstword $(call INSTALLED_PYTHON,3.12) $(PYTHON))"

# systemd checks that commands exist, so copies of the units name the command in .venv.
.PHONY: check-units
check-units: .venv/ready ## Check the units of examples/systemd by systemd-analyze
	@rm -rf build/units && cp -r examples/systemd build/units
	@sed -i -e 's:/usr/local/bin/metalog:$(CURDIR)/$(BIN)/metalog:' -e '/^Documentation=/d' -e '/^User=/d' build/units/*
	systemd-analyze verify build/units/*

.PHONY: check-alerts
check-alerts: ## Check the alert rules of docs/observability by promtool
	@if ! command -v promtool >/dev/null; then $(call INSTALL_OR_SAY,prometheus,promtool); fi
	promtool check rules docs/observability/alerts.yml
	cd docs/observability && promtool test rules alerts_test.yml

.PHONY: check-man
check-man: .venv/ready ## Check the manual pages by mandoc
	@rm -rf build/man && $(BIN)/metalog man --to build/man
	mandoc -T lint -W error build/man/*.1

.PHONY: check-tag
check-tag: ## Check that TAG is v and the version of pyproject.toml, with a heading in CHANGELOG.md
	@version=$$("$(PYTHON)" -c 'import tomllib; print(tomllib.load(open("pyproject.toml", "rb"))["project"]["version"])'); \
	if [[ "$(TAG)" != "v$$version" ]]; then echo "make: TAG is '$(TAG)', and pyproject.toml says $$version" >&2; exit 1; fi; \
	if ! grep -qF "## [$$version]" CHANGELOG.md; then echo "make: CHANGELOG.md has no heading [$$version]" >&2; exit 1; fi

.PHONY: docs
docs: $(DOCS)/ready ## Build the site of the docs in build/site, check each link, and write each page as Markdown, too
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build
	@echo 'make: to look at it: python3 -m http.server --bind 127.0.0.1 --directory build/site'

$(DOCS)/ready: requirements-docs.lock
	@echo 'make: installing what the site needs into $(DOCS)'
	@rm -rf $(DOCS) && "$(PYTHON)" -m venv $(DOCS)
	@$(DOCS)/bin/python -m pip $(PIP_INSTALL_LOCKED) requirements-docs.lock
	@touch $@

$(RELEASE)/ready: requirements-release.lock
	@echo 'make: installing what a release needs into $(RELEASE)'
	@rm -rf $(RELEASE) && "$(PYTHON)" -m venv $(RELEASE)
	@$(RELEASE)/bin/python -m pip $(PIP_INSTALL_LOCKED) requirements-release.lock
	@touch $@
