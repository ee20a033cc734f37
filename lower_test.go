package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"tcdbg/graph/fxtext"
)

// This file lowers graphs of PyTorch's traces as a user does.

const (
	loweredTraces = "internal/app/lowering/testdata/"
	customTrace   = "explain/testdata/traces/pytorch-2.15/custom_op.log.zst" // with operators of the program's own
)

func TestLowerCommand(t *testing.T) {
	s := newSession(t)
	for _, c := range []struct {
		args string
		want []string
	}{
		{
			"mlp.log.zst", []string{
				"[0/0] post-grad (forward): 32 operators, 5 kernels\n  fused_addmm_relu_0  addmm relu\n",
				"PyTorch fused, we did not:\n  PyTorch's cpp_fused_native_layer_norm_relu_0 is 2 kernels of ours\n",
				"we fused, PyTorch did not:\n  our fused_addmm_relu_0 is 2 kernels of PyTorch's\n",
			},
		},
		{"mlp.log.zst 0/0 --stage backward", []string{"not compared with PyTorch's kernels: PyTorch's kernels are of the post-grad"}},
		{"mlp.log.zst --emit c", []string{"void fused_addmm_relu_0(", "// relu: model.py:8 return torch.nn.functional.cross_en"}},
		{"mlp.log.zst --emit triton", []string{"@triton.jit", "def fused_addmm_relu_0("}},
		{
			"mlp.log.zst --emit fusion", []string{
				"31 kernels before fusion, 5 after\n", "fused      addmm + relu  (saves 1024 bytes)", "not fused",
			},
		},
		{"mlp.log.zst --emit graph", []string{"class ", "addmm: \"f32[8, 32][32, 1]cpu\" = torch.ops.aten.addmm.default("}},
		{"resnet18.log.zst --stage post_grad", []string{"[0/0] post-grad: ", "convolution"}},
		{
			"layer.log.zst --all", []string{
				"[0/0] post-grad 2 (backward): lowered\n", "forward: 1 of 1 lowered\n", "post-grad: 2 of 2 lowered\n",
			},
		},
		{
			"../../../../" + customTrace + " --all", []string{
				"[0/0] post-grad: 1 operator is not supported: mine.scale.default (1)\n",
				"post-grad: 0 of 2 lowered\n", "not supported: mine.scale.default (6)\n",
			},
		},
	} {
		args := strings.Fields(loweredTraces + c.args)
		out, errs, code := s.run(t, append([]string{"lower"}, args...)...)
		if code != 0 || errs != "" {
			t.Errorf("%s: exit %d\n%s%s", c.args, code, out, errs)
		}
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in\n%.3000s", c.args, want, out)
			}
		}
	}
}

func TestLowerErrors(t *testing.T) {
	s := newSession(t)
	large := filepath.Join(t.TempDir(), "large.log")
	if err := os.WriteFile(large, []byte(largeGraph(100_000)), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{loweredTraces + "mlp.log.zst", "3/0"}, 64, "the trace has no graph 3/0; there are 0/0\n"},
		{[]string{loweredTraces + "mlp.log.zst", "--emit", "cuda"}, 64, "--emit wants one of summary, graph, fusion, c, triton, "},
		{[]string{loweredTraces + "mlp.log.zst", "--stage", "fused"}, 64, "graph 0/0 has no stage fused in the trace; it has "},
		{[]string{customTrace, "0/0"}, 65, "[0/0] post-grad is not lowered: 1 operator is not supported: mine.scale.default (1)\n"},
		{[]string{large}, 65, "[0/0] dynamo is not lowered: the graph has 100002 nodes, and graphs of up to 20000 "},
		{[]string{"fixtures/bar/model.go"}, 0, ""},
	} {
		out, errs, code := s.run(t, append([]string{"lower"}, c.args...)...)
		ok := out == "" && strings.HasPrefix(errs, "tcdbg: "+c.want) && strings.Count(errs, "\n") == 1
		if code == 0 || c.code != code && c.want != "" || !ok {
			t.Errorf("%v: exit %d\n%s%s\nwant %d %s", c.args, code, out, errs, c.code, c.want)
		}
	}
}

// TestLowerLongGraph: one of nearly as many nodes as are read ends within its bounds, with kernels or in words.
func TestLowerLongGraph(t *testing.T) {
	if testing.Short() {
		t.Skip("half a minute")
	}
	s := newSession(t)
	path := filepath.Join(t.TempDir(), "long.log")
	if err := os.WriteFile(path, []byte(largeGraph(fxtext.MaxNodes-10)), 0o644); err != nil {
		t.Fatal(err)
	}
	out, errs, code := s.run(t, "lower", path)
	refused := strings.Contains(errs, "it took more than 1m0s") || strings.Contains(errs, "GB of memory")
	if code != 0 && !refused || code == 0 && !strings.Contains(out, "kernel") {
		t.Errorf("exit %d\n%.2000s%s", code, out, errs)
	}
}

// TestLowerOut writes a trace of the compile, which replays.
func TestLowerOut(t *testing.T) {
	s := newSession(t)
	path := filepath.Join(t.TempDir(), "lowered.log")
	if out, errs, code := s.run(t, "lower", loweredTraces+"mlp.log.zst", "-o", path); code != 0 || out+errs != "" {
		t.Fatal(code, out, errs)
	}
	out, _, code := s.run(t, "report", path)
	for _, want := range []string{"1 graph", "5 kernels", "26 fusions, 13 refusals"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("the report has no %q (exit %d)\n%s", want, code, out)
		}
	}
}

// largeGraph is a trace with a graph of n calls.
func largeGraph(n int) string {
	var sb strings.Builder
	at := `V1124 22:00:00.000000 7 torch/_dynamo/output_graph.py:1000] `
	sb.WriteString(at + `{"dynamo_start": {"stack": []}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0}` + "\n")
	sb.WriteString(at + `{"dynamo_output_graph": {}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0, "has_payload": "00"}` + "\n")
	sb.WriteString("\tclass GraphModule(torch.nn.Module):\n\t    def forward(self, x: \"f32[4][1]cpu\"):\n")
	last := "x"
	for i := range n {
		name := "n" + strings.Repeat("x", i%7) + strconv.Itoa(i)
		sb.WriteString("\t        " + name + ": \"f32[4][1]cpu\" = torch.sin(" + last + ")\n")
		last = name
	}
	sb.WriteString("\t        return (" + last + ",)\n")
	return sb.String()
}
