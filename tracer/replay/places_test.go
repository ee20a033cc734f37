package replay

import (
	"fmt"
	"go/types"
	"testing"
	"unsafe"

	"tcdbg/logs"
	"tcdbg/torch"
	"tcdbg/tracer/guard"
	"tcdbg/tracer/value"
)

// TestPlacesOfInputs: before there are guards the inputs of a graph are looked up by their sources, as the backend asks for them;
// afterwards they are read where the guards find them, and no source is looked at.
func TestPlacesOfInputs(t *testing.T) {
	first, second := [2]*torch.Tensor{torch.Ones(2), torch.Zeros(2)}, [2]*torch.Tensor{torch.Ones(2), torch.Zeros(2)}
	addresses := func(of *[2]*torch.Tensor) *guard.Addresses {
		return &guard.Addresses{Slot: []guard.Slot{{P: unsafe.Pointer(of), Done: true}}}
	}
	pointer := types.NewPointer(types.Typ[types.Int]) // as wide as one to a tensor
	whole := &value.Source{Name: "pair", Type: types.NewArray(pointer, 2)}
	gs := guard.NewSet(nil, addresses(&first), func() logs.Pos { return logs.Pos{} })
	e := &Entry{}
	for i, x := range first {
		s := &value.Source{
			Kind: value.Item, Parent: whole, Name: fmt.Sprintf("pair[%d]", i), Type: pointer,
			Offset: uintptr(i) * unsafe.Sizeof(x), Slot: 1 + i,
		}
		e.Inputs = append(e.Inputs, GraphInput{Tensor: true, Src: s})
		gs.Tensor(s, x, x.TensorMeta())
	}
	reads := func(of *[2]*torch.Tensor, when string) {
		a := addresses(of)
		if e.tests != nil && !e.Holds(a) {
			t.Fatalf("%s: the guards do not hold", when)
		}
		for i, v := range e.Values(a, nil) {
			if v != torch.Value(of[i]) {
				t.Errorf("%s: input %d is another tensor", when, i)
			}
		}
	}
	reads(&first, "before")
	e.Guard(gs)
	for i := range e.Inputs {
		e.Inputs[i].Src = nil
	}
	reads(&second, "afterwards")
}
