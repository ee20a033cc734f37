package explain

import (
	"testing"

	"tcdbg/tracer/breaks"
)

// What three messages of one break look like: the traceback, the warning of 2.6, the break of 2.15.
const (
	backendTrace = `WON'T CONVERT write /w/m.py line 6
========== TorchDynamo Stack Trace ==========
Traceback (most recent call last):
  File "/lib/torch/_dynamo/output_graph.py", line 1462, in _call_user_compiler
    compiled_fn = compiler_fn(gm, self.example_inputs())
  File "/lib/torch/_subclasses/fake_impls.py", line 399, in local_scalar_dense
    raise DataDependentOutputException(func)
torch._subclasses.fake_tensor.DataDependentOutputException: aten._local_scalar_dense.default

While executing %setitem : [num_users=0] = call_function[target=operator.setitem](args = (%l_cache_, %l_at_, %l_row_), kwargs = {})
Original traceback:
  File "/w/m.py", line 8, in write
    cache[at] = row


========== The above exception occurred while processing the following code ==========


==========`
	backendWarned = `Backend compiler failed with a fake tensor exception at 
  File "/w/m.py", line 10, in write
    torch._dynamo.graph_break()
Adding a graph break.`
	backendBreak = `Graph break in user code at /w/m.py:6
Graph Break Reason: Failed to handle graph break gracefully. Skipping the function and falling back to eager. Graph break encountered:

Backend compiler exception
  Explanation: Backend compiler ` + "`inductor`" + ` failed with aten._local_scalar_dense.default

    While executing %setitem : [num_users=0] = call_function[target=operator.setitem](args = (%l_cache_, %l_at_, %l_row_), kwargs = {})
    Original traceback:
      File "/w/m.py", line 8, in write
        cache[at] = row
        ~~~~~^^^^

    Use tlparse to see full graph.. Adding a graph break.
  Hint: Set ` + "`fullgraph=False`" + ` to allow this backend fallback to run eagerly.

  Developer debug context: Backend: inductor
    Exception:aten._local_scalar_dense.default

    While executing %setitem : [num_users=0] = call_function[target=operator.setitem](args = (%l_cache_, %l_at_, %l_row_), kwargs = {})
    Original traceback:
      File "/w/m.py", line 8, in write
        cache[at] = row
        ~~~~~^^^^

    Use tlparse to see full graph.
    Traceback:
      File "/w/m.py", line 10, in write
        torch._dynamo.graph_break()


 For more details about this graph break, please visit: https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0219.html
`
)

// What a backend could not trace is one break at the operator's line, whichever message tells it.
func TestBreaksOfABackend(t *testing.T) {
	for name, text := range map[string]string{"traceback": backendTrace, "break": backendBreak} {
		b := ParseBreak(text)
		if len(b.Blocks) == 0 || b.Blocks[0].Code != breaks.BackendFailed || b.Place.Line != 8 || b.Place.Func != "write" ||
			b.Place.Code != "cache[at] = row" {
			t.Errorf("%s: %+v", name, b)
		}
	}
	if b := ParseBreak(backendTrace); b.Blocks[0].Explanation != "torch._subclasses.fake_tensor.DataDependentOutputException: "+
		"aten._local_scalar_dense.default" {
		t.Errorf("%q", b.Blocks[0].Explanation)
	}
	if b := ParseBreak("WON'T CONVERT write /w/m.py line 6\nNoneType: None"); b.Place.File != "/w/m.py" || b.Place.Line != 6 {
		t.Errorf("%+v", b.Place)
	}
	if !ParseBreak(backendWarned).Reasonless() {
		t.Errorf("a warning without the reason is a break: %+v", ParseBreak(backendWarned))
	}
}
