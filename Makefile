# Shardscope. `make serve` shows the calculator, `make test` proves it. Both first install what is missing, once.

# Tools of the project come before those of the machine.
export PATH := $(CURDIR)/.tools/bin:$(CURDIR)/node_modules/.bin:$(PATH)
export TRUNK_SKIP_VERSION_CHECK := true

PORT ?= 8080
# A desktop gets its browser opened, a terminal without one the address.
DESKTOP := $(or $(DISPLAY),$(WAYLAND_DISPLAY),$(filter Darwin,$(shell uname)))
WASM := --target wasm32-unknown-unknown
SOURCES := index.html Cargo.toml Cargo.lock Trunk.toml package-lock.json tools/build tools/pkg.mjs tools/split.mjs tools/first.mjs tools/csp.mjs tools/trim.mjs \
	tools/licences.mjs tools/metadata.mjs tools/docs.mjs owner.json CONTRIBUTING.md CHANGELOG.md LICENSE llms.txt \
	tools/python/README.md examples/pages.rs $(wildcard tools/offline/* tools/npm/*) \
	$(shell find src style public locales docs -type f)

.DEFAULT_GOAL := help
# cargo and trunk wait for each other anyway, and the lines read in order.
.NOTPARALLEL:
.PHONY: help serve build single wheel test check python browser shots bench fuzz trees soak scoreboard deny release clean

help: ## list the commands
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 10

serve: ## build and open the calculator on 127.0.0.1 (PORT=8080), again after every change
	@tools/setup trunk
	@echo "serve: http://127.0.0.1:$(PORT)/ as soon as it is built, Ctrl+C stops it"
	@tools/serve --port $(PORT) --dist target/trunk-serve $(if $(DESKTOP),--open)

build: dist/pkg/shardscope.js ## build the static site into dist/, the JavaScript package into dist/pkg

# Written last, so it stands for the whole of dist/.
dist/pkg/shardscope.js: $(SOURCES)
	@tools/setup trunk split node
	@tools/setup chromium || echo "build: without Chromium the page starts without the figures of its first screen"
	@tools/build

single: build ## the whole calculator as one HTML file, dist/single/shardscope.html
	@tools/setup node
	@node tools/single.mjs

wheel: ## the Python package, target/wheel/shardscope-VERSION-py3-none-any.whl
	@python3 tools/python/backend.py target/wheel

test: ## everything: style, lints, native tests, docs, page, size, browser
	@tools/setup trunk split node chromium
	@tools/beside '$(MAKE) --no-print-directory build' '$(MAKE) --no-print-directory check'
	@$(MAKE) --no-print-directory python browser

check: # what needs no browser and no page
	@tools/setup trunk
	@echo "test: formatting and lints"
	@cargo fmt --all --check
	@cargo clippy --locked --quiet --workspace --all-targets -- -D warnings
	@cargo clippy --locked --quiet $(WASM) --features ui --lib --bins -- -D warnings
	@echo "test: the calculator, natively"
	@cargo test --locked --quiet --workspace
	@echo "test: documentation"
	@RUSTDOCFLAGS="-D warnings" cargo doc --locked --quiet --workspace --no-deps

python: # the Python package in an environment of its own, where there is Python
	@tools/python/test

browser: build # sizes and the browser tests, on what `make build` made: files that passed on this very page wait for AGAIN=1
	@tools/setup node chromium
	@node tools/size.mjs
	@echo "test: the page in a browser"
	@node tools/browser.mjs

shots: build ## pictures of the page into tests/browser/shots/
	@tools/setup node chromium
	@node tests/browser/screenshots.mjs

bench: build ## timings and sizes, for reading: they decide no test; ratios go to benches/history.csv
	@tools/setup node chromium
	@SHARDSCOPE_COMMIT=$$(git rev-parse --short HEAD) cargo bench --locked --quiet
	@cargo test --locked --quiet --test time -- --nocapture left_out origin kept differences
	@cargo run --locked --quiet --example accuracy
	@SHARDSCOPE_DRAWS=200 cargo test --locked --quiet --release --test accuracy -- --nocapture calibration::protocol calibration::tight_widths
	@SHARDSCOPE_COMMIT=$$(git rev-parse --short HEAD) node tests/browser/bench.mjs
	@node tools/size.mjs

scoreboard: ## this calculator's own predictions of the published runs, each left out of the fit, into public/data/scoreboard/
	@tools/setup rust
	@cargo run --locked --quiet --release --example headless -- scoreboard predictions > public/data/scoreboard/shardscope.new
	@mv public/data/scoreboard/shardscope.new public/data/scoreboard/shardscope.jsonl

CASES ?= 1000000
fuzz: ## hostile input at every entry, fixes of random runs, orders against whole simulations, certificates against exhaustive search, pairs of runs of which one does more, a directed search for slow requests (CASES=1000000), some minutes
	@tools/setup rust
	@SHARDSCOPE_CASES=$(CASES) nice cargo test --locked --quiet --profile fuzz --test io --test search --test schedules --test time --test page_free -- --nocapture hostile fixes periodic exhaustive slow more_is_less one_answer

TREES ?= 200
trees: build ## `shardscope check` on hostile trees of files (TREES=200), some minutes
	@SHARDSCOPE_TREES=$(TREES) node --test tests/browser/hostile-trees.test.mjs

STEPS ?= 1000
soak: build ## random edits, links, plans in one tab (STEPS=1000), some minutes
	@tools/setup node chromium
	@SHARDSCOPE_SOAK=$(STEPS) node --test tests/browser/soak.test.mjs

deny: ## dependencies with cargo-deny: bans, licences, sources, and advisories where their database can be reached
	@tools/setup deny
	@cargo deny --log-level error --locked check bans licenses sources
	@if cargo deny --log-level off fetch db 2>/dev/null; then cargo deny --locked --offline check advisories; \
	else echo "deny: the database of advisories cannot be reached: they were not checked"; fi

# Dry, everything is made below target/release-dry and nothing is kept; DRY=0 adds the site to release/, where it stays.
DRY ?= 1
RELEASE := $(if $(filter 0,$(DRY)),release,target/release-dry)
release: build single wheel ## site, packages and checksums of this version; into target/release-dry, with DRY=0 into release/
	@$(if $(filter 0,$(DRY)),,rm -rf target/release-dry)
	@tools/native
	@RELEASES=$(RELEASE) tools/release
	@tools/packages $(RELEASE) $(RELEASE)/$$(tools/version)
	@echo "release: to publish, commit and push the tag v$$(tools/version); the workflow release.yml makes the packages again from it"

clean: ## remove what was built (installed tools stay)
	@rm -rf dist target tests/browser/shots
