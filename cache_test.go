package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tcdbg/internal/test"
)

// TestCacheIsTakenAlong: a program that another machine's cache was imported for compiles nothing.
func TestCacheIsTakenAlong(t *testing.T) {
	needCompiler(t)
	first, second := warmSession(t), coldSession(t)
	run := func(s *session, want string, args ...string) {
		t.Helper()
		stdout, stderr, code := s.run(t, args...)
		if code != 0 || !strings.Contains(stdout, want) {
			t.Fatalf("%v: exit %d\n%s%s", args, code, stdout, stderr)
		}
	}
	run(first, "", "run", "--plain", "fixtures/bar/model.go")
	file := filepath.Join(t.TempDir(), "warm.zip")
	run(first, "to "+file, "cache", "export", file)
	run(second, "holds no compiled code", "cache")
	run(second, "0 were there already", "cache", "import", file)
	run(second, "runtime-", "cache", "list")
	run(second, "", "run", "--plain", "fixtures/bar/model.go")
	run(second, "fx_graph hit 3\n", "report", "last")
	run(second, "removed ", "cache", "clear")
	run(second, "[]", "cache", "list", "--json")
	for _, args := range [][]string{
		{"cache", "import", "go.mod"}, {"cache", "import"}, {"cache", "export", file}, {"cache", "import", "none"},
	} {
		if stdout, stderr, code := second.run(t, args...); code == 0 || strings.Count(stderr, "\n") != 1 || stdout != "" {
			t.Errorf("%v: exit %d\n%s%s", args, code, stdout, stderr)
		}
	}
}

// TestWarmBehindOthers: kernels are found again where a function that comes first has moved the numbers of frames
// and graphs.
func TestWarmBehindOthers(t *testing.T) {
	test.Long(t, "a cold cache")
	needCompiler(t)
	const program = `package main

import (
	"fmt"

	"tcdbg/torch"
	"tcdbg/torch/nn"
)

func first(x *torch.Tensor) *torch.Tensor { return x.Sin().Cos() }

func main() {
	%s
	torch.ManualSeed(0)
	net := nn.NewSequential(nn.NewLinear(16, 64), nn.NewReLU(), nn.NewLinear(64, 4))
	f := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return net.Forward(x).Pow(2).Mean() })
	f(torch.Randn(8, 16)).Backward()
	fmt.Println("done")
}
`
	s := coldSession(t)
	for _, run := range []struct{ before, want string }{
		{"", "fx_graph miss 2\n"},
		{"fmt.Println(torch.Compile(first)(torch.Ones(3)))", "fx_graph hit 2, fx_graph miss 1\n"},
	} {
		file := filepath.Join(t.TempDir(), "model.go")
		if err := os.WriteFile(file, fmt.Appendf(nil, program, run.before), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, stderr, code := s.run(t, "run", "--plain", file); code != 0 {
			t.Fatalf("exit %d\n%s", code, stderr)
		}
		if stdout, _, _ := s.run(t, "report", "last"); !strings.Contains(stdout, "CACHES: "+run.want) {
			t.Errorf("no %q in\n%s", run.want, stdout)
		}
	}
}

// TestArtifactsOfAProgram: what one program saves, another takes up, and its first call compiles nothing.
func TestArtifactsOfAProgram(t *testing.T) {
	test.Long(t, "two cold caches")
	needCompiler(t)
	const program = `package main

import (
	"fmt"
	"os"

	"tcdbg/torch"
	"tcdbg/torch/compiler"
)

func wave(x *torch.Tensor) *torch.Tensor { return x.Sin().Cos() }

func main() {
	if os.Args[1] == "load" {
		data, err := os.ReadFile(os.Args[2])
		fmt.Println(err, len(compiler.LoadCacheArtifacts(data).Keys("graph")))
		torch.Compile(wave)(torch.Ones(3))
		defer func() { fmt.Println(recover()) }()
		compiler.LoadCacheArtifacts(data[:len(data)/2])
	}
	if data, info := compiler.SaveCacheArtifacts(); data != nil || info != nil {
		fmt.Println("something of nothing")
	}
	torch.Compile(wave)(torch.Ones(3))
	data, info := compiler.SaveCacheArtifacts()
	fmt.Println(len(info.Artifacts), len(info.Keys("graph")), os.WriteFile(os.Args[2], data, 0o666))
}
`
	file, saved := filepath.Join(t.TempDir(), "model.go"), filepath.Join(t.TempDir(), "artifacts")
	if err := os.WriteFile(file, []byte(program), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, run := range []struct{ way, prints, caches string }{
		{"save", "2 1 <nil>\n", "fx_graph miss 1\n"},
		{"load", "<nil> 1\nit is no archive of tcdbg cache export", "fx_graph hit 1\n"},
	} {
		s := coldSession(t)
		stdout, stderr, code := s.run(t, "run", "--plain", file, run.way, saved)
		if code != 0 || !strings.HasPrefix(stdout, run.prints) {
			t.Errorf("exit %d\n%s%s", code, stdout, stderr)
		}
		if stdout, _, _ := s.run(t, "report", "last"); !strings.Contains(stdout, "CACHES: "+run.caches) {
			t.Errorf("no %q in\n%s", run.caches, stdout)
		}
	}
}
