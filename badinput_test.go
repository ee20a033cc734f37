package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tcdbg/internal/test"
)

// This file gives the program everything that goes wrong: each time the exit
// code is the documented one, standard error says in one place what, where and
// what to do, and standard output holds what the program had printed.

// failing is a program around two places: inside a compiled function, and in
// main after its first call.
const failing = `package main

import (
	"fmt"
	"os"

	"tcdbg/torch"
)

var _ = os.Args

func step(x *torch.Tensor, i int) *torch.Tensor {
	%s
	return x.Mul(2)
}

func main() {
	fmt.Println("begins")
	f := torch.Compile(step)
	fmt.Println(f(torch.Ones(3), 5).Shape())
	%s
}
`

func TestProgramsThatFail(t *testing.T) {
	cache := freshCache(t)
	const inStep, inMain = "model.go:13", "model.go:21"
	for _, c := range []struct {
		name, step, main string
		code             int
		want             []string // on standard error, in this order
	}{
		{"panic", "", `panic("bad luck")`, 2, []string{"panic: bad luck\n\ngoroutine 1 [running]:\nmain.main(...)\n", inMain}},
		{"error", "", `panic(fmt.Errorf("wrapped: %w", os.ErrNotExist))`, 2, []string{"panic: ", "wrapped: file does not exist", inMain}},
		{
			"nil map", `var m map[string]int; m["a"] = i`, "", 2,
			[]string{"panic: assignment to entry in nil map\n", "main.step(...)", inStep, "main.main(...)"},
		},
		{
			"index", `a := []int{1, 2}; fmt.Println(a[i])`, "", 2,
			[]string{"panic: runtime error: index out of range [5] with length 2\n", "main.step(...)", inStep},
		},
		{"nil tensor", `var y *torch.Tensor; x = y.Add(x)`, "", 2, []string{"panic: ", "NoneType", "main.step(...)", inStep}},
		{
			"shapes", `x = x.Add(torch.Ones(4))`, "", 2,
			[]string{"panic: The size of tensor a (3) must match the size of tensor b (4)", inStep},
		},
		{"deadlock", "", `<-make(chan int)`, 2, []string{"fatal error: all goroutines are asleep - deadlock!\n", inMain}},
		{"exit", "", `os.Exit(3)`, 3, nil},
		{
			"backend", "", `torch.Compile(step, torch.Option{Name: "backend", Value: "nosuch"})`, 2,
			[]string{`backend "nosuch" is not known; there are`, "inductor", inMain},
		},
		{
			"mode", "", `torch.Compile(step, torch.Option{Name: "mode", Value: "turbo"})`, 2,
			[]string{`mode "turbo" is not supported`, inMain},
		},
		{"option", "", `torch.Compile(step, torch.Option{Name: "bogus", Value: 1})`, 2, []string{`unknown option "bogus"`, inMain}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSession(t)
			s.cache = cache
			out, errs, code := s.run(t, "run", "--plain", program(t, fmt.Sprintf(failing, c.step, c.main)))
			if code != c.code || !strings.HasPrefix(out, "begins\n") {
				t.Errorf("exit %d, standard output %q", code, out)
			}
			if c.step == "" && !strings.Contains(out, "[3]\n") {
				t.Errorf("what was printed before is lost: %q", out)
			}
			inOrder(t, errs, c.want)
		})
	}
}

// inOrder looks for texts one after the other.
func inOrder(t *testing.T, text string, want []string) {
	t.Helper()
	rest := text
	for _, w := range want {
		_, after, ok := strings.Cut(rest, w)
		if !ok {
			t.Fatalf("%q is not in what is left of\n%s", w, text)
		}
		rest = after
	}
}

// Programs that do not compile: every error with the place where the Go
// compiler puts it, and no more.
func TestProgramsThatDoNotCompile(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string // lines of standard error, without the file's folder
	}{
		"syntax": {"package main\n\nfunc main() {\n\tx :=\n}\n", []string{"model.go:5:1: syntax error: "}},
		"empty":  {"", []string{"model.go:1:1: "}},
		"types": {
			"package main\n\nfunc main() {\n\tvar n int = \"s\"\n\t_ = n + nothing\n}\n",
			[]string{"model.go:4:14: cannot use", "model.go:5:10: undefined: nothing"},
		},
		"unused": {
			"package main\n\nimport \"fmt\"\n\nfunc main() { x := 1 }\n",
			[]string{"model.go:3:8: \"fmt\" imported and not used", "model.go:5:15: declared and not used: x"},
		},
		"no main": {"package main\n\nfunc helper() {}\n", []string{"function main is undeclared in the main package"}},
		"library": {"package other\n\nfunc main() {}\n", []string{"package other is not a main package"}},
		"import":  {"package main\n\nimport \"no/such/package\"\n\nfunc main() {}\n", []string{"model.go:3:8: "}},
	} {
		t.Run(name, func(t *testing.T) {
			out, errs, code := newSession(t).run(t, "run", "--plain", program(t, c.text))
			lines := strings.Split(strings.TrimSpace(errs), "\n")
			if code != 65 || out != "" || len(lines) != len(c.want) {
				t.Fatalf("exit %d, standard output %q, standard error\n%s", code, out, errs)
			}
			for i, w := range c.want {
				if !strings.Contains(lines[i], w) {
					t.Errorf("line %d is %q, want %q", i+1, lines[i], w)
				}
			}
		})
	}
}

// What surrounds a run goes wrong: folders, streams, terminal, compiler.
func TestSurroundingsThatFail(t *testing.T) {
	good := program(t, fmt.Sprintf(failing, "", ""))
	folder, cache := filepath.Dir(good), freshCache(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, shell string // $T is tcdbg, $M the program
		env         []string
		code        int
		out, errs   string
		lines       int // of standard error; -1: any
	}{
		{"a folder runs", "$T run --plain " + folder, nil, 0, "begins\n[3]\n", "", 0},
		{"no such file", "$T run nothere.go", nil, 66, "", "tcdbg: cannot run nothere.go: no such file\n", 1},
		{"not Go", "$T run " + file, nil, 64, "", "not a .go file or a folder", 1},
		{"unknown flag", "$T run --nosuch $M", nil, 64, "", "unknown flag: --nosuch", 1},
		{"unknown command", "$T rnu", nil, 64, "", "did you mean run", 1},
		{"explained, it does not compile", "echo 'package main; func main() { x }' >broken.go && $T explain broken.go; c=$?; rm " +
			"broken.go; exit $c", nil, 65, "", "broken.go:1:", 1},
		{"no terminal", "$T run $M | cat", nil, 0, "begins\n[3]\n", "", 0},
		{"dumb terminal", "TERM=dumb $T run $M", nil, 0, "begins\n[3]\n", "", 0},
		{"closed input", "$T run $M <&-", nil, 0, "begins\n[3]\n", "", 0},
		{"closed output", "$T run $M >&-", nil, 0, "", "", 0},
		{"reader that leaves", "$T run $M >/dev/null && $T report last | head -1", nil, 0, "model.go", "", 0},
		{
			"full output", "$T run $M >/dev/null && $T report last >/dev/full", nil, 73, "",
			"tcdbg: cannot write standard output: no space left on device\n", 1,
		},
		{
			"full file", "$T run $M >/dev/null && $T report -o /dev/full last", nil, 73, "",
			"tcdbg: cannot write /dev/full: no space left on device\n", 1,
		},
		{
			"no folder for it", "$T run $M >/dev/null && $T report -o /no/such/folder/x last", nil, 73, "",
			"tcdbg: cannot write /no/such/folder/x: no such file or directory\n", 1,
		},
		{
			"run folder", "$T run $M",
			[]string{"XDG_STATE_HOME=" + file},
			0, "begins\n[3]\n",
			"set XDG_STATE_HOME to a folder that can be written; this run is not recorded", 1,
		},
		{
			"home", "$T run $M",
			[]string{"XDG_STATE_HOME=", "HOME=" + file},
			0, "begins\n[3]\n",
			"set XDG_STATE_HOME to a folder that can be written; this run is not recorded", 1,
		},
		{
			"no home", "unset HOME; $T run $M",
			[]string{"XDG_STATE_HOME="},
			0, "begins\n[3]\n",
			"set XDG_STATE_HOME; this run is not recorded", 1,
		},
		{"cache", "$T run $M", []string{"XDG_CACHE_HOME=" + file}, 0, "begins\n[3]\n", "compiled code is not kept", -1},
		{"no compiler", "$T run $M", []string{"PATH=/nonexistent", "CC="}, 0, "begins\n[3]\n", "no C compiler", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSession(t, c.env...)
			s.cache = cache
			cmd := exec.Command("/bin/sh", "-c", strings.ReplaceAll(strings.ReplaceAll(c.shell, "$T", s.bin), "$M", good))
			cmd.Env, cmd.Dir = s.command().Env, t.TempDir()
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			err := cmd.Run()
			code := 0
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				code = exit.ExitCode()
			} else if err != nil {
				t.Fatal(err)
			}
			if code != c.code || !strings.HasPrefix(out.String(), c.out) || !strings.Contains(errs.String(), c.errs) {
				t.Errorf("exit %d, want %d\n--- standard output\n%s--- standard error\n%s", code, c.code, out.String(), errs.String())
			}
			if n := strings.Count(errs.String(), "\n"); c.lines >= 0 && n != c.lines {
				t.Errorf("%d lines on standard error\n%s", n, errs.String())
			}
		})
	}
}

// What init unpacks builds without a network, in a folder of the user's.
func TestInitBuilds(t *testing.T) {
	test.Long(t, "it builds torch again")
	s := newSession(t)
	dir := filepath.Dir(program(t, fmt.Sprintf(failing, "", "")))
	if out, errs, code := s.run(t, "init", dir); code != 0 {
		t.Fatalf("init: exit %d\n%s%s", code, out, errs)
	}
	cmd := exec.Command("go", "run", "model.go")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=", "CGO_ENABLED=0")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil || string(out) != "begins\n[3]\n" {
		t.Errorf("%v\n%s%s", err, out, errs.String())
	}
}
