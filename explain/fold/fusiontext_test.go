package fold

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/fusion"
)

// fusionLog is a log of the scheduler with the given messages.
func fusionLog(t *testing.T, lines ...string) *explain.Fusion {
	t.Helper()
	var b strings.Builder
	for i, l := range lines {
		fmt.Fprintf(&b, "V1121 01:35:48.480000 8044 torch/_inductor/scheduler.py:%d] [0/0] [__fusion] %s\n", 8000+i, l)
	}
	r := foldText(t, b.String())
	if len(r.Fusions) != 1 {
		t.Fatalf("%d fusions", len(r.Fusions))
	}
	return r.Fusions[0]
}

// TestSchedulerNodesHaveOperators: PyTorch's scheduler numbers its nodes; what each
// computes is in its list of candidates.
func TestSchedulerNodesHaveOperators(t *testing.T) {
	fu := fusionLog(t,
		"===== attempting fusion (1/10): 5 nodes =====", "fuse_nodes_once, candidates:",
		"  ExternKernelSchedulerNode(name='op0')",
		"  SchedulerNode(name='op1'), Reduction(['[48]', 'sum', 'origins=OrderedSet([var_mean_12, mul_2, mul])', 'stack_traces = "+
			"{', '  File \"/w/a.py\", line 7, in f', '}'])",
		"  SchedulerNode(name='op4'), Pointwise(['[48]', 'origins={amax}'])", // an older release
		"  NopKernelSchedulerNode(name='op5')",
		"  SchedulerNode(name='op2')",
		"  FusedSchedulerNode(nodes=op7_op8, SchedulerNode(name='op7'), Pointwise(['origins=OrderedSet([sin])']))",
		"  SchedulerNode(name='op99999999'), Pointwise(['origins=OrderedSet([sin])'])",
		"fusing op1 with op4")
	if want := []string{"extern op0", "var_mean", "", "", "amax", "nop op5"}; !slices.Equal(fu.Ops, want) {
		t.Errorf("%q, want %q", fu.Ops, want)
	}
	r := report(t, "../testdata/traces/pytorch-2.15/fusion_small.txt.zst")
	named := 0
	for _, fu := range r.Fusions {
		for _, op := range fu.Ops {
			if op != "" {
				named++
			}
		}
	}
	if named < 10 {
		t.Errorf("%d nodes of a real log have an operator", named)
	}
}

// TestRefusalsStandInTheirRound: a pair that is refused again for the same reason is told
// once, in the round where it was first; another reason is another step.
func TestRefusalsStandInTheirRound(t *testing.T) {
	fu := fusionLog(t,
		"===== attempting fusion (1/10): 5 nodes =====", "cannot fuse op1 with op2: no shared data",
		"cannot fuse op3 with op4: will create cycle", "fusing op5 with op6",
		"===== attempting fusion (2/10): 4 nodes =====", "cannot fuse op1 with op2: no shared data",
		"cannot fuse op3 with op4: no shared data")
	var got []string
	for _, s := range fu.Steps {
		got = append(got, string(rune('0'+s.Round))+" "+s.A+" "+s.B+" "+s.Reason)
	}
	want := "1 op1 op2 no shared data|1 op3 op4 will create cycle|1 op5 op6 |2 op3 op4 no shared data"
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("%s, want %s", s, want)
	}
}

// TestNodesAmongDecisions: what tcdbg exec has written of the nodes comes before the decisions on them; the backward
// graph, under the same compile, starts its own list.
func TestNodesAmongDecisions(t *testing.T) {
	var lines []string
	for _, size := range []string{"64", "32"} {
		node := func(n, reads string) string {
			dep := func(buffer string) string { return "[MemoryDep('" + buffer + "', c0, {c0: " + size + "})]" }
			return strings.ReplaceAll(" opN: SchedulerNode(ComputedBuffer); opN.writes = "+dep("bufN")+"; opN.met_dependencies = "+
				dep(reads)+"; bufN: ComputedBuffer; bufN.layout = FixedLayout('cpu', torch.float32, size=["+size+"])", "N", n)
		}
		lines = append(lines, nodesBefore, node("0", "x"), node("1", "buf0"), "===== attempting fusion (1/10): 2 nodes =====",
			"cannot fuse op0 with op1: no shared data", "===== fusion complete (1 iterations) =====")
	}
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "V1121 01:35:48.480000 8044 torch/_inductor/scheduler.py:8000] [0/0] [__fusion] %s\n", l)
	}
	r := foldText(t, b.String())
	if len(r.Fusions) != 2 {
		t.Fatalf("%d fusions", len(r.Fusions))
	}
	for i, want := range []int64{256, 128} {
		v := fusion.Of(r.Fusions[i])
		if len(v.Bytes) != 1 || v.Bytes[0] != want {
			t.Errorf("graph %d: %d bytes, want %d", i, v.Bytes, want)
		}
	}
}
