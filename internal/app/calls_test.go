package app

import (
	"strings"
	"testing"

	"tcdbg/explain"
)

// trackedProgram has all that can become of a call: a compile, hits, a miss, a hit of an older
// entry, a break, the recompile limit, an error.
const trackedProgram = `import ("tcdbg/torch"; "tcdbg/torch/kw")
func f(x *torch.Tensor, up bool, name string) *torch.Tensor {
	if up { x = x.Mul(2) }
	if name == "c" { x = x.Neg() }
	y := x.Sin()
	if y.Sum().Gt(0).Bool() { y = y.Mul(3) }
	return y.IndexSelect(0, torch.Zeros(1, kw.Dtype(torch.Int64)))
}
func main() {
	g := torch.Compile(f, kw.RecompileLimit(2))
	x := torch.Ones(2)
	for _, up := range []bool{true, true, false, true, false, false} { g(x, up, "a") }
	g(x, true, "c")
	g(x, true, "a")
}`

// TestTrackOfARun: the track of a run, live or saved, is what happened, call by call; with
// TCDBG_CALLS=0 nothing of it is recorded, and the report says so.
func TestTrackOfARun(t *testing.T) {
	state := t.TempDir()
	p := program(t, trackedProgram)
	if r := run(t, tcdbg(t, state, "run", "--plain", p)); r.code != 0 {
		t.Fatal(r.stderr)
	}
	r := foldLast(t, state, p)
	if got := tracksOf(r); got != "f CbCbbe, f from line 8 on C0" {
		t.Errorf("tracks: %s", got)
	}
	if !r.Calls.Recorded || len(r.Calls.Missing) > 0 {
		t.Errorf("%+v", r.Calls)
	}
	cmd := tcdbg(t, state, "run", "--plain", p)
	cmd.Env = append(cmd.Env, callsVar+"=0")
	if r := run(t, cmd); r.code != 0 {
		t.Fatal(r.stderr)
	}
	r = foldLast(t, state, p)
	if r.Calls.Recorded || strings.Join(r.Calls.Missing, "") != callsVar+"=0 was set" {
		t.Errorf("recorded although it was switched off: %+v", r.Calls)
	}
}

// tracksOf is the tracks of a report by their marks.
func tracksOf(r *explain.Report) string {
	var out []string
	for _, k := range r.Calls.Tracks {
		s := k.Name + " "
		for i := range k.Runs {
			s += string(k.Mark(&k.Runs[i]))
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}
