package backends

import (
	"encoding/json"
	"testing"

	"tcdbg/inductor"
	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch/compiler/modes"
	"tcdbg/tracer"
)

// fusionSink counts the pairs that were fused and keeps what the scheduler began with.
type fusionSink struct {
	nowhere
	fused    map[string]int // by kind
	schedule logs.Schedule
}

func (s *fusionSink) Emit(o logs.Out) {
	meta, _ := o.Meta.(map[string]string)
	var step struct{ Data logs.FusionStep }
	var schedule struct{ Data logs.Schedule }
	switch meta["name"] {
	case "tcdbg_fusion_step":
		if json.Unmarshal(o.Payload, &step) == nil && step.Data.Fused {
			s.fused[step.Data.Kind]++
		}
	case "tcdbg_schedule":
		if json.Unmarshal(o.Payload, &schedule) == nil {
			s.schedule = schedule.Data
		}
	}
}

// TestOptionsChangeTheCode: an option of Inductor's has the effect that it has there, the numbers
// stay, and a replay of the schedule fuses as the compile did.
func TestOptionsChangeTheCode(t *testing.T) {
	total := map[string]int{}
	epilogues := map[string]int{}
	for name, o := range map[string]modes.Options{
		"default": {}, "no epilogues": {NoEpilogueFusion: true}, "one node": {MaxFusionSize: 1}, "two nodes": {MaxFusionSize: 2},
	} {
		g := newTestGraph("options")
		x, w := g.input(filled(ops.Float32, 1, 16, 16)), g.input(filled(ops.Float32, 2, 16, 16))
		y := g.Emit(ops.Relu, g.Emit(ops.Mm, x, w))
		m := g.outputs(g.Emit(ops.Sin, y), g.Emit(ops.Softmax, g.Emit(ops.Exp, x), sym.C(1)))
		sink := &fusionSink{fused: map[string]int{}}
		run, err := inductorAt(t, 8).Compile(&tracer.Request{Module: m, Example: g.in, Options: o, Log: sink})
		if err != nil {
			t.Fatal(err)
		}
		if err := sameValues(run(g.in), m.Run(g.in), 1e-5); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for kind, n := range sink.fused {
			total[name] += n
			if kind == "epilogue" {
				epilogues[name] += n
			}
		}
		_, steps, err := inductor.Replay(sink.schedule, 0)
		if err != nil {
			t.Fatal(err)
		}
		replayed := 0
		for _, s := range steps {
			if s.Fused {
				replayed++
			}
		}
		if replayed != total[name] {
			t.Errorf("%s: %d pairs fused, %d in the replay", name, total[name], replayed)
		}
	}
	if epilogues["default"] == 0 || epilogues["no epilogues"] != 0 || total["no epilogues"] == 0 {
		t.Errorf("epilogues %v of fused %v", epilogues, total)
	}
	if total["one node"] != 0 || total["two nodes"] == 0 || total["two nodes"] >= total["default"] {
		t.Errorf("fused %v", total)
	}
}
