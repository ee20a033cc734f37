package pyhook

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tcdbg/logs"
)

// python is a Python with what the tests need; without one the test is skipped aloud.
func python(t *testing.T, imports string) string {
	t.Helper()
	p := os.Getenv("TCDBG_PYTHON")
	if p == "" {
		p = "python3"
	}
	if out, err := exec.Command(p, "-c", "import sys; assert sys.version_info >= (3, 9); import "+imports).CombinedOutput(); err != nil {
		t.Skipf("no Python with %s: %s: %v: %.200s (set TCDBG_PYTHON)", imports, p, err, out)
	}
	return p
}

// folders of a run: that of the hooks and that of the trace.
func folders(t *testing.T) (hooks, trace string) {
	t.Helper()
	run := t.TempDir()
	trace = filepath.Join(run, "trace")
	if err := os.Mkdir(trace, 0o755); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(run, "hooks"), trace
}

// addHook puts one more hook beside ours, as the test's own.
func addHook(t *testing.T, hooks, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(hooks, "tcdbg_hooks", name+".py"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// records are those of one artifact in the folder of a trace.
func records(t *testing.T, trace, name string) []string {
	t.Helper()
	st, err := logs.Open([]string{trace}, logs.Options{Empty: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	var out []string
	if err := st.Read(t.Context(), func(r *logs.Record) {
		if r.Kind == logs.BadJSON {
			t.Errorf("a record that cannot be read")
		}
		if r.RawName == name {
			out = append(out, string(r.Payload()))
		}
	}); err != nil {
		t.Fatal(err)
	}
	if s := st.Stats(); s.MD5Mismatch != 0 || s.Stray != 0 {
		t.Errorf("%+v", s)
	}
	return out
}

func env(trace string, more ...string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TORCH_TRACE=" + trace}, more...)
}

func runPython(t *testing.T, p string, env []string, args ...string) string {
	t.Helper()
	c := exec.Command(p, args...)
	c.Env = env
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// The hooks start before the program, in it and in the processes that it starts; the
// folder is not on sys.path, the user's own sitecustomize runs and is the one that the program
// sees.
func TestHooksAndTheUsersOwn(t *testing.T) {
	p := python(t, "sys")
	hooks, trace := folders(t)
	mine := t.TempDir()
	const own = "import os\nvalue = 'mine'\nprint('own', os.environ['TCDBG_HOOKS'])\n"
	if err := os.WriteFile(filepath.Join(mine, "sitecustomize.py"), []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := Install(hooks, env(trace, "PYTHONPATH="+mine))
	if err != nil {
		t.Fatal(err)
	}
	addHook(t, hooks, "probe", "def start():\n    print('hook')\n")
	e = append(e, hooksVar+"=probe")
	const program = `
import os, subprocess, sys, sitecustomize
assert sitecustomize.value == "mine", sitecustomize
assert not [p for p in sys.path if p == os.environ["TCDBG_HOOK_DIR"]], sys.path
print("program", flush=True)
if len(sys.argv) == 1:
    subprocess.run([sys.executable, "-c", open(__file__).read() if "__file__" in globals() else "print('child')", "x"], check=True)
`
	file := filepath.Join(t.TempDir(), "program.py")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	const once = "hook\nown probe\nprogram\n"
	if got := runPython(t, p, e, file); got != once+once {
		t.Errorf("printed %q", got)
	}
	if n := len(records(t, trace, "tcdbg_hook_failure")); n != 0 {
		t.Errorf("%d failures", n)
	}
	if i, err := os.Stat(hooks); err != nil || i.Mode().Perm() != 0o700 {
		t.Errorf("mode of the folder: %v %v", i.Mode(), err)
	}
}

// An error in the user's sitecustomize is reported by Python as without us; a missing one is none.
func TestErrorsOfTheUsersOwn(t *testing.T) {
	p := python(t, "sys")
	for _, own := range []string{"", "import nothing_of_this_name\n", "1/0\n"} {
		mine := t.TempDir()
		if own != "" {
			if err := os.WriteFile(filepath.Join(mine, "sitecustomize.py"), []byte(own), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		hooks, trace := folders(t)
		e, err := Install(hooks, env(trace, "PYTHONPATH="+mine))
		if err != nil {
			t.Fatal(err)
		}
		c := exec.Command(p, "-c", "print('runs')")
		c.Env = e
		got, err := c.CombinedOutput()
		c = exec.Command(p, "-c", "print('runs')")
		c.Env = env(trace, "PYTHONPATH="+mine)
		want, errWithout := c.CombinedOutput()
		if string(got) != string(want) || (err == nil) != (errWithout == nil) {
			t.Errorf("%q: with us %q (%v), without %q (%v)", own, got, err, want, errWithout)
		}
	}
}

// A hook that waits for a module gets it right after it was executed, once, however it is
// imported; a hook that fails costs the program nothing and is said once.
func TestWaitingAndFailing(t *testing.T) {
	p := python(t, "sys")
	hooks, trace := folders(t)
	mine := t.TempDir()
	for name, text := range map[string]string{
		"pkg/__init__.py": "", "pkg/late.py": "value = 1\n", "pkg/broken.py": "raise ValueError('own')\n",
	} {
		file := filepath.Join(mine, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e, err := Install(hooks, env(trace, "PYTHONPATH="+mine, "RANK=3"))
	if err != nil {
		t.Fatal(err)
	}
	addHook(t, hooks, "probe", `
import tcdbg_hooks
def seen(module):
    print("seen", module.__name__, module.value)
    module.value = 2
def start():
    tcdbg_hooks.when("pkg.late", seen)
    tcdbg_hooks.when("pkg.broken", seen)
    tcdbg_hooks.when("sys", lambda m: print("at once", m.__name__))
    for i in range(3):
        tcdbg_hooks.guard(fail)
def fail():
    raise RuntimeError("of ours")
`)
	addHook(t, hooks, "bad", "def start():\n    1/0\n")
	e = append(e, hooksVar+"=bad,probe,absent")
	const program = `
import inspect
try:
    import pkg.broken
except ValueError as err:
    print(err)
import pkg.late
from pkg import late
print(late.value, inspect.getsource(late).strip(), type(late.__loader__).__name__, "exec_module" in vars(late.__loader__))
`
	const want = "at once sys\nown\nseen pkg.late 1\n2 value = 1 SourceFileLoader False\n"
	if got := runPython(t, p, e, "-c", program); got != want {
		t.Errorf("printed %q", got)
	}
	failures := records(t, trace, "tcdbg_hook_failure")
	if len(failures) != 3 || !strings.Contains(strings.Join(failures, ""), "of ours") {
		t.Errorf("failures: %q", failures)
	}
}

// The environment: an outer run's folder goes, what the user set stays.
func TestEnvironment(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "inner")
	got, err := Install(dir, []string{
		"A=1", "PYTHONPATH=/outer:/mine::/more", dirVar + "=/outer", hooksVar + "=pause", traceVar + "=/t", "TORCH_TRACE=/new",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"A=1", "TORCH_TRACE=/new", "PYTHONPATH=" + dir + ":/mine::/more", hooksVar + "=", traceVar + "=/new", dirVar + "=" + dir,
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if _, err := Install(filepath.Join(t.TempDir(), "x"), nil, "absent"); err == nil {
		t.Error("a module that is not there was taken")
	}
	if _, err := Install(filepath.Join(t.TempDir(), "a:b"), nil); err == nil {
		t.Error("a folder that PYTHONPATH cannot name was taken")
	}
}

// What a program can see of us is what docs/stops.md lists, and nothing more: not on sys.path, in the
// hooks of errors and warnings, as a tracer, or as a sitecustomize that it does not have.
func TestWhatAProgramSees(t *testing.T) {
	p := python(t, "sys")
	const program = `
import os, sys, threading, warnings
print(sys.path, sys.excepthook, sys.unraisablehook is sys.__unraisablehook__, sys.displayhook is sys.__displayhook__)
print(threading.excepthook is threading.__excepthook__, warnings.filters, sys.gettrace(), sys.getprofile(), sys.flags)
print([m for m in sys.modules if m.startswith("sitecustomize")], [f for f in sys.path_hooks], __import__("signal").getsignal(2))
try:
    import sitecustomize
except ImportError as e:
    print(e, e.name)
print([m for m in sys.modules if "tcdbg" in m and not m.startswith("tcdbg_hooks")])
`
	stable := regexp.MustCompile(`0x[0-9a-f]+`)
	_, trace := folders(t)
	want := stable.ReplaceAllString(runPython(t, p, env(trace), "-c", program), "")
	v := startModules(t, []string{"pause", "profile", "calls"}, nil, nil, p, "-c", program)
	if got := stable.ReplaceAllString(v.end(0), ""); got != want {
		t.Errorf("it sees\n%swithout us\n%s", got, want)
	}
}
