package tracer

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"tcdbg/logs"
	"tcdbg/torch"
	"tcdbg/tracer/host"
)

// This file is torch.Explain: it runs a function under the compiler, once, with
// empty caches, and tells what happened.

// account is what one explained call did.
type account struct {
	mu     sync.Mutex
	graphs [][]string
	breaks []logs.Break
	guards []logs.Guard
	took   time.Duration
}

func (a *account) note(graph []string, b *logs.Break, guards []logs.Guard, took time.Duration) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if graph != nil {
		a.graphs = append(a.graphs, graph)
	}
	if b != nil {
		a.breaks = append(a.breaks, *b)
	}
	a.guards = append(a.guards, guards...)
	a.took += took
}

// explainIntrinsic is torch.Explain under the tracer.
func (t *Tracer) explainIntrinsic(_ *host.Thread, _ *host.Frame, args []unsafe.Pointer, result unsafe.Pointer) {
	f := reflect.ValueOf(*(*any)(args[0]))
	if f.Kind() != reflect.Func {
		panic(&torch.Error{
			Op:  "torch.Explain",
			Msg: fmt.Sprintf("the argument is not a function but of type %T; of a module pass net.Forward", *(*any)(args[0])),
		})
	}
	*(*func(...any) *torch.ExplainOutput)(result) = func(in ...any) *torch.ExplainOutput {
		return t.explain(f, in)
	}
}

func (t *Tracer) explain(f reflect.Value, in []any) *torch.ExplainOutput {
	p := reflect.New(f.Type())
	p.Elem().Set(f)
	cl := t.in.ClosureOf(p.UnsafePointer())
	if cl == nil && !f.IsNil() {
		cl = t.in.WrapperOf(p.UnsafePointer())
	}
	if cl == nil {
		panic(&torch.Error{Op: "torch.Explain", Msg: "the argument is nil or a native function"})
	}
	opts, _ := t.parseOptions([]torch.Option{{Name: "backend", Value: "eager"}})
	acc := &account{}
	c := &Compiled{t: t, fn: cl.Fn, opts: opts, made: new(atomic.Int64), cache: map[string]*frameCache{}, account: acc}
	fn := reflect.New(f.Type())
	t.in.MakeFunc(fn.UnsafePointer(), cl.Fn.Signature, &host.Closure{Fn: cl.Fn, Free: cl.Free, Compiled: c})
	vals := make([]reflect.Value, len(in))
	for i, a := range in {
		if vals[i] = reflect.ValueOf(a); a == nil {
			vals[i] = reflect.Zero(f.Type().In(i))
		}
	}
	fn.Elem().Call(vals)
	return acc.output()
}

// output is the account in the layout of torch._dynamo.explain. Unlike there,
// breaks between empty graphs count and so does every operator.
func (a *account) output() *torch.ExplainOutput {
	o := torch.ExplainOutput{
		GraphCount: len(a.graphs), GraphBreakCount: len(a.breaks), OpsPerGraph: a.graphs,
		CompileTimes: fmt.Sprintf("%.4f s", a.took.Seconds()),
	}
	var sb strings.Builder
	for _, g := range a.graphs {
		o.OpCount += len(g)
	}
	fmt.Fprintf(&sb, "Graph Count: %d\nGraph Break Count: %d\nOp Count: %d\nBreak Reasons:\n", o.GraphCount, o.GraphBreakCount, o.OpCount)
	for i, b := range a.breaks {
		r := torch.BreakReason{Code: b.Code, Reason: b.Type}
		fmt.Fprintf(&sb, "  Break Reason %d:\n    Reason: %s (%s): %s\n    User Stack:\n", i+1, b.Type, b.Code, b.Detail)
		for _, p := range b.Stack {
			r.UserStack = append(r.UserStack, fmt.Sprintf("%s:%d in %s", p.File, p.Line, p.Func))
			fmt.Fprintf(&sb, "      <FrameSummary file %s, line %d in %s>\n        %s\n", p.File, p.Line, p.Func, strings.TrimSpace(p.Code))
		}
		o.BreakReasons = append(o.BreakReasons, r)
	}
	sb.WriteString("Ops per Graph:\n")
	for i, g := range a.graphs {
		fmt.Fprintf(&sb, "  Ops %d:\n", i+1)
		for _, op := range g {
			fmt.Fprintf(&sb, "    %s\n", op)
		}
	}
	sb.WriteString("Out Guards:\n")
	for i, g := range a.guards {
		o.OutGuards = append(o.OutGuards, g.Kind+": "+g.Text)
		sb.WriteString(guardText(i+1, g))
	}
	fmt.Fprintf(&sb, "Compile Times: %s\n", o.CompileTimes)
	return torch.NewExplainOutput(o, sb.String())
}

// guardText is a guard as torch._dynamo.explain prints it. Weak references are None:
// guards of Go programs compare addresses and types.
func guardText(n int, g logs.Guard) string {
	name, source := g.Source, "global"
	switch {
	case g.Kind == "SHAPE_ENV":
		name, source = "", "shape_env"
	case strings.HasPrefix(name, "L["):
		source = "local"
	case !strings.HasPrefix(name, "G["):
		name = ""
	}
	return fmt.Sprintf("  Guard %d:\n    Name: %s\n    Source: %s\n    Create Function: %s\n    Guard Types: [%s]\n    Code List: "+
		"[%s]\n    Object Weakref: None\n    Guarded Class Weakref: None\n",
		n, pyRepr(name), source, g.Kind, pyRepr(g.Kind), pyRepr(g.Text))
}

// pyRepr quotes a text as Python's repr does.
func pyRepr(s string) string {
	quoted := strings.NewReplacer("\\", "\\\\", "\n", "\\n", "\t", "\\t").Replace(s)
	if strings.Contains(s, "'") && !strings.Contains(s, "\"") {
		return "\"" + quoted + "\""
	}
	return "'" + strings.ReplaceAll(quoted, "'", "\\'") + "'"
}
