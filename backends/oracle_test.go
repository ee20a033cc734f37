package backends

import (
	"flag"
	"fmt"
	"path/filepath"
	"testing"

	"tcdbg/graph"
	"tcdbg/internal/test/oracle"
	"tcdbg/ops"
	"tcdbg/torch"
	"tcdbg/tracer"
)

var oracleStep = flag.Int("oracle-step", 17, "compile every so manieth of PyTorch's cases to C; all run in the interpreter")

// TestOracleCases runs PyTorch's cases as graphs of one call: what passes
// eagerly must pass compiled.
func TestOracleCases(t *testing.T) {
	s, err := oracle.Load("ops", filepath.Join("..", "internal", "test", "oracle", "testdata", "ops"))
	if err != nil {
		t.Fatal(err)
	}
	t.Run("plain", func(t *testing.T) { runOracle(t, s, inductorAt(t, 0), 1) })
	t.Run("c", func(t *testing.T) { runOracle(t, s, inductorAt(t, 8), *oracleStep) })
}

func runOracle(t *testing.T, s *oracle.Suite, b tracer.Backend, step int) {
	run := oracle.Backend{Name: "inductor", EagerErrors: true, Call: func(op *ops.Op, args []ops.Arg) []torch.Value {
		return callCompiled(b, op, args)
	}}
	passed, total := 0, 0
	for i, c := range s.Cases {
		if i%step != 0 || c.Error != "" || s.Run(c, oracle.Eager()) != nil {
			continue
		}
		total++
		if err := s.Run(c, run); err != nil {
			t.Errorf("%s %s %s: %v", c.Op, c.Variant, c.Name, err)
			continue
		}
		passed++
	}
	t.Logf("%d of %d cases that pass eagerly", passed, total)
}

// callCompiled makes a graph of one call and runs it.
func callCompiled(b tracer.Backend, op *ops.Op, args []ops.Arg) []torch.Value {
	g := newTestGraph("call")
	bound := make([]ops.Arg, len(args))
	for i, a := range args {
		bound[i] = g.placeholders(a)
	}
	if op.Tags.Has(ops.TagDataDependent) { // the tracer breaks on it
		return torch.Call(op.ID, args)
	}
	n, err := g.Call(op, bound, graph.CallFunction)
	if err != nil { // no graph can hold it: the tracer breaks on it
		return torch.Call(op.ID, args)
	}
	if _, tensor := n.Meta.(*ops.TensorMeta); !tensor || op.Tags.Has(ops.TagInPlace) {
		return torch.Call(op.ID, args)
	}
	m := g.outputs(n)
	run, err := b.Compile(&tracer.Request{Module: m, Example: g.in})
	if err != nil {
		panic(fmt.Sprintf("compiling: %v", err))
	}
	return run(g.in)
}

// placeholders replaces the tensors of an argument.
func (g *testGraph) placeholders(a ops.Arg) ops.Arg {
	switch a := a.(type) {
	case *torch.Tensor:
		return g.input(a)
	case []ops.Value:
		out := make([]ops.Value, len(a))
		for i, v := range a {
			if v != nil {
				out[i] = g.input(v.(*torch.Tensor))
			}
		}
		return out
	}
	return a
}
