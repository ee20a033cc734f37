package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tcdbg/explain/bench"
)

// TestBench: a program's compiled functions are timed in each way, and a way that fails says why.
func TestBench(t *testing.T) {
	needCompiler(t)
	s := warmSession(t)
	file := filepath.Join(t.TempDir(), "model.go")
	text := `package main

import (
	"tcdbg/torch"
)

func f(x *torch.Tensor) *torch.Tensor { return x.Sin().Add(1) }

func g(x *torch.Tensor) *torch.Tensor { return x.Cos() }

func main() {
	a, b := torch.Compile(f), torch.Compile(g)
	for range 12 {
		a(torch.Ones(8))
	}
	b(torch.Ones(8))
}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := s.run(t, "bench", "--json", "--ways", "eager,inductor,reduce-overhead", file)
	var table bench.Table
	if err := json.Unmarshal([]byte(stdout), &table); err != nil || code != 0 {
		t.Fatalf("exit %d, %v\n%s%s", code, err, stdout, stderr)
	}
	if len(table.Rows) != 6 || strings.Count(stderr, "tcdbg: running") != 3 {
		t.Fatalf("%d rows\n%s", len(table.Rows), stderr)
	}
	for _, r := range table.Rows {
		compiled, once := r.Way != "eager", r.Function == "g"
		switch {
		case r.First == nil || r.RSS == nil || compiled != (r.WarmUp != nil):
			t.Errorf("%+v", r)
		case once && compiled && (r.Median != nil || r.Why == ""), !once && (r.Median == nil || r.Speedup == nil || r.Calls != 12):
			t.Errorf("%+v", r)
		}
	}
	if err := os.WriteFile(file, []byte(strings.Replace(text, "b(torch.Ones(8))", `b(torch.Ones(8)); panic("no")`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if stdout, _, code := s.run(t, "bench", "--ways", "inductor", file); code == 0 || !strings.Contains(stdout, `ends with 2 (panic: no)`) {
		t.Errorf("exit %d\n%s", code, stdout)
	}
	for _, args := range [][]string{{"bench"}, {"bench", "--ways", "none", file}, {"bench", "--steps", "-1", file}} {
		if stdout, stderr, code := s.run(t, args...); code == 0 || strings.Count(stderr, "\n") != 1 || stdout != "" {
			t.Errorf("%v: exit %d\n%s%s", args, code, stdout, stderr)
		}
	}
}
