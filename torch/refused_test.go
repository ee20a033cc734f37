package torch

import (
	"fmt"
	"testing"

	"tcdbg/ops"
)

// TestTypesThatKernelsLack: a pointwise operator that has a kernel of its own, which takes no integers or truth
// values refuses them by its rule, so that a compiled function refuses them too.
func TestTypesThatKernelsLack(t *testing.T) {
	tried := 0
	for _, op := range ops.All() {
		n := onlyTensors(op)
		if n == 0 || !op.Tags.Has(ops.TagPointwise) || op.Tags.Has(ops.TagInPlace) || op.Meta == nil || op.Decompose != nil {
			continue
		}
		for _, d := range []DType{ops.Int64, ops.Int32, ops.Uint8, ops.Bool} {
			tried++
			if refused := unforeseen(op, n, d); refused != nil {
				t.Errorf("%s of %v passes its rule, and then: %v", op.Name, d, refused)
			}
		}
	}
	if tried < 200 {
		t.Errorf("only %d calls were tried", tried)
	}
}

// onlyTensors is how many tensors an operator needs, zero where it needs something else.
func onlyTensors(op *ops.Op) (n int) {
	for _, p := range op.Params() {
		switch {
		case p.HasDef:
		case p.Type == "Tensor" || p.Type == "Operand":
			n++
		default:
			return 0
		}
	}
	return n
}

// unforeseen calls op with n tensors of a type and returns the panic, if the operator's
// rule had nothing against them.
func unforeseen(op *ops.Op, n int, d DType) (refused any) {
	pos := make([]ops.Arg, n)
	for i := range pos {
		pos[i] = Ones(3).To(d)
	}
	args := bind(op, pos, nil)
	if _, err := op.Meta(&ops.Call{Op: op, Args: args}); err != nil {
		return nil
	}
	defer func() { refused = recover() }()
	callBound(op, args)
	return nil
}

// What users recover and print has the name that they know, wherever the refusal was raised.
func TestNamesOfTypes(t *testing.T) {
	x := Zeros([]int{2})
	if got := fmt.Sprintf("%T", x.Storage()); got != "*torch.Storage" {
		t.Errorf("a storage is a %s", got)
	}
	defer func() {
		if got := fmt.Sprintf("%T", recover()); got != "*torch.Error" {
			t.Errorf("a refusal is a %s", got)
		}
	}()
	x.Matmul(Zeros([]int{3}))
}
