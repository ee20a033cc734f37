package inductor

import (
	"strings"
	"testing"

	"tcdbg/graph"
	"tcdbg/inductor/codegen/triton"
	"tcdbg/ops"
)

// TestCodeNamesNoFolder: where a program lies is no part of the code made of it, which
// is the same for everybody; what ties the code to the program knows it.
func TestCodeNamesNoFolder(t *testing.T) {
	text := func(file string) (*Program, string) {
		b := newBuild("f")
		b.Stack = []graph.Frame{{File: file, Line: 5, Func: "f", Code: `y := x.Relu() \`}}
		p := b.compile(t, b.Emit(ops.Relu, b.input(8, 8)))
		all := strings.Join(p.Shards, "") + p.Wrapper + p.IR
		for _, st := range p.Steps {
			for _, k := range st.Kernels {
				src, err := triton.Generate(k)
				if err != nil {
					t.Fatal(err)
				}
				all += src.Text
			}
		}
		return p, all
	}
	const file = "/home/someone/models/net.go"
	p, got := text(file)
	if _, want := text("net.go"); got != want {
		t.Errorf("the code depends on the folder:\n%s", got)
	}
	for _, comment := range []string{"// relu: net.go:5 y := x.Relu()\n", "# relu: net.go:5 y := x.Relu()\n"} {
		if !strings.Contains(got, comment) {
			t.Errorf("no comment %q in\n%s", comment, got)
		}
	}
	if pos := p.Provenance.Kernels[0].Lines[0].Pos[0]; pos.File != file {
		t.Errorf("a line of the kernel comes from %q", pos.File)
	}
}
