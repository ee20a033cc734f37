package pyhook

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// spawning calls a function in its main file, in a module, and in a process that it spawns,
// and reads the function's source.
const spawning = `import atexit, inspect, multiprocessing, os, sys
import part

def f():
    return "OLD main"

def show():
    print("spawned", f(), part.g(), inspect.getsource(f).split()[-1], flush=True)

if __name__ == "__main__":
    atexit.register(print, "at exit")
    print(__name__, os.path.basename(__file__), sys.argv[1:], f(), part.g(), flush=True)
    p = multiprocessing.get_context("spawn").Process(target=show)
    p.start()
    p.join()
    sys.exit(7 + p.exitcode)
`

// A file that is replaced is so however it is loaded: as the main file, by -m, by an import and
// in a process that is spawned. The file stays as it is, its code runs under its name, and the
// program ends as it does.
func TestOverlay(t *testing.T) {
	p := python(t, "runpy")
	dir := t.TempDir()
	files := map[string]string{"main.py": spawning, "part.py": "def g():\n    return 'OLD part'\n"}
	overlay := map[string]string{}
	for name, text := range files {
		path := filepath.Join(dir, name)
		changed := path + ".new"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(changed, []byte(strings.ReplaceAll(text, "OLD", "NEW")), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay[path] = changed
	}
	config := filepath.Join(dir, "trial.json")
	text, _ := json.Marshal(map[string]any{"results": dir, "overlay": overlay})
	if err := os.WriteFile(config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"main.py", "-x"}, {"-m", "main", "-x"}, {"-u", "-X", "utf8", "./main.py", "-x"}} {
		hooks, trace := folders(t)
		env, err := Install(hooks, append(os.Environ(), "TORCH_TRACE="+trace), "trial")
		if err != nil {
			t.Fatal(err)
		}
		c := exec.Command(p, args...)
		c.Dir, c.Env = dir, append(env, "TCDBG_TRIAL="+config)
		var errs strings.Builder
		c.Stderr = &errs
		out, _ := c.Output()
		want := "__main__ main.py ['-x'] NEW main NEW part\nspawned NEW main NEW part main\"\nat exit\n"
		if string(out) != want || c.ProcessState.ExitCode() != 7 {
			t.Errorf("%v ends with %d: %q, want %q\n%s", args, c.ProcessState.ExitCode(), out, want, errs.String())
		}
		if failed := records(t, trace, "tcdbg_hook_failure"); failed != nil {
			t.Errorf("%v: %v", args, failed)
		}
	}
	if now, _ := os.ReadFile(filepath.Join(dir, "main.py")); string(now) != spawning {
		t.Error("the file has changed")
	}
}

// An error of a replaced main file ends the program as it would, with a traceback of the
// program's own frames.
func TestOverlayRaises(t *testing.T) {
	p := python(t, "runpy")
	dir := t.TempDir()
	path, changed, config := filepath.Join(dir, "main.py"), filepath.Join(dir, "new"), filepath.Join(dir, "trial.json")
	text, _ := json.Marshal(map[string]any{"results": dir, "overlay": map[string]string{path: changed}})
	for name, text := range map[string]string{path: "pass\n", changed: "def f():\n    1 / 0\nf()\n", config: string(text)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	hooks, trace := folders(t)
	env, err := Install(hooks, append(os.Environ(), "TORCH_TRACE="+trace), "trial")
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(p, "main.py")
	c.Dir, c.Env = dir, append(env, "TCDBG_TRIAL="+config)
	out, _ := c.CombinedOutput()
	printed := string(out)
	for _, want := range []string{"main.py\", line 3", "1 / 0", "ZeroDivisionError"} {
		if !strings.Contains(printed, want) {
			t.Errorf("%q is not printed", want)
		}
	}
	if c.ProcessState.ExitCode() != 1 || strings.Contains(printed, "tcdbg_hooks") {
		t.Errorf("ends with %d:\n%s", c.ProcessState.ExitCode(), out)
	}
}
