package modeltest

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// names.json lists what torch.nn, torch.optim and torch.utils.data hold in PyTorch
// 2.15 (names.py wrote it), missing.tsv what of it is not here, each with its
// reason. That list may only shrink.

// homes are the packages that a table's names may be in.
var homes = map[string][]string{
	"nn": {"nn"}, "functional": {"nn/functional"}, "init": {"nn"}, "optim": {"optim"}, "lr_scheduler": {"optim"},
	"utils": {"nn/utils"}, "rnn": {"nn"}, "parametrizations": {"nn"}, "parametrize": {"nn"}, "prune": {"nn/utils"}, "data": {"data"},
}

// mostMissing is how many names are missing at most.
const mostMissing = 57

func TestNamesOfPyTorch(t *testing.T) {
	text, err := os.ReadFile("testdata/names.json")
	if err != nil {
		t.Fatal(err)
	}
	var record struct{ Names map[string][]string }
	if err := json.Unmarshal(text, &record); err != nil {
		t.Fatal(err)
	}
	reasons := missing(t)
	count, all := 0, 0
	for table, names := range record.Names {
		have := map[string]bool{}
		for _, dir := range homes[table] {
			exported(t, filepath.Join("../../../torch", dir), have)
		}
		for _, name := range names {
			all++
			full, here := table+"."+name, false
			for _, s := range spellings(name) {
				here = here || have[s]
			}
			_, listed := reasons[full]
			delete(reasons, full)
			switch {
			case here && listed:
				t.Errorf("%s is here: take it off the list", full)
			case !here && !listed:
				t.Errorf("%s is neither here nor on the list", full)
			case listed:
				count++
			}
		}
	}
	for name := range reasons {
		t.Errorf("%s is on the list, and PyTorch has no such name", name)
	}
	if count != mostMissing {
		t.Errorf("%d names are missing, mostMissing is %d: it may only fall", count, mostMissing)
	}
	t.Logf("%d of %d names are here", all-count, all)
}

// missing reads missing.tsv.
func missing(t *testing.T) map[string]string {
	text, err := os.ReadFile("testdata/missing.tsv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if !slices.IsSorted(lines) {
		t.Error("missing.tsv is not sorted")
	}
	out := map[string]string{}
	for _, line := range lines {
		name, reason, _ := strings.Cut(line, "\t")
		if len(reason) < 10 {
			t.Errorf("%s has no reason", name)
		}
		out[name] = reason
	}
	return out
}

// spellings are the Go names that a Python name may have: Linear is NewLinear,
// or a type of that name; kaiming_normal_ is KaimingNormal_.
func spellings(name string) []string {
	camel := ""
	for _, w := range strings.Split(strings.TrimSuffix(name, "_"), "_") {
		camel += strings.ToUpper(w[:1]) + w[1:]
	}
	if strings.HasSuffix(name, "_") {
		camel += "_"
	}
	return []string{camel, "New" + camel}
}

// exported adds the exported functions and types of a package.
func exported(t *testing.T, dir string, have map[string]bool) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no files", dir)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				have[d.Name.Name] = have[d.Name.Name] || d.Recv == nil
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, ok := s.(*ast.TypeSpec); ok {
						have[s.Name.Name] = true
					}
				}
			}
		}
	}
}
