package results

import (
	"strings"
	"testing"
)

// tensorsOf is a process with one call, which reaches tensors, and one backward pass after it.
func tensorsOf(t *testing.T, state, grads []Leaf, values func(path string) []float64) *Trial {
	t.Helper()
	dir := t.TempDir()
	w, err := Create(dir, Hello{PID: 1})
	if err != nil {
		t.Fatal(err)
	}
	of := func(list []Leaf) func(i int) Values {
		return func(i int) Values { return Values{Floats: values(list[i].Path)} }
	}
	w.Call(Call{Function: "f", State: state}, nil, of(state))
	if grads != nil {
		w.Grads(Grads{Leaves: grads}, of(grads))
	}
	if err := w.Close(false); err != nil {
		t.Fatal(err)
	}
	tr, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func leaf(path string, n int, change func(*Leaf)) Leaf {
	l := Leaf{Path: path, Dtype: "float32", Shape: []int{n}}
	if change != nil {
		change(&l)
	}
	return l
}

// TestCompareState: what a call wrote in one of the runs counts; what it left alone in both does not,
// nor what an optimizer made of rounding. Gradients are held to the largest of their pass.
func TestCompareState(t *testing.T) {
	wrote := func(l *Leaf) { l.Wrote = true }
	bare := func(l *Leaf) { l.Bare = true }
	param := func(l *Leaf) { l.Wrote, l.Param = true, true }
	one := func(l ...Leaf) []Leaf { return l }
	same := map[string][]float64{"a": {1, 2}, "b": {1e-9}, "big": {100}}
	for _, c := range []struct {
		name            string
		base, trial     []Leaf
		baseG, trialG   []Leaf
		other           map[string][]float64 // in the trial
		first, notFound string
	}{
		{"written alike", one(leaf("a", 2, wrote)), one(leaf("a", 2, wrote)), nil, nil, nil, "", ""},
		{
			"written otherwise", one(leaf("a", 2, wrote)), one(leaf("a", 2, wrote)), nil, nil,
			map[string][]float64{"a": {1, 3}},
			"call 1 of f, a[1] is 3, and without the remedy 2 after it was written", "",
		},
		{"not written", one(leaf("a", 2, nil)), one(leaf("a", 2, nil)), nil, nil, map[string][]float64{"a": {1, 3}}, "", ""},
		{
			"not written any more", one(leaf("a", 2, wrote)), one(leaf("a", 2, nil)), nil, nil,
			map[string][]float64{"a": {0, 0}},
			"a[0] is 0, and without the remedy 1", "",
		},
		{
			"a large one is not written any more", one(leaf("a", 2, wrote)), one(leaf("a", 2, bare)), nil, nil, nil,
			"a is not written, and without the remedy it is", "",
		},
		{
			"a large one is written", one(leaf("a", 2, bare)), one(leaf("a", 2, wrote)), nil, nil, nil,
			"a is written, and without the remedy it is not", "",
		},
		{"another name", one(leaf("a", 2, wrote)), one(leaf("c", 2, wrote)), nil, nil, nil, "", onlyOne},
		{
			"an optimizer", one(leaf("a", 2, param)), one(leaf("a", 2, param)), nil, nil,
			map[string][]float64{"a": {1, 3}},
			"",
			"what a call writes that writes parameters, as a step of an optimizer or of an average of them does",
		},
		{
			"gradient", nil, nil, one(leaf("a", 2, nil)), one(leaf("a", 2, nil)),
			map[string][]float64{"a": {1, 3}},
			"after call 1 the gradient of a[1] is 3, and without the remedy 2", "",
		},
		{
			"rounding beside a large gradient", nil, nil, one(leaf("b", 1, nil), leaf("big", 1, nil)),
			one(leaf("b", 1, nil), leaf("big", 1, nil)),
			map[string][]float64{"b": {-1e-9}},
			"", "",
		},
		{
			"a gradient less", nil, nil, one(leaf("a", 2, nil), leaf("b", 1, nil)), one(leaf("a", 2, nil)), nil,
			"after call 1 b has no gradient, and without the remedy it has one", "",
		},
		{
			"a gradient more", nil, nil, one(leaf("a", 2, nil)), one(leaf("a", 2, nil), leaf("b", 1, nil)), nil,
			"after call 1 b has a gradient, and without the remedy it has none", "",
		},
		{"no backward pass", nil, nil, one(leaf("a", 2, nil)), nil, nil, "a backward pass runs without the remedy alone", ""},
	} {
		base := tensorsOf(t, c.base, c.baseG, func(p string) []float64 { return same[p] })
		trial := tensorsOf(t, c.trial, c.trialG, func(p string) []float64 {
			if v, ok := c.other[p]; ok {
				return v
			}
			return same[p]
		})
		got, err := Compare(base, trial, false)
		if err != nil {
			t.Fatal(err)
		}
		if got.Equal != (c.first == "") || !strings.Contains(got.First, c.first) ||
			!strings.Contains(strings.Join(got.Limits, "; "), c.notFound) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// TestPrograms: of standard error the program's lines are left: not what PyTorch, our engine and
// tcdbg log, nor PyTorch's warnings with their line of source.
func TestPrograms(t *testing.T) {
	const printed = `before
V1123 16:26:05.338000 31862 torch/_dynamo/symbolic_convert.py:120] [0/0] [__graph_breaks] Graph break
[rank0]: W1123 16:26:05.338000 31862 torch/_inductor/utils.py:12] [0/0] not enough SMs
[W1123 16:26:05.338 cpp_extension.cpp:12] Warning: x
/usr/lib/python3/site-packages/torch/_inductor/compile_fx.py:321: UserWarning: TensorFloat32
is there
  warnings.warn(
/home/me/model.py:3: UserWarning: mine
  warnings.warn("mine")
tcdbg: run x is saved
after`
	const want = `before
/home/me/model.py:3: UserWarning: mine
  warnings.warn("mine")
after`
	if got := Programs(printed); got != want {
		t.Errorf("%s", got)
	}
}
