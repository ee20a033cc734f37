package nn

import (
	"fmt"
	"math"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	F "tcdbg/torch/nn/functional"
)

// This file is one step of each kind of recurrent net: what a cell does, and a
// layer does at each position of a sequence.

// recurrentWeights are the parameters of one direction of one layer.
type recurrentWeights struct {
	weightIh, weightHh *torch.Tensor
	biasIh, biasHh     *torch.Tensor // nil without bias
	weightHr           *torch.Tensor // an LSTM's projection; nil without
}

// recurrentState is what a step hands to the next; c is an LSTM's alone.
type recurrentState struct{ h, c *torch.Tensor }

// rows keeps the first n rows of the state.
func (s recurrentState) rows(n int) recurrentState {
	if s.h.Size(0) == n {
		return s
	}
	out := recurrentState{h: s.h.Narrow(0, 0, n)}
	if s.c != nil {
		out.c = s.c.Narrow(0, 0, n)
	}
	return out
}

// from is the rows of the state from row n on.
func (s recurrentState) from(n int) recurrentState {
	out := recurrentState{h: s.h.Narrow(0, n, s.h.Size(0)-n)}
	if s.c != nil {
		out.c = s.c.Narrow(0, n, s.c.Size(0)-n)
	}
	return out
}

// stack puts rows of several states one after the other.
func stackStates(parts []recurrentState) recurrentState {
	if len(parts) == 1 {
		return parts[0]
	}
	var h, c []*torch.Tensor
	for _, p := range parts {
		h = append(h, p.h)
		if p.c != nil {
			c = append(c, p.c)
		}
	}
	out := recurrentState{h: torch.Cat(h)}
	if c != nil {
		out.c = torch.Cat(c)
	}
	return out
}

// affine is x w^T + b; b may be nil.
func affine(x, w, b *torch.Tensor) *torch.Tensor {
	if b == nil {
		return F.Linear(x, w)
	}
	return F.Linear(x, w, kw.Bias(b))
}

// step computes the state after an input whose gates, affine(x, weightIh,
// biasIh), are known.
type step func(w *recurrentWeights, gates *torch.Tensor, s recurrentState) recurrentState

// gateCount is how many gates each kind of net has.
func gateCount(mode string) int {
	switch mode {
	case "LSTM":
		return 4
	case "GRU":
		return 3
	}
	return 1
}

// stepOf returns the step of a kind of net.
func stepOf(mode string) step {
	switch mode {
	case "LSTM":
		return lstmStep
	case "GRU":
		return gruStep
	case "RNN_RELU":
		return func(w *recurrentWeights, gates *torch.Tensor, s recurrentState) recurrentState {
			return recurrentState{h: gates.Add(affine(s.h, w.weightHh, w.biasHh)).Relu()}
		}
	}
	return func(w *recurrentWeights, gates *torch.Tensor, s recurrentState) recurrentState {
		return recurrentState{h: gates.Add(affine(s.h, w.weightHh, w.biasHh)).Tanh()}
	}
}

func lstmStep(w *recurrentWeights, gates *torch.Tensor, s recurrentState) recurrentState {
	g := gates.Add(affine(s.h, w.weightHh, w.biasHh)).Chunk(4, kw.Dim(1))
	c := g[1].Sigmoid().Mul(s.c).Add(g[0].Sigmoid().Mul(g[2].Tanh()))
	h := g[3].Sigmoid().Mul(c.Tanh())
	if w.weightHr != nil {
		h = F.Linear(h, w.weightHr)
	}
	return recurrentState{h, c}
}

func gruStep(w *recurrentWeights, gates *torch.Tensor, s recurrentState) recurrentState {
	in := gates.Chunk(3, kw.Dim(1))
	hidden := affine(s.h, w.weightHh, w.biasHh).Chunk(3, kw.Dim(1))
	reset := in[0].Add(hidden[0]).Sigmoid()
	update := in[1].Add(hidden[1]).Sigmoid()
	fresh := in[2].Add(reset.Mul(hidden[2])).Tanh()
	return recurrentState{h: s.h.Sub(fresh).Mul(update).Add(fresh)}
}

// RNNCellBase is what the cells share.
type RNNCellBase struct {
	WeightIh, WeightHh    *torch.Tensor
	BiasIh, BiasHh        *torch.Tensor // nil without bias
	InputSize, HiddenSize int
	mode                  string
}

func newCell(class, mode string, in, hidden int, opts []torch.Option) RNNCellBase {
	if hidden <= 0 {
		panic(&torch.Error{Op: class, Kind: "ValueError", Msg: fmt.Sprintf("hidden_size must be greater than zero, got %d", hidden)})
	}
	n := gateCount(mode) * hidden
	c := RNNCellBase{WeightIh: parameter(opts, n, in), WeightHh: parameter(opts, n, hidden), InputSize: in, HiddenSize: hidden, mode: mode}
	if option(opts, "bias", true) {
		c.BiasIh, c.BiasHh = parameter(opts, n), parameter(opts, n)
	}
	bound := 1 / math.Sqrt(float64(hidden))
	for _, p := range []*torch.Tensor{c.WeightIh, c.WeightHh, c.BiasIh, c.BiasHh} {
		if p != nil {
			Uniform_(p, -bound, bound)
		}
	}
	return c
}

// next takes an input, float32[batch, in] or float32[in], and a state (nil
// parts: zeros) to the next state.
func (c *RNNCellBase) next(class string, x *torch.Tensor, s recurrentState) recurrentState {
	if n := x.Dim(); n != 1 && n != 2 {
		panic(&torch.Error{Op: class, Kind: "ValueError", Msg: fmt.Sprintf("%s: Expected input to be 1D or 2D, got %dD instead", class, n)})
	}
	single := x.Dim() == 1
	if single {
		x = x.Unsqueeze(0)
		s = s.each(func(t *torch.Tensor) *torch.Tensor { return t.Unsqueeze(0) })
	}
	if s.h == nil {
		s.h = torch.Zeros(x.Size(0), c.HiddenSize, kw.Dtype(x.DType()), kw.Device(x.Device()))
	}
	if s.c == nil && c.mode == "LSTM" {
		s.c = torch.Zeros(x.Size(0), c.HiddenSize, kw.Dtype(x.DType()), kw.Device(x.Device()))
	}
	w := &recurrentWeights{weightIh: c.WeightIh, weightHh: c.WeightHh, biasIh: c.BiasIh, biasHh: c.BiasHh}
	s = stepOf(c.mode)(w, affine(x, w.weightIh, w.biasIh), s)
	if single {
		s = s.each(func(t *torch.Tensor) *torch.Tensor { return t.Squeeze(0) })
	}
	return s
}

// each applies f to the parts that are there.
func (s recurrentState) each(f func(*torch.Tensor) *torch.Tensor) recurrentState {
	if s.h != nil {
		s.h = f(s.h)
	}
	if s.c != nil {
		s.c = f(s.c)
	}
	return s
}

// RNNCell is one step of an RNN.
type RNNCell struct{ RNNCellBase }

// NewRNNCell makes an RNNCell. Options: kw.Bias(true),
// kw.Nonlinearity("tanh" or "relu"), kw.Dtype, kw.Device.
func NewRNNCell(in, hidden int, opts ...torch.Option) *RNNCell {
	known("RNNCell", opts, "bias", "nonlinearity", "dtype", "device")
	return &RNNCell{newCell("RNNCell", rnnMode("RNNCell", opts), in, hidden, opts)}
}

// Forward takes an input and the state so far (zeros where left out) to the
// next state.
func (c *RNNCell) Forward(x *torch.Tensor, h ...*torch.Tensor) *torch.Tensor {
	return c.next("RNNCell", x, recurrentState{h: first(h)}).h
}

// GRUCell is one step of a GRU.
type GRUCell struct{ RNNCellBase }

// NewGRUCell makes a GRUCell. Options: kw.Bias(true), kw.Dtype, kw.Device.
func NewGRUCell(in, hidden int, opts ...torch.Option) *GRUCell {
	known("GRUCell", opts, "bias", "dtype", "device")
	return &GRUCell{newCell("GRUCell", "GRU", in, hidden, opts)}
}

// Forward takes an input and the state so far (zeros where left out) to the
// next state.
func (c *GRUCell) Forward(x *torch.Tensor, h ...*torch.Tensor) *torch.Tensor {
	return c.next("GRUCell", x, recurrentState{h: first(h)}).h
}

// LSTMCell is one step of an LSTM.
type LSTMCell struct{ RNNCellBase }

// NewLSTMCell makes an LSTMCell. Options: kw.Bias(true), kw.Dtype, kw.Device.
func NewLSTMCell(in, hidden int, opts ...torch.Option) *LSTMCell {
	known("LSTMCell", opts, "bias", "dtype", "device")
	return &LSTMCell{newCell("LSTMCell", "LSTM", in, hidden, opts)}
}

// Forward takes an input and the hidden and cell state so far (both zeros where
// left out) to the next ones.
func (c *LSTMCell) Forward(x *torch.Tensor, hc ...*torch.Tensor) (h, cell *torch.Tensor) {
	s := c.next("LSTMCell", x, pairOf("LSTMCell", hc))
	return s.h, s.c
}

// first is the state that an optional argument gives; nil without one.
func first(h []*torch.Tensor) *torch.Tensor {
	if len(h) == 0 {
		return nil
	}
	return h[0]
}

// pairOf is the state that an optional pair of arguments gives.
func pairOf(class string, hc []*torch.Tensor) recurrentState {
	switch len(hc) {
	case 0:
		return recurrentState{}
	case 2:
		return recurrentState{hc[0], hc[1]}
	}
	panic(&torch.Error{
		Op: class, Kind: "ValueError",
		Msg: fmt.Sprintf("%s: expected the hidden and the cell state, got %d tensors", class, len(hc)),
	})
}

// rnnMode reads the nonlinearity of a plain RNN.
func rnnMode(class string, opts []torch.Option) string {
	switch f := option(opts, "nonlinearity", "tanh"); f {
	case "tanh":
		return "RNN_TANH"
	case "relu":
		return "RNN_RELU"
	default:
		panic(&torch.Error{Op: class, Kind: "ValueError", Msg: fmt.Sprintf("Unknown nonlinearity '%s'. Select from 'tanh' or 'relu'.", f)})
	}
}
