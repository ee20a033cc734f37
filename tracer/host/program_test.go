package host

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files with `go run`")

// runFile runs a program in this process.
func runFile(t *testing.T, paths ...string) (stdout, stderr string, exit Exit) {
	t.Helper()
	p, err := Load(LoadConfig{Paths: paths})
	if err != nil {
		t.Fatal(err)
	}
	var out, errs lockedBuffer
	exit = New(p, Config{Stdout: &out, Stderr: &errs, Args: []string{"program"}}).Run()
	return out.String(), errs.String(), exit
}

// lockedBuffer is written by the program's goroutines and by the host's, as a
// file would be.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// TestPrograms compares programs with what `go run` printed.
func TestPrograms(t *testing.T) {
	for _, name := range []string{
		"values", "panics", "sorting", "types", "messages", "gotypes", "generics", "reflection",
		"places", "reflectcalls", "templates", "decoding", "anyargs", "reflecttypes", "reflectvalues", "encodings", "benching", "goexit",
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata/programs", name+".go")
			golden := strings.TrimSuffix(file, ".go") + ".out"
			if *update {
				out, err := exec.Command("go", "run", file).Output()
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(golden, out, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			got, errs, exit := runFile(t, file)
			if got != string(want) || exit.Code != 0 {
				t.Errorf("exit %d, stderr %s\n%s", exit.Code, errs, firstDifference(got, string(want)))
			}
		})
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		var a, b string
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			return "got  " + a + "\nwant " + b
		}
	}
	return ""
}

func TestModule(t *testing.T) {
	out, errs, exit := runFile(t, "testdata/module")
	if out != "42 replaced 2\n" || exit.Code != 0 {
		t.Errorf("%q %q %v", out, errs, exit)
	}
}

func TestExitCode(t *testing.T) {
	out, _, exit := runFile(t, "testdata/programs/exit.go")
	if out != "before true\n" || exit.Code != 3 || exit.Panic != "" {
		t.Errorf("%q %v", out, exit)
	}
}

// TestFatal: what ends the program prints values of its types as Go does.
func TestFatal(t *testing.T) {
	for call, want := range map[string]string{
		"Fatal": "Sq<1> Sq<2>\n", "Fatalf": "Sq<1> {%!d(float64=2)}\n", "Fatalln": "Sq<1> 2\n",
		"l.Fatal": "l: fatal.go:26: Sq<1>\n", "l.Fatalf": "l: fatal.go:28: Sq<1>\n", "l.Fatalln": "l: fatal.go:30: Sq<1>\n",
	} {
		cmd := exec.Command(os.Args[0], "testdata/programs/fatal.go", call)
		cmd.Env = append(os.Environ(), childEnv+"=1")
		out, _ := cmd.CombinedOutput()
		if string(out) != want || cmd.ProcessState.ExitCode() != 1 {
			t.Errorf("%s: %d %q", call, cmd.ProcessState.ExitCode(), out)
		}
	}
}

// TestStarted: a panic of a function that compiled code has started a goroutine for
// ends the program with Go's text and the program's stack.
func TestStarted(t *testing.T) {
	for _, by := range []string{"Go", "time", "context"} {
		cmd := exec.Command(os.Args[0], "testdata/programs/goexit.go", by)
		cmd.Env = append(os.Environ(), childEnv+"=1")
		var errs bytes.Buffer
		cmd.Stderr = &errs
		_, _ = cmd.Output()
		if got := errs.String(); cmd.ProcessState.ExitCode() != 2 || !strings.HasPrefix(got, "panic: E2\n") ||
			!strings.Contains(got, "goexit.go:43\n") || strings.Contains(got, "tracer/host.") {
			t.Errorf("%s: %d %s", by, cmd.ProcessState.ExitCode(), got)
		}
	}
}

// TestScan: what is read from the standard input is read into variables of the
// program's types, by their methods.
func TestScan(t *testing.T) {
	cmd := exec.Command(os.Args[0], "testdata/programs/scan.go")
	cmd.Env = append(os.Environ(), childEnv+"=1")
	cmd.Stdin = strings.NewReader("1.5 3 word\n2-4-five\n 7 eight\n300\n1 2 400")
	out, err := cmd.CombinedOutput()
	want, _ := os.ReadFile("testdata/programs/scan.out")
	if err != nil || string(out) != string(want) {
		t.Errorf("%v: %s", err, firstDifference(string(out), string(want)))
	}
}

// TestUncaught wants Go's text and the stack of the program, innermost first.
func TestUncaught(t *testing.T) {
	out, errs, exit := runFile(t, "testdata/programs/uncaught.go")
	if out != "start\ndeferred\n" || exit.Code != 2 {
		t.Errorf("%q %v", out, exit)
	}
	dir, _ := filepath.Abs("testdata/programs")
	got := strings.ReplaceAll(errs, dir, "DIR")
	want := `panic: cause 42

goroutine 1 [running]:
main.(*worker).run(...)
	DIR/uncaught.go:13
main.(*worker).run(...)
	DIR/uncaught.go:15
main.(*worker).run(...)
	DIR/uncaught.go:15
main.main.func1(...)
	DIR/uncaught.go:22
main.main(...)
	DIR/uncaught.go:23
`
	if got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestCompileErrors(t *testing.T) {
	_, err := Load(LoadConfig{Paths: []string{"testdata/errors/types.go"}})
	want := `testdata/errors/types.go:5:2: "os" imported and not used
testdata/errors/types.go:9:2: declared and not used: x
testdata/errors/types.go:10:6: declared and not used: s
testdata/errors/types.go:10:17: cannot use 2 (untyped int constant) as string value in variable declaration
testdata/errors/types.go:11:14: undefined: undefined
testdata/errors/types.go:12:9: too many return values
	have (number)
	want ()`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v", err)
	}
	file := write(t, "package main\n\nfunc main() {\n\tif x := {\n}\n")
	_, err = Load(LoadConfig{Paths: []string{file}})
	if err == nil || !strings.HasPrefix(err.Error(), file+":4:10: syntax error: ") {
		t.Errorf("got %v", err)
	}
}

// TestUnavailablePackage wants the import's line and the package's name.
func TestUnavailablePackage(t *testing.T) {
	file := write(t, "package main\n\nimport \"net/http\"\n\nfunc main() { http.Get(\"\") }\n")
	_, err := Load(LoadConfig{Paths: []string{file}})
	if err == nil || !strings.Contains(err.Error(), ":3:8: could not import net/http") {
		t.Errorf("got %v", err)
	}
	file = write(t, "package main\n\nimport \"C\"\n\nfunc main() {}\n")
	_, err = Load(LoadConfig{Paths: []string{filepath.Dir(file)}})
	if err == nil || !strings.Contains(err.Error(), ":3:8: could not import C") {
		t.Errorf("a folder's file with cgo: got %v", err)
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "model.go")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestNoToolchain: neither go nor GOROOT nor any environment is needed.
func TestNoToolchain(t *testing.T) {
	cmd := exec.Command(os.Args[0], "testdata/programs/exit.go")
	cmd.Env = []string{childEnv + "=1"}
	out, err := cmd.CombinedOutput()
	if string(out) != "before true\n" || cmd.ProcessState.ExitCode() != 3 {
		t.Errorf("%s %v", out, err)
	}
}

// TestUnderCollector runs the programs in a child process that collects at
// every allocation: a pointer that the collector cannot see shows here.
func TestUnderCollector(t *testing.T) {
	for _, name := range []string{"values", "panics", "sorting", "types"} {
		cmd := exec.Command(os.Args[0], "testdata/programs/"+name+".go")
		cmd.Env = append(os.Environ(), childEnv+"=1", "GOGC=1", "GODEBUG=clobberfree=1")
		out, err := cmd.CombinedOutput()
		want, _ := os.ReadFile("testdata/programs/" + name + ".out")
		if err != nil || string(out) != string(want) {
			t.Errorf("%s: %v\n%s", name, err, firstDifference(string(out), string(want)))
		}
	}
}

func BenchmarkFib32(b *testing.B) {
	p, err := Load(LoadConfig{Paths: []string{"testdata/programs/fib.go"}})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		New(p, Config{Stdout: &bytes.Buffer{}}).Run()
	}
}

func BenchmarkLoadHello(b *testing.B) {
	for b.Loop() {
		if _, err := Load(LoadConfig{Paths: []string{"testdata/programs/exit.go"}}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestTorch runs the fixture of the design without a tracer: Compile and
// Disable return the function, an operator's error is a panic that the program
// can recover from, and an uncaught one shows the line of the program.
func TestTorch(t *testing.T) {
	file := write(t, `package main

import (
	"fmt"
	"tcdbg/torch"
	"tcdbg/torch/compiler"
	"tcdbg/torch/kw"
)

func bar(a, b *torch.Tensor) *torch.Tensor {
	x := a.Div(a.Abs().Add(1))
	if b.Sum().Lt(0).Bool() {
		b = b.Mul(-1)
	}
	return x.Mul(b)
}

func main() {
	fast := torch.Compile(bar, kw.Mode("default"))
	out := compiler.Disable(fast)(torch.Ones(4), torch.Ones(4))
	fmt.Println(out)
	func() {
		defer func() {
			_, isError := recover().(*torch.Error)
			fmt.Println(isError)
		}()
		torch.Ones(2, 3).Matmul(torch.Ones(2, 3))
	}()
	torch.Ones(2, 3).Matmul(torch.Ones(2, 3))
}
`)
	out, errs, exit := runFile(t, file)
	if out != "tensor([0.5000, 0.5000, 0.5000, 0.5000])\ntrue\n" || exit.Code != 2 {
		t.Errorf("%s%s%v", out, errs, exit)
	}
	if !strings.Contains(errs, "model.go:29\n") {
		t.Errorf("no line of the program in\n%s", errs)
	}
}
