package main

import (
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// This file holds the architecture: which of our packages may import which, and
// who may import which third-party module.

// layer is one row: a package (or, with a final /..., a tree of packages), its
// level, and our packages that it may import. A row imports only rows above it.
type layer struct {
	level int
	pkg   string
	may   string
}

var layers = []layer{
	{0, "ops/sym", ""},
	{0, "ops/schema", ""},
	{0, "ops", "ops/sym ops/schema"},
	{0, "ops/wire", "ops ops/sym"},
	{0, "logs/ctl", ""},
	{0, "torch/compiler/artifacts", ""},
	{0, "torch/compiler/modes", ""},
	{0, "logs/...", "logs/..."},
	{0, "logs/printable", ""},
	{0, "tracer/breaks", ""},
	{0, "internal/test/golden", ""},
	{0, "internal/test/progfuzz", ""},
	{0, "internal/test", ""},
	{0, "internal/test/pty", ""},
	{0, "internal/test/faults", ""},
	{0, "internal/quietstart", ""},
	{1, "torch/export", "ops ops/sym ops/schema"},
	{1, "torch", "ops ops/sym torch/compiler/modes torch/export torch/internal/..."},
	{1, "torch/internal/simd", ""},
	{1, "torch/internal/onnx", "ops ops/sym torch/export"},
	{1, "torch/internal/goroutine", ""},
	{1, "torch/internal/memory", "torch/internal/goroutine"},
	{1, "torch/internal/pickle", ""},
	{1, "torch/internal/special", ""},
	{1, "torch/internal/order", ""},
	{1, "torch/internal/refusal", "ops"},
	{1, "torch/internal/parallel", "torch/internal/simd"},
	{1, "torch/internal/linalg", "torch/internal/order"},
	{1, "torch/internal/rng", "torch/internal/simd torch/internal/parallel"},
	{1, "torch/internal/gemm", "torch/internal/simd torch/internal/parallel torch/internal/memory"},
	{1, "torch/internal/strided", "ops ops/sym torch/internal/simd torch/internal/parallel torch/internal/memory torch/internal/refusal"},
	{1, "torch/internal/conv", "torch/internal/simd torch/internal/parallel torch/internal/memory torch/internal/gemm " +
		"torch/internal/strided"},
	{1, "torch/internal/kernels", "ops ops/sym torch/internal/..."},
	{1, "torch/kw", "torch"},
	{1, "torch/compiler", "torch torch/kw torch/compiler/artifacts torch/compiler/modes"},
	{1, "torch/nn/...", sourceMay},
	{1, "torch/autograd/...", sourceMay},
	{1, "torch/utils/...", "torch"},
	{1, "torch/jit", "torch"},
	{1, "torch/fx", "torch"},
	{1, "torch/optim/...", sourceMay},
	{1, "torch/models/...", sourceMay},
	{1, "torch/data/...", sourceMay},
	{1, "torch/trainer", sourceMay},
	{1, "explain/numerics", "logs logs/printable"},
	{1, "explain", "logs/... tracer/breaks explain/numerics"},
	{1, "explain/advice", "tracer/breaks"},
	{1, "explain/diagnose", "explain explain/advice logs tracer/breaks"},
	{1, "explain/rewrite", "explain logs tracer/breaks"},
	{1, "explain/remedy", "explain explain/diagnose tracer/breaks"},
	{1, "explain/bench", "explain"},
	{1, "explain/modules", "explain logs logs/printable"},
	{1, "explain/fusion", "explain logs/..."},
	{1, "explain/xray", "explain explain/fusion logs logs/fx"},
	{1, "explain/gate", "explain explain/diagnose logs logs/printable"},
	{1, "explain/render", "explain explain/diagnose explain/fusion explain/numerics explain/gate logs/... tracer/breaks"},
	{1, "explain/fold", "explain explain/diagnose explain/numerics logs/... tracer/breaks"},
	{1, "internal/test/traces", "logs"},
	{1, "internal/pyhook", ""},
	{2, "graph/...", "ops ops/sym ops/wire torch logs/... graph/..."},
	{2, "graph/fxtext", "ops ops/sym torch/export graph graph/exported logs/fx"},
	{2, "graph/exported", "ops ops/sym torch torch/export graph graph/decompose"},
	{2, "tracer/host/...", "torch torch/kw torch/compiler ops logs tracer/host/..."},
	{2, "tracer/host/native", "torch torch/kw torch/compiler torch/export ops ops/sym tracer/host/..."},
	{3, "tracer/value", "tracer/host/... ops/sym torch logs"},
	{3, "tracer/guard", "tracer/value tracer/host/... ops ops/sym torch logs"},
	{3, "tracer/replay", "tracer/value tracer/guard tracer/host/... tracer/breaks graph/... ops ops/sym torch logs"},
	{3, "tracer/ssainfo", "tracer/value tracer/breaks ops torch"},
	{
		3, "tracer/eval",
		"tracer/value tracer/guard tracer/replay tracer/ssainfo tracer/host/... tracer/breaks graph/... ops ops/sym torch logs",
	},
	{
		3, "tracer/stop", "graph tracer/eval tracer/ssainfo tracer/value tracer/host/... torch " +
			"ops logs logs/ctl",
	},
	{3, "tracer", "tracer/... graph/... ops ops/sym torch torch/compiler torch/export logs/... torch/compiler/modes"},
	{3, "aot/...", "graph/... ops ops/sym torch logs/... aot/..."},
	{3, "inductor/tune", ""},
	{3, "inductor/layout", "inductor/ir ops ops/sym"},
	{3, "inductor/interp", "inductor/ir inductor/sched ops ops/sym"},
	{3, "inductor/plan", "graph inductor/ir inductor/sched ops ops/sym ops/wire logs"},
	{3, "inductor/codegen/...", "graph inductor/codegen inductor/ir inductor/plan inductor/sched inductor/tune ops ops/sym logs"},
	{3, "inductor/...", "graph/... ops ops/sym ops/wire torch logs/... inductor/..."},
	{3, "tui/...", "explain/... logs/... tui/..."},
	{4, "backends/autotune", "inductor/tune logs"},
	{4, "backends/...", "tracer aot/... inductor/... graph/... ops ops/sym ops/wire torch/compiler/modes torch/... logs/... backends/..."},
	{4, "internal/test/oracle/...", "graph/... ops ops/sym torch torch/kw torch/internal/... logs/... aot/... inductor/... " +
		"backends/... tracer internal/test/oracle/..."},
	{5, "internal/app/...", "*"},
	{6, "", "internal/app/..."},
	{6, "cmd/...", "*"},
	{6, "fixtures/...", "*"},
	{6, "scripts/...", "*"},
	{6, "internal/test/modeltest/...", "*"},
}

// sourceMay is what the packages that are interpreted from source may import.
const sourceMay = "torch torch/kw torch/compiler torch/nn/... torch/autograd torch/optim torch/models torch/data"

// sourcePackages are interpreted by the host; no engine package may import
// them, or there would be two nn.Linear types.
var sourcePackages = []string{
	"torch/nn", "torch/autograd", "torch/optim", "torch/models", "torch/data", "torch/jit", "torch/fx", "torch/utils", "torch/trainer",
}

// thirdParty says where a module may be imported.
var thirdParty = map[string]string{
	"golang.org/x/tools/":             "tracer/... cmd/...",
	"github.com/charmbracelet/":       "tui/... internal/app/...",
	"github.com/alecthomas/chroma/":   "tui/...",
	"github.com/muesli/termenv":       "tui/...",
	"github.com/fsnotify/fsnotify":    "logs/... internal/app/... tui/...",
	"github.com/ebitengine/purego":    "backends/... inductor/... internal/app/...",
	"github.com/spf13/cobra":          "internal/app/...",
	"github.com/modelcontextprotocol": "internal/app/...",
	"golang.org/x/sys/":               "internal/test/pty internal/app/...",
	"github.com/mmcloughlin/avo/":     "cmd/gensimd",
	"github.com/klauspost/compress":   "logs/... explain/... internal/test/golden internal/test/traces internal/test/oracle/... cmd/...",
}

// TestLayers reads every import of the module against the tables.
func TestLayers(t *testing.T) {
	seen := map[string]bool{}
	eachImport(t, func(pkg, imp string, test bool) {
		seen[pkg] = true
		for _, problem := range checkImport(pkg, imp, test) {
			t.Error(problem)
		}
	})
	if len(seen) < 5 {
		t.Fatalf("only %d packages were read", len(seen))
	}
}

// floors lists the top-level folders from the ground up. Wiring and test tooling
// (internal) are the roof, with the programs that use the house.
var floors = []string{
	"ops", "logs", "torch", "graph", "tracer", "aot", "inductor", "backends", "explain", "tui", "internal",
	"cmd", "scripts", "fixtures", "",
}

// TestArrowsPointDown: a top-level folder imports only folders below it.
func TestArrowsPointDown(t *testing.T) {
	eachImport(t, func(pkg, imp string, test bool) {
		ours, ok := strings.CutPrefix(imp, "tcdbg/")
		if !ok || test {
			return // a test is a program of its own
		}
		from, to := slices.Index(floors, topFolder(pkg)), slices.Index(floors, topFolder(ours))
		if from < 0 || to < 0 || from < to {
			t.Errorf("%s imports %s: %q is not below %q", pkg, imp, topFolder(ours), topFolder(pkg))
		}
	})
}

func topFolder(pkg string) string {
	top, _, _ := strings.Cut(pkg, "/")
	return top
}

// TestLayersRefuse shows that the check can fail.
func TestLayersRefuse(t *testing.T) {
	for _, c := range []struct{ pkg, imp string }{
		{"tui", "tcdbg/tracer"},
		{"tui", "tcdbg/inductor"},
		{"explain", "tcdbg/graph"},
		{"explain", "tcdbg/explain/fold"},
		{"explain/fold", "tcdbg/explain/render"},
		{"tracer", "tcdbg/inductor"},
		{"tracer", "tcdbg/torch/nn"},
		{"torch", "tcdbg/graph"},
		{"logs", "tcdbg/explain"},
		{"graph", "golang.org/x/tools/go/ssa"},
		{"explain", "github.com/charmbracelet/lipgloss"},
		{"nowhere/new", "fmt"},
	} {
		if len(checkImport(c.pkg, c.imp, false)) == 0 {
			t.Errorf("%s may import %s", c.pkg, c.imp)
		}
	}
}

func checkImport(pkg, imp string, test bool) []string {
	row := rowOf(pkg)
	if row == nil {
		return []string{"package " + pkg + " has no row in layers_test.go"}
	}
	if ours, ok := strings.CutPrefix(imp+"/", "tcdbg/"); ok {
		return checkOurs(pkg, strings.TrimSuffix(ours, "/"), row, test)
	}
	for prefix, where := range thirdParty {
		if strings.HasPrefix(imp, prefix) && !matchAny(where, pkg) {
			return []string{pkg + " imports " + imp + ", which is for " + where}
		}
	}
	return nil
}

func checkOurs(pkg, imp string, row *layer, test bool) []string {
	if test && (imp == "internal/test/golden" || imp == "internal/test/traces" ||
		imp == "internal/test/faults" || imp == pkg || imp == "internal/test/oracle") {
		return nil
	}
	// programs, not the engine
	native := strings.HasPrefix(pkg, "fixtures") || strings.HasPrefix(pkg, "internal/test/modeltest") ||
		strings.HasPrefix(pkg, "scripts/bench-")
	if isSource(imp) && !isSource(pkg) && !native && !test {
		return []string{pkg + " imports " + imp + ", which is a source package"}
	}
	if row.may == "*" || matchAny(row.may, imp) {
		return nil
	}
	if test && isSource(imp) {
		return nil // a test is a program of its own
	}
	if test && row.level > 0 {
		if to := rowOf(imp); to != nil && to.level <= row.level {
			return nil // tests of a layer may use what is beside it
		}
	}
	return []string{pkg + " imports " + imp + "; it may import: " + row.may}
}

func isSource(pkg string) bool {
	return slices.ContainsFunc(sourcePackages, func(s string) bool { return pkg == s || strings.HasPrefix(pkg, s+"/") })
}

// rowOf finds the most specific row of a package.
func rowOf(pkg string) *layer {
	var best *layer
	for i := range layers {
		r := &layers[i]
		if match(r.pkg, pkg) && (best == nil || len(r.pkg) > len(best.pkg)) {
			best = r
		}
	}
	return best
}

func matchAny(patterns, pkg string) bool {
	return slices.ContainsFunc(strings.Fields(patterns), func(p string) bool { return match(p, pkg) })
}

func match(pattern, pkg string) bool {
	if root, ok := strings.CutSuffix(pattern, "/..."); ok {
		return pkg == root || strings.HasPrefix(pkg, root+"/")
	}
	return pattern == pkg
}

// eachImport parses the import clauses of every Go file of the module.
func eachImport(t *testing.T, f func(pkg, imp string, test bool)) {
	t.Helper()
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if n := d.Name(); n == "testdata" || n == "overlay" || (strings.HasPrefix(n, ".") && p != ".") || n == "build" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		pkg := path.Dir(filepath.ToSlash(p))
		if pkg == "." {
			pkg = ""
		}
		for _, i := range file.Imports {
			imp, _ := strconv.Unquote(i.Path.Value)
			f(pkg, imp, strings.HasSuffix(p, "_test.go"))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestPackageDocs wants a doc comment on every package that is not generated.
func TestPackageDocs(t *testing.T) {
	dirs := map[string]bool{}
	eachImport(t, func(pkg, _ string, test bool) { dirs[pkg] = true })
	for dir := range dirs {
		if dir == "" || strings.HasPrefix(dir, "fixtures") {
			continue
		}
		p, err := build.ImportDir(dir, 0)
		if err != nil {
			continue // only tests, or excluded by constraints
		}
		if p.Doc == "" {
			t.Errorf("package %s has no doc comment", dir)
		}
	}
	if _, err := os.Stat("README.md"); err != nil {
		t.Log("no README.md yet")
	}
}
