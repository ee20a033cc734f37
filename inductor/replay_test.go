package inductor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tcdbg/inductor/codegen/cpp"
	"tcdbg/inductor/ir"
	"tcdbg/inductor/tune"
	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// keeper is a sink that keeps the records of the scheduler, as a trace does.
type keeper struct {
	t     testing.TB
	start []logs.Schedule
	steps []logs.FusionStep

	together []int // decisions
}

func (k *keeper) Emit(o logs.Out) {
	meta, _ := o.Meta.(map[string]string)
	switch meta["name"] {
	case "tcdbg_schedule":
		k.start = append(k.start, decoded[logs.Schedule](k.t, o))
	case "tcdbg_fusion_step":
		k.steps = append(k.steps, decoded[logs.FusionStep](k.t, o))
	case "tcdbg_together":
		k.together = append(k.together, decoded[logs.Together](k.t, o).Steps...)
	}
}

func (k *keeper) Stack(f []logs.Frame) any { return f }

func decoded[T any](t testing.TB, o logs.Out) T {
	var body struct{ Data T }
	if err := json.Unmarshal(o.Payload, &body); err != nil {
		t.Fatal(err)
	}
	return body.Data
}

// TestReplay makes the schedule after every decision again from the records
// alone, and holds it against the program whose search ends there.
func TestReplay(t *testing.T) {
	all := append(graphs[:len(graphs):len(graphs)], struct {
		name string
		make func(b *build) []ops.Value
		want []string
	}{"dynamic", func(b *build) []ops.Value {
		n := b.env.NewSymbol("s0", "L['x'].size()[0]", 96)
		x := b.add(ops.Float32, false, n, sym.C(8))
		y := b.Emit(ops.Cat, []ops.Value{b.Emit(ops.Sin, x), b.Emit(ops.Cos, x)}, sym.C(0))
		return []ops.Value{b.Emit(ops.Sum, b.Emit(ops.Mul, y, 2.0), sym.Consts([]int{1}))}
	}, nil})
	for _, g := range all {
		t.Run(g.name, func(t *testing.T) { replayGraph(t, g.name, g.make) })
	}
}

// checkTogether: of attention, and of it alone, refusals are between kernels that run together, those
// that the scheduler holds to cost traffic.
func checkTogether(t *testing.T, name string, k *keeper) {
	t.Helper()
	if len(k.together) > 0 != (name == "attention") {
		t.Errorf("%d decisions are between kernels that run together", len(k.together))
	}
	for i, s := range k.steps {
		want := name == "attention" && !s.Fused && (strings.HasPrefix(s.A, "op0") || strings.HasSuffix(s.B, "op6"))
		if slices.Contains(k.together, i) != want {
			t.Errorf("decision %d, %s and %s: together %t", i, s.A, s.B, !want)
		}
	}
}

func replayGraph(t *testing.T, name string, make func(b *build) []ops.Value) {
	at := func(decisions int, log logs.Sink) *Program {
		b := newBuild(name)
		var args []ops.Arg
		for _, v := range make(b) {
			args = append(args, v)
		}
		b.G.SetOutput(args)
		p, err := Compile(b.G, Options{
			Machine: cpp.Machine{Lanes: 8, Cache: 8 << 20}, Cores: 2, Params: b.params, Log: log,
			Decisions: decisions,
		})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	k := &keeper{t: t}
	at(0, k)
	if len(k.start) != 1 || len(k.start[0].Ops) == 0 {
		t.Fatalf("%d records of a schedule", len(k.start))
	}
	checkTogether(t, name, k)
	for n := range len(k.steps) + 1 {
		decisions := n
		if n == 0 {
			decisions = -1
		}
		want := at(decisions, nil).Wrapper
		groups, steps, err := Replay(k.start[0], decisions)
		if err != nil {
			t.Fatal(err)
		}
		if len(steps) != n || n > 0 && (steps[n-1].A != k.steps[n-1].A || steps[n-1].Score != k.steps[n-1].Score ||
			steps[n-1].Kernels != k.steps[n-1].Kernels) {
			t.Errorf("after %d decisions it made %+v", n, steps)
		}
		if n > 0 && len(groups) != k.steps[n-1].Kernels {
			t.Errorf("%d groups after decision %d, recorded are %d", len(groups), n, k.steps[n-1].Kernels)
		}
		for _, g := range groups {
			if g.Source == "" != strings.HasPrefix(g.Kernel, "extern_") || !strings.Contains(want, g.Source) || g.Name == "" ||
				len(g.Ops) == 0 {
				t.Errorf("after decision %d, group %+v is not of the program\n%s", n, g, want)
			}
		}
	}
}

// Operators are found by the numbers in the nodes' names, which may skip some.
func TestOpsByNumber(t *testing.T) {
	node := func(name, op string) *ir.Node {
		return &ir.Node{Name: name, Origins: []ir.Origin{{Op: op, Node: op + "_1"}}}
	}
	got, of := opsByNumber([]*ir.Node{node("op0", "mm"), node("op3", "relu"), node("op1", "add")})
	if want := []string{"mm", "add", "", "relu"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if len(of) != 4 || of[2] != nil || of[3][0] != "relu_1" {
		t.Errorf("nodes %q", of)
	}
}

// What cannot be read back is an error, not a panic.
func TestReplayOfOtherText(t *testing.T) {
	for _, code := range []string{
		"", "class GraphModule",
		"def forward(self, x: \"f32[2][1]cpu\"):\n y = torch.ops.aten.nothing.default(x)\n return (y,)",
	} {
		if _, _, err := Replay(logs.Schedule{Graph: "g", Code: code, Lanes: 8}, -1); err == nil {
			t.Errorf("%q was read", code)
		}
	}
}

// pairs are what decisions are on, and what fusing would save.
func pairs(steps []logs.FusionStep) (out []string) {
	for _, s := range steps {
		out = append(out, fmt.Sprint(s.A, "+", s.B, " ", s.Kind, " ", s.Score, " ", s.Fused))
	}
	return out
}

// TestReplayOfOptions: a replay starts from the loops that the options of the compile led to.
func TestReplayOfOptions(t *testing.T) {
	for name, opt := range map[string]Options{"default": {}, "patterns": {NoPatterns: true}, "blocks": {AllBlocked: true}} {
		b := newNormed()
		b.G.SetOutput([]ops.Arg{b.Emit(ops.Relu, b.norm(b.conv(nil)))})
		k := &keeper{t: t}
		opt.Machine, opt.Cores, opt.Params, opt.Log = cpp.Machine{Lanes: 8, Cache: 8 << 20}, 2, b.params, k
		if _, err := Compile(b.G, opt); err != nil {
			t.Fatal(err)
		}
		_, steps, err := Replay(k.start[0], 0)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := pairs(steps), pairs(k.steps); !slices.Equal(got, want) {
			t.Errorf("%s: the replay decides on %v, the compile did on %v", name, got, want)
		}
		if k.start[0].Layout != map[string]string{"blocks": tune.LayoutBlocks}[name] {
			t.Errorf("%s: the layout is %q", name, k.start[0].Layout)
		}
	}
}

// TestReplayOfStep: a replay knows which outputs replace which inputs, and that parameters change, as in a step of training.
func TestReplayOfStep(t *testing.T) {
	b := newBuild("step")
	x, dy, w, m := b.input(8, 6), b.input(8, 4), b.param(6, 4), b.input(6, 4)
	w.TensorMeta().RequiresGrad = true
	grad := b.Emit(ops.Mm, b.Emit(ops.Permute, x, sym.Consts([]int{1, 0})), dy)
	next := b.Emit(ops.Add, b.Emit(ops.Mul, m, 0.9), grad)
	loss := b.Emit(ops.Relu, b.Emit(ops.Mm, x, b.Emit(ops.Mul, w, 2.0)))
	b.G.SetOutput([]ops.Arg{b.Emit(ops.Sub, w, b.Emit(ops.Mul, next, 0.1)), next, loss})
	k := &keeper{t: t}
	p, err := Compile(b.G, Options{
		Machine: cpp.Machine{Lanes: 8, Cache: 8 << 20, BFloat: cpp.BFloatDot}, Cores: 2, Params: b.params, Log: k,
		Replaces: map[int]int{0: 2, 1: 3}, Training: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	groups, steps, err := Replay(k.start[0], 0)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := pairs(steps), pairs(k.steps); !slices.Equal(got, want) {
		t.Errorf("the replay decides on %v, the compile did on %v", got, want)
	}
	for _, g := range groups {
		if !strings.Contains(p.Wrapper, g.Source) {
			t.Errorf("%s of the replay is not of the program:\n%s", g.Kernel, g.Source)
		}
	}
	for name, forget := range map[string]func(*logs.Schedule){
		"what outputs replace":   func(s *logs.Schedule) { s.Replaces = nil },
		"what changes each call": func(s *logs.Schedule) { s.Trained = nil },
	} {
		other := k.start[0]
		forget(&other)
		if _, steps, err = Replay(other, 0); err != nil || slices.Equal(pairs(steps), pairs(k.steps)) {
			t.Errorf("%s decides nothing here: %v", name, err)
		}
	}
}
