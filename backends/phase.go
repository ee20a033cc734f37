package backends

import (
	"encoding/json"
	"fmt"
	"time"

	"tcdbg/logs"
	"tcdbg/tracer"
)

// This file tells the trace where a backend's time goes.

// The phases below a compile of a graph.
const (
	phaseAOT      = "aot"      // to pure graphs, forward and backward
	phaseInductor = "inductor" // to loops, kernels, C
	phaseCC       = "cc"       // until the C compiler, which began before, and the loader are done, or the cache
)

// phase begins a phase of a request; the returned function ends it.
func phase(r *tracer.Request, name string) (end func()) {
	if r.Log == nil {
		return func() {}
	}
	emit := func(kind string) {
		body, _ := json.Marshal(map[string]any{
			"name": name, "ph": kind, "ts": time.Now().UnixMicro(), "cat": "dynamo_timed", "tid": 0, "pid": 0,
			"args": map[string]any{"compile_id": fmt.Sprintf("%d/%d", r.ID.Frame, r.ID.Compile)},
		})
		r.Log.Emit(logs.Out{Kind: "chromium_event", ID: r.ID, Payload: body, Place: logs.Here()})
	}
	emit("B")
	return func() { emit("E") }
}
