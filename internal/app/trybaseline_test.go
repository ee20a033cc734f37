package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tcdbg/explain/remedy"
)

// This file tests what stands behind a gain in speed, and what tcdbg fix says of a switch.

// sleeping has calls that sleep but in the runs of number n where QUICK holds, whatever a trial changes. A line of
// the file RUNS is a run.
const sleeping = `import (
	"fmt"
	"os"
	"strings"
	"time"

	"tcdbg/torch"
)

var pause time.Duration

func f(x *torch.Tensor) *torch.Tensor {
	y := x.Mul(2)
	time.Sleep(pause)
	return y.Add(1)
}

func main() {
	runs, err := os.OpenFile("RUNS", os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(runs, "run")
	text, _ := os.ReadFile("RUNS")
	if n := strings.Count(string(text), "run"); !(QUICK) {
		pause = 40 * time.Millisecond
	}
	g := torch.Compile(f)
	for range 9 {
		fmt.Println(g(torch.Ones(4)))
	}
}
`

// A trial whose calls are quicker proves nothing before the baseline has run a second time: what slowed the first
// run is none of the remedy's doing. Where the second run is as slow as the first, the gain stands.
func TestBaselineRunsAgain(t *testing.T) {
	for _, c := range []struct {
		name, quick string
		code        int
		why         string
	}{
		{"the first run was slowed", "n >= 2", ExitFound, "nothing is better"},
		{"the baseline is as slow again", "n == 2", 0, "a call takes "},
	} {
		t.Run(c.name, func(t *testing.T) {
			runs := filepath.Join(t.TempDir(), "runs")
			text := strings.NewReplacer("RUNS", runs, "QUICK", c.quick).Replace(sleeping)
			l := tried(t, t.TempDir(), c.code, "--only", "dynamic=true", program(t, text))
			if v := l.Trial("dynamic=true").Verdict; v.Proven != (c.code == 0) || !strings.Contains(v.Why, c.why) {
				t.Errorf("%+v", v)
			}
			// The baseline, the trial, and the baseline again.
			if lines, err := os.ReadFile(runs); err != nil || string(lines) != "run\nrun\nrun\n" {
				t.Errorf("%q, %v", lines, err)
			}
		})
	}
}

// What tcdbg fix says of a size to mark is what the trial did: in a Python program before each call, as the
// mark is on the tensor; in a Go program before the first.
func TestFixSaysHowOftenToMark(t *testing.T) {
	m := &remedy.Remedy{ID: "mark_dynamic=f:x:0", Switches: []remedy.Switch{{Name: "mark_dynamic", Value: "f:x:0"}}}
	l := &remedy.Ledger{Remedies: []*remedy.Remedy{m}, Trials: []*remedy.Trial{{
		Remedies: []string{m.ID}, State: remedy.Done, Verdict: remedy.Verdict{Proven: true, Why: "2 recompiles fewer; same results"},
	}}}
	for inGo, want := range map[bool]string{
		false: "#   set: torch._dynamo.maybe_mark_dynamic(x, 0) before each call of f\n",
		true:  "#   set: compiler.MarkDynamic(x, 0) before the first call of f\n",
	} {
		l.Go = inGo
		text, err := fixText(l, []*remedy.Remedy{m}, t.TempDir(), true)
		if want = "# mark_dynamic=f:x:0: 2 recompiles fewer; same results\n" + want; err != nil || text != want {
			t.Errorf("%q, %v, want %q", text, err, want)
		}
	}
}
