package results

import (
	"math"
	"strings"
	"testing"
)

// written is the results of a process that returns one tensor.
func written(t *testing.T, dtype string, output string, values ...float64) *Trial {
	t.Helper()
	dir := t.TempDir()
	w, err := Create(dir, Hello{PID: 1})
	if err != nil {
		t.Fatal(err)
	}
	w.Call(Call{Function: "f", Nanos: 1e6, Compiled: true, Out: []Leaf{
		{Path: "[0]", Dtype: dtype, Shape: []int{1, len(values)}}, {Path: "[1]", Text: "3"},
	}}, func(int) Values { return Values{Floats: values} }, nil)
	return closed(t, w, dir, output)
}

// closed ends a process's results and reads them; output is what it printed.
func closed(t *testing.T, w *Writer, dir, output string) *Trial {
	t.Helper()
	if err := w.Close(false); err != nil {
		t.Fatal(err)
	}
	tr, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	tr.Output = output
	return tr
}

// The first difference is told with its output, its index and both numbers.
func TestCompare(t *testing.T) {
	base := written(t, "float32", "loss 0.1234\ndone\n", 1, 2, math.NaN())
	for _, c := range []struct {
		name    string
		other   *Trial
		quieter bool
		first   string
		fewer   int
	}{
		{"same", written(t, "float32", "loss 0.1234\ndone\n", 1, 2, math.NaN()), false, "", 0},
		{"rounding", written(t, "float32", "loss 0.1235\ndone\n", 1, 2.00001, math.NaN()), false, "", 0},
		{
			"value", written(t, "float32", "loss 0.1234\ndone\n", 1, 2.01, math.NaN()), false,
			"call 1 of f, output[0][0, 1] is 2.01, and without the remedy 2", 0,
		},
		{"NaN gone", written(t, "float32", "", 1, 2, 3), false, "call 1 of f, output[0][0, 2] is 3, and without the remedy NaN", 0},
		{
			"dtype", written(t, "float64", "", 1, 2, math.NaN()), false,
			"call 1 of f, output[0] is float64[1 3], and without the remedy float32[1 3]", 0,
		},
		{"printed", written(t, "float32", "loss 0.2234\ndone\n", 1, 2, math.NaN()), false, "line 1 of standard output", 0},
		{
			"missing line", written(t, "float32", "loss 0.1234\n", 1, 2, math.NaN()), false,
			`line 2 of standard output is missing: "done"`, 0,
		},
		{"allowed to miss", written(t, "float32", "done\n", 1, 2, math.NaN()), true, "", 1},
		{
			"new line", written(t, "float32", "loss 0.1234\ndone\nmore\n", 1, 2, math.NaN()), true,
			"which is not there without the remedy", 0,
		},
	} {
		got, err := Compare(base, c.other, c.quieter)
		if err != nil {
			t.Fatal(err)
		}
		if got.Equal != (c.first == "") || !strings.Contains(got.First, c.first) || got.Fewer != c.fewer {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// trained is the results of a process that calls a step so often: a loss, a parameter that it
// writes, and the gradient that the next one begins with.
func trained(t *testing.T, output string, steps ...[3]float64) *Trial {
	t.Helper()
	dir := t.TempDir()
	w, err := Create(dir, Hello{PID: 1})
	if err != nil {
		t.Fatal(err)
	}
	leaf := func(path string) []Leaf { return []Leaf{{Path: path, Dtype: "float32", Shape: []int{1}, Wrote: true}} }
	value := func(v float64) func(int) Values { return func(int) Values { return Values{Floats: []float64{v}} } }
	for _, s := range steps {
		w.Call(Call{Function: "step", Out: leaf(""), State: leaf("p")}, value(s[0]), value(s[1]))
		w.Grads(Grads{Leaves: leaf("q")}, value(s[2]))
	}
	return closed(t, w, dir, output)
}

// Numbers that differ after what a program keeps differed by rounding are told, and may be rounding,
// too; what differs while all that is kept is the same to the bit is not.
func TestCompareTraining(t *testing.T) {
	same, rounded := [3]float64{1, 1, 1}, [3]float64{1, 1.0000001, 1}
	for _, c := range []struct {
		name, output string
		steps        [2][3]float64
		first        string
		grown        bool
	}{
		{"rounding", "loss 1.0 of 3\n", [2][3]float64{rounded, rounded}, "", false},
		{"a result at once", "loss 1.0 of 3\n", [2][3]float64{{2, 1.0000001, 1}, same}, "call 1 of step, output[0] is 2", false},
		{
			"a result after rounded outputs", "loss 1.0 of 3\n",
			[2][3]float64{{1.0000001, 1, 1}, {2, 1, 1}},
			"call 2 of step, output[0] is 2", false,
		},
		{"a result after rounded state", "loss 1.0 of 3\n", [2][3]float64{rounded, {2, 1, 1}}, "call 2 of step, output[0] is 2", true},
		{
			"a result after rounded gradients", "loss 1.0 of 3\n",
			[2][3]float64{{1, 1, 1.0000001}, {2, 1, 1}},
			"call 2 of step, output[0] is 2", true,
		},
		{"state at once", "loss 1.0 of 3\n", [2][3]float64{{1.0000001, 2, 1}, same}, "call 1 of step, p[0] is 2", false},
		{"state after rounded state", "loss 1.0 of 3\n", [2][3]float64{rounded, {1, 2, 1}}, "call 2 of step, p[0] is 2", true},
		{"a NaN after rounding", "loss 1.0 of 3\n", [2][3]float64{rounded, {math.NaN(), 1, 1}}, "output[0] is NaN", false},
		{"a gradient at once", "loss 1.0 of 3\n", [2][3]float64{{1, 1, 2}, same}, "the gradient of q[0] is 2", false},
		{"a printed loss", "loss 1.5 of 3\n", [2][3]float64{same, rounded}, "line 1 of standard output", true},
		{"a printed loss of the same bits", "loss 1.5 of 3\n", [2][3]float64{same, same}, "line 1 of standard output", false},
		{"another text", "lost 1.0 of 3\n", [2][3]float64{same, rounded}, "line 1 of standard output", false},
		{"another count", "loss 1.0 of 4\n", [2][3]float64{same, rounded}, "line 1 of standard output", false},
	} {
		got, err := Compare(trained(t, "loss 1.0 of 3\n", same, same), trained(t, c.output, c.steps[0], c.steps[1]), false)
		if err != nil {
			t.Fatal(err)
		}
		if got.Equal != (c.first == "") || !strings.Contains(got.First, c.first) || got.Grown != c.grown {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// Steady calls are those after the last compile; none says why there is no time.
func TestMeasureTimes(t *testing.T) {
	call := func(ms int64, compiled bool) Call { return Call{Nanos: ms * 1e6, Compiled: compiled} }
	tr := &Trial{Processes: []*Process{{
		Calls: []Call{
			call(900, true), call(1, false), call(800, true),
			call(3, false), call(5, false), call(4, false),
		}, End: &End{PeakRSS: 1 << 20},
	}}}
	exit := 0
	m := Measure(tr, nil, &exit)
	if m.CallMS == nil || *m.CallMS != 4 || m.Steady != 3 || *m.Calls != 6 || *m.PeakRSS != 1<<20 {
		t.Errorf("%+v", m)
	}
	if m.Breaks != nil || m.Missing["breaks"] == "" {
		t.Errorf("a trace that is not there gave counts: %+v", m)
	}
	m = Measure(&Trial{Processes: []*Process{{Calls: []Call{call(9, true)}}}}, nil, nil)
	if m.CallMS != nil || m.Missing["call_ms"] == "" || m.PeakRSS != nil || m.Exit != nil {
		t.Errorf("%+v", m)
	}
}

// What is over the bounds is counted and not compared, which is said.
func TestBounds(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, Hello{PID: 1})
	if err != nil {
		t.Fatal(err)
	}
	for range MaxCalls + 3 {
		w.Call(Call{Function: "f", Out: []Leaf{{Text: "1"}}}, nil, nil)
	}
	if err := w.Close(true); err != nil {
		t.Fatal(err)
	}
	tr, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Compare(tr, tr, false)
	if err != nil || !c.Equal || c.Calls != MaxCalls || len(c.Limits) == 0 {
		t.Errorf("%+v %v", c, err)
	}
	if m := Measure(tr, nil, nil); *m.Calls != MaxCalls+3 || !m.Cut {
		t.Errorf("%+v", m)
	}
}
