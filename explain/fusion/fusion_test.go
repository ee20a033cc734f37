package fusion

import (
	"bufio"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/logs/loops"
)

// instance puts something in each gap of PyTorch's words.
func instance(words string) string {
	return strings.NewReplacer("%s", "s0*64", "%d", "12", "{}", "buf3", "%%", "%").Replace(words)
}

// form is PyTorch's words as the table has them.
func form(words string) string { return strings.NewReplacer("{}", "%s", "%d", "%s").Replace(words) }

// TestEveryReasonOfPyTorchIsExplained: what PyTorch 2.15 can print for a pair has a row each, which
// explains it, and no other row answers for it.
func TestEveryReasonOfPyTorchIsExplained(t *testing.T) {
	words := reasonsOfPyTorch(t, "testdata/reasons.txt")
	if len(words) < 70 {
		t.Fatalf("%d reasons", len(words))
	}
	for _, w := range words {
		r := rowOf(instance(w))
		switch {
		case r == nil:
			t.Errorf("%q has no row", w)
		case r.words != form(w):
			t.Errorf("%q is explained by the row of %q", w, r.words)
		case len(r.means) < 30 || !strings.HasSuffix(r.means, "."):
			t.Errorf("%q means %q", w, r.means)
		}
	}
}

// TestEveryRowIsMet: each row has words of its own, which find it.
func TestEveryRowIsMet(t *testing.T) {
	seen := map[string]bool{}
	for i := range reasons {
		r := &reasons[i]
		if seen[r.words] {
			t.Errorf("two rows of %q", r.words)
		}
		seen[r.words] = true
		if got := rowOf(instance(r.words)); got != r {
			t.Errorf("%q finds %+v", r.words, got)
		}
		if c := Class(instance(r.words)); strings.Contains(c, "s0*64") {
			t.Errorf("the class of %q is %q", r.words, c)
		}
	}
}

// TestUnknownReasonsAreShownAsTheyAre: words without a row are neither explained nor changed.
func TestUnknownReasonsAreShownAsTheyAre(t *testing.T) {
	for _, w := range []string{"", "a new reason (3, 4)", "no shared data at all", "device mismatch (cuda:0 vs )", "device mismatch"} {
		if Means(w) != "" || Class(w) != w {
			t.Errorf("%q: %q, %q", w, Class(w), Means(w))
		}
	}
}

// TestReasonsOfTheInstalledPyTorch reads the reasons from the installed release again: TCDBG_PYTHON
// names its Python.
func TestReasonsOfTheInstalledPyTorch(t *testing.T) {
	python := os.Getenv("TCDBG_PYTHON")
	if python == "" {
		t.Skip("TCDBG_PYTHON is not set")
	}
	out, err := exec.Command(python, "testdata/reasons.py").Output()
	if err != nil {
		t.Fatal(err)
	}
	for w := range strings.Lines(string(out)) {
		if w = strings.TrimRight(w, "\n"); rowOf(instance(w)) == nil {
			t.Errorf("%q has no row", w)
		}
	}
}

func reasonsOfPyTorch(t *testing.T, name string) []string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []string
	for s := bufio.NewScanner(f); s.Scan(); {
		if s.Text() != "" {
			out = append(out, s.Text())
		}
	}
	return out
}

const schedule = `op0: SchedulerNode(ComputedBuffer)
op0.writes = [MemoryDep('buf0', c0, {c0: 1024})]
op0.unmet_dependencies = []
op0.met_dependencies = [MemoryDep('x', c0, {c0: 1024})]
op0.outputs = [
    buf0: ComputedBuffer
    buf0.layout = FixedLayout('cpu', torch.float32, size=[32, 32], stride=[32, 1])
    buf0.users = [NodeUser(node=SchedulerNode(name='op1'), can_inplace=False, is_weak=False)]
]
op0.sizes = ([1024], [])
x_layout = FixedLayout('cpu', torch.float32, size=[32, 32], stride=[32, 1])
op1: SchedulerNode(ComputedBuffer)
op1.writes = [MemoryDep('buf1', c0, {c0: 1024})]
op1.unmet_dependencies = [MemoryDep('buf0', c0, {c0: 1024})]
op1.met_dependencies = [MemoryDep('x', c0, {c0: 1024})]
op1.outputs = [
    buf1: ComputedBuffer
    buf1.layout = FixedLayout('cpu', torch.float32, size=[32, 32], stride=[32, 1])
    buf1.users = [NodeUser(node=OUTPUT, can_inplace=False, is_weak=False)]
]
op2: SchedulerNode(ComputedBuffer)
op2.writes = [MemoryDep('buf2', c0, {c0: 1024})]
op2.unmet_dependencies = [MemoryDep('buf1', c0 + 32*c1, {c0: 32, c1: 32})]
op2.met_dependencies = []
op2.outputs = [
    buf2: ComputedBuffer
    buf2.layout = FixedLayout('cpu', torch.float32, size=[32, 32], stride=[32, 1])
    buf2.users = [NodeUser(node=OUTPUT, can_inplace=False, is_weak=False)]
]
op3: SchedulerNode(ComputedBuffer)
op3.writes = [MemoryDep('buf3', c0, {c0: 1024})]
op3.unmet_dependencies = [MemoryDep('buf2', c0 + tmp0, {c0: 1024})]
op3.met_dependencies = []
`

func step(round int, a, b, reason string) logs.FusionStep {
	s := logs.FusionStep{Round: round, A: a, B: b, Reason: reason}
	if reason == "" {
		s.Fused, s.Result = true, a+"_"+b
	}
	return s
}

// TestBytesOfDecisions: a fusion saves what is not read again and what nobody else reads, a refusal
// costs at most what both move; what the log does not tell is not counted.
func TestBytesOfDecisions(t *testing.T) {
	f := &explain.Fusion{Loops: loops.Parse(schedule), Steps: []logs.FusionStep{
		step(1, "op0", "op2", "no shared data"),
		step(1, "op1", "op2", "no shared data"),
		step(1, "op2", "op3", "memory deps did not match"),
		step(1, "op0", "op1", ""),
		step(2, "op0_op1", "op2", "memory deps did not match"),
		step(2, "op0", "op9", "a new reason"),
	}}
	v := Of(f)
	// x is read once less, and buf0 neither written nor read: its one user is in the kernel.
	if want := []int64{0, 4096, -1, 3 * 4096, 4096, -1}; !slices.Equal(v.Bytes, want) {
		t.Errorf("%v bytes, want %v", v.Bytes, want)
	}
	if v.Fused != 1 || v.Refused != 5 || v.Saved != 3*4096 || v.Unknown != 0 {
		t.Errorf("%+v", v)
	}
	// op0 and op1 are one kernel: what each of them was refused is one row.
	if len(v.Losses) != 3 || v.Losses[0].A != "op0_op1" || v.Losses[0].B != "op2" || len(v.Losses[0].Steps) != 3 ||
		v.Losses[0].Bytes != 4096 || v.Losses[1].Bytes != -1 {
		t.Errorf("%+v", v.Losses)
	}
	if r := v.Reasons[0]; r.Words != "memory deps did not match" || r.Times != 2 || r.Pairs != 2 || r.Bytes != 4096 || r.Means == "" {
		t.Errorf("%+v", v.Reasons)
	}
	shared, known := v.Shared(4)
	if !known || len(shared) != 1 || shared[0].Buffer != "buf1" || shared[0].Same || shared[0].Gone ||
		shared[0].A[0] != "written at c0 over [c0: 1024] by op1" || shared[0].B[0] != "read at c0 + 32*c1 over [c0: 32, c1: 32] by op2" {
		t.Errorf("%+v", shared)
	}
	if _, known := v.Shared(5); known {
		t.Error("a node that the log does not tell of has accesses")
	}
	if got := v.Ranges("op0_op1"); !slices.Equal(got, []string{"([1024], [])"}) {
		t.Errorf("%q", got)
	}
}

// TestRefusedAndYetOneKernel: a pair that a third node brought together costs nothing.
func TestRefusedAndYetOneKernel(t *testing.T) {
	f := &explain.Fusion{Loops: loops.Parse(schedule), Steps: []logs.FusionStep{
		step(1, "op0", "op2", "intermediate nodes between node1 & node2"), step(1, "op0", "op1", ""), step(2, "op0_op1", "op2", ""),
	}}
	v := Of(f)
	if len(v.Losses) != 0 || !v.Joined(0) || v.Joined(1) || v.Reasons[0].Pairs != 0 || v.Reasons[0].Times != 1 {
		t.Errorf("%+v", v)
	}
}

// TestOurOwnEngineCounts: its log has the bytes and both accesses.
func TestOurOwnEngineCounts(t *testing.T) {
	f := &explain.Fusion{Steps: []logs.FusionStep{{
		A: "op0", B: "op1", Kind: "vertical", Reason: "memory deps did not match", Score: 128,
		Uses: []logs.SharedUse{{Buffer: "buf0", Bytes: 128, A: "written at [i0] over [32] by op0", B: "read at [i1] over [32] by op1"}},
	}}}
	v := Of(f)
	shared, known := v.Shared(0)
	if v.Bytes[0] != 128 || len(v.Losses) != 1 || v.Losses[0].Bytes != 128 || !known || shared[0].Bytes != 128 {
		t.Errorf("%+v %+v", v, shared)
	}
}

// TestRefusedAndYetTogether: kernels that run together lose nothing by being two.
func TestRefusedAndYetTogether(t *testing.T) {
	f := &explain.Fusion{Steps: []logs.FusionStep{
		{A: "op0", B: "op1", Kind: "vertical", Reason: "template epilogue not satisfied", Score: 128, Together: true},
		{A: "op1", B: "op2", Kind: "vertical", Reason: "template epilogue not satisfied", Score: 64},
	}}
	v := Of(f)
	if len(v.Losses) != 1 || v.Losses[0].Bytes != 64 || v.Reasons[0].Times != 2 || v.Reasons[0].Pairs != 1 {
		t.Errorf("%+v", v)
	}
	if c := v.Cost(0); !strings.Contains(c, "they run together") || v.Cost(1) != "would save 64 B of memory traffic" {
		t.Errorf("%q, %q", c, v.Cost(1))
	}
}

// TestWhatRunsOnce: what runs only when parameters change is no traffic of a call, fused or not.
func TestWhatRunsOnce(t *testing.T) {
	f := &explain.Fusion{Steps: []logs.FusionStep{
		{A: "op0", B: "op1", Kind: "horizontal", Fused: true, Score: 128, Once: true, Result: "op0_op1"},
		{A: "op0_op1", B: "op2", Kind: "prologue", Reason: "runs once", Score: 128, Once: true},
		{A: "op2", B: "op3", Kind: "vertical", Fused: true, Score: 64, Result: "op2_op3"},
	}}
	v := Of(f)
	if v.Saved != 64 || v.Fused != 2 || len(v.Losses) != 0 || v.Reasons[0].Times != 1 || v.Reasons[0].Pairs != 0 {
		t.Errorf("%+v", v)
	}
	for i := range 2 {
		if c := v.Cost(i); !strings.Contains(c, "makes no difference to a call") {
			t.Errorf("decision %d: %q", i, c)
		}
	}
}

// TestLinesOfNodes: lines printed with the nodes are taken, others are those of the graph's nodes.
func TestLinesOfNodes(t *testing.T) {
	id := explain.ID{Rank: -1}
	text := "class <lambda>(torch.nn.Module):\n    def forward(self, arg0_1: \"f32[4]\"):\n" +
		"         # File: /w/a.py:7 in f, code: y = x.sin()\n        sin: \"f32[4]\" = torch.ops.aten.sin.default(arg0_1)\n" +
		"        return (sin,)\n"
	load := func() string { return text }
	r := &explain.Report{Graphs: []*explain.Graph{{ID: id, Stages: []explain.Stage{{Name: "post-grad", Load: load}}}}}
	at := logs.Pos{File: "/w/b.py", Line: 3}
	f := &explain.Fusion{ID: id, Origins: []explain.NodeOrigin{{Nodes: []string{"sin"}}, {Nodes: []string{"cos"}, Pos: []logs.Pos{at}}, {}}}
	l := LinesOf(r, f)
	got := l.Of("op0_op1_op2")
	if len(got) != 2 || got[0].File != "/w/a.py" || got[0].Line != 7 || got[0].Code != "y = x.sin()" || got[1] != at {
		t.Errorf("%+v", got)
	}
}
