# Every target works on a fresh Debian with Go and make; what else a target needs, it says.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

MODULE   := github.com/wardroom/wardroom
VERSION  := $(shell git describe --tags --match 'v*' --dirty 2>/dev/null | sed 's/^v//')
VERSION  := $(or $(VERSION),$(shell cat VERSION))
COMMIT   := $(shell git rev-parse --verify --quiet HEAD 2>/dev/null)
LDFLAGS  := -s -w -X $(MODULE)/appliance/cmd.version=$(VERSION) -X $(MODULE)/appliance/cmd.commit=$(COMMIT) -X main.version=$(VERSION)
# nomsgpack leaves out a codec of gin's that no route uses: 6 MB.
TAGS     := nomsgpack
GOBUILD  := CGO_ENABLED=0 go build -trimpath -tags $(TAGS) -ldflags '$(LDFLAGS)'
# The example is for authors to copy; the product does not ship it.
PLUGINS  := $(filter-out example,$(patsubst plugins/%/main.go,%,$(wildcard plugins/*/main.go)))
# Modules nested in the tree, such as a sample plugin: they have tests of their own. A cluster and Vault are only built.
NESTED   := $(shell find . -mindepth 2 -name go.mod -not -path '*/node_modules/*' -not -path './.cache/*' -not -path './scripts/cluster/*' -not -path './scripts/vault/*' -printf '%h ')

# The sdk for authors of plugins, which wardroom has inside.
SDK      := appliance/scaffold/bundle/sdk.tar.zst

GOLANGCI_VERSION := 2.6.2
GOLANGCI := .cache/bin/golangci-lint-$(GOLANGCI_VERSION)

# Of make types alone.
TYPESCRIPT_VERSION := 7.0.2

HELM_VERSION := 3.19.0
HELM     := .cache/bin/helm-$(HELM_VERSION)

NFPM_VERSION := 2.45.0
NFPM     := .cache/bin/nfpm-$(NFPM_VERSION)
# Of make package: architectures, where packages go, their version, and an OpenPGP secret key to sign them with.
ARCHES   ?= amd64,arm64
DIST     ?= dist
PACKAGE_VERSION ?= $(VERSION:-dirty=)
SIGN_KEY ?=
# Which of the packages; all where it names none.
ONLY     ?=
# Of make bundle: images of agents that go along, as packaging/images/build.sh -o writes them.
IMAGES   ?=

FUZZTIME ?= 5s
PACKAGES ?= ./...
ROUNDS   ?= 200
TURNS    ?= 1000
KILLS    ?= all
BENCH    ?=
SOAK     ?=

.PHONY: help build console types typescript demo test nested race lint bench clis oidc vault helm fuzz-short e2e faults soak turns kills package bundle appliance clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

# What wardroom plugin sdk writes.
$(SDK): go.mod docs/plugins.md scripts/outside/sdk.go $(shell find sdk -type d -o -type f -not -name '*_test.go')
	go run ./scripts/outside -pack $@
	@touch $@

# Each file is built beside the one that it replaces and renamed: a server whose agents work may run from here.
build: $(SDK) ## bin/wardroom and bin/plugins/* with their manifest
	@mkdir -p bin/plugins bin/.new
	$(GOBUILD) -o bin/.new/wardroom ./appliance/cmd/wardroom
	@mv -f bin/.new/wardroom bin/wardroom
	@for name in $(PLUGINS); do \
		echo "$(MODULE)/plugins/$$name -> bin/plugins/$$name"; \
		(cd "plugins/$$name" && $(GOBUILD) -o "$(CURDIR)/bin/.new/$$name" .); \
		mv -f "bin/.new/$$name" "bin/plugins/$$name"; \
	done
	@for file in bin/plugins/*; do \
		case " $(PLUGINS) manifest.json manifest.d " in *" $${file##*/} "*) ;; *) rm -rf "$$file" ;; esac; \
	done
	bin/wardroom plugin manifest bin/plugins

console: ## bundles the web console anew, after a change in appliance/console/ui or of the route table
	cd scripts/console && go run . -root ../..

types: ## checks the types of the console's scripts (needs node and npm; the bundler leaves types out without a look)
	@mkdir -p .cache/typescript
	@[ -x .cache/typescript/$(TYPESCRIPT_VERSION)/node_modules/.bin/tsc ] || \
		npm install --no-audit --no-fund --silent --ignore-scripts --prefix .cache/typescript/$(TYPESCRIPT_VERSION) typescript@$(TYPESCRIPT_VERSION)
	.cache/typescript/$(TYPESCRIPT_VERSION)/node_modules/.bin/tsc -p appliance/console/ui/tsconfig.json

typescript: ## compiles the library for agents in TypeScript anew, after a change in sdk/agent/typescript/src (needs node 20 and npm)
	cd sdk/agent/typescript && npm install --no-audit --no-fund --ignore-scripts --no-package-lock && rm -rf dist && node_modules/.bin/tsc

demo: build ## agents vote on a real corpus, coding tools and a thread are driven, through kill -9; KEEP=1 leaves it running
	KEEP="$(KEEP)" bash scripts/demo/run.sh

test: ## every test of every module, the house rules included; PACKAGES and TESTFLAGS choose among them
	go test -timeout 30m $(TESTFLAGS) $(PACKAGES)
	@$(MAKE) --no-print-directory nested

# Not from the test cache: they read files outside of their module.
nested: ## the tests of the modules nested in the tree alone
	@failed=; for dir in $(NESTED); do \
		echo "cd $$dir && go test ./..."; \
		(cd "$$dir" && go test -count=1 -timeout 30m ./...) || failed="$$failed $$dir"; \
	done; \
	if [ -n "$$failed" ]; then echo "failed:$$failed"; exit 1; fi

race: ## the same under the race detector (needs a C compiler)
	CGO_ENABLED=1 GORACE=atexit_sleep_ms=0 $(MAKE) --no-print-directory test TESTFLAGS=-race

lint: $(GOLANGCI) ## gofmt, go mod tidy and the pinned golangci-lint, go vet's checks among its own
	@unformatted="$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go' | while read -r f; do if [ -e "$$f" ]; then echo "$$f"; fi; done))"; \
	if [ -n "$$unformatted" ]; then echo "not formatted by gofmt:"; echo "$$unformatted"; exit 1; fi
	go mod tidy -diff
	$(GOLANGCI) run ./...

# The pinned version is taken from the machine if it is there, and built otherwise (some minutes, once).
$(GOLANGCI):
	@mkdir -p .cache/bin
	@for found in "$$(command -v golangci-lint || true)" "$$(go env GOPATH)/bin/golangci-lint"; do \
		if [ -x "$$found" ] && "$$found" version | grep -qE 'version v?$(subst .,\.,$(GOLANGCI_VERSION)) '; then \
			ln -sf "$$found" $(GOLANGCI); exit 0; \
		fi; \
	done; \
	GOBIN="$(CURDIR)/.cache/bin" go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$(GOLANGCI_VERSION); \
	mv .cache/bin/golangci-lint $(GOLANGCI)

package: $(SDK) $(NFPM) ## dist/*.deb and *.rpm for ARCHES, reproducible; SIGN_KEY names an OpenPGP secret key file
	go run ./scripts/packager -nfpm "$(CURDIR)/$(NFPM)" -out "$(DIST)" -arch "$(ARCHES)" -version "$(PACKAGE_VERSION)" -tags "$(TAGS)" -only "$(ONLY)" $(if $(SIGN_KEY),-sign "$(abspath $(SIGN_KEY))")

bundle: $(SDK) $(NFPM) ## the same, and for each of ARCHES one file that installs without a network; IMAGES names images for it
	go run ./scripts/packager -bundle -nfpm "$(CURDIR)/$(NFPM)" -out "$(DIST)" -arch "$(ARCHES)" -version "$(PACKAGE_VERSION)" -tags "$(TAGS)" -only "$(ONLY)" $(if $(SIGN_KEY),-sign "$(abspath $(SIGN_KEY))") $(if $(IMAGES),-images "$(abspath $(IMAGES))")

# The pinned version, built once.
$(NFPM):
	@mkdir -p .cache/bin
	GOBIN="$(CURDIR)/.cache/bin" go install github.com/goreleaser/nfpm/v2/cmd/nfpm@v$(NFPM_VERSION)
	mv .cache/bin/nfpm $(NFPM)

appliance: ## the packages on a booted Debian: install, upgrade, restore, purge (root, systemd-nspawn, mmdebstrap, rpm, lintian)
	bash scripts/appliancerig/run.sh

bench: build ## throughput and latency as a table, beside a baseline of the same run, and without BENCH, which passes flags, the console in a browser; WARDROOM_CLUSTER: agents in pods too
	go run ./scripts/bench $(BENCH)
	$(if $(WARDROOM_CLUSTER),cd plugins/runtime-kubernetes && go test -run '^$$' -bench . -benchtime 10x ./kubernetes)
	$(if $(BENCH),,cd scripts/console/browser && WARDROOM_BIN=$(CURDIR)/bin/wardroom go test -run '^$$' -bench Console -benchtime 3x .)

clis: ## the pinned claude, codex and gemini in .cache/clis (needs node 20 and npm)
	bash scripts/clis/install.sh .cache/clis

oidc: ## the OpenID provider that tests of single sign-on run, in .cache/oidc (needs node 20 and npm)
	bash scripts/oidc/install.sh .cache/oidc

vault: ## the Vault server that tests of secrets-vault run, in .cache/vault (some minutes, 3 GB of modules; a test peer that is not shipped)
	bash scripts/vault/build.sh .cache/vault

helm: $(HELM) ## the helm that tests of the chart run, in .cache/bin (2 minutes of processor time)

$(HELM):
	@mkdir -p .cache/bin
	CGO_ENABLED=0 GOBIN="$(CURDIR)/.cache/bin" go install -trimpath -ldflags '-s -w' helm.sh/helm/v3/cmd/helm@v$(HELM_VERSION)
	mv .cache/bin/helm $(HELM)

fuzz-short: ## each fuzz target for FUZZTIME (5s, or a number of inputs: 500x); FUZZ_SINCE=24h: of packages changed lately
	FUZZ_SINCE="$(FUZZ_SINCE)" bash scripts/fuzz/run.sh $(FUZZTIME) </dev/null

e2e: build ## the real binary from outside: kill, restart, drain, full disk
	WARDROOM_BIN="$(CURDIR)/bin/wardroom" go test -count=1 -timeout 20m ./appliance/e2e

faults: ## ROUNDS (200) rounds of kills, clock steps, hostile agents, full disks and broken records, each proven; RUNTIME=docker: of agents in containers
	go run ./scripts/faultrig -rounds $(ROUNDS) $(if $(RUNTIME),-runtime $(RUNTIME))

soak: ## a simulated year of load, then a table of what grew; SOAK passes flags (-short: minutes)
	go run ./scripts/soak $(SOAK)

turns: ## TURNS (1000) scripted turns of each installed coding tool under kills, judged one by one
	go run ./scripts/turnrig -turns $(TURNS)

kills: ## the core, the plugin, the holder and the coding tool killed at each step of a message; KILLS (all) names tools
	go test -count=1 -timeout 60m ./appliance/e2e -run '^(TestKillAtEachStep|TestFrozenTool)$$' -kills $(KILLS)

clean: ## remove what the targets made
	rm -rf bin dist .cache
