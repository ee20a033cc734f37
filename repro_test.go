package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// tcdbgRun is one command line.
type tcdbgRun struct {
	bin, state string
	dir        string
	env        []string
}

func (r tcdbgRun) output(args ...string) (string, int) {
	cmd := exec.Command(r.bin, args...)
	cmd.Dir = r.dir
	cmd.Env = append(append(os.Environ(), "XDG_STATE_HOME="+r.state, "TORCH_LOGS=", "TCDBG_LOGS="), r.env...)
	out, _ := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.ExitCode()
}

// capturedGraphs are the texts of the graphs that the one run of a state folder has captured, by id.
func capturedGraphs(t *testing.T, state string) map[string]string {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(state, "tcdbg", "runs", "*", "trace", "*.log"))
	if err != nil || len(logs) != 1 {
		t.Fatal(logs, err)
	}
	text, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	head := regexp.MustCompile(`"dynamo_output_graph".*"frame_id": (\d+), "frame_compile_id": (\d+)`)
	out, id := map[string]string{}, ""
	for line := range strings.Lines(string(text)) {
		if payload, ok := strings.CutPrefix(line, "\t"); ok {
			if id != "" {
				out[id] += payload
			}
			continue
		}
		id = ""
		if m := head.FindStringSubmatch(line); m != nil {
			id = m[1] + "/" + m[2]
			out[id] = ""
		}
	}
	return out
}

var pythonName = regexp.MustCompile(`(^|[^\w.])([A-Za-z_]\w*)`)

// anonymous is the text of a graph with names by their order.
func anonymous(text string) string {
	names := map[string]string{}
	renamed := func(s string) string {
		return pythonName.ReplaceAllStringFunc(s, func(m string) string {
			p := pythonName.FindStringSubmatch(m)
			if to, ok := names[p[2]]; ok {
				return p[1] + to
			}
			return m
		})
	}
	var out []string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), ";  ")
		if strings.HasPrefix(line, "# ") {
			continue
		}
		if args, ok := strings.CutPrefix(line, "def forward(self, "); ok {
			for i, m := range regexp.MustCompile(`(\w+): "([^"]*)"`).FindAllStringSubmatch(args, -1) {
				names[m[1]] = fmt.Sprintf("in%d", i)
				out = append(out, m[2])
			}
			continue
		}
		left, right, ok := strings.Cut(line, " = ")
		if name, typ, _ := strings.Cut(left, ": "); ok {
			if right = renamed(right); strings.HasPrefix(right, "in") && typ == "" {
				names[name] = right
				continue
			}
			out, names[name] = append(out, typ+" "+right), fmt.Sprintf("v%d", len(out))
		} else if strings.HasPrefix(line, "return ") {
			out = append(out, renamed(line))
		}
	}
	return strings.Join(out, "\n")
}

// TestRepro: of each graph of a program that has graphs of all kinds, the reproducer runs, its results are
// equal, and it captures the same graph and ends it in the same way.
func TestRepro(t *testing.T) {
	bin, err := buildBinary()
	if err != nil {
		t.Fatal(err)
	}
	r := tcdbgRun{bin: bin, state: t.TempDir(), dir: t.TempDir()}
	here, _ := os.Getwd()
	if out, code := r.output("run", "--plain", filepath.Join(here, "testdata", "repro", "model.go")); code != 0 {
		t.Fatal(out)
	}
	graphs := capturedGraphs(t, r.state)
	if len(graphs) < 12 {
		t.Fatalf("only %d graphs", len(graphs))
	}
	ends := map[string]string{"0/0": "Graph Break Reason: Data-dependent branching", "2/0": "call of fmt.Println"}
	for _, id := range slices.Sorted(maps.Keys(graphs)) {
		at := filepath.Join(r.dir, strings.ReplaceAll(id, "/", "_"))
		if out, code := r.output("repro", "-o", at, "last", id); code != 0 {
			t.Errorf("%s: %s", id, out)
			continue
		}
		again := tcdbgRun{bin: bin, state: t.TempDir(), dir: at}
		out, code := again.output("run", "--plain", "model.go")
		if code != 0 || !strings.Contains(out, "value 0 is equal") || strings.Contains(out, "differ") {
			t.Errorf("%s: exit %d\n%s", id, code, out)
			continue
		}
		if got, want := anonymous(capturedGraphs(t, again.state)["0/0"]), anonymous(graphs[id]); got != want {
			t.Errorf("%s: the reproducer captures\n%s\nand the program captured\n%s", id, got, want)
		}
		if want := ends[id]; !strings.Contains(out, want) || want == "" && strings.Contains(out, "Graph break") {
			t.Errorf("%s: the end of the graph is not %q:\n%s", id, want, out)
		}
	}
}
