package nn

import (
	"fmt"
	"math"
	"slices"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	F "tcdbg/torch/nn/functional"
)

// This file is RNN, GRU and LSTM: layers of steps over sequences, in one
// direction or both.

// RNNBase is what the recurrent nets share. Its weights are named as PyTorch
// names them: weight_ih_l0, bias_hh_l1_reverse.
type RNNBase struct {
	Training
	Mode                             string // RNN_TANH, RNN_RELU, LSTM, GRU
	InputSize, HiddenSize, NumLayers int
	ProjSize                         int // 0 without projection
	BatchFirst, Bidirectional        bool
	DropoutP                         float64
	weights                          []*recurrentWeights // by layer, then direction
}

func newRNN(class, mode string, in, hidden int, opts []torch.Option, more ...string) RNNBase {
	known(class, opts, append([]string{"num_layers", "bias", "batch_first", "dropout", "bidirectional", "dtype", "device"}, more...)...)
	r := RNNBase{
		Mode: mode, InputSize: in, HiddenSize: hidden, NumLayers: option(opts, "num_layers", 1), ProjSize: option(opts, "proj_size", 0),
		BatchFirst: option(opts, "batch_first", false), Bidirectional: option(opts, "bidirectional", false),
		DropoutP: option(opts, "dropout", 0.0),
	}
	r.check(class)
	for layer := range r.NumLayers {
		width := in
		if layer > 0 {
			width = r.outputSize() * r.directions()
		}
		for range r.directions() {
			r.weights = append(r.weights, r.newWeights(width, opts))
		}
	}
	r.ResetParameters()
	return r
}

func (r *RNNBase) check(class string) {
	refuse := func(format string, args ...any) {
		panic(&torch.Error{Op: class, Kind: "ValueError", Msg: fmt.Sprintf(format, args...)})
	}
	switch {
	case r.HiddenSize <= 0:
		refuse("hidden_size must be greater than zero")
	case r.NumLayers <= 0:
		refuse("num_layers must be greater than zero")
	case r.DropoutP < 0 || r.DropoutP > 1:
		refuse("dropout should be a number in range [0, 1] representing the probability of an element being zeroed")
	case r.ProjSize < 0:
		refuse("proj_size should be a positive integer or zero to disable projections")
	case r.ProjSize >= r.HiddenSize:
		refuse("proj_size has to be smaller than hidden_size")
	}
}

func (r *RNNBase) newWeights(in int, opts []torch.Option) *recurrentWeights {
	n := gateCount(r.Mode) * r.HiddenSize
	w := &recurrentWeights{weightIh: parameter(opts, n, in), weightHh: parameter(opts, n, r.outputSize())}
	if option(opts, "bias", true) {
		w.biasIh, w.biasHh = parameter(opts, n), parameter(opts, n)
	}
	if r.ProjSize > 0 {
		w.weightHr = parameter(opts, r.ProjSize, r.HiddenSize)
	}
	return w
}

// directions is 2 for a bidirectional net.
func (r *RNNBase) directions() int {
	if r.Bidirectional {
		return 2
	}
	return 1
}

// outputSize is the length of one direction's output.
func (r *RNNBase) outputSize() int {
	if r.ProjSize > 0 {
		return r.ProjSize
	}
	return r.HiddenSize
}

// ResetParameters draws the weights again.
func (r *RNNBase) ResetParameters() {
	bound := 1 / math.Sqrt(float64(r.HiddenSize))
	for _, f := range r.Parts() {
		Uniform_(f.Value.(*torch.Tensor), -bound, bound)
	}
}

// Parts lists the weights under PyTorch's names.
func (r *RNNBase) Parts() []torch.Field {
	var out []torch.Field
	for i, w := range r.weights {
		suffix := fmt.Sprintf("_l%d", i/r.directions())
		if i%r.directions() == 1 {
			suffix += "_reverse"
		}
		for _, f := range []torch.Field{
			{Name: "weight_ih", Value: w.weightIh},
			{Name: "weight_hh", Value: w.weightHh},
			{Name: "bias_ih", Value: w.biasIh},
			{Name: "bias_hh", Value: w.biasHh},
			{Name: "weight_hr", Value: w.weightHr},
		} {
			if f.Value.(*torch.Tensor) != nil {
				f.Name += suffix
				out = append(out, f)
			}
		}
	}
	return out
}

// run applies the net to a sequence; s is the state of all layers and
// directions before it, [layers*directions, batch, size], or nil for zeros.
func (r *RNNBase) run(class string, x *torch.Tensor, s recurrentState) (*torch.Tensor, recurrentState) {
	if n := x.Dim(); n != 2 && n != 3 {
		panic(&torch.Error{Op: class, Kind: "ValueError", Msg: fmt.Sprintf("%s: Expected input to be 2D or 3D, got %dD instead", class, n)})
	}
	if n := x.Size(-1); n != r.InputSize {
		panic(&torch.Error{
			Op: class, Kind: "RuntimeError",
			Msg: fmt.Sprintf("input.size(-1) must be equal to input_size. Expected %d, got %d", r.InputSize, n),
		})
	}
	single := x.Dim() == 2
	switch {
	case single:
		x = x.Unsqueeze(1)
		s = s.each(func(t *torch.Tensor) *torch.Tensor { return t.Unsqueeze(1) })
	case r.BatchFirst:
		x = x.Transpose(0, 1)
	}
	time, batch := x.Size(0), x.Size(1)
	sizes := make([]int, time)
	for i := range sizes {
		sizes[i] = batch
	}
	y, s := r.layers(class, x.Reshape(time*batch, x.Size(2)), sizes, s)
	y = y.View(time, batch, y.Size(1))
	switch {
	case single:
		y = y.Squeeze(1)
		s = s.each(func(t *torch.Tensor) *torch.Tensor { return t.Squeeze(1) })
	case r.BatchFirst:
		y = y.Transpose(0, 1)
	}
	return y, s
}

// runPacked is run for sequences of different lengths.
func (r *RNNBase) runPacked(class string, p *PackedSequence, s recurrentState) (*PackedSequence, recurrentState) {
	if p.SortedIndices != nil {
		s = s.each(func(t *torch.Tensor) *torch.Tensor { return t.IndexSelect(1, p.SortedIndices) })
	}
	y, s := r.layers(class, p.Data, p.BatchSizes, s)
	if p.UnsortedIndices != nil {
		s = s.each(func(t *torch.Tensor) *torch.Tensor { return t.IndexSelect(1, p.UnsortedIndices) })
	}
	return &PackedSequence{y, p.BatchSizes, p.SortedIndices, p.UnsortedIndices}, s
}

// layers applies all layers to positions that lie one after the other, the
// first sizes[0] rows of x being the first position of each sequence, the next
// sizes[1] the second, of those that are as long.
func (r *RNNBase) layers(class string, x *torch.Tensor, sizes []int, s recurrentState) (*torch.Tensor, recurrentState) {
	s = r.initial(class, x, sizes[0], s)
	dirs := r.directions()
	var hs, cs []*torch.Tensor
	for layer := range r.NumLayers {
		var outs []*torch.Tensor
		for d := range dirs {
			i := layer*dirs + d
			from := recurrentState{h: s.h.Select(0, i)}
			if s.c != nil {
				from.c = s.c.Select(0, i)
			}
			y, end := r.direction(r.weights[i], x, sizes, from, d == 1)
			outs = append(outs, y)
			hs = append(hs, end.h)
			if end.c != nil {
				cs = append(cs, end.c)
			}
		}
		x = outs[0]
		if dirs == 2 {
			x = torch.Cat(outs, kw.Dim(1))
		}
		if r.DropoutP > 0 && r.IsTraining() && layer+1 < r.NumLayers {
			x = F.Dropout(x, kw.P(r.DropoutP))
		}
	}
	end := recurrentState{h: torch.Stack(hs)}
	if cs != nil {
		end.c = torch.Stack(cs)
	}
	return x, end
}

// initial checks a given state and makes zeros of a missing one.
func (r *RNNBase) initial(class string, x *torch.Tensor, batch int, s recurrentState) recurrentState {
	given := func(name string, t *torch.Tensor, size int) *torch.Tensor {
		want := []int{r.NumLayers * r.directions(), batch, size}
		if t == nil {
			return torch.Zeros(want, kw.Dtype(x.DType()), kw.Device(x.Device()))
		}
		if !slices.Equal(t.Shape(), want) {
			panic(&torch.Error{Op: class, Kind: "RuntimeError", Msg: fmt.Sprintf("Expected %s size %v, got %v", name, want, t.Shape())})
		}
		return t
	}
	if r.Mode != "LSTM" {
		return recurrentState{h: given("hidden", s.h, r.outputSize())}
	}
	return recurrentState{given("hidden[0]", s.h, r.outputSize()), given("hidden[1]", s.c, r.HiddenSize)}
}

// direction runs one direction of a layer and returns the outputs of all
// positions and the last state of each sequence.
func (r *RNNBase) direction(
	w *recurrentWeights, x *torch.Tensor, sizes []int, s recurrentState, reverse bool,
) (*torch.Tensor, recurrentState) {
	gates := affine(x, w.weightIh, w.biasIh).Split(sizes)
	if reverse {
		return r.backward(w, gates, sizes, s)
	}
	next := stepOf(r.Mode)
	outs := make([]*torch.Tensor, len(sizes))
	var ended []recurrentState // last states of sequences, shortest first
	for t, n := range sizes {
		if n < s.h.Size(0) {
			ended = append(ended, s.from(n))
			s = s.rows(n)
		}
		s = next(w, gates[t], s)
		outs[t] = s.h
	}
	parts := []recurrentState{s}
	for i := len(ended) - 1; i >= 0; i-- {
		parts = append(parts, ended[i])
	}
	return torch.Cat(outs), stackStates(parts)
}

// backward is direction from the last position to the first: a sequence comes
// in at its own last position.
func (r *RNNBase) backward(w *recurrentWeights, gates []*torch.Tensor, sizes []int, start recurrentState) (*torch.Tensor, recurrentState) {
	next := stepOf(r.Mode)
	outs := make([]*torch.Tensor, len(sizes))
	s := start.rows(sizes[len(sizes)-1])
	for t := len(sizes) - 1; t >= 0; t-- {
		if have := s.h.Size(0); sizes[t] > have {
			s = stackStates([]recurrentState{s, start.rows(sizes[t]).from(have)})
		}
		s = next(w, gates[t], s)
		outs[t] = s.h
	}
	return torch.Cat(outs), s
}

// RNN is a recurrent net of tanh or ReLU.
type RNN struct{ RNNBase }

// NewRNN makes an RNN. Options: kw.NumLayers(1), kw.Nonlinearity("tanh"),
// kw.Bias(true), kw.BatchFirst(false), kw.Dropout(0.0), kw.Bidirectional(false),
// kw.Dtype, kw.Device.
func NewRNN(in, hidden int, opts ...torch.Option) *RNN {
	return &RNN{newRNN("RNN", rnnMode("RNN", opts), in, hidden, opts, "nonlinearity")}
}

// Forward takes a sequence, float32[time, batch, in] (or [batch, time, in] with
// BatchFirst, or [time, in]), and the state before it, float32[layers*directions,
// batch, hidden] (zeros where left out), to the outputs of all positions and the
// last state.
func (r *RNN) Forward(x *torch.Tensor, h ...*torch.Tensor) (out, hn *torch.Tensor) {
	y, s := r.run("RNN", x, recurrentState{h: first(h)})
	return y, s.h
}

// ForwardPacked is Forward for sequences of different lengths.
func (r *RNN) ForwardPacked(x *PackedSequence, h ...*torch.Tensor) (out *PackedSequence, hn *torch.Tensor) {
	y, s := r.runPacked("RNN", x, recurrentState{h: first(h)})
	return y, s.h
}

// GRU is a net of gated recurrent units.
type GRU struct{ RNNBase }

// NewGRU makes a GRU; options as NewRNN's but for the nonlinearity.
func NewGRU(in, hidden int, opts ...torch.Option) *GRU {
	return &GRU{newRNN("GRU", "GRU", in, hidden, opts)}
}

// Forward is as RNN's.
func (r *GRU) Forward(x *torch.Tensor, h ...*torch.Tensor) (out, hn *torch.Tensor) {
	y, s := r.run("GRU", x, recurrentState{h: first(h)})
	return y, s.h
}

// ForwardPacked is Forward for sequences of different lengths.
func (r *GRU) ForwardPacked(x *PackedSequence, h ...*torch.Tensor) (out *PackedSequence, hn *torch.Tensor) {
	y, s := r.runPacked("GRU", x, recurrentState{h: first(h)})
	return y, s.h
}

// LSTM is a net of long short-term memories.
type LSTM struct{ RNNBase }

// NewLSTM makes an LSTM; options as NewGRU's, and kw.ProjSize(0).
func NewLSTM(in, hidden int, opts ...torch.Option) *LSTM {
	return &LSTM{newRNN("LSTM", "LSTM", in, hidden, opts, "proj_size")}
}

// Forward is as RNN's, with a hidden and a cell state.
func (r *LSTM) Forward(x *torch.Tensor, hc ...*torch.Tensor) (out, hn, cn *torch.Tensor) {
	y, s := r.run("LSTM", x, pairOf("LSTM", hc))
	return y, s.h, s.c
}

// ForwardPacked is Forward for sequences of different lengths.
func (r *LSTM) ForwardPacked(x *PackedSequence, hc ...*torch.Tensor) (out *PackedSequence, hn, cn *torch.Tensor) {
	y, s := r.runPacked("LSTM", x, pairOf("LSTM", hc))
	return y, s.h, s.c
}
