package fold

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"tcdbg/explain"
	"tcdbg/explain/render"
	"tcdbg/logs"
)

// TestLongInputsTakeLinearTime: one message, one function or one graph may be
// as long as a log allows. Each case takes well under a second; work that grows
// with the square takes minutes.
func TestLongInputsTakeLinearTime(t *testing.T) {
	const n = 200_000
	start := `V1121 12:00:00.000000 7 torch/a.py:1] {"dynamo_start": {"stack": []}, "frame_id": 0, "frame_compile_id": 0, ` +
		`"attempt": 0}` + "\n"
	for _, c := range []struct{ name, log string }{
		{"explanation", record("dynamo_graph_break_reason",
			"Graph break in user code at /w/a.py:3\nGraph Break Reason: x\n\nT\n  Explanation: e\n"+strings.Repeat("    on\n", n))},
		{"traceback", "Traceback (most recent call last):\n" + strings.Repeat("x\n", n)},
		{"recompile", "Recompiling function f in /w/a.py:1\n    - 0/0: k == 1\n" + strings.Repeat("        y\n", n)},
		{"graph", start + payload(`{"dynamo_output_graph": {}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0`, longGraph(n/10))},
		{"guard comment", start + payload(`{"dynamo_cpp_guards_str": {}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0`,
			"\nTREE_GUARD_MANAGER:\n+- RootGuardManager\n"+strings.Repeat("| +- LAMBDA_GUARD: L['x'] == 1\n", n))},
		{"sources", record("recompile_reasons", "0/0: "+strings.Repeat("L['x']", n)+" == 1")},
		{"resumed parts", resumes(n / 10)},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			done := make(chan error, 1)
			go func() { done <- wholeReport(ctx, c.log) }()
			select {
			case err := <-done:
				if err != nil {
					t.Error(err)
				}
			case <-ctx.Done():
				t.Fatalf("%d bytes take longer than 20 s", len(c.log))
			}
		})
	}
}

// wholeReport folds a log and writes its report and its comparison with itself.
func wholeReport(ctx context.Context, log string) error {
	st, err := logs.Open([]string{"-"}, logs.Options{Stdin: strings.NewReader(log)})
	if err != nil {
		return err
	}
	defer st.Close()
	fold := New(st)
	if err := st.Read(ctx, fold.Add); err != nil {
		return err
	}
	r := fold.Snapshot()
	if r.Totals.Records == 0 {
		return fmt.Errorf("no record was read")
	}
	for _, fr := range r.Frames {
		for _, c := range fr.Compiles {
			explain.DiffGuards(c.Guards.Root(), c.Guards.Root())
		}
	}
	var b bytes.Buffer
	return render.WriteText(&b, r)
}

func record(artifact, text string) string {
	return payload(`{"artifact": {"name": "`+artifact+`", "encoding": "string"}, "frame_id": 0, "frame_compile_id": 1, "attempt": 0`, text)
}

func payload(head, text string) string {
	return `V1121 12:00:00.000000 7 torch/a.py:1] ` + head + `, "has_payload": "00"}` + "\n\t" +
		strings.ReplaceAll(text, "\n", "\n\t") + "\n"
}

// longGraph has n inputs, each renamed, and an output of all of them.
func longGraph(n int) string {
	var b strings.Builder
	b.WriteString("class GraphModule(torch.nn.Module):\n    def forward(self")
	for i := range n {
		fmt.Fprintf(&b, ", L_x%d_: \"f32[4][1]cpu\"", i)
	}
	b.WriteString("):\n")
	for i := range n {
		fmt.Fprintf(&b, "        l_x%d_ = L_x%d_\n", i, i)
	}
	b.WriteString("        return (")
	for i := range n {
		fmt.Fprintf(&b, "l_x%d_, ", i)
	}
	return b.String() + ")\n"
}

// resumes is a function with n breaks, each with the part that goes on.
func resumes(n int) string {
	var b strings.Builder
	for i := range n {
		name := "f"
		if i > 0 {
			name = fmt.Sprintf("torch_dynamo_resume_in_f_at_%d", i)
		}
		head := fmt.Sprintf(`"frame_id": %d, "frame_compile_id": 0, "attempt": 0`, i)
		fmt.Fprintf(&b, `V1121 12:00:00.000000 7 torch/a.py:1] {"dynamo_start": {"stack": [{"line": %d, "name": %q, "filename": `+
			`0}]}, %s}`+"\n", i, name, head)
		b.WriteString(payload(`{"artifact": {"name": "dynamo_graph_break_reason", "encoding": "string"}, `+head,
			fmt.Sprintf("Graph break in user code at /w/a.py:%d\nGraph Break Reason: x\n\nT\n\nUser code traceback:\n  File "+
				"\"/w/a.py\", line %d, in f\n", i+1, i+1)))
	}
	return b.String()
}
