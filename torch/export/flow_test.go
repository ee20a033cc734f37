package export

import (
	"testing"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// TestFlowResults: a graph that gives more or fewer values than its call hands on is refused before anything runs.
func TestFlowResults(t *testing.T) {
	size := []sym.Int{sym.C(3)}
	x := shape{&ops.TensorMeta{DType: ops.Float32, Device: ops.CPU, Shape: size, Stride: ops.ContiguousStrides(size)}}
	gives := func(n int) Body {
		return func(Maker, []any) ([]any, error) {
			out := make([]any, n)
			for i := range out {
				out[i] = x
			}
			return out, nil
		}
	}
	one, none := []ops.Value{x}, []ops.Value{}
	for _, c := range []struct {
		call FlowCall
		ok   bool
	}{
		{FlowCall{Op: "while_loop", Bodies: []Body{gives(1), gives(1)}, Lists: [][]ops.Value{one, none}}, true},
		{FlowCall{Op: "while_loop", Bodies: []Body{gives(1), gives(2)}, Lists: [][]ops.Value{one, none}}, false},
		{FlowCall{Op: "while_loop", Bodies: []Body{gives(1), gives(0)}, Lists: [][]ops.Value{one, none}}, false},
		{FlowCall{Op: "while_loop", Bodies: []Body{gives(2), gives(1)}, Lists: [][]ops.Value{one, none}}, false},
		{FlowCall{Op: "associative_scan", Bodies: []Body{gives(1)}, Lists: [][]ops.Value{one, none}}, true},
		{FlowCall{Op: "associative_scan", Bodies: []Body{gives(2)}, Lists: [][]ops.Value{one, none}}, false},
		{FlowCall{Op: "associative_scan", Bodies: []Body{gives(0)}, Lists: [][]ops.Value{one, none}}, false},
		{FlowCall{Op: "scan", Bodies: []Body{gives(3)}, Lists: [][]ops.Value{one, one, none}}, true},
		{FlowCall{Op: "scan", Bodies: []Body{gives(0)}, Lists: [][]ops.Value{one, one, none}}, false},
		{FlowCall{Op: "map_impl", Bodies: []Body{gives(2)}, Lists: [][]ops.Value{one, none}}, true},
		{FlowCall{Op: "map_impl", Bodies: []Body{gives(1)}, Lists: [][]ops.Value{none, none}}, false},
	} {
		if _, err := (tryMaker{}).Flow(nil, &c.call); (err == nil) != c.ok {
			t.Errorf("%s of %d carried: %v", c.call.Op, len(c.call.Carried()), err)
		}
	}
}
