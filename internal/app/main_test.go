package app

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"tcdbg/backends/codecache"
	"tcdbg/logs"
)

// These tests run the program as people do: the test binary is tcdbg when this
// variable is set, viewer and engine alike.
const asProgram = "TCDBG_TEST_AS_PROGRAM"

// asFix makes it write a fix into the file model.go of a folder, and nothing else.
const asFix = "TCDBG_TEST_FIX"

// withSource names the folder of the module, for programs that use packages below torch.
const withSource = "TCDBG_TEST_SOURCE"

func TestMain(m *testing.M) {
	// A process that tcdbg starts for itself is not to run the tests again.
	own := len(os.Args) > 1 && slices.Contains([]string{engineCommand, leaderCommand, guardCommand}, os.Args[1])
	if own || os.Getenv(asProgram) != "" {
		var source fs.FS = fstest.MapFS{
			"torch/torch.go":      {Data: []byte("package torch\n")},
			"torch/torch_test.go": {Data: []byte("package torch\n")},
		}
		if folder := os.Getenv(withSource); folder != "" {
			source = os.DirFS(folder)
		}
		os.Exit(Main(Process{Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Source: source}))
	}
	if dir := os.Getenv(asFix); dir != "" {
		os.Exit(fixAndUndo(dir))
	}
	dir, err := os.MkdirTemp("", "tcdbg-test-")
	if err == nil {
		err = errors.Join(os.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state")), // backups of fixes that tests write
			os.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache")))
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// startedIn is the folder of the package.
var startedIn, _ = os.Getwd()

// warmCache is the cache folder of all tests here that ask for no other. The runtime library is
// in it, for which each run with an empty one would wait.
var warmCache = sync.OnceValues(func() (string, error) {
	dir, err := codecache.DefaultDir()
	if err != nil {
		return "", err
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	c := exec.Command(self, "run", "--plain", "../../fixtures/sincos/model.go")
	c.Dir = startedIn // a test may have gone elsewhere
	c.Env = append(os.Environ(), asProgram+"=1", withSource+"=../..")
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return dir, nil
})

// warm has the runtime library be in the cache folder.
func warm(t *testing.T) string {
	t.Helper()
	dir, err := warmCache()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// freshCache has a test's runs use a cache that holds nothing else.
func freshCache(t *testing.T) string {
	t.Helper()
	from, dir := warm(t), t.TempDir()
	codecache.Seed(filepath.Join(dir, "tcdbg"), from)
	t.Setenv("XDG_CACHE_HOME", dir)
	return dir
}

// tcdbg prepares a command line, with its runs in state.
func tcdbg(t *testing.T, state string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains([]string{"try", "fix", "check"}, args[0]) { // which have caches of their own
		warm(t)
	}
	c := exec.Command(self, args...)
	c.Env = append(os.Environ(), asProgram+"=1", "XDG_STATE_HOME="+state, "TORCH_LOGS=", "TCDBG_LOGS=")
	return c
}

// result is how a command line ended.
type result struct {
	code           int
	stdout, stderr string
}

func run(t *testing.T, c *exec.Cmd) result {
	t.Helper()
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	if _, ok := err.(*exec.ExitError); err != nil && !ok {
		t.Fatal(err)
	}
	return result{c.ProcessState.ExitCode(), out.String(), errs.String()}
}

// program writes a Go program and returns its path.
func program(t testing.TB, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.go")
	if err := os.WriteFile(path, []byte("package main\n\n"+body), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// lastRun is the newest run of a state folder.
func lastRun(t *testing.T, state string) *Run {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", state)
	r, err := findRun("last")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// records reads a run's trace.
func records(t *testing.T, r *Run) []logs.Record {
	t.Helper()
	st, err := logs.Open([]string{r.file(traceFile)}, logs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	var out []logs.Record
	if err := st.Read(t.Context(), func(r *logs.Record) { out = append(out, *r.Keep()) }); err != nil {
		t.Fatal(err)
	}
	return out
}

// Standard output is exactly the program's own, the exit code too, and
// arguments reach it.
func TestPlainRun(t *testing.T) {
	state := t.TempDir()
	p := program(t, `import ("fmt"; "os")
func main() { fmt.Println("out", os.Args[1:]); fmt.Fprintln(os.Stderr, "err"); os.Exit(3) }`)
	r := run(t, tcdbg(t, state, "run", "--plain", p, "--epochs", "2"))
	if r.code != 3 || r.stdout != "out [--epochs 2]\n" || r.stderr != "err\n" {
		t.Errorf("%+v", r)
	}
	saved := lastRun(t, state)
	if i := saved.Info; i.State != Exited || i.Code != 3 || i.Kind != "run" || i.Args[0] != "--epochs" || i.End == nil {
		t.Errorf("run.json: %+v", i)
	}
	kinds := ""
	for _, rec := range records(t, saved) {
		kinds += rec.Name + " "
	}
	if kinds != "tcdbg_run tcdbg_state " {
		t.Errorf("the trace holds %s", kinds)
	}
}

// Standard input is the program's.
func TestPlainStdin(t *testing.T) {
	p := program(t, `import ("fmt"; "io"; "os")
func main() { b, _ := io.ReadAll(os.Stdin); fmt.Printf("%q", b) }`)
	c := tcdbg(t, t.TempDir(), "run", "--plain", p)
	c.Stdin = strings.NewReader("three\nlines\n\n")
	if r := run(t, c); r.stdout != `"three\nlines\n\n"` {
		t.Errorf("%+v", r)
	}
}

// Every error is one line that says what, where and what to do, with its
// documented code.
func TestErrors(t *testing.T) {
	good := program(t, "func main() {}")
	bad := program(t, "func main() { var x int = \"s\" }")
	syntax := program(t, "func main() { x = = }")
	binary := filepath.Join(t.TempDir(), "blob.log")
	if err := os.WriteFile(binary, bytes.Repeat([]byte{0, 1, 2, 0xff, '\n'}, 400), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"run", "nope.go"}, ExitNoFile, "nope.go: no such file"},
		{[]string{"run", "--plian", good}, ExitUsage, "unknown flag: --plian"},
		{[]string{"run", "--logs", "grpah_breaks", good}, ExitUsage, "grpah_breaks"},
		{[]string{"run"}, ExitUsage, "model.go"},
		{[]string{"rnu", good}, ExitUsage, "did you mean run"},
		{[]string{"run", "--plain", bad}, ExitData, "model.go:3:27: "},
		{[]string{"run", "--plain", syntax}, ExitData, "model.go:3:19: "},
		{[]string{"run", "main_test.txt"}, ExitNoFile, "no such file"},
		{[]string{"replay", "/no/such/trace.log"}, ExitNoFile, "/no/such/trace.log: no such file"},
		{[]string{"replay", "no-such-run"}, ExitNoFile, "tcdbg runs lists"},
		{[]string{"report", "last"}, ExitNoFile, "no saved runs yet"},
		{[]string{"report", "--format", "pdf", binary}, ExitUsage, "pdf"},
		{[]string{"replay", "--source-map", "nonsense", binary}, ExitUsage, "FROM=TO"},
		{[]string{"exec", "--", "no-such-command-at-all"}, ExitNoFile, "no-such-command-at-all"},
		{[]string{"exec"}, ExitUsage, "python train.py"},
		{[]string{"runs", "remove", "nothing"}, ExitNoFile, "nothing"},
	} {
		r := run(t, tcdbg(t, t.TempDir(), c.args...))
		if r.code != c.code || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%v: code %d (want %d), stderr %q (want %q)", c.args, r.code, c.code, r.stderr, c.want)
		}
		if n := strings.Count(strings.TrimRight(r.stderr, "\n"), "\n"); n > 0 && c.code != ExitData {
			t.Errorf("%v: %d lines: %s", c.args, n+1, r.stderr)
		}
	}
}

// A state folder that cannot be written is named with its remedy, and the program runs.
func TestUnwritableState(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r := run(t, tcdbg(t, file, "run", "--plain", program(t, "func main() {}")))
	if r.code != 0 || !strings.Contains(r.stderr, "XDG_STATE_HOME") || !strings.Contains(r.stderr, "not recorded") {
		t.Errorf("%+v", r)
	}
}

// A panic of the program ends with code 2 and the user's lines, and the run
// replays.
func TestPanic(t *testing.T) {
	state := t.TempDir()
	p := program(t, "func main() { var a []int; println(a[len(a)]) }")
	r := run(t, tcdbg(t, state, "run", "--plain", p))
	if r.code != ExitPanic || !strings.Contains(r.stderr, "panic: runtime error: index out of range [0] with length 0") ||
		!strings.Contains(r.stderr, "model.go:3") {
		t.Errorf("%+v", r)
	}
	rep := run(t, tcdbg(t, state, "replay", "last"))
	if rep.code != 0 || rep.stdout == "" {
		t.Errorf("the run does not replay: %+v", rep)
	}
}

// enginePID reads the engine's process from the first record of a trace.
func enginePID(t *testing.T, r *Run) int {
	t.Helper()
	for _, rec := range records(t, r) {
		var info struct{ Data logs.RunInfo }
		if rec.Name == "tcdbg_run" && json.Unmarshal(rec.Payload(), &info) == nil {
			return info.Data.PID
		}
	}
	t.Fatal("the trace does not name the engine")
	return 0
}

// startWaiting starts a program that prints a line and then waits for ever.
func startWaiting(t *testing.T, state string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	p := program(t, `import "fmt"
func main() { fmt.Println("here"); select { case <-make(chan int): } }`)
	p2 := program(t, `import ("fmt"; "time")
func main() { fmt.Println("here"); for { time.Sleep(time.Hour) } }`)
	_ = p
	c := tcdbg(t, state, "run", "--plain", p2)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(out)
	if line, err := in.ReadString('\n'); line != "here\n" {
		t.Fatalf("%q %v", line, err)
	}
	return c, in
}

// kill -9 of the engine leaves a run that says so and replays.
func TestKillEngine(t *testing.T) {
	state := t.TempDir()
	c, in := startWaiting(t, state)
	if err := syscall.Kill(enginePID(t, lastRun(t, state)), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, in)
	_ = c.Wait()
	if code := c.ProcessState.ExitCode(); code != exitSignal+int(syscall.SIGKILL) {
		t.Errorf("exit code %d", code)
	}
	r := lastRun(t, state)
	if r.Info.State != Killed || r.Info.Signal != "SIGKILL" {
		t.Errorf("run.json: %+v", r.Info)
	}
	if rep := run(t, tcdbg(t, state, "report", "last")); rep.code != 0 {
		t.Errorf("the run does not replay: %+v", rep)
	}
}

// kill -9 of the viewer ends the engine, and leaves a run that replays. The
// engine holds the standard output pipe: it is gone when the pipe ends.
func TestKillViewer(t *testing.T) {
	state := t.TempDir()
	c, in := startWaiting(t, state)
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	if r := lastRun(t, state); r.Info.State != Lost {
		t.Errorf("run.json: %+v", r.Info)
	}
	if rep := run(t, tcdbg(t, state, "report", "last")); rep.code != 0 {
		t.Errorf("the run does not replay: %+v", rep)
	}
}

// A signal to the viewer reaches the program, whose end becomes ours.
func TestSignalForwarded(t *testing.T) {
	state := t.TempDir()
	c, in := startWaiting(t, state)
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, in)
	_ = c.Wait()
	if code := c.ProcessState.ExitCode(); code != exitSignal+int(syscall.SIGTERM) {
		t.Errorf("exit code %d", code)
	}
}

// exec points PyTorch's variables at the run folder, passes streams and exit
// code through, and leaves TORCH_LOGS artifact lines out of standard error.
func TestExec(t *testing.T) {
	state := t.TempDir()
	script := `echo "$TORCH_TRACE|$TORCH_LOGS|$INDUCTOR_PROVENANCE"
echo "V0221 12:06:24.445000 123 torch/_inductor/scheduler.py:99] [0/0] [__fusion] cannot fuse" >&2
echo "W0221 12:06:24.445000 123 torch/x.py:1] a warning" >&2
exit 7`
	r := run(t, tcdbg(t, state, "exec", "--", "sh", "-c", script))
	saved := lastRun(t, state)
	if want := filepath.Clean(saved.file(traceFile)) + "|fusion,schedule,graph_breaks|1\n"; r.stdout != want || r.code != 7 {
		t.Errorf("stdout %q, want %q; code %d", r.stdout, want, r.code)
	}
	if strings.Contains(r.stderr, "cannot fuse") || !strings.Contains(r.stderr, "a warning") {
		t.Errorf("stderr %q", r.stderr)
	}
	script = `printf 'V1121 12:00:00.000000 7 torch/a.py:1] {"dynamo_start": {"stack": []}, "frame_id": 0, "frame_compile_id": 0, ` +
		`"attempt": 0}\n' > "$TORCH_TRACE/dedicated_log_torch_trace_x.log"; printf unended >&2`
	if r := run(t, tcdbg(t, state, "exec", "--", "sh", "-c", script)); !strings.HasPrefix(r.stderr, "unended\nsh ") {
		t.Errorf("the report does not begin on a line of its own: %q", r.stderr)
	}
	c := tcdbg(t, state, "exec", "--no-provenance", "--", "sh", "-c", `echo "$TORCH_LOGS|$INDUCTOR_PROVENANCE"`)
	c.Env = append(c.Env, "TORCH_LOGS=dynamo", "INDUCTOR_PROVENANCE=")
	if r := run(t, c); r.stdout != "dynamo|\n" {
		t.Errorf("the user's settings are changed: %q", r.stdout)
	}
}

// runs lists, finds by part of an id, removes and prunes.
func TestRuns(t *testing.T) {
	state := t.TempDir()
	p := program(t, "func main() {}")
	for range 3 {
		run(t, tcdbg(t, state, "run", "--plain", p))
	}
	list := run(t, tcdbg(t, state, "runs"))
	if strings.Count(list.stdout, "-model-") != 3 || !strings.Contains(list.stdout, "exit 0") {
		t.Errorf("%s", list.stdout)
	}
	if r := run(t, tcdbg(t, state, "runs", "remove", "last")); r.code != 0 {
		t.Errorf("%+v", r)
	}
	if r := run(t, tcdbg(t, state, "runs", "prune", "--keep", "1")); r.stdout != "removed 1 of 2 runs\n" {
		t.Errorf("%+v", r)
	}
}

// init makes a folder in which go run finds torch: sources without tests.
func TestInit(t *testing.T) {
	dir := t.TempDir()
	if r := run(t, tcdbg(t, t.TempDir(), "init", dir)); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	for path, want := range map[string]bool{
		"go.mod": true, torchFolder + "/go.mod": true, torchFolder + "/torch/torch.go": true,
		torchFolder + "/torch/torch_test.go": false,
	} {
		if _, err := os.Stat(filepath.Join(dir, path)); (err == nil) != want {
			t.Errorf("%s is there: %v", path, err == nil)
		}
	}
	mod, _ := os.ReadFile(filepath.Join(dir, "go.mod"))
	if !strings.Contains(string(mod), "replace tcdbg => ./"+torchFolder) {
		t.Errorf("go.mod: %s", mod)
	}
	if r := run(t, tcdbg(t, t.TempDir(), "init", dir)); r.code != ExitUsage || !strings.Contains(r.stderr, "--force") {
		t.Errorf("a second time: %+v", r)
	}
}

// doctor, version, help and completion answer.
func TestHouse(t *testing.T) {
	for _, c := range []struct {
		want string
		args []string
	}{
		{"C compiler", []string{"doctor"}},
		{"tcdbg " + Version, []string{"version"}},
		{"Exit codes:", []string{"--help"}},
		{"complete", []string{"completion", "bash"}},
		{"graph_breaks", []string{"run", "--logs", "help"}},
	} {
		if r := run(t, tcdbg(t, t.TempDir(), c.args...)); r.code != 0 || !strings.Contains(r.stdout, c.want) {
			t.Errorf("%v: %+v", c.args, r)
		}
	}
}

// No package of ours or of others may take long to initialise: viewer and
// engine both pay before the program's first line. What counts is the least of
// several starts, since a busy machine only adds to one.
func TestInitTime(t *testing.T) {
	const limit = 2 * time.Millisecond
	least := map[string]time.Duration{}
	for range 20 {
		slow := false
		for name, d := range initTimes(t) {
			if old, ok := least[name]; !ok || d < old {
				least[name] = d
			}
			slow = slow || least[name] > limit
		}
		if !slow {
			break
		}
	}
	if len(least) == 0 {
		t.Skip("GODEBUG=inittrace=1 says nothing here")
	}
	for name, d := range least {
		if d > limit {
			t.Errorf("%s takes %v to initialise", name, d)
		}
	}
}

// initTimes starts the program and returns how long each package took.
func initTimes(t *testing.T) map[string]time.Duration {
	c := tcdbg(t, t.TempDir(), "version")
	c.Env = append(c.Env, "GODEBUG=inittrace=1")
	times := map[string]time.Duration{}
	for _, line := range strings.Split(run(t, c).stderr, "\n") {
		f := strings.Fields(line) // init NAME @0.1 ms, 0.02 ms clock, ...
		if len(f) < 6 || f[0] != "init" {
			continue
		}
		if d, err := time.ParseDuration(f[4] + "ms"); err == nil {
			times[f[1]] = d
		}
	}
	return times
}
