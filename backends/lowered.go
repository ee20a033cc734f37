package backends

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"tcdbg/aot"
	"tcdbg/graph"
	"tcdbg/graph/fxtext"
	"tcdbg/inductor"
	"tcdbg/inductor/codegen/cpp"
	"tcdbg/inductor/lower"
	"tcdbg/logs"
	"tcdbg/logs/fx"
	"tcdbg/ops"
)

// This file compiles a graph that is there as PyTorch's text, to look at: nothing is built or run.

// TextRequest is one graph of a trace.
type TextRequest struct {
	Graph *fx.Graph
	Name  string
	Hints map[string]int64 // values of the symbols of its sizes
	ID    logs.CompileID
	Log   logs.Sink // gets the records of the compile; may be nil
}

// LoweredKernel is one kernel of a lowered graph.
type LoweredKernel struct {
	Name   string
	Extern bool
	Nodes  []string // of the text, each once
}

// Lowered is what became of a graph.
type Lowered struct {
	Graph   *graph.Graph
	Program *inductor.Program
	Device  string // that the text names: cuda:0
	Kernels []LoweredKernel
	Source  map[string]fx.Source // lines of the text's nodes
}

// LowerText compiles a graph of a trace. The error is *export.Missing where operators are missing.
func LowerText(r *TextRequest) (out *Lowered, err error) {
	read, err := fxtext.Build(r.Graph, r.Name, r.Hints)
	if err != nil {
		return nil, err
	}
	defer func() {
		if v := recover(); v != nil {
			out, err = nil, fmt.Errorf("the graph cannot be lowered: %v", v)
		}
	}()
	out = &Lowered{Graph: read.Graph, Device: read.Device, Source: read.Source}
	rec := &textRecorder{r, time.Now(), read.Graph}
	rec.captured()
	of := map[string]string{}
	cpu := thisCPU()
	request := &aot.Request{ID: r.ID, Graph: read.Graph, Log: r.Log, Keep: lower.Has}
	request.Compile = func(p aot.Part) (aot.Runnable, error) {
		g := lower.Decomposed(p.Graph)
		for _, n := range g.Nodes() {
			if row := n.OpRow(); row != nil && !row.Tags.Has(ops.TagView) {
				of[n.Name] = read.NodeOf(n)
			}
		}
		prog, err := inductor.Compile(g, inductor.Options{
			Machine: cpp.Machine{Lanes: cpu.Lanes, Cache: cpu.Cache}, Cores: runtime.GOMAXPROCS(0), Replaces: p.Replaces,
			ID: r.ID, Log: r.Log,
		})
		out.Program = prog
		return nil, err
	}
	if _, err := aot.Compile(request); err != nil {
		return nil, err
	}
	rec.done()
	out.kernels(of)
	return out, nil
}

// kernels lists what each kernel computes in the names of the text.
func (l *Lowered) kernels(of map[string]string) {
	for i, k := range l.Program.Provenance.Kernels {
		x := LoweredKernel{Name: k.Name, Extern: k.Extern}
		for _, n := range l.Program.Computes[i] {
			if name := of[n]; name != "" && !slices.Contains(x.Nodes, name) {
				x.Nodes = append(x.Nodes, name)
			}
		}
		l.Kernels = append(l.Kernels, x)
	}
}

// textRecorder writes the records of such a compile, as the tracer does of a captured graph.
type textRecorder struct {
	*TextRequest
	begun time.Time
	g     *graph.Graph
}

// place is the first line that the graph has operators of.
func (r *textRecorder) place() logs.Pos {
	for i := range r.Graph.Nodes {
		if s := r.Graph.Nodes[i].Source; s.File != "" {
			return logs.Pos{File: s.File, Line: s.Line, Func: s.Func, Code: s.Code}
		}
	}
	return logs.Pos{Func: r.Name}
}

func (r *textRecorder) captured() {
	if r.Log == nil {
		return
	}
	at := r.place()
	stack := r.Log.Stack([]logs.Frame{{File: at.File, Line: at.Line, Name: at.Func, Loc: at.Code}})
	r.Log.Emit(logs.Out{Kind: "dynamo_start", ID: r.ID, Place: logs.Here(), Meta: map[string]any{"stack": stack}})
	r.Log.Emit(logs.Artifact(r.ID, logs.FrameInfo{Name: r.Name, Pos: at, Parent: -1}))
	m := graph.NewModule(r.g)
	r.Log.Emit(logs.Out{
		Kind: "dynamo_output_graph", ID: r.ID, Payload: []byte(m.Code()), Place: logs.Here(),
		Meta: map[string]any{"sizes": map[string]any{}},
	})
	r.Log.Emit(logs.Artifact(r.ID, logs.GraphCode{Name: m.Name(), Go: m.GoCode(), Table: m.G.Table(), Ops: m.Ops()}))
}

func (r *textRecorder) done() {
	if r.Log == nil {
		return
	}
	at, now := r.place(), time.Now()
	r.Log.Emit(logs.Out{Kind: "compilation_metrics", ID: r.ID, Place: logs.Here(), Meta: map[string]any{
		"compile_id": fmt.Sprintf("%d/%d", r.ID.Frame, r.ID.Compile), "co_name": r.Name, "co_filename": at.File, "co_firstlineno": at.Line,
		"entire_frame_compile_time_s": now.Sub(r.begun).Seconds(), "start_time_us": r.begun.UnixMicro(), "end_time_us": now.UnixMicro(),
		"restart_reasons": []string{}, "is_forward": true, "log_format_version": 3, "fail_type": nil, "fail_reason": nil,
		"has_guarded_code": true, "guard_count": 0, "graph_op_count": r.g.NumOps(), "graph_node_count": r.g.Len(),
		"graph_input_count": len(r.g.Placeholders()),
	}})
}
