package repro

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"

	"tcdbg/backends"
	"tcdbg/backends/numerics"
	"tcdbg/backends/reproducer"
	"tcdbg/graph"
	"tcdbg/logs"
	"tcdbg/torch"
	"tcdbg/torch/compiler/modes"
	"tcdbg/tracer"
)

// This file is the process in which parts of a graph are tried, one after the other. It may die of
// one: then the minifier starts another.

// Kinds of faults.
const (
	Accuracy = "accuracy" // results differ from those of eager execution
	Crash    = "crash"    // compiled code panics, or the process dies
	Compile  = "compile"  // the graph cannot be compiled
)

// Kinds are all of them.
func Kinds() []string { return []string{Accuracy, Compile, Crash} }

// Task is the first message to the process.
type Task struct {
	Name  string           `json:"name"`
	Text  string           `json:"text"` // FX text of the graph
	Known logs.GraphInputs `json:"known"`
	Seed  int64            `json:"seed"`
}

// request is each further message: a part to try, and where it is to be written instead.
type request struct {
	Part
	Dir string   `json:"dir,omitempty"` // a new folder for its program
	Doc []string `json:"doc,omitempty"`
	// Random writes the program with random inputs in place of the part's.
	Random bool `json:"random,omitempty"`
}

// Answer is what came out: of Task whether the graph can be tried.
type Answer struct {
	Fault string `json:"fault,omitempty"` // a kind, "" for none
	Text  string `json:"text,omitempty"`  // what it shows
	Error string `json:"error,omitempty"` // why the part cannot be tried
	// Of a graph of PyTorch's, in the first answer: what can be taken out of it, and what it returns of them.
	Units    []torchUnit `json:"units,omitempty"`
	Returned []string    `json:"returned,omitempty"`
	Trains   bool        `json:"trains,omitempty"`
}

// Serve tries what it is asked to until in ends.
func Serve(in io.Reader, out io.Writer, set *backends.Set) error {
	messages, answers := json.NewDecoder(in), json.NewEncoder(out)
	var t Task
	if err := messages.Decode(&t); err != nil {
		return err
	}
	w, err := t.whole()
	if err := answers.Encode(Answer{Error: message(err)}); err != nil {
		return err
	}
	for {
		var r request
		if err := messages.Decode(&r); err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
		a := t.answer(w, set, &r)
		if err := answers.Encode(a); err != nil {
			return err
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// whole makes the graph with its inputs.
func (t *Task) whole() (*whole, error) {
	g, err := Parse(t.Name, t.Text, t.Known)
	if err != nil {
		return nil, err
	}
	in, err := reproducer.Values(g, t.Known.Inputs, t.Seed)
	if err != nil {
		return nil, err
	}
	return newWhole(g, in)
}

func (t *Task) answer(w *whole, set *backends.Set, r *request) Answer {
	g, in, err := w.part(r.Part)
	switch {
	case err != nil:
		return Answer{Error: err.Error()}
	case r.Dir != "":
		return Answer{Error: message(t.write(g, in, r))}
	}
	return t.try(g, in, set, r.Train)
}

// try compiles a part and runs it beside eager execution.
func (t *Task) try(g *graph.Graph, in []torch.Value, set *backends.Set, train bool) (a Answer) {
	tried := func() {
		run, err := t.compile(g, in, set)
		if err != nil {
			a = Answer{Fault: Compile, Text: err.Error()}
			return
		}
		switch v := numerics.Judge(g, in, run); {
		case v.Eager != nil:
			a = Answer{Error: v.Eager.Error()}
		case v.Run != nil:
			a = Answer{Fault: Crash, Text: v.Run.Error()}
		case v.Differs != "":
			a = Answer{Fault: Accuracy, Text: v.Differs}
		}
	}
	if train {
		tried()
	} else {
		torch.NoGrad(tried)
	}
	return a
}

// compile compiles a graph as the program had it compiled. A panic of the compiler is an error.
func (t *Task) compile(g *graph.Graph, in []torch.Value, set *backends.Set) (run tracer.Runnable, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	name := t.Known.Backend
	if name == "" || name == "custom" {
		name = "inductor"
	}
	b, err := set.Get(name)
	if err != nil {
		return nil, err
	}
	r := &tracer.Request{Module: graph.NewModule(g), Example: in, Mode: t.Known.Mode}
	if r.Mode == "" {
		r.Mode = modes.Default
	}
	if t.Known.Budget > 0 {
		r.MemoryBudget = &t.Known.Budget
	}
	if r.Options, err = modes.ParseOptions(whole64(t.Known.Options)); err != nil {
		return nil, err
	}
	return b.Compile(r)
}

// whole64 are options with the whole numbers that JSON has made floats.
func whole64(options map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range options {
		if f, ok := v.(float64); ok {
			v = int(f)
		}
		out[k] = v
	}
	return out
}

// write writes the program of a part.
func (t *Task) write(g *graph.Graph, in []torch.Value, r *request) error {
	p := &reproducer.Program{Doc: r.Doc, Options: reproducer.Options(t.Known), NoGrad: !r.Train, Seed: t.Seed}
	if !r.Random {
		return numerics.WritePart(r.Dir, g, in, p)
	}
	p.Graph = g
	inputs, err := reproducer.Random(g, described(g, in))
	if err != nil {
		return err
	}
	p.Inputs = inputs
	text, err := p.Text()
	if err != nil {
		return err
	}
	return writeFolder(r.Dir, "model.go", text)
}

// described are inputs as a trace describes them.
func described(g *graph.Graph, in []torch.Value) []logs.GraphInput {
	var out []logs.GraphInput
	for i, p := range g.Placeholders() {
		if t, ok := in[i].(*torch.Tensor); ok {
			out = append(out, tracer.DescribeInput(p, t))
		}
	}
	return out
}

var digits = regexp.MustCompile(`[0-9]+`)

// inKernel is what comes before the name of a kernel.
const inKernel = " in kernel "

// KernelFault is the text of a fault in a kernel.
func KernelFault(signal, kernel string) string { return "kernel fault: " + signal + inKernel + kernel }

// fingerprint is what two faults have in common where they are one: the first line without numbers.
func fingerprint(a Answer) string {
	if a.Fault == Accuracy {
		return a.Fault // another output of another part differs
	}
	line, _, _ := strings.Cut(firstLine(a.Text), inKernel) // whose name is that of its operators
	return a.Fault + ": " + digits.ReplaceAllString(line, "0")
}
