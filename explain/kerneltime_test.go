package explain

import "testing"

// TestCallTime: what a call takes comes from the calls that were timed, be it
// one; the others count as if they had taken as long.
func TestCallTime(t *testing.T) {
	for _, c := range []struct {
		timed, nanos, calls int64
		call, run           float64
		known               bool
		text                string
	}{
		{0, 0, 7, 0, 0, false, "   not timed"},
		{4, -1, 7, 0, 0, false, "   not timed"},
		{1, 3000, 1, 3000, 3000, true, "      3.0 us  50 %    2.0 GB/s    1.0 GFLOP/s"},
		{1, 0, 4, 0, 0, true, "      0.0 us   0 %"},
		{4, 2000, 12, 500, 6000, true, "      0.5 us 100 %   12.0 GB/s    6.0 GFLOP/s"},
	} {
		k := &Kernel{Bytes: 6000, FLOPs: 3000}
		k.Timed, k.Nanos, k.Calls = c.timed, c.nanos, c.calls
		if ns, known := k.CallNanos(); ns != c.call || known != c.known {
			t.Errorf("%+v: a call takes %v, %t", c, ns, known)
		}
		if ns := k.RunNanos(); ns != c.run {
			t.Errorf("%+v: all calls take %v", c, ns)
		}
		if text := k.timeText(6000); text != c.text {
			t.Errorf("%+v: told as %q", c, text)
		}
	}
}
