package logs

import (
	"encoding/json"
	"testing"
)

// FuzzPassStep holds what a step of a pass is written as against encoding/json.
func FuzzPassStep(f *testing.F) {
	for _, s := range []string{"", "a\nb\t\"c\" \\ <x> & y\x00\x1f\x7f\b\f\r", "\u2028 é \xff tail\n", "x := a[0] -> b"} {
		f.Add(s, s+"\n", int64(12))
	}
	f.Fuzz(func(t *testing.T, before, after string, us int64) {
		p := PassStep{Stage: "aot", Pass: before, Index: int(us % 99), Before: before, After: after, Micros: us}
		want, err := json.Marshal(struct {
			V    int      `json:"v"`
			Data PassStep `json:"data"`
		}{1, p})
		if err != nil {
			t.Fatal(err)
		}
		if got := Artifact(NoCompile, p).Payload; string(got) != string(want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
