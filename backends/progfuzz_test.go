package backends

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"tcdbg/internal/test"
	"tcdbg/internal/test/progfuzz"
	"tcdbg/logs"
	"tcdbg/torch"
	"tcdbg/tracer"
	"tcdbg/tracer/host"
)

// This file runs random programs plainly and compiled under each backend, and
// compares what they print. Programs are about Go (every second one trains),
// models about tensors, modules and batch sizes. A longer run:
//
//	TCDBG_FUZZ=2000 TCDBG_FUZZ_FROM=1 go test ./backends -run TestRandomPrograms -timeout 0
//	TCDBG_FUZZ=2000 TCDBG_FUZZ_FROM=1 go test ./backends -run TestRandomModels -timeout 0
//	TCDBG_FUZZ=2000 TCDBG_FUZZ_FROM=1 go test ./backends -run TestRandomMixed -timeout 0
//
// With TCDBG_FUZZ_SHRINK=1 a program that differs is made small and printed.

// differential is one way to run a program.
type differential struct {
	name string
	cfg  Config
	// backend is that of functions that name none.
	backend string
}

func differentials(t *testing.T) []differential {
	ways := []differential{
		{"eager", Config{}, "eager"},
		{"aot_eager", Config{}, "aot_eager"},
		{"interpreter", Config{CC: "none", Stderr: new(bytes.Buffer)}, "inductor"},
	}
	if _, err := findCompiler(""); err == nil {
		ways = append(ways, differential{"inductor", Config{CacheDir: sharedCache}, "inductor"})
	}
	return ways
}

func envNumber(t *testing.T, name string, or int) int {
	v := os.Getenv(name)
	if v == "" {
		return or
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

func TestRandomPrograms(t *testing.T) {
	comparePrograms(t, program, fuzzSeeds(t), os.Getenv("TCDBG_FUZZ") == "")
}

func TestRandomModels(t *testing.T) {
	comparePrograms(t, model, fuzzSeeds(t), os.Getenv("TCDBG_FUZZ") == "")
}

// TestRandomMixed runs models that use views, hooks, closures, containers and optimizers
// in ways that the others do not.
func TestRandomMixed(t *testing.T) {
	comparePrograms(t, mixed, fuzzSeeds(t), os.Getenv("TCDBG_FUZZ") == "")
}

// fuzzSeeds are those that the environment asks for, else a few, or fewer.
func fuzzSeeds(t *testing.T) []int64 {
	few := 6 // one of which is compiled to C
	if test.IsLong() {
		few = 30
	}
	n, from := envNumber(t, "TCDBG_FUZZ", few), envNumber(t, "TCDBG_FUZZ_FROM", 1)
	seeds := make([]int64, n)
	for i := range seeds {
		seeds[i] = int64(from + i)
	}
	return seeds
}

// program is the program of a seed, in two parts without package clause.
func program(seed int64) (prelude, body string) {
	if seed%2 == 0 {
		return progfuzz.Prelude, progfuzz.GenerateTraining(seed)
	}
	return progfuzz.Prelude, progfuzz.Generate(seed)
}

// model is the model program of a seed.
func model(seed int64) (prelude, body string) {
	return progfuzz.ModelPrelude, progfuzz.GenerateModel(seed)
}

// mixed is the mixed program of a seed.
func mixed(seed int64) (prelude, body string) {
	return progfuzz.ModelPrelude, progfuzz.GenerateMixed(seed)
}

// TestProgramsThatDiffered repeats the seeds that once found something.
func TestProgramsThatDiffered(t *testing.T) {
	comparePrograms(t, program, []int64{
		2507, // a buffer that two kernels write in pieces and one of them reads
	}, false)
}

// TestDiffersByOnePlace: values of half precision may be neighbours, others not.
func TestDiffersByOnePlace(t *testing.T) {
	const tail = "\n        [ 0.5117, -0.7070]], dtype=torch.bfloat16)\nnext 1.0"
	for _, c := range []struct {
		want, got string
		same      bool
	}{
		{"result tensor([[1.0, 2.0]," + tail, "result tensor([[1.0, 2.0]," + strings.Replace(tail, "0.7070", "0.7031", 1), true},
		{"result tensor([[1.0, 2.0]," + tail, "result tensor([[1.0, 2.0]," + strings.Replace(tail, "0.7070", "0.6992", 1), false},
		{"result tensor([[1.0, 2.0]," + tail, "result tensor([[1.0, 2.0]," + strings.Replace(tail, "next 1.0", "next 1.0039", 1), false},
		{"tensor([-0.7070])\ntensor([1], dtype=torch.bfloat16)", "tensor([-0.7031])\ntensor([1], dtype=torch.bfloat16)", false},
		{"tensor([1.001], dtype=torch.float16)", "tensor([1.002], dtype=torch.float16)", true},
		{"tensor([1.001], dtype=torch.float16)", "tensor([1.0042], dtype=torch.float16)", false},
	} {
		if d := differs(c.want, c.got); (d == "") != c.same {
			t.Errorf("%q and %q: %q", c.want, c.got, d)
		}
	}
}

// comparePrograms runs programs plainly and in every way. Where it is to be
// brief it compiles every sixth to C.
func comparePrograms(t *testing.T, text func(int64) (prelude, body string), seeds []int64, brief bool) {
	t.Helper()
	ways := differentials(t)
	sets := make([]*Set, len(ways))
	for i, w := range ways {
		sets[i] = NewSet(w.cfg)
	}
	ran, whole := 0, 0
	for _, seed := range seeds {
		prelude, body := text(seed)
		prog, err := loadText(t, prelude+body)
		if err != nil {
			t.Errorf("seed %d does not load: %v", seed, err)
			continue
		}
		want, code, _ := runText(prog, nil, "")
		if !strings.Contains(want, "recovered") {
			whole++
		}
		for k, w := range ways {
			if w.name == "inductor" && brief && seed%6 > 0 {
				continue // a C compiler takes its time
			}
			got, exit, stderr := runText(prog, sets[k], w.backend)
			if d := differs(want, got); d != "" || exit != code {
				t.Errorf("seed %d under %s: exit %d, want %d\n%s%s", seed, w.name, exit, code, d, stderr)
				if os.Getenv("TCDBG_FUZZ_SHRINK") != "" {
					t.Log(shrunk(t, prelude, body, sets[k], w.backend))
					break
				}
			}
		}
		ran++
	}
	t.Logf("%d programs under %d backends; %d ran without an error", ran, len(ways), whole)
}

// shrunk is the smallest program like body that still differs, and how.
func shrunk(t *testing.T, prelude, body string, set *Set, backend string) string {
	how := ""
	small := progfuzz.Shrink(body, func(text string) bool {
		prog, err := loadText(t, prelude+text)
		if err != nil {
			return false
		}
		want, code, _ := runText(prog, nil, "")
		got, exit, _ := runText(prog, set, backend)
		d := differs(want, got)
		if d == "" && code == exit {
			return false
		}
		how = d
		return true
	})
	return small + "\n" + how
}

// loadText reads the text of a program of progfuzz.
func loadText(t *testing.T, body string) (*host.Program, error) {
	t.Helper()
	imports := [][2]string{
		{"fmt", "fmt."},
		{"math", "math."},
		{"tcdbg/torch", "torch."},
		{"tcdbg/torch/autograd", "autograd."},
		{"tcdbg/torch/compiler", "compiler."},
		{"tcdbg/torch/kw", "kw."},
		{"tcdbg/torch/nn", "nn."},
		{"F \"tcdbg/torch/nn/functional", "F."},
		{"tcdbg/torch/optim", "optim."},
	}
	var sb strings.Builder
	sb.WriteString("package main\n\nimport (\n")
	for _, x := range imports {
		if path, use := x[0], x[1]; strings.Contains(body, use) {
			name, path, renamed := strings.Cut(path, " \"")
			if !renamed {
				name, path = "", name
			}
			fmt.Fprintf(&sb, "\t%s %q\n", name, path)
		}
	}
	file := filepath.Join(t.TempDir(), "model.go")
	if err := os.WriteFile(file, []byte(sb.String()+")\n"+body), 0o600); err != nil {
		t.Fatal(err)
	}
	return host.Load(host.LoadConfig{Paths: []string{file}, Source: sources{os.DirFS("..")}})
}

// runText runs a program, plainly where set is nil.
func runText(prog *host.Program, set *Set, backend string) (stdout string, code int, stderr string) {
	return runLogged(prog, set, backend, nil)
}

// runLogged is runText with the records of the trace.
func runLogged(prog *host.Program, set *Set, backend string, sink logs.Sink) (stdout string, code int, stderr string) {
	var out, errs bytes.Buffer
	cfg := host.Config{Stdout: &out, Stderr: &errs, Args: []string{"model"}}
	var tr *tracer.Tracer
	if set != nil {
		tr = tracer.New(prog, tracer.Config{Backend: set.Get, DefaultBackend: backend, Sink: sink})
		tr.Install(&cfg)
	}
	in := host.New(prog, cfg)
	if tr != nil {
		tr.Attach(in)
	}
	torch.ManualSeed(1)
	defer func() {
		if r := recover(); r != nil {
			stdout, stderr = out.String(), fmt.Sprintf("the engine panics: %v", r)
			code = -1
		}
	}()
	exit := in.Run()
	return out.String(), exit.Code, errs.String()
}

// overwritten begins the line of a program that overwrites what its backward
// pass needs. Eager refuses that; a compiled function may save another value,
// which is still there, and go on. What follows is not compared.
const overwritten = "recovered one of the variables needed for gradient computation"

// refusedView ends the refusal to write to a view for how it was taken. What one
// compiled graph gives another, after a break, may be no view any more, and is written.
const refusedView = "it is forbidden. You can clarify your code by moving both the view and the inplace either both inside the " +
	"no_grad block (if you don't want the inplace to be tracked) or both outside (if you want the inplace to be tracked)."

// refusedPiece does for one of several views of an operator.
const refusedPiece = "You should replace the inplace operation by an out-of-place one."

// differs compares two outputs: words must be the same, numbers near.
func differs(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	units := lastPlaces(a)
	for i := range min(len(a), len(b)) {
		if strings.HasPrefix(a[i], overwritten) || strings.HasSuffix(a[i], refusedView) || strings.HasSuffix(a[i], refusedPiece) {
			return ""
		}
		if !sameLine(a[i], b[i], units[i]) {
			return fmt.Sprintf("line %d\n  plain    %s\n  compiled %s\n", i+1, a[i], b[i])
		}
	}
	if len(a) != len(b) {
		return fmt.Sprintf("%d lines, want %d\n", len(b), len(a))
	}
	return ""
}

// lastPlaces says of each line how far apart, relative to their size, two
// neighbours of the printed tensor's dtype are, 0 where float32 or more is printed.
// What differs in the last place of float32 (tanh does, compiled, as PyTorch's
// does) may lie on either side of the middle between two such neighbours.
func lastPlaces(lines []string) []float64 {
	out := make([]float64, len(lines))
	unit := 0.0
	for i := len(lines) - 1; i >= 0; i-- { // the dtype comes after the numbers
		switch {
		case strings.HasSuffix(lines[i], "dtype=torch.bfloat16)"):
			unit = 0x1p-7 // 8 binary digits
		case strings.HasSuffix(lines[i], "dtype=torch.float16)"):
			unit = 0x1p-10 // 11 binary digits
		}
		out[i] = unit
		if strings.Contains(lines[i], "tensor(") {
			unit = 0
		}
	}
	return out
}

// sameLine compares two lines; unit is lastPlaces' of the dtype.
func sameLine(want, got string, unit float64) bool {
	if want == got {
		return true
	}
	x, y := words(want), words(got)
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		p, err1 := strconv.ParseFloat(x[i], 64)
		q, err2 := strconv.ParseFloat(y[i], 64)
		if err1 != nil || err2 != nil {
			if x[i] != y[i] {
				return false
			}
			continue
		}
		if d := math.Abs(p - q); !(d <= 1.5e-4+max(1e-3, unit)*math.Abs(p)) && !(math.IsNaN(p) && math.IsNaN(q)) && p != q {
			return false
		}
	}
	return true
}

func words(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" ,[]()", r) })
}
