package onnx

import (
	"tcdbg/ops"
	"tcdbg/torch/export"
)

// This file is control flow: a choice is ONNX's If, a loop its Loop, a scan and a map its Scan. What a body reads from
// outside it reads by its name there.

// flow writes a call of control flow.
func (c *converter) flow(n *export.Node) (err error) {
	var by string
	var bodies []*export.Program
	var lists [][]string
	k := &call{converter: c, n: n}
	outs, err := k.run(func(*call) []string {
		for _, a := range n.Args {
			switch v := a.Value.(type) {
			case *export.Sub:
				bodies = append(bodies, v.Body)
			case []export.Arg:
				var names []string
				for _, e := range v {
					names = append(names, k.value(e))
				}
				lists = append(lists, names)
			default:
				by = k.value(v)
			}
		}
		switch n.FlowOp() {
		case "cond":
			return c.choice(by, bodies, lists[0])
		case "while_loop":
			return c.loop(bodies[0], bodies[1], lists[0], lists[1])
		case "scan":
			return c.scan(bodies[0], lists[0], lists[1], lists[2])
		case "map_impl":
			return c.scan(bodies[0], nil, lists[0], lists[1])
		}
		panic(errForm(""))
	})
	if err != nil {
		return err
	}
	for i, name := range resultsOf(n) {
		if i >= len(outs) {
			return errForm("it has more results than its graph gives")
		}
		c.names[name] = outs[i]
	}
	return nil
}

// value is the name of a tensor.
func (k *call) value(a export.Arg) string {
	name := k.ref(a)
	if name == "" {
		refuse("it takes a value that is no tensor")
	}
	return name
}

// inner writes a graph that a call takes: given are the names of what it takes.
func (c *converter) inner(p *export.Program, given []string, graph *message) (*converter, []string) {
	if len(given) != len(p.Inputs) {
		refuse("it hands %d values to a graph of %d", len(given), len(p.Inputs))
	}
	b := *c
	b.p, b.graph, b.names, b.alias = p, graph, map[string]string{}, map[string]string{}
	for i := range p.Inputs {
		b.names[p.Inputs[i].Name] = given[i]
	}
	for i := range p.Nodes {
		b.node(i)
	}
	var outs []string
	for _, o := range p.Outputs {
		ref, ok := o.Value.(export.Ref)
		if !ok || p.Value(string(ref)) == nil {
			refuse("a graph gives what is no tensor")
		}
		outs = append(outs, b.names[string(ref)])
	}
	c.fresh, c.constants = b.fresh, b.constants
	return &b, outs
}

// takes declares an input of a body and returns its name.
func (c *converter) takes(graph *message, t *export.Tensor) string {
	name := c.name("given")
	graph.part(11, c.info(name, t))
	return name
}

// gives has values be the outputs of a body, each a value of its own.
func (c *converter) gives(b *converter, outs []string, tensors []*export.Tensor) {
	for i, from := range outs {
		b.fresh = c.fresh
		name := b.name("result")
		b.emitTo("Identity", nil, []string{from}, name)
		b.graph.part(12, b.info(name, tensors[i]))
		c.fresh = b.fresh
	}
	b.graph.text(2, c.name("body"))
}

func outputTensors(p *export.Program) []*export.Tensor {
	var out []*export.Tensor
	for _, o := range p.Outputs {
		ref, _ := o.Value.(export.Ref)
		out = append(out, p.Value(string(ref)))
	}
	return out
}

func (c *converter) results(n int, base string) []string {
	var out []string
	for range n {
		out = append(out, c.name(base))
	}
	return out
}

// choice is If: its branches read what they take from outside.
func (c *converter) choice(by string, bodies []*export.Program, given []string) []string {
	a := attrs{}
	for i, key := range []string{"then_branch", "else_branch"} {
		b, outs := c.inner(bodies[i], given, &message{})
		c.gives(b, outs, outputTensors(bodies[i]))
		a[key] = b.graph
	}
	to := c.results(len(bodies[0].Outputs), "chosen")
	c.emitTo("If", a, []string{by}, to...)
	return to
}

// loop is Loop, whose body ends with the condition of the next round.
func (c *converter) loop(more, round *export.Program, carried, rest []string) []string {
	_, first := c.inner(more, append(carried[:len(carried):len(carried)], rest...), c.graph)
	graph := &message{}
	scalar := &export.Tensor{DType: ops.Bool}
	c.takes(graph, &export.Tensor{DType: ops.Int64})
	c.takes(graph, scalar)
	var given []string
	for i := range carried {
		given = append(given, c.takes(graph, round.Inputs[i].Tensor))
	}
	_, next := c.inner(round, append(given, rest...), graph)
	b, again := c.inner(more, append(next[:len(next):len(next)], rest...), graph)
	c.gives(b, append(again, next...), append([]*export.Tensor{scalar}, outputTensors(round)...))
	to := c.results(len(carried), "looped")
	c.emitTo("Loop", attrs{"body": graph}, append([]string{"", first[0]}, carried...), to...)
	return to
}

// scan is Scan: what is carried, then slices.
func (c *converter) scan(body *export.Program, carried, sliced, rest []string) []string {
	graph := &message{}
	var given []string
	for i := range len(carried) + len(sliced) {
		given = append(given, c.takes(graph, body.Inputs[i].Tensor))
	}
	b, outs := c.inner(body, append(given, rest...), graph)
	c.gives(b, outs, outputTensors(body))
	to := c.results(len(outs), "scanned")
	c.emitTo("Scan", attrs{"body": graph, "num_scan_inputs": len(sliced)}, append(carried[:len(carried):len(carried)], sliced...), to...)
	return to
}
