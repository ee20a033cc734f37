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
	"time"
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

// TestDebugFolder: what TORCH_COMPILE_DEBUG=1 writes has PyTorch's names, and each graph in it runs alone.
func TestDebugFolder(t *testing.T) {
	bin, err := buildBinary()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	r := tcdbgRun{bin: bin, state: t.TempDir(), env: []string{"TORCH_COMPILE_DEBUG=1", "TORCH_COMPILE_DEBUG_DIR=" + root}}
	out, code := r.output("run", "--plain", "testdata/repro/model.go")
	runs, _ := filepath.Glob(filepath.Join(root, "torch_compile_debug", "run_*-pid_*"))
	if code != 0 || len(runs) != 1 || !strings.Contains(out, "tcdbg: debug folder: "+runs[0]) {
		t.Fatal(code, runs, out)
	}
	if day := time.Now().Format("run_2006_01_02_"); !strings.HasPrefix(filepath.Base(runs[0]), day) {
		t.Errorf("%s is not of today", runs[0])
	}
	log, err := os.ReadFile(filepath.Join(runs[0], "torchdynamo", "debug.log"))
	if err != nil || !strings.Contains(string(log), "[__graph_breaks] Graph Break Reason: Data-dependent branching") {
		t.Error(err, string(log))
	}
	folders, _ := filepath.Glob(filepath.Join(runs[0], "torchinductor", "model__*"))
	seen := map[string]bool{}
	for _, dir := range folders {
		name := regexp.MustCompile(`^model__\d+_(forward|backward|inference)_(\d+)\.\d+$`).FindStringSubmatch(filepath.Base(dir))
		if name == nil {
			t.Errorf("%s is no name of PyTorch's", dir)
			continue
		}
		seen[name[1]] = true
		for file, holds := range map[string]string{
			"fx_graph_readable.py": "torch.ops.aten.", "fx_graph_transformed.py": "torch.ops.aten.", "fx_graph_runnable.go": "package main",
			"ir_pre_fusion.txt": "op0 = ", "ir_post_fusion.txt": "op0", "output_code.c": "void ", "output_code.py": "triton",
			"inductor_provenance_tracking_node_mappings.json": "cppCodeToPost",
		} {
			text, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil || !strings.Contains(string(text), holds) {
				t.Errorf("%s of %s: %v, want %q in\n%s", file, filepath.Base(dir), err, holds, text)
			}
		}
		again := tcdbgRun{bin: bin, state: t.TempDir(), dir: dir}
		out, code := again.output("run", "--plain", "fx_graph_runnable.go")
		if code != 0 || !strings.Contains(out, "value 0 is equal") {
			t.Errorf("%s: exit %d\n%s", filepath.Base(dir), code, out)
		}
	}
	if aot, _ := filepath.Glob(filepath.Join(runs[0], "torchinductor", "aot_model___*_debug.log")); len(aot) == 0 {
		t.Error("there is no log of AOTAutograd")
	}
	if len(folders) < 12 || !seen["forward"] || !seen["backward"] || !seen["inference"] {
		t.Errorf("%d folders of %v", len(folders), seen)
	}
}

// TestDebugFolderOfControlFlow: the bodies of control flow are compiled while the graph that holds them is,
// and each has its own files.
func TestDebugFolderOfControlFlow(t *testing.T) {
	bin, err := buildBinary()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	r := tcdbgRun{bin: bin, state: t.TempDir(), env: []string{"TORCH_COMPILE_DEBUG=1", "TORCH_COMPILE_DEBUG_DIR=" + root}}
	if out, code := r.output("run", "--plain", "fixtures/condgraph/model.go"); code != 0 {
		t.Fatal(out)
	}
	folders, _ := filepath.Glob(filepath.Join(root, "torch_compile_debug/run_*/torchinductor/model__*"))
	codes, _ := filepath.Glob(filepath.Join(root, "torch_compile_debug/run_*/torchinductor/model__*/output_code.c"))
	loops, _ := filepath.Glob(filepath.Join(root, "torch_compile_debug/run_*/torchinductor/model__*/ir_post_fusion.txt"))
	if len(folders) < 8 || len(codes) != len(folders) || len(loops) != len(folders) {
		t.Errorf("%d folders, %d with code, %d with loops", len(folders), len(codes), len(loops))
	}
}

// TestTraceEnabled: the option trace.enabled asks for the folder of a run, too.
func TestTraceEnabled(t *testing.T) {
	bin, err := buildBinary()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	program := `package main

import (
	"tcdbg/torch"
	"tcdbg/torch/kw"
)

func main() {
	f := func(x *torch.Tensor) *torch.Tensor { return x.Exp() }
	torch.Compile(f, kw.Options(map[string]any{"trace.enabled": true}))(torch.Randn(3))
}
`
	if err := os.WriteFile(filepath.Join(dir, "model.go"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	r := tcdbgRun{bin: bin, state: t.TempDir(), dir: dir, env: []string{"TORCH_COMPILE_DEBUG=", "TORCH_COMPILE_DEBUG_DIR="}}
	out, code := r.output("run", "--plain", "model.go")
	files, _ := filepath.Glob(filepath.Join(dir, "torch_compile_debug/run_*/torchinductor/model__0_inference_0.0/output_code.c"))
	if code != 0 || len(files) != 1 {
		t.Fatal(code, files, out)
	}
}
