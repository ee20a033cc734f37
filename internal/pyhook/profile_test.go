package pyhook

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tcdbg/logs"
	"tcdbg/logs/chrome"
)

// loop trains a small model whose graph breaks; more is put before its loop, and body at the
// end of each step.
const loop = `import torch
lin = torch.nn.Linear(8, 8)
def f(x):
    y = torch.relu(lin(x))
    torch._dynamo.graph_break()
    return y * 2
g = torch.compile(f, backend="BACKEND")
opt = torch.optim.SGD(lin.parameters(), 0.01)
MORE
for i in range(N):
    g(torch.randn(4, 8)).sum().backward()
    opt.step()
    BODY
print("done")
`

// profiledRun runs a program under the module profile and gives its records and profiles.
func profiledRun(t *testing.T, p, steps string, replace ...string) (string, map[string]*chrome.Profile) {
	t.Helper()
	hooks, trace := folders(t)
	env, err := Install(hooks, append(os.Environ(), "TORCH_TRACE="+trace, "TORCHINDUCTOR_FORCE_DISABLE_CACHES=1"), "profile")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "loop.py")
	replace = append(replace, "BACKEND", "aot_eager", "MORE", "", "BODY", "pass", "N", "12")
	if err := os.WriteFile(program, []byte(strings.NewReplacer(replace...).Replace(loop)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := runPython(t, p, append(env, ProfileVar+"="+steps), program); !strings.Contains(out, "done\n") {
		t.Fatal(out)
	}
	profiles := map[string]*chrome.Profile{}
	files, err := filepath.Glob(filepath.Join(trace, "tcdbg_profile_*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		_, what, _ := strings.Cut(strings.TrimSuffix(filepath.Base(path), ".json.gz"), "_profile_")
		_, what, _ = strings.Cut(what, "_")
		profiles[what] = readProfile(t, path)
	}
	return strings.Join(records(t, trace, "tcdbg_profiled"), "\n"), profiles
}

func readProfile(t *testing.T, path string) *chrome.Profile {
	t.Helper()
	st, err := logs.Open([]string{path}, logs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	var out *chrome.Profile
	err = st.Read(t.Context(), func(r *logs.Record) {
		if r.Name != "tcdbg_profile" {
			t.Errorf("record %s", r.Name)
			return
		}
		var v struct{ Data *chrome.Profile }
		if err := json.Unmarshal(r.Payload(), &v); err != nil {
			t.Error(err)
		}
		out = v.Data
	})
	if err != nil || out == nil {
		t.Fatal(path, err)
	}
	return out
}

// Steady steps are recorded, whole and without the compiles before, with backward and optimizer.
func TestProfile(t *testing.T) {
	p := python(t, "torch")
	record, got := profiledRun(t, p, "3")
	times, stacks := got["times"], got["stacks"]
	if times == nil || stacks == nil || len(times.Steps) != 3 || len(stacks.Steps) != 1 || times.Marked != "tcdbg_step" || times.Stacked {
		t.Fatalf("%s %+v %+v", record, times, stacks)
	}
	if !strings.Contains(record, `"problems":[]`) || !stacks.Stacked || len(stacks.Peaks) == 0 {
		t.Errorf("%s %+v", record, stacks)
	}
	for _, r := range times.Regions {
		if r.Calls != 3 || r.Lookup.Calls != 3 {
			t.Errorf("%+v", r)
		}
	}
	if len(times.Regions) != 2 {
		t.Errorf("%d regions", len(times.Regions))
	}
	under, function := "", ""
	for _, o := range times.Eager {
		if strings.HasPrefix(o.Under, "Optimizer.step") {
			under = o.Under
		}
	}
	for _, o := range stacks.Eager {
		if o.File == "loop.py" {
			function = o.Func
		}
	}
	if under == "" || function != "<module>" {
		t.Errorf("under %q, in %q", under, function)
	}
}

// Where nothing could be recorded, or less, the record says why and the program is as it was.
func TestProfileProblems(t *testing.T) {
	p := python(t, "torch")
	for _, c := range []struct {
		name, want string
		steps      int // in the file of times; 0: none
		replace    []string
	}{
		{"few calls", "ended before 4 calls in a row had compiled nothing: let it run more steps", 0, []string{"N", "3"}},
		{"one call too few", "ended before a step was recorded whole: let it run a few steps more", 0, []string{"N", "6"}},
		{"a compile among its steps", "compiled while its steps were recorded, and ended", 0, []string{
			"BODY", "torch._dynamo.reset() if i == 6 else None", "N", "9",
		}},
		{"fewer steps", "ended after 2 of 5 steps", 2, []string{"N", "8"}},
		{"compiles again and again", "compiled again and again while", 0, []string{
			"BODY", "torch._dynamo.reset() if i % 6 == 5 else None", "N", "60",
		}},
		{"a profiler of its own", "began a profiler of its own", 0, []string{
			"BODY", "if i == 6: prof = torch.profiler.profile(); prof.start()\n    if i == 9: prof.stop(); assert len(prof.events()) > 9",
		}},
	} {
		record, got := profiledRun(t, p, "5", c.replace...)
		n := 0
		if got["times"] != nil {
			n = len(got["times"].Steps)
		}
		if !strings.Contains(record, c.want) || n != c.steps {
			t.Errorf("%s: %d steps, %s", c.name, n, record)
		}
	}
}

// allocator is a warning of PyTorch's when memory is recorded: it cannot be had without.
var allocator = regexp.MustCompile(`(?m)^\[W.*CPUAllocator\.cpp.*Memory block of unknown size.*\n`)

// A program's errors are as without us, byte for byte: no frame of ours is in a traceback, and nothing
// is said of a profiler, also where a thread calls the compiled function and ends.
func TestProfileLeavesStandardError(t *testing.T) {
	p := python(t, "torch")
	file := filepath.Join(t.TempDir(), "program.py")
	writeFile(t, file, `import sys, threading, torch
def f(x):
    y = x + 1
    if y.sum() < 0:
        raise ValueError("mine")
    return y
g = torch.compile(f, backend="eager")
def loop(n):
    for i in range(n):
        g(torch.ones(4))
if sys.argv[1] == "thread":
    t = threading.Thread(target=loop, args=(9,))
    t.start()
    t.join()
else:
    loop(9)
    g(-10 * torch.ones(4))
`)
	for _, how := range []string{"thread", "raises"} {
		run := func(env []string) string {
			var out bytes.Buffer
			c := exec.Command(p, file, how)
			c.Env, c.Stderr = env, &out
			_ = c.Run() // it may raise
			return allocator.ReplaceAllString(out.String(), "")
		}
		hooks, trace := folders(t)
		want := run(env(trace))
		_, trace = folders(t)
		e, err := Install(hooks, env(trace, "KINETO_LOG_LEVEL=99"), "profile", "calls", "pause")
		if err != nil {
			t.Fatal(err)
		}
		if got := run(append(e, ProfileVar+"=3")); got != want || (how == "raises") != strings.Contains(want, "ValueError: mine") {
			t.Errorf("%s: standard error is %s\nwithout us %s", how, got, want)
		}
		record := strings.Join(records(t, trace, "tcdbg_profiled"), "")
		if how == "thread" && !strings.Contains(record, `"problems":["nothing was recorded: threads other than the main one call`) {
			t.Error(record)
		}
		if how == "raises" && !strings.Contains(record, "times.json") {
			t.Error(record)
		}
	}
}
