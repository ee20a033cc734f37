package backends

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tcdbg/graph"
	"tcdbg/inductor"
	"tcdbg/inductor/codegen/cpp"
	"tcdbg/internal/test/oracle"
	"tcdbg/ops"
	"tcdbg/torch"
)

var writeExterns = flag.Bool("write-externs", false, "write the list of operators that are called eagerly; it should only get shorter")

// mostExterns is how many of the operators of PyTorch's cases may run as eager
// calls.
const mostExterns = 40

// TestExternList compiles every case of PyTorch's and lists the operators for
// which some case needs an eager call, with the reasons: the committed list may
// only get shorter.
func TestExternList(t *testing.T) {
	s, err := oracle.Load("ops", filepath.Join("..", "internal", "test", "oracle", "testdata", "ops"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]map[string]bool{}
	current := ""
	backend := oracle.Backend{Name: "inductor", EagerErrors: true, Call: func(op *ops.Op, args []ops.Arg) []torch.Value {
		for _, x := range externsOf(t, op, args) {
			if found[current] == nil {
				found[current] = map[string]bool{}
			}
			found[current][x] = true
		}
		return torch.Call(op.ID, args)
	}}
	for _, c := range s.Cases {
		if c.Error == "" {
			current = c.Op
			_ = s.Run(c, backend) // whether the answers agree is another test's matter
		}
	}
	if len(found) > mostExterns {
		t.Errorf("%d operators run as eager calls, at most %d may", len(found), mostExterns)
	}
	compareList(t, filepath.Join("testdata", "externs.txt"), found)
}

// externsOf compiles a graph of one call and describes its eager calls.
func externsOf(t *testing.T, op *ops.Op, args []ops.Arg) (out []string) {
	g := newTestGraph("call")
	bound := make([]ops.Arg, len(args))
	for i, a := range args {
		bound[i] = g.placeholders(a)
	}
	if op.Tags.Has(ops.TagDataDependent) || op.Tags.Has(ops.TagInPlace) { // the tracer breaks on it; aot takes it apart
		return nil
	}
	n, err := g.Call(op, bound, graph.CallFunction)
	if err != nil { // no graph can hold it: the tracer breaks on it
		return nil
	}
	switch m := n.Meta.(type) {
	case *ops.TensorMeta:
		g.outputs(n)
	case []ops.Result:
		var outs []ops.Value
		for i := range m {
			outs = append(outs, g.Item(n, i))
		}
		g.outputs(outs...)
	default:
		return nil
	}
	p, err := inductor.Compile(g.G, inductor.Options{Machine: cpp.Machine{Lanes: 8, Cache: 8 << 20}, Cores: 1})
	if err != nil {
		t.Errorf("%s: %v", op.FullName(), err)
		return nil
	}
	for _, st := range p.Steps {
		if st.Extern != nil {
			out = append(out, fmt.Sprintf("%s: %s", ops.Get(st.Extern.Op).FullName(), st.Extern.Reason))
		}
	}
	return out
}

// compareList holds what was found against the committed list.
func compareList(t *testing.T, path string, found map[string]map[string]bool) {
	var lines []string
	for op, reasons := range found {
		lines = append(lines, op+" calls "+strings.Join(slices.Sorted(maps.Keys(reasons)), "; "))
	}
	slices.Sort(lines)
	text := strings.Join(lines, "\n") + "\n"
	if *writeExterns {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	listed := strings.Split(strings.TrimSpace(string(want)), "\n")
	for _, l := range lines {
		if !slices.Contains(listed, l) {
			t.Errorf("not in the list of eager calls: %s", l)
		}
	}
	for _, l := range listed {
		if !slices.Contains(lines, l) {
			t.Errorf("no longer an eager call, or for another reason (write the list with -write-externs): %s", l)
		}
	}
}
