package export

import (
	"slices"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file makes the recurrent nets of aten, lstm, gru and rnn, of sequences that are all as long: a step is calls of
// operators, and they follow each other in the graph.

// maxSteps bounds the steps of one call, of all layers and directions.
const maxSteps = 1 << 13

// recurrence is what a step hands to the next; c is an LSTM's alone.
type recurrence struct{ h, c ops.Value }

// cell are the weights of one direction of one layer; biases and the projection may be nil.
type cell struct{ ih, hh, biasIH, biasHH, hr ops.Value }

// step computes the state after an input of which the cell's part for inputs, x, is known.
type step func(b builder, w cell, x ops.Value, s recurrence) recurrence

func (b builder) linear(x, weight, bias ops.Value) ops.Value {
	if bias == nil {
		return b.call(ops.Linear, x, weight)
	}
	return b.call(ops.Linear, x, weight, bias)
}

func lstmStep(b builder, w cell, x ops.Value, s recurrence) recurrence {
	g := b.list(ops.Chunk, b.call(ops.Add, x, b.linear(s.h, w.hh, w.biasHH)), sym.C(4), sym.C(1))
	kept := b.call(ops.Mul, b.call(ops.Sigmoid, g[1]), s.c)
	c := b.call(ops.Add, kept, b.call(ops.Mul, b.call(ops.Sigmoid, g[0]), b.call(ops.Tanh, g[2])))
	h := b.call(ops.Mul, b.call(ops.Sigmoid, g[3]), b.call(ops.Tanh, c))
	if w.hr != nil {
		h = b.linear(h, w.hr, nil)
	}
	return recurrence{h, c}
}

func gruStep(b builder, w cell, x ops.Value, s recurrence) recurrence {
	in := b.list(ops.Chunk, x, sym.C(3), sym.C(1))
	old := b.list(ops.Chunk, b.linear(s.h, w.hh, w.biasHH), sym.C(3), sym.C(1))
	reset := b.call(ops.Sigmoid, b.call(ops.Add, in[0], old[0]))
	update := b.call(ops.Sigmoid, b.call(ops.Add, in[1], old[1]))
	fresh := b.call(ops.Tanh, b.call(ops.Add, in[2], b.call(ops.Mul, reset, old[2])))
	return recurrence{h: b.call(ops.Add, b.call(ops.Mul, b.call(ops.Sub, s.h, fresh), update), fresh)}
}

func plainStep(act ops.ID) step {
	return func(b builder, w cell, x ops.Value, s recurrence) recurrence {
		return recurrence{h: b.call(act, b.call(ops.Add, x, b.linear(s.h, w.hh, w.biasHH)))}
	}
}

// net is a call of a recurrent net while it is taken apart.
type net struct {
	builder
	next       step
	cells      []cell // by layer, then direction
	directions int
	steps      int
}

// recurrent makes a net of a kind with so many gates.
func recurrent(gates int, next step) expansion {
	return func(b builder, args map[string]ops.Arg) []ops.Value {
		n := &net{builder: b, next: next, directions: 1}
		if args["bidirectional"] == true {
			n.directions = 2
		}
		x, start := args["input"], n.start(args)
		m := b.meta(x, "input")
		if len(m.Shape) != 3 {
			b.refuse("input has %d dimensions", len(m.Shape))
		}
		if args["batch_first"] == true {
			x = b.call(ops.Transpose, x, sym.C(0), sym.C(1))
			m = b.meta(x, "input")
		}
		count, ok := m.Shape[0].IsConst()
		layers := b.number(args, "num_layers")
		if !ok {
			b.refuse("the number of steps varies")
		}
		if count < 1 || layers < 1 || count > maxSteps || layers > maxSteps || count*layers*int64(n.directions) > maxSteps {
			b.refuse("%d steps of %d layers", count, layers)
		}
		n.steps = int(count)
		n.weights(args, int(layers), start.c != nil, gates)
		y, hs, cs := n.layers(x.(ops.Value), start, args)
		if args["batch_first"] == true {
			y = b.call(ops.Transpose, y, sym.C(0), sym.C(1))
		}
		out := []ops.Value{y, b.call(ops.Stack, hs, sym.C(0))}
		if start.c != nil {
			out = append(out, b.call(ops.Stack, cs, sym.C(0)))
		}
		return out
	}
}

// start is the state before the first step, of all layers and directions.
func (n *net) start(args map[string]ops.Arg) recurrence {
	list, isList := args["hx"].([]ops.Value)
	switch {
	case isList && len(list) == 2:
		return recurrence{list[0], list[1]}
	case !isList && n.tensor(args, "hx") != nil:
		return recurrence{h: n.tensor(args, "hx")}
	}
	n.refuse("hx is no state")
	return recurrence{}
}

// weights deals out params: for each layer and direction weights, biases where there are any, and an LSTM's projection.
func (n *net) weights(args map[string]ops.Arg, layers int, isLSTM bool, gates int) {
	list, _ := args["params"].([]ops.Value)
	count := 2
	biases := args["has_biases"] == true
	if biases {
		count += 2
	}
	cells := layers * n.directions
	projected := isLSTM && len(list) == cells*(count+1)
	if projected {
		count++
	}
	if len(list) != cells*count || slices.Contains(list, nil) {
		n.refuse("%d weights of %d layers", len(list), layers)
	}
	for w := range slices.Chunk(list, count) {
		c := cell{ih: w[0], hh: w[1]}
		if biases {
			c.biasIH, c.biasHH = w[2], w[3]
		}
		if projected {
			c.hr = w[count-1]
		}
		if shape := n.meta(c.hh, "a weight").Shape; len(shape) != 2 || shape[0].Hint()%int64(gates) != 0 {
			n.refuse("a weight of %s", ops.ShapeText(shape))
		}
		n.cells = append(n.cells, c)
	}
}

// layers runs all of them, and gives the outputs of all positions and the last states.
func (n *net) layers(x ops.Value, start recurrence, args map[string]ops.Arg) (y ops.Value, hs, cs []ops.Value) {
	layers := len(n.cells) / n.directions
	for layer := range layers {
		var outs []ops.Value
		for d := range n.directions {
			i := layer*n.directions + d
			s := recurrence{h: n.call(ops.Select, start.h, sym.C(0), sym.C(i))}
			if start.c != nil {
				s.c = n.call(ops.Select, start.c, sym.C(0), sym.C(i))
			}
			out, end := n.direction(n.cells[i], x, s, d == 1)
			outs, hs, cs = append(outs, out), append(hs, end.h), append(cs, end.c)
		}
		if x = outs[0]; n.directions == 2 {
			x = n.call(ops.Cat, outs, sym.C(2))
		}
		if p, _ := args["dropout"].(float64); p > 0 && args["train"] == true && layer+1 < layers {
			x = n.call(ops.Dropout, x, p, true)
		}
	}
	return x, hs, cs
}

// direction runs one direction of one layer.
func (n *net) direction(w cell, x ops.Value, s recurrence, reverse bool) (ops.Value, recurrence) {
	gates := n.list(ops.Unbind, n.linear(x, w.ih, w.biasIH), sym.C(0))
	outs := make([]ops.Value, n.steps)
	for i := range outs {
		at := i
		if reverse {
			at = n.steps - 1 - i
		}
		s = n.next(n.builder, w, gates[at], s)
		outs[at] = s.h
	}
	return n.call(ops.Stack, outs, sym.C(0)), s
}
