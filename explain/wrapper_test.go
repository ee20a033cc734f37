package explain

import (
	"strings"
	"testing"
)

// advices are the texts of a report's advice, with their places.
func advices(r *Report) string {
	var b strings.Builder
	for _, a := range r.Advice {
		b.WriteString(shortPlace(a.Pos.File, a.Pos.Line) + ": " + a.Text + "\n")
	}
	return b.String()
}

// TestWrapperAdvice: what wraps a model is the framework's, what it leaves to eager
// execution is the user's.
func TestWrapperAdvice(t *testing.T) {
	for file, want := range map[string]string{
		// torch.compile(DDP(nn.Sequential(...))): line 26 calls it, and no graph follows.
		"pytorch-2.15/ddp_sequential.log.zst": "ddp.py:26: nothing of this call is compiled",
		// forward calls self.a, which fully_shard hooked, in line 17.
		"pytorch-2.15/fsdp.log.zst": "fsdp.py:17: a sharded module is called here",
	} {
		r := report(t, "testdata/traces/"+file)
		if got := advices(r); strings.Count(got, want) != 1 {
			t.Errorf("%s: no %q in\n%s", file, want, got)
		}
	}
	// There the model has a forward of its own, which is compiled behind the wrapper.
	if got := advices(report(t, "testdata/traces/pytorch-2.15/ddp_train")); strings.Contains(got, "nothing of this call") {
		t.Errorf("ddp_train: %s", got)
	}
}
