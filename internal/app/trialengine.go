package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"tcdbg/explain/remedy"
	"tcdbg/internal/app/operators"
	"tcdbg/internal/app/results"
	"tcdbg/torch"
	"tcdbg/torch/compiler"
	"tcdbg/tracer"
	"tcdbg/tracer/host"
)

// This file is the engine's side of a trial: files replaced by texts, settings that
// override the program's, results written down, an end after enough calls.

// TrialOptions make a run a trial.
type TrialOptions struct {
	Results  string            `json:"results"`           // folder for what the program computes
	Overlay  map[string]string `json:"overlay,omitempty"` // files, and the file with the text that is loaded for each
	Switches []remedy.Switch   `json:"switches,omitempty"`
	Steps    int               `json:"steps,omitempty"` // outermost calls after which the program ends, 0: never
	// Numerics compares what is compiled with eager execution.
	Numerics *NumericsOptions `json:"numerics,omitempty"`
	// Operators notes the operators of some calls.
	Operators *results.Noting `json:"operators,omitempty"`
	// Compile is off where nothing is to be compiled.
	Compile string `json:"compile,omitempty"`
}

// overlay reads the texts of a trial's files.
func (o *TrialOptions) overlay() (map[string][]byte, error) {
	if o == nil {
		return nil, nil
	}
	out := map[string][]byte{}
	for name, path := range o.Overlay {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		out[name] = text
	}
	return out, nil
}

// engineTrial is a trial in the engine.
type engineTrial struct {
	opts   *TrialOptions
	writer *results.Writer
	once   sync.Once
	quit   func(code int)
	noter  *operators.Noter // nil where none is wanted

	mu      sync.Mutex
	threads map[*host.Thread]int // goroutines that have called, numbered as they came
}

// startTrial begins to write results; nil where the run is no trial.
func startTrial(o *TrialOptions) (*engineTrial, error) {
	if o == nil {
		return nil, nil
	}
	w, err := results.Create(o.Results, results.Hello{PID: os.Getpid(), Engine: "tcdbg " + Version, Started: time.Now().UnixNano()})
	if err != nil {
		return nil, fmt.Errorf("the results of the trial cannot be written: %w", err)
	}
	return &engineTrial{opts: o, writer: w}, nil
}

// configure makes the tracer try the switches and tell of calls.
func (e *engineTrial) configure(c *tracer.Config) {
	if e == nil {
		return
	}
	v := &tracer.Override{Off: e.opts.Compile == compileOff}
	for _, s := range e.opts.Switches {
		switch s.Name {
		case "dynamic":
			v.Dynamic = s.Value
		case "mode":
			v.Mode = s.Value
		case "backend":
			v.Backend = s.Value
		case "recompile_limit":
			v.RecompileLimit, _ = strconv.Atoi(s.Value)
		case "capture_scalar_outputs":
			compiler.Configure(func(c *compiler.Settings) { c.CaptureScalarOutputs = s.Value == "true" })
		case "capture_dynamic_output_shape_ops":
			compiler.Configure(func(c *compiler.Settings) { c.CaptureDynamicOutputShapeOps = s.Value == "true" })
		case "allow_unspec_int_on_nn_module":
			compiler.Configure(func(c *compiler.Settings) { c.AllowUnspecIntOnNNModule = s.Value == "true" })
		case "mark_dynamic":
			if m, err := remedy.ParseMark(s.Value); err == nil {
				v.Marks = append(v.Marks, tracer.Mark{Function: m.Function, Name: m.Name, Dim: m.Dim})
			}
			continue // told when a tensor was marked
		}
		e.writer.Applied(s.String())
	}
	c.Override, c.Called, c.Graded, c.Recording = v, e.called, e.graded, e.writer.Recording
	c.Marked = func(m tracer.Mark) {
		e.writer.Applied(fmt.Sprintf("mark_dynamic=%s:%s:%d", m.Function, m.Name, m.Dim))
	}
}

// attach tells how the program is ended.
func (e *engineTrial) attach(in *host.Interp) {
	if e != nil {
		e.quit = in.Quit
		if e.noter != nil {
			e.noter.Attach(in)
		}
	}
}

// note makes a trial's engine note operators; the function that it returns ends that.
func (e *engineTrial) note(c *tracer.Config, prog *host.Program) (end func()) {
	if e == nil || e.opts.Operators == nil {
		return func() {}
	}
	n, err := operators.Start(*e.opts.Operators, e.opts.Results, prog, c)
	if err != nil {
		return func() {} // what looks for operators says that there are none
	}
	e.noter = n
	return n.Close
}

// called writes one call.
func (e *engineTrial) called(c *tracer.Call) {
	if e.noter != nil {
		e.noter.Ended(c.Results)
	}
	call := results.Call{
		Thread: e.thread(c.Thread), Function: c.Function, Nanos: c.Took.Nanoseconds(), Compiled: c.Compiled, Unused: c.Unused,
	}
	if c.Raised {
		call.Raised = "a panic"
	}
	for _, l := range c.Results {
		leaf := results.Leaf{Path: l.Path}
		if x, ok := l.Value.(*torch.Tensor); ok {
			leaf.Dtype, leaf.Shape = x.DType().Name(), x.Shape()
		} else {
			leaf.Text = fmt.Sprint(l.Value)
		}
		call.Out = append(call.Out, leaf)
	}
	call.StateFull = c.More
	for _, s := range c.State {
		call.State = append(call.State, leafOf(s, s.Wrote || s.Tensor.Numel() <= results.MaxSmall))
	}
	n := e.writer.Call(
		call, func(i int) results.Values { return operators.Values(c.Results[i].Value.(*torch.Tensor)) },
		func(i int) results.Values { return operators.Values(c.State[i].Tensor) },
	)
	if e.opts.Steps > 0 && n >= e.opts.Steps {
		e.end(true)
		e.quit(0)
	}
}

// graded writes the gradients of a backward pass.
func (e *engineTrial) graded(g *tracer.Graded) {
	list := results.Grads{Unnamed: g.Unnamed, Full: len(g.Leaves) > results.MaxState}
	g.Leaves = g.Leaves[:min(len(g.Leaves), results.MaxState)]
	for _, l := range g.Leaves {
		list.Leaves = append(list.Leaves, leafOf(l, true))
	}
	e.writer.Grads(list, func(i int) results.Values { return operators.Values(g.Leaves[i].Tensor) })
}

// leafOf describes a tensor; numbers says that its numbers are written, too.
func leafOf(s tracer.StateLeaf, numbers bool) results.Leaf {
	if s.Tensor == nil {
		return results.Leaf{Path: s.Path, Opaque: true}
	}
	return results.Leaf{
		Path: s.Path, Dtype: s.Tensor.DType().Name(), Shape: s.Tensor.Shape(), Wrote: s.Wrote, Bare: !numbers,
		Param: s.Tensor.RequiresGrad() && s.Tensor.IsLeaf(), Grad: s.Grad,
	}
}

// thread is the number of a goroutine.
func (e *engineTrial) thread(th *host.Thread) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n, ok := e.threads[th]
	if !ok {
		if e.threads == nil {
			e.threads = map[*host.Thread]int{}
		}
		n = len(e.threads)
		e.threads[th] = n
	}
	return n
}

// end writes the last line.
func (e *engineTrial) end(cut bool) {
	if e != nil {
		e.once.Do(func() { _ = e.writer.Close(cut) }) // a trial without its results says so
	}
}

// absolute makes the paths of an overlay those that the loader looks for.
func absolute(dir, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, name)
}
