package fold

import (
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
	"tcdbg/logs"
)

// TestCallTime: what a call takes comes from the calls that were timed, be it
// one; the others count as if they had taken as long.
func TestCallTime(t *testing.T) {
	for _, c := range []struct {
		timed, nanos, calls int64
		call, run           float64
		known               bool
		text                string
	}{
		{0, 0, 7, 0, 0, false, "   not timed            7 calls"},
		{0, 0, 0, 0, 0, false, "   never ran"},
		{4, -1, 7, 0, 0, false, "   not timed            7 calls"},
		{1, 3000, 1, 3000, 3000, true, "      3.0 us  50 %       1 call    2.0 GB/s    1.0 GFLOP/s"},
		{1, 0, 4, 0, 0, true, "      0.0 us   0 %      4 calls"},
		{4, 2000, 12, 500, 6000, true, "      0.5 us 100 %     12 calls   12.0 GB/s    6.0 GFLOP/s"},
	} {
		k := &explain.Kernel{Bytes: 6000, FLOPs: 3000}
		k.Timed, k.Nanos, k.Calls = c.timed, c.nanos, c.calls
		if ns, known := k.CallNanos(); ns != c.call || known != c.known {
			t.Errorf("%+v: a call takes %v, %t", c, ns, known)
		}
		if ns := k.RunNanos(); ns != c.run {
			t.Errorf("%+v: all calls take %v", c, ns)
		}
		if text := k.TimeText(6000); text != c.text {
			t.Errorf("%+v: told as %q", c, text)
		}
	}
}

// TestKernelsOfACache: code out of a cache that another program filled comes with that
// program's stacks, which say nothing of this one's lines.
func TestKernelsOfACache(t *testing.T) {
	own := posAt("/w/a.py", 27)
	for stack, want := range map[string]string{
		"  File \"/w/a.py\", line 29, in f\n    return y + 1\n":     "a.py:29",
		"  File \"/w/other.py\", line 30, in f\n    return g + 1\n": "a.py:27",
	} {
		f := New(nil)
		c := &compile{Compile: explain.Compile{Frame: &explain.Frame{Pos: posAt("/w/a.py", 20)}}}
		f.provenanceOf(c).stacks["k"] = []string{stack}
		k := &explain.Kernel{Name: "k", Pos: []logs.Pos{own}}
		f.applyProvenance(c, k)
		if len(k.Pos) != 1 || diagnose.ShortPlace(k.Pos[0].File, k.Pos[0].Line) != want {
			t.Errorf("%v, want %s", k.Pos, want)
		}
	}
}
