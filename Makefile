# The targets of a developer's day. CI runs .ci/run.

GO      ?= go
PKGS    ?= ./...
TOOL     = $(GO) tool -modfile=.ci/tools/go.mod
GOLANGCI = github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
FUZZTIME ?= 30s
export CGO_ENABLED ?= 0

.PHONY: build run test test-all check verify lint race bench bench-autotune bench-imported bench-nets bench-peers bench-trace fuzz kill faults cover generate update-golden conformance oracle advice clean

## build: the program, as ./tcdbg
build:
	$(GO) build -o tcdbg .

## run: the screens on a model (MODEL=path/model.go)
MODEL ?= fixtures/bar/model.go
run: build
	./tcdbg run $(MODEL)

## test: the short form of the tests, as README has it
test:
	$(GO) test $(PKGS)

## test-all: their long form, with nothing left out
test-all:
	TCDBG_LONG=1 $(GO) test -timeout 60m $(PKGS)

## check: linters and all of verify
check: lint verify

## verify: vet, formatting, tidy modules, a build for arm64, fresh generated files
verify:
	$(GO) vet $(PKGS)
	@test -z "$$($(TOOL) gofumpt -l $$(git ls-files '*.go' | grep -v -e testdata -e /sym_ -e /zz_))" || \
		{ echo "not gofumpt'ed:"; $(TOOL) gofumpt -l $$(git ls-files '*.go' | grep -v -e testdata -e /sym_ -e /zz_); exit 1; }
	$(GO) mod tidy -diff
	GOARCH=arm64 $(GO) build $(PKGS)
	TCDBG_LONG=1 $(GO) test -run TestGeneratedFresh .

## lint: golangci-lint with .golangci.yml
lint:
	$(GO) run $(GOLANGCI) run $(PKGS)

## race: the short form of the tests under the race detector (which needs cgo, and makes
## eager kernels and the interpreter some ten times slower: full-size models do not end)
race:
	CGO_ENABLED=1 $(GO) test -race -timeout 60m $(PKGS)

## bench: all benchmarks of our own
bench:
	$(GO) test -run '^$$' -bench . -benchmem $(PKGS)

## bench-trace: reports against tlparse, in one run
bench-trace:
	bash scripts/bench-trace.sh

## bench-peers: models against PyTorch, ONNX Runtime and OpenVINO, in one run; PEERS="--threads 1,2 --only mlp,bert", or --kernels for those that miss their limit
bench-peers:
	bash scripts/bench-peers.sh $(PEERS)

## bench-imported: models that PyTorch exported, beside the same written in Go; MODELS="--only resnet18,bert_base_2l --seconds 5"
bench-imported:
	bash scripts/bench-imported.sh $(MODELS)

## bench-nets: transposed and three-dimensional convolutions, recurrent networks, an encoder layer, a sort, beside PyTorch's operators; NETS="--threads 1 --only gru"
bench-nets:
	bash scripts/bench-nets.sh $(NETS)

## bench-autotune: the thirteen models in mode max-autotune and by default, in turns; MODELS="3 resnet50" names seconds a model and models
bench-autotune:
	$(GO) run . run --plain scripts/bench-autotune/model.go $(MODELS)

## advice: every advice on a PyTorch program, applied to its example on PYTHON's PyTorch
PYTHON ?= python3
advice:
	$(GO) run ./cmd/advice -python $(PYTHON)

## fuzz: every fuzz target for FUZZTIME
fuzz:
	bash scripts/fuzz.sh $(FUZZTIME)

## kill: viewer and engine killed a hundred times in each phase (PyTorch's with TCDBG_PYTHON)
kill:
	TCDBG_KILLS=100 $(GO) test -run TestKills -count 1 -timeout 60m .

## faults: the n-th call to the disk fails, for every n
faults:
	TCDBG_LONG=1 TCDBG_FAULTS=all $(GO) test -run TestDiskErrors -v -count 1 -timeout 60m .

## cover: coverage by package, and build/cover.html
cover:
	@mkdir -p build
	$(GO) test -coverprofile=build/cover.out $(PKGS)
	$(GO) tool cover -func=build/cover.out | tail -1
	$(GO) tool cover -html=build/cover.out -o build/cover.html

## generate: everything that carries "Code generated"
generate:
	$(GO) generate $(PKGS)

## update-golden: rewrite the golden files from what the code says now
update-golden:
	bash scripts/update-golden.sh

## conformance: Go's own test programs in the host interpreter
conformance:
	TCDBG_CONFORMANCE=1 $(GO) test ./tracer/host -run Conformance -v -timeout 60m

## oracle: PyTorch's answers, per operator and backend (ORACLE=folder, BACKENDS=aot_eager,inductor)
BACKENDS ?= aot_eager,inductor
oracle:
	TCDBG_ORACLE=$(abspath $(ORACLE)) TCDBG_ORACLE_BACKENDS=$(BACKENDS) $(GO) test ./internal/test/oracle -run Oracle -v -count 1 -timeout 90m

clean:
	rm -rf tcdbg build
