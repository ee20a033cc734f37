package tracer

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tcdbg/logs/calls"
)

// trackOf is what the records of a run say of the calls of each function, in order.
func trackOf(o *outcome) map[string][]calls.Run {
	tracks := map[string]*calls.Track{}
	for _, rec := range artifacts[calls.Record](o.log) {
		for i := range rec.Parts {
			p := &rec.Parts[i]
			if tracks[p.Name] == nil {
				tracks[p.Name] = &calls.Track{}
			}
			tracks[p.Name].Put(p)
		}
	}
	out := map[string][]calls.Run{}
	for name, t := range tracks {
		out[name] = t.Runs()
	}
	return out
}

// spellRuns writes runs as "1 compile 0, 2-4 hit 0, 5 eager limit".
func spellRuns(runs []calls.Run) string {
	var out []string
	for _, r := range runs {
		s := fmt.Sprint(r.First)
		if r.Count > 1 {
			s = fmt.Sprintf("%d-%d", r.First, r.Last())
		}
		s += " " + string(r.Outcome)
		if r.Entry >= 0 {
			s += fmt.Sprint(" ", r.Entry)
		}
		if r.Why != "" {
			s += " " + r.Why
		}
		for _, x := range r.Sizes {
			s += fmt.Sprintf(" %s=%d", x.Name, x.Min)
			if x.Max != x.Min {
				s += fmt.Sprintf("..%d", x.Max)
			}
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

// TestTrackOfCalls records what became of each call of a function: the first compile, hits,
// a miss, hits of an older entry, a break with the part after it, dynamic sizes, the recompile
// limit, errors, stances and places where compiling is off.
func TestTrackOfCalls(t *testing.T) {
	for _, c := range []struct {
		name, program string
		want          map[string]string
	}{
		{"hits, a miss, an older entry, the limit", `
func f(x *torch.Tensor, up bool, k string) *torch.Tensor {
	if up { x = x.Mul(2) }
	if k == "c" { x = x.Neg() }
	return x.Sin()
}
func main() {
	g := torch.Compile(f, kw.RecompileLimit(2))
	x := torch.Ones(2)
	for _, up := range []bool{true, true, true, false, true, false, false} { g(x, up, "a") }
	g(x, true, "c"); g(x, true, "a")
}`, map[string]string{"f": "1 compile 0 L['x'].size()[0]=2, 2-3 hit 0, 4 compile 1 L['x'].size()[0]=2, 5 hit 0, 6-7 hit 1, " +
			"8-9 eager limit"}},
		{"a break", `
func f(x *torch.Tensor) *torch.Tensor {
	y := x.Sin()
	if y.Sum().Gt(0).Bool() { y = y.Mul(2) }
	return y
}
func main() {
	g := torch.Compile(f)
	for range 3 { g(torch.Ones(2)) }
	g(torch.Ones(2).Neg())
}`, map[string]string{
			"f":                             "1 compile 0 L['x'].size()[0]=2, 2-4 hit 0",
			"torch_dynamo_resume_in_f_at_9": "1 compile 0 L['y'].size()[0]=2, 2-3 hit 0",
		}},
		{"dynamic sizes", `
func f(x *torch.Tensor) *torch.Tensor { return x.Sin() }
func main() {
	g := torch.Compile(f)
	for _, n := range []int{2, 3, 4, 4, 5} { g(torch.Ones(n)) }
}`, map[string]string{"f": "1 compile 0 L['x'].size()[0]=2, 2 compile 1 L['x'].size()[0]=3, 3-4 hit 1 L['x'].size()[0]=4, " +
			"5 hit 1 L['x'].size()[0]=5"}},
		{"an error in a compiled graph, and in a compile", `
func f(x, i *torch.Tensor) *torch.Tensor { return x.IndexSelect(0, i) }
func try(fn func()) { defer func() { recover() }(); fn() }
func main() {
	g := torch.Compile(f)
	i := torch.Zeros(1, kw.Dtype(torch.Int64))
	g(torch.Ones(2), i)
	try(func() { g(torch.Ones(2), i.Add(7)) })
	h := torch.Compile(func(x *torch.Tensor) *torch.Tensor { if x.Sum().Gt(0).Bool() { x = x.Neg() }; return x }, kw.Fullgraph(true), kw.Name("h"))
	try(func() { h(torch.Ones(2)) })
}`, map[string]string{"f": "1 compile 0 L['x'].size()[0]=2 L['i'].size()[0]=1, 2 raised 0", "h": "1 raised"}},
		{"stances, disabled and deferred calls", `
var g = torch.Compile(func(x *torch.Tensor) *torch.Tensor { return x.Sin() }, kw.Name("g"))
func main() {
	x := torch.Ones(2)
	g(x)
	compiler.SetStance(compiler.ForceEager)
	g(x)
	compiler.SetStance(compiler.EagerOnRecompile)
	g(x); g(torch.Ones(2, 2))
	compiler.SetStance(compiler.Default)
	compiler.Disable(func() { g(x); g(x) })()
	g(x)
	func() { defer g(x) }()
}`, map[string]string{"g": "1 compile 0 L['x'].size()[0]=2, 2 eager stance force_eager, 3 hit 0, 4 eager stance eager_on_recompile, " +
			"0-1 eager disabled, 5 hit 0, 0 eager deferred"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := both(t, c.program)
			got := trackOf(o)
			for name, want := range c.want {
				if text := spellRuns(got[name]); text != want {
					t.Errorf("%s:\n got %s\nwant %s", name, text, want)
				}
			}
			if len(got) != len(c.want) {
				t.Errorf("tracks of %d functions, want %d: %v", len(got), len(c.want), got)
			}
			for name, runs := range got {
				checkTimes(t, name, runs)
			}
		})
	}
}

// checkTimes: runs begin one after the other, and what was timed lies between Min and Max.
func checkTimes(t *testing.T, name string, runs []calls.Run) {
	t.Helper()
	if !slices.IsSortedFunc(runs, func(a, b calls.Run) int { return int(a.Start - b.Start) }) {
		t.Errorf("%s: the runs are not in the order of their starts", name)
	}
	for _, r := range runs {
		if r.Start == 0 || r.End < r.Start || r.Timed > 0 && (r.Min > r.Max || r.Nanos < r.Min || r.Nanos > r.Timed*r.Max) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
