// Package debugfolder writes what TORCH_COMPILE_DEBUG=1 asks for: torch_compile_debug/run_*, laid out
// as PyTorch lays it out, from the records of one trace of our own engine.
//
// Open this file first, then graphs.go (the files of one compiled graph).
package debugfolder

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tcdbg/logs"
)

// Variables of PyTorch's: the first asks for the folder, the second says where it is.
const (
	Variable     = "TORCH_COMPILE_DEBUG"
	rootVariable = "TORCH_COMPILE_DEBUG_DIR"
	rootName     = "torch_compile_debug"
)

// Asked reports whether the environment asks for the folder.
func Asked() bool { return os.Getenv(Variable) == "1" }

// Root is where the folders of runs are, for a program that was started in dir.
func Root(dir string) string {
	if v := os.Getenv(rootVariable); v != "" {
		dir = v
	}
	return filepath.Join(dir, rootName)
}

// Wanted reports whether a program has asked for the folder by the option trace.enabled, in the trace
// that is in a file.
func Wanted(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false // there is no trace
	}
	defer f.Close()
	mark := []byte(`"trace":true`) // of logs.GraphInputs
	buf := make([]byte, 1<<16)
	for kept := 0; ; {
		n, err := f.Read(buf[kept:])
		if bytes.Contains(buf[:kept+n], mark) {
			return true
		}
		if err != nil {
			return false
		}
		tail := min(kept+n, len(mark)-1)
		copy(buf, buf[kept+n-tail:kept+n])
		kept = tail
	}
}

// Write writes the folder of a trace below root and returns its path. The program was started at start.
func Write(root string, st *logs.Store, start time.Time) (dir string, err error) {
	w := &writer{st: st, root: root, start: start, compiles: map[logs.CompileID]*compile{}}
	err = st.Read(context.Background(), w.add)
	if w.err != nil {
		err = w.err
	}
	if err == nil && w.dir == "" {
		err = fmt.Errorf("the trace has no record of a run of tcdbg")
	}
	for _, f := range w.open {
		if e := f.Close(); err == nil {
			err = e
		}
	}
	return w.dir, err
}

// writer reads the records of a trace once.
type writer struct {
	st        *logs.Store
	root, dir string
	start, at time.Time // of the program, and of the record that is read
	dynamo    *logs.Renderer
	open      []io.Closer
	compiles  map[logs.CompileID]*compile
	count     int // of compiles
	graphs    int
	err       error
}

// compile is one compile with the graphs that it makes.
type compile struct {
	number   int
	known    logs.GraphInputs
	readable map[string]string // by role: forward, backward, inference
	aot      *logs.Renderer
	// By the name of the graph: loops before the schedule, and the folders.
	lowered map[string]string
	graphs  map[string]*compiledGraph
}

// add takes one record.
func (w *writer) add(r *logs.Record) {
	if w.err != nil {
		return
	}
	if w.dir == "" {
		w.st.Calibrate(r, w.start)
	}
	w.at = w.st.Time(r).Local()
	if w.dir == "" {
		if !r.Is("tcdbg_run") {
			return
		}
		w.begin(r)
		return
	}
	out := outOf(r)
	w.dynamo.Emit(out)
	if r.HasID {
		id := r.ID
		id.Attempt = 0
		w.fail(w.compiled(id, r, out))
	}
}

func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// begin makes the folder.
func (w *writer) begin(r *logs.Record) {
	v, ok := decoded[logs.RunInfo](r)
	if !ok {
		w.fail(fmt.Errorf("the trace's first record cannot be read"))
		return
	}
	name := fmt.Sprintf("run_%s_%06d-pid_%d", w.at.Format("2006_01_02_15_04_05"), w.at.Nanosecond()/1000, v.PID)
	w.dir = filepath.Join(w.root, name)
	if err := os.MkdirAll(w.root, 0o755); err != nil {
		w.fail(err)
		return
	}
	for _, dir := range []string{w.dir, filepath.Join(w.dir, "torchdynamo"), filepath.Join(w.dir, "torchinductor")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			w.fail(err)
			return
		}
	}
	w.dynamo = w.log(filepath.Join("torchdynamo", "debug.log"), "+dynamo,dynamic,graph_sizes,recompiles_verbose", v.PID)
}

// log is a renderer of records into a file of the folder.
func (w *writer) log(name, setting string, pid int) *logs.Renderer {
	set, err := logs.ParseLogs(setting)
	if err != nil {
		w.fail(err)
		return nil
	}
	f, err := os.OpenFile(filepath.Join(w.dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		w.fail(err)
		return nil
	}
	w.open = append(w.open, f)
	return logs.NewRenderer(f, set, logs.WriterOptions{Now: func() time.Time { return w.at }, PID: pid})
}

// outOf is a record as it was written.
func outOf(r *logs.Record) logs.Out {
	o := logs.Out{Kind: r.Kind, ID: logs.NoCompile, Payload: []byte(r.Text()), Place: r.Place()}
	if r.HasID {
		o.ID = r.ID
	}
	if r.Kind == "artifact" {
		o.Meta = map[string]string{"name": r.Name}
	} else {
		o.Meta = json.RawMessage(strings.Clone(string(r.Meta())))
	}
	return o
}

// decoded reads one of our artifacts.
func decoded[T any](r *logs.Record) (v T, ok bool) {
	var head struct {
		Data T `json:"data"`
	}
	err := json.Unmarshal(r.Payload(), &head)
	return head.Data, err == nil
}
