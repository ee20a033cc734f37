package library

import (
	"strings"
	"testing"

	"tcdbg/inductor"
	"tcdbg/inductor/plan"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// hostile is a name that would end a comment and a string.
const hostile = "x*/ int evil(void) { } /* \"; \n#error \\\n ??/ \x1b[0m \u2028"

// TestNamesStayNames: what a file calls its inputs, outputs and sizes is no code in the texts.
func TestNamesStayNames(t *testing.T) {
	env := &sym.Env{}
	size := env.NewSymbol(hostile, "", 4)
	s, _ := size.AsSymbol()
	p := &inductor.Program{Layout: plan.Layout{
		Buffers: []plan.Buffer{
			{Name: hostile, DType: ops.Float32, Shape: []sym.Int{size}, Stride: sym.Consts([]int{1}), Span: size, Role: plan.RoleInput},
			{Name: "buf0", DType: ops.Float32, Shape: []sym.Int{size}, Stride: sym.Consts([]int{1}), Span: size, Role: plan.RoleOutput},
		},
		Inputs: []int{0}, Outputs: []plan.Output{{Buffer: 1, Shape: []sym.Int{size}, Stride: sym.Consts([]int{1})}},
		Symbols: []plan.Symbol{{Sym: s, Input: 0, Dim: 0}},
	}}
	l := &Library{
		Name: "name", Program: p, Inputs: []Input{{Given: true, Name: hostile}}, Outputs: []string{hostile},
		Guards: []sym.Rel{{Op: sym.OpLt, A: size, B: sym.Mul(size, size)}}, BuiltOn: hostile,
	}
	if err := l.Check(); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{l.Header(), l.Unit()} {
		for _, bad := range []string{"x*/", "#error", "evil(void) {", "\x1b", "\u2028", "??/"} {
			if strings.Contains(text, bad) {
				t.Errorf("%q is in the text: %.80q", bad, text[strings.Index(text, bad):])
			}
		}
	}
}

// TestRefused: a library that is none says why.
func TestRefused(t *testing.T) {
	u := (&sym.Env{}).NewSymbol("u0", "", 4)
	over := plan.Buffer{Name: "x", DType: ops.Float32, Role: plan.RoleOver}
	for want, p := range map[string]plan.Layout{
		"out is neither a tensor nor a whole number": {Outputs: []plan.Output{{Buffer: -1, Value: 0.5}}},
		"x is changed by the program":                {Buffers: []plan.Buffer{over}},
		"sort (2)": {Steps: []plan.Step{
			{Segment: -1, Extern: &plan.Extern{Op: ops.Sort}}, {Segment: -1, Extern: &plan.Extern{Op: ops.Sort}},
		}},
		"the size u0 cannot be read": {Outputs: []plan.Output{{Buffer: -1, Value: u}}},
	} {
		l := &Library{Name: "a", Program: &inductor.Program{Layout: p}, Outputs: []string{"out"}}
		if err := l.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
