package app

import (
	"os"
	"slices"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/fold"
	"tcdbg/explain/rewrite"
	"tcdbg/logs"
)

// breaking has a break for each rewrite of Go programs.
const breaking = `import (
	"fmt"
	"log"
	"time"

	"tcdbg/torch"
)

func step(x *torch.Tensor) *torch.Tensor {
	t := time.Now()
	y := x.Sin()
	if y.Sum().Gt(0).Bool() {
		y = y.Mul(2)
	} else {
		y = y.Mul(3)
	}
	fmt.Println("inside", y.Shape())
	if y.Any().Bool() {
		y = y.Neg()
	}
	log.Println(time.Since(t))
	return y
}

func main() {
	f := torch.Compile(step)
	for i := range 2 {
		fmt.Println(f(torch.Full([]int{4}, float64(1-2*i))))
	}
}
`

// The rewrites of a program, written one after the other, leave no break and the same
// numbers; what compiled calls leave out is what the note says.
func TestRewritesRemoveBreaks(t *testing.T) {
	state := t.TempDir()
	path := program(t, breaking)
	results := func() string {
		out := run(t, tcdbg(t, state, "run", "--plain", path))
		if out.code != 0 {
			t.Fatalf("%+v", out)
		}
		var kept []string
		for _, l := range strings.Split(out.stdout, "\n") {
			if !strings.HasPrefix(l, "inside") {
				kept = append(kept, l)
			}
		}
		return strings.Join(kept, "\n")
	}
	want := results()
	for step := 0; ; step++ {
		r := foldLast(t, state, path)
		if len(r.Breaks) == 0 {
			break
		}
		i := slices.IndexFunc(r.Breaks, func(g *explain.BreakGroup) bool { return g.Rewrite != nil })
		if i < 0 || step == 8 {
			t.Fatalf("after %d rewrites there is none for %s:%d", step, r.Breaks[0].Lead.Pos.File, r.Breaks[0].Lead.Pos.Line)
		}
		text, _ := os.ReadFile(path)
		after, err := rewrite.ApplyRewrite(strings.Split(string(text), "\n"), r.Breaks[i].Rewrite.Hunks)
		if err == nil {
			err = os.WriteFile(path, []byte(strings.Join(after, "\n")), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := results(); got != want {
			t.Fatalf("rewrite %d, %+v, changes the results:\n%s\nwant\n%s", step, r.Breaks[i].Rewrite.Hunks, got, want)
		}
	}
}

// foldLast is the report of the last run, with the rewrites of its file.
func foldLast(t *testing.T, state, path string) *explain.Report {
	t.Helper()
	store, err := logs.Open([]string{lastRun(t, state).file(traceFile)}, logs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	r, err := fold.All(store, "model.go")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(path)
	rewrite.AddRewrites(r, func(string) ([]string, error) { return strings.Split(string(text), "\n"), nil })
	return r
}
