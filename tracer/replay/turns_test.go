package replay

import (
	"testing"

	"tcdbg/tracer/host"
)

// TestResetForgetsPlans: what belongs to graphs that are gone goes with them.
func TestResetForgetsPlans(t *testing.T) {
	th, fn := &host.Thread{}, new(int)
	call := func(resets int64) *Turns {
		tu := BeginCall(th, fn, resets)
		tu.End()
		return tu
	}
	first := call(0)
	if call(0) != first {
		t.Error("two calls on one goroutine do not share their plans")
	}
	if call(1) == first {
		t.Error("the plans outlive a reset")
	}
}
