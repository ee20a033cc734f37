package oracle

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"tcdbg/internal/test"
	"tcdbg/internal/test/golden"
	"tcdbg/ops"
	"tcdbg/torch"
	"tcdbg/torch/autograd"
	"tcdbg/torch/kw"
)

// This file holds the derivative table against finite differences: the calls of
// the cases are the samples, their float arguments in float64. An operator
// without sample is on a list that may only shrink.

const unchecked = "testdata/gradcheck_unchecked.txt"

// samples collects the operators that were checked and what was wrong.
type samples struct {
	checked map[string]bool
	wrong   []string
	name    string // of the case
	once    bool   // one sample of each operator is enough
	// compare checks the derivatives of f at numbers that are neither infinite nor
	// many; it panics where they are wrong.
	compare func(f autograd.Func, in, outs []*torch.Tensor) (compared bool)
}

// firstOrder compares gradients with differences of the function.
func firstOrder(f autograd.Func, in, _ []*torch.Tensor) bool {
	return autograd.Gradcheck(f, in, kw.Atol(1e-4))
}

// secondOrder compares gradients of gradients with differences of gradients, of
// small samples, one for each operator.
func secondOrder(f autograd.Func, in, outs []*torch.Tensor) bool {
	n := 0
	for _, t := range append(append([]*torch.Tensor{}, in...), outs...) {
		n += t.Numel()
	}
	return n <= 220 && autograd.Gradgradcheck(f, in, nil, kw.Atol(1e-4))
}

// call is a backend that checks the gradients of every call it is given.
func (s *samples) call(op *ops.Op, args []ops.Arg) []torch.Value {
	if sample, ok := newSample(op, args); ok {
		if s.checked[op.FullName()] && s.once {
			return torch.Call(op.ID, args)
		}
		if err := sample.check(s.compare); err != nil {
			s.wrong = append(s.wrong, fmt.Sprintf("%s (%s): %v", op.FullName(), s.name, err))
		}
		s.checked[op.FullName()] = s.checked[op.FullName()] || sample.compared
	}
	return torch.Call(op.ID, args)
}

// sample is a call whose float tensors are float64 leaves.
type sample struct {
	op       *ops.Op
	args     []ops.Arg
	in       []*torch.Tensor
	call     func() []torch.Value
	compared bool // derivatives were compared
}

// op checks a call that is given as a program writes it.
func (s *samples) op(row *ops.Op, args []any) bool {
	var in []*torch.Tensor
	for _, a := range args {
		if o, ok := a.(torch.Option); ok {
			a = o.Value
		}
		switch a := a.(type) {
		case *torch.Tensor:
			in = append(in, a)
		case []*torch.Tensor:
			in = append(in, a...)
		}
	}
	one := &sample{op: row, in: in, call: func() []torch.Value { return torch.Op(row.FullName(), args...) }}
	if err := one.check(s.compare); err != nil {
		s.wrong = append(s.wrong, fmt.Sprintf("%s (%s): %v", row.FullName(), s.name, err))
	}
	s.checked[row.FullName()] = s.checked[row.FullName()] || one.compared
	return one.compared
}

// function checks an operator within a function: its input must have a form that
// small differences would break, or its result is known up to a sign only.
func (s *samples) function(row *ops.Op, f gradFunction) bool {
	one := &sample{op: row, in: f.in, call: func() []torch.Value {
		var out []torch.Value
		for _, t := range f.call(f.in) {
			out = append(out, t)
		}
		return out
	}}
	if err := one.check(s.compare); err != nil {
		s.wrong = append(s.wrong, fmt.Sprintf("%s (%s): %v", row.FullName(), s.name, err))
	}
	s.checked[row.FullName()] = s.checked[row.FullName()] || one.compared
	return one.compared
}

// differentiable reports whether an operator has a derivative to be checked.
func differentiable(op *ops.Op) bool {
	const none = ops.TagNoGrad | ops.TagFactory | ops.TagInPlace | ops.TagRandom | ops.TagInternal
	return op.Tags&none == 0 && (op.Backward != nil || op.Decompose != nil)
}

func newSample(op *ops.Op, args []ops.Arg) (*sample, bool) {
	// A cast to float32 has no small differences; the row of padding_idx has no
	// gradient by decree.
	if !differentiable(op) || op.ID == ops.To || op.ID == ops.Embedding && len(args) > 2 && args[2] != nil {
		return nil, false
	}
	s := &sample{op: op}
	s.call = func() []torch.Value { return torch.Call(op.ID, s.args) }
	total := 0
	leaf := func(t *torch.Tensor) *torch.Tensor {
		if t == nil || !t.DType().IsFloat() || t.Device() != ops.CPU {
			return t
		}
		t = t.Detach().To(torch.Float64).Clone().RequiresGrad_()
		total += t.Numel()
		s.in = append(s.in, t)
		return t
	}
	for _, a := range args {
		switch a := a.(type) {
		case *torch.Tensor:
			s.args = append(s.args, leaf(a))
		case []ops.Value:
			list := make([]ops.Value, len(a))
			for i, v := range a {
				list[i] = v
				if t, ok := v.(*torch.Tensor); ok {
					list[i] = leaf(t)
				}
			}
			s.args = append(s.args, list)
		default:
			s.args = append(s.args, a)
		}
	}
	return s, total > 0 && total <= 600 && s.regular()
}

// regular reports whether the numbers have a neighbourhood: none is infinite.
func (s *sample) regular() bool {
	for _, t := range s.in {
		for _, x := range t.Float64s() {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return false
			}
		}
	}
	return true
}

func (s *sample) check(compare func(f autograd.Func, in, outs []*torch.Tensor) bool) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	f := func([]*torch.Tensor) []*torch.Tensor {
		var outs []*torch.Tensor
		for _, v := range s.call() {
			if t, ok := v.(*torch.Tensor); ok && t.DType().IsFloat() {
				outs = append(outs, t)
			}
		}
		return outs
	}
	outs := f(nil)
	n := 0
	for _, y := range outs {
		n += y.Numel()
		for _, x := range y.Float64s() {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return nil
			}
		}
	}
	if n == 0 || n > 600 {
		return nil
	}
	s.compared = compare(f, s.in, outs)
	return nil
}

func TestGradcheckOverTheTable(t *testing.T) {
	s := &samples{checked: map[string]bool{}, compare: firstOrder}
	s.run(t, func(name string) { t.Errorf("the sample of %s checks nothing", name) })
	for _, w := range s.wrong {
		t.Error(w)
	}
	holdList(t, unchecked, s.missing(), "the derivative of %s is not checked: give it a sample, or a reason")
}

// TestGradgradcheckOverTheTable checks second derivatives; the list names the
// operators that have none here, or none that differences can show.
func TestGradgradcheckOverTheTable(t *testing.T) {
	test.Long(t, "differences of gradients for every operator")
	s := &samples{checked: map[string]bool{}, compare: secondOrder, once: true}
	s.run(t, func(string) {})
	for _, w := range s.wrong {
		name, _, _ := strings.Cut(w, " ")
		delete(s.checked, name)
		t.Logf("%.300s", w)
	}
	holdList(t, "testdata/gradgradcheck_unchecked.txt", s.missing(),
		"the second derivative of %s is not checked: mend it, or give a reason")
}

// run gives every sample to the check; idle is told of those that checked nothing.
func (s *samples) run(t *testing.T, idle func(name string)) {
	t.Helper()
	suite := load(t, "ops", "testdata/ops")
	for _, c := range suite.Cases {
		if c.Error != "" || c.DType != "" && c.DType != "float32" && c.DType != "float64" {
			continue
		}
		s.name = c.Name
		_ = suite.Run(c, Backend{Name: "gradcheck", Call: s.call})
	}
	for name, args := range gradSamples() {
		s.name = "a call of its own"
		if row, ok := ops.Lookup(name); !ok || !s.op(row, args) {
			idle(name)
		}
	}
	for name, f := range gradFunctions() {
		s.name = "a function of its own"
		if row, ok := ops.Lookup(name); !ok || !s.function(row, f) {
			idle(name)
		}
	}
}

// missing are the operators that were not checked.
func (s *samples) missing() []string {
	var missing []string
	for _, op := range ops.All() {
		if differentiable(op) && !s.checked[op.FullName()] {
			missing = append(missing, op.FullName())
		}
	}
	return missing
}

// holdList compares the operators that lack a check with a list of them, each
// with its reason. -update takes those off that lack it no longer.
func holdList(t *testing.T, path string, missing []string, complaint string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	var kept strings.Builder
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		name, reason, _ := strings.Cut(line, ": ")
		known[name] = reason != ""
		if slices.Contains(missing, name) {
			kept.WriteString(line + "\n")
		} else {
			t.Logf("%s is checked now: take it off %s with -update", name, path)
		}
	}
	for _, name := range missing {
		if !known[name] {
			t.Errorf(complaint, name)
		}
	}
	if golden.Updating() {
		if err := os.WriteFile(path, []byte(kept.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
