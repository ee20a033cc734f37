// Package operators notes the operators of a Go program's calls, as a search for a wrong capture wants
// them (internal/app/results, captureplace.go): each with the line that calls it or the node of the captured
// graph, and digests of what it is given and gives.
package operators

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"tcdbg/backends/numerics"
	"tcdbg/graph"
	"tcdbg/internal/app/results"
	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer"
	"tcdbg/tracer/host"
	"tcdbg/tracer/value"
)

// Noter notes the operators of the outermost calls that are asked for.
type Noter struct {
	of   results.Noting
	out  *results.OperatorWriter
	prog *host.Program
	in   *host.Interp

	begun int          // calls
	call  int          // that is noted, 0: none
	th    *host.Thread // that makes it
	base  *host.Thread // its goroutine's
	inner bool         // an operator runs: what it is made of is not noted
	graph bool         // a graph runs
	wait  []*results.Operator
	on    atomic.Bool // call is set
}

// Start notes the operators of the calls of a run into dir and has c tell of them. Attach is to be called before
// the program runs, Close at its end.
func Start(of results.Noting, dir string, prog *host.Program, c *tracer.Config) (*Noter, error) {
	w, err := results.NoteOperators(dir, fmt.Sprint(os.Getpid()))
	if err != nil {
		return nil, err
	}
	n := &Noter{of: of, out: w, prog: prog}
	c.Calling, c.Wrap = n.begin, func(b tracer.Backend) tracer.Backend { return notedBackend{b, n} }
	torch.WatchCalls(n.operator)
	return n, nil
}

// Attach says what runs the program.
func (n *Noter) Attach(in *host.Interp) { n.in = in }

// Close ends the noting.
func (n *Noter) Close() {
	torch.WatchCalls(nil)
	n.out.Close()
}

// begin is called when an outermost call begins that can reach some tensors.
func (n *Noter) begin(th *host.Thread, reached []*torch.Tensor) {
	n.begun++
	if n.begun < n.of.From || n.begun > n.of.To {
		return
	}
	n.call, n.th, n.base, n.inner, n.wait = n.begun, th, host.ThreadOf(n.in), false, nil
	n.out.Write(results.OperatorLine{Call: n.call, Known: digests(reached)})
	n.on.Store(true)
}

// Ended is called when an outermost call has returned.
func (n *Noter) Ended(list []tracer.Leaf) {
	if n.call == 0 {
		return
	}
	n.on.Store(false)
	var out []*torch.Tensor
	for _, l := range list {
		if t, ok := l.Value.(*torch.Tensor); ok {
			out = append(out, t)
		}
	}
	n.out.Write(results.OperatorLine{Call: n.call, Out: digests(out)})
	n.call = 0
}

// operator is called before an operator runs.
func (n *Noter) operator(row *ops.Op, args []ops.Arg) func(outs []torch.Value) {
	if !n.on.Load() || !n.graph && host.ThreadOf(n.in) != n.base || n.inner {
		return nil
	}
	tensors := tensorsOf(args)
	if slices.ContainsFunc(tensors, unreal) {
		return nil // a trace works with tensors that have no numbers
	}
	n.inner = true
	op := &results.Operator{Name: row.Name, Text: callText(row, args), Args: digests(tensors)}
	return func(outs []torch.Value) {
		n.inner = false
		var list []*torch.Tensor
		for _, v := range outs {
			list = append(list, tensorsOf([]ops.Arg{v})...)
		}
		if slices.ContainsFunc(list, unreal) {
			return
		}
		op.Outs = digests(list)
		if strings.Contains(row.Name, "empty") { // there is whatever was in that memory
			for i := range op.Outs {
				op.Outs[i].Sum, op.Outs[i].Sketch = "", nil
			}
		}
		if n.graph {
			n.wait = append(n.wait, op)
			return
		}
		op.Pos = n.line()
		n.out.Write(results.OperatorLine{Call: n.call, Operator: op})
	}
}

func unreal(t *torch.Tensor) bool {
	return t.Fake() != nil || t.Storage() == nil || t.Device() == ops.Meta
}

// line is where the program calls an operator.
func (n *Noter) line() *logs.Pos {
	for f := n.th.Top(); f != nil; f = f.Caller {
		c := f.CallSite()
		if c == nil {
			continue
		}
		if p := n.prog.Pos(c); p.IsValid() {
			return &logs.Pos{
				File: filepath.ToSlash(p.Filename), Line: p.Line, Col: p.Column, Func: value.FuncName(c.Parent()),
				Code: strings.TrimRight(n.prog.SourceLine(p.Filename, p.Line), " \t\r"),
			}
		}
	}
	return nil
}

// notedBackend runs graphs operator by operator and says of which node each is.
type notedBackend struct {
	tracer.Backend
	n *Noter
}

func (b notedBackend) Compile(r *tracer.Request) (tracer.Runnable, error) {
	run, err := b.Backend.Compile(r)
	if err != nil {
		return nil, err
	}
	g := r.Module.G
	return func(in []torch.Value) []torch.Value {
		if !b.n.on.Load() || b.n.graph {
			return run(in)
		}
		return b.n.run(g, in)
	}, nil
}

func (n *Noter) run(g *graph.Graph, in []torch.Value) []torch.Value {
	n.graph, n.wait = true, nil
	defer func() { n.graph, n.inner = false, false }()
	n.out.Write(results.OperatorLine{Call: n.call, Graphs: 1})
	return g.RunEach(in, func(node *graph.Node) {
		for _, op := range n.wait {
			op.Node, op.Pos = node.Name, numerics.PosOf(node)
			n.out.Write(results.OperatorLine{Call: n.call, Operator: op})
		}
		n.wait = nil
	})
}

// tensorsOf are the tensors among arguments.
func tensorsOf(args []ops.Arg) (out []*torch.Tensor) {
	for _, a := range args {
		switch a := a.(type) {
		case *torch.Tensor:
			if a != nil {
				out = append(out, a)
			}
		case []*torch.Tensor:
			out = append(out, a...)
		case []ops.Value:
			for _, v := range a {
				out = append(out, tensorsOf([]ops.Arg{v})...)
			}
		}
	}
	return out
}

// callText is a call as a report shows it: mul(float32[4], 3).
func callText(row *ops.Op, args []ops.Arg) string {
	var list []string
	for _, a := range args {
		list = append(list, argText(a))
	}
	for len(list) > 0 && list[len(list)-1] == "nil" { // arguments that are left out
		list = list[:len(list)-1]
	}
	return row.Name + "(" + strings.Join(list, ", ") + ")"
}

func argText(a ops.Arg) string {
	switch a := a.(type) {
	case nil:
		return "nil"
	case *torch.Tensor:
		if a == nil {
			return "nil"
		}
		return typeText(a)
	case sym.Int:
		return fmt.Sprint(a.Hint())
	case []sym.Int:
		return fmt.Sprint(sym.Hints(a))
	case []*torch.Tensor, []ops.Value:
		var list []string
		for _, t := range tensorsOf([]ops.Arg{a}) {
			list = append(list, typeText(t))
		}
		return "[" + strings.Join(list, ", ") + "]"
	}
	return fmt.Sprint(a)
}

func typeText(t *torch.Tensor) string { return t.DType().Name() + fmt.Sprint(t.Shape()) }

func digests(list []*torch.Tensor) []results.Digest {
	out := make([]results.Digest, len(list))
	for i, t := range list {
		out[i] = digest(t)
	}
	return out
}

// digest stands for the numbers of a tensor.
func digest(t *torch.Tensor) results.Digest {
	d := results.Digest{Type: typeText(t)}
	if unreal(t) {
		return d
	}
	h := sha256.New()
	fmt.Fprint(h, d.Type)
	v := Values(t)
	buf := make([]byte, 0, 8*(len(v.Floats)+len(v.Ints)))
	for _, x := range v.Floats {
		buf = binary.LittleEndian.AppendUint64(buf, math.Float64bits(x))
	}
	for _, x := range v.Ints {
		buf = binary.LittleEndian.AppendUint64(buf, uint64(x))
	}
	h.Write(buf)
	d.Sum = hex.EncodeToString(h.Sum(nil)[:12])
	d.Sketch = results.SketchOf(v.Floats)
	return d
}

// Values reads the numbers of a tensor.
func Values(x *torch.Tensor) results.Values {
	switch x.DType() {
	case ops.Float16, ops.BFloat16, ops.Float32, ops.Float64:
		return results.Values{Floats: x.Float64s()}
	case ops.Complex64:
		var out []float64
		for _, c := range x.Complex64s() {
			out = append(out, float64(real(c)), float64(imag(c)))
		}
		return results.Values{Floats: out}
	}
	v := results.Values{Ints: x.Int64s()}
	if v.Ints == nil {
		v.Ints = []int64{}
	}
	return v
}
