package app

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/logs"
)

const fusing = `
import (
	"fmt"

	"tcdbg/torch"
)

func f(x *torch.Tensor) *torch.Tensor {
	return x.Sin().Mul(x.Cos()).Sum().Add(1)
}

func main() { fmt.Println(torch.Compile(f)(torch.Ones(8)).Shape()) }
`

// The kernels at every fusion step come out of a trace alone; a trace of other
// decisions, or without what it takes, is refused with the reason.
func TestScheduleOfATrace(t *testing.T) {
	t.Setenv(asProgram, "1")
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	freshCache(t)
	r, err := newRun("run", []string{program(t, fusing)}, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := &feed{title: "model.go", exportDir: r.Path}
	if err := f.startChild(r, func(in, out, errs *os.File) (*child, error) { return startEngine(r, in, out, errs, true) },
		false); err != nil {
		t.Fatal(err)
	}
	<-f.now().done
	fus := f.Snapshot().Fusions
	if len(fus) != 1 || len(fus[0].Steps) < 2 {
		t.Fatalf("decisions %+v; it ended with %q", fus, f.Run().Ended)
	}
	fu := fus[0]
	for i := range fu.Steps {
		ks, err := f.Schedule(fu, i+1)
		if err != nil || len(ks) != fu.Steps[i].Kernels || !strings.Contains(ks[0].Source, "void "+ks[0].Name) {
			t.Fatalf("after decision %d: %d kernels, %v", i+1, len(ks), err)
		}
	}
	other := *fu
	other.Steps = slices.Clone(fu.Steps)
	other.Steps[0].A = "op7"
	if _, err := f.Schedule(&other, 1); !errors.Is(err, errOtherScheduler) {
		t.Errorf("other decisions: %v", err)
	}
	if _, err := f.Schedule(&explain.Fusion{}, 1); err == nil {
		t.Error("a trace without a schedule was replayed")
	}
	broken := *fu
	broken.Start = func() (logs.Schedule, bool) { return logs.Schedule{}, false }
	if _, err := f.Schedule(&broken, 1); err == nil {
		t.Error("a broken record was replayed")
	}
}
