package numerics

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// This file runs a graph on copies of its inputs and lists what comes out: its outputs, the
// inputs that it writes, and the gradients of its inputs for a fixed gradient of its outputs.

// result is one value that a run gives.
type result struct {
	what string
	t    *torch.Tensor
	same bool // an input that the run has not changed
}

// subject is a graph with the inputs of one call.
type subject struct {
	g      *graph.Graph
	in     []torch.Value // copies, which no run changes
	train  bool          // gradients are compared
	rewind func()        // puts the generator of random numbers where it was
	random bool
	made   []bool // [] /* input */ it is a result of something, which may be written in place
}

// newSubject copies the inputs of a call. why says what is not compared.
func newSubject(g *graph.Graph, in []torch.Value) (s *subject, why string) {
	s = &subject{
		g: g, in: copyInputs(in, false), train: trains(in), rewind: torch.RandomState(), random: drawsRandom(g),
		made: make([]bool, len(in)),
	}
	shown := map[*torch.Storage]int{}
	for _, v := range in {
		if t := tensor(v); hasData(t) {
			shown[t.Storage()]++
		}
	}
	for i, v := range in {
		if t := tensor(v); hasData(t) && t.RequiresGrad() && !t.IsLeaf() {
			s.made[i] = true
			if shown[t.Storage()] > 1 && s.train {
				s.train, why = false, "gradients: inputs share memory"
			}
		}
	}
	return s, why
}

// trains reports whether the inputs of a call want gradients.
func trains(in []torch.Value) bool {
	return torch.GradEnabled() && slices.ContainsFunc(in, func(v torch.Value) bool {
		t := tensor(v)
		return t != nil && t.RequiresGrad()
	})
}

func tensor(v torch.Value) *torch.Tensor {
	t, _ := v.(*torch.Tensor)
	return t
}

func drawsRandom(g *graph.Graph) bool {
	return slices.ContainsFunc(g.Nodes(), func(n *graph.Node) bool {
		if n.Apply != nil {
			return drawsRandom(n.Apply.Forward) || drawsRandom(n.Apply.Backward)
		}
		return n.Op != ops.None && n.OpRow().Tags.Has(ops.TagRandom)
	})
}

// copyInputs copies the memory of inputs: those that share it share the copy. wide makes
// narrower floats float64; it gives nil where two of them see one memory in different types.
func copyInputs(in []torch.Value, wide bool) []torch.Value {
	type memory struct {
		st *torch.Storage
		as ops.DType
	}
	seen := map[*torch.Storage]memory{}
	out := make([]torch.Value, len(in))
	for i, v := range in {
		out[i] = v
		t := tensor(v)
		if t == nil || t.Storage() == nil || t.Device() == ops.Meta {
			continue
		}
		m, ok := seen[t.Storage()]
		if !ok {
			m = memory{copyStorage(t, wide), t.DType()}
			seen[t.Storage()] = m
		} else if wide && m.as != t.DType() {
			return nil
		}
		d := t.DType()
		if wide && d.IsFloat() {
			d = ops.Float64
		}
		shape, stride, off := t.Layout()
		x := torch.FromStorage(m.st, d, slices.Clone(shape), slices.Clone(stride), off)
		if t.RequiresGrad() {
			x.RequiresGrad_()
		}
		out[i] = x
	}
	return out
}

func copyStorage(t *torch.Tensor, wide bool) *torch.Storage {
	if wide && t.DType().IsFloat() {
		n := len(t.Storage().Bytes()) / t.DType().Size()
		whole := torch.FromStorage(t.Storage(), t.DType(), []int{n}, []int{1}, 0)
		to := torch.FromStorage(torch.NewStorage(8*n), ops.Float64, []int{n}, []int{1}, 0)
		torch.NoGrad(func() { to.Copy_(whole) })
		return to.Storage()
	}
	st := torch.NewStorage(len(t.Storage().Bytes()))
	copy(st.Bytes(), t.Storage().Bytes())
	return st
}

// execute runs a form of the graph on copies of the inputs. What it panics with is an error.
func (s *subject) execute(run func([]torch.Value) []torch.Value, wide bool) (list []result, err error) {
	defer func() {
		if v := recover(); v != nil {
			list, err = nil, fmt.Errorf("%v", v)
		}
	}()
	args := copyInputs(s.in, wide)
	if args == nil {
		return nil, fmt.Errorf("inputs of several types share memory")
	}
	after := torch.RandomState()
	defer after()
	s.rewind()
	leaves := s.leaves(args)
	out := run(args)
	for i, v := range out {
		if t := tensor(v); hasData(t) {
			list = append(list, result{what: fmt.Sprintf("output %d", i), t: t})
		}
	}
	for i, p := range s.g.Placeholders() {
		if t := tensor(args[i]); hasData(t) {
			list = append(list, result{"input " + p.Name, t, !s.written(t, i)})
		}
	}
	if s.train {
		list = append(list, s.gradients(out, leaves)...)
	}
	return list, nil
}

func hasData(t *torch.Tensor) bool {
	return t != nil && t.Fake() == nil && t.Device() != ops.Meta && t.Storage() != nil
}

// written reports whether a run has changed the memory of input i.
func (s *subject) written(t *torch.Tensor, i int) bool {
	before := tensor(s.in[i])
	return before.DType() != t.DType() || !slices.Equal(t.Storage().Bytes(), before.Storage().Bytes())
}

// leaves are the inputs whose gradients are taken, nil for the others. An input that is the
// result of something becomes one here, so that it may be written in place.
func (s *subject) leaves(args []torch.Value) []*torch.Tensor {
	leaves := make([]*torch.Tensor, len(args))
	if !s.train {
		return leaves
	}
	for i, v := range args {
		t := tensor(v)
		if t == nil || !t.RequiresGrad() {
			continue
		}
		leaves[i] = t
		if s.made[i] {
			args[i] = t.Clone()
		}
	}
	return leaves
}

// gradients are those of the leaves for a gradient of the outputs that is the same each time.
func (s *subject) gradients(out []torch.Value, leaves []*torch.Tensor) (list []result) {
	var outs, seeds, ins []*torch.Tensor
	var names []string
	for _, v := range out {
		if t := tensor(v); hasData(t) && t.RequiresGrad() && t.DType().IsFloat() && !slices.Contains(outs, t) {
			outs = append(outs, t)
			seeds = append(seeds, seed(t))
		}
	}
	phs := s.g.Placeholders()
	for i, t := range leaves {
		if t != nil {
			ins, names = append(ins, t), append(names, phs[i].Name)
		}
	}
	if len(outs) == 0 || len(ins) == 0 {
		return nil
	}
	for i, d := range torch.Grad(outs, ins, kw.GradOutputs(seeds), kw.AllowUnused(true)) {
		if hasData(d) {
			list = append(list, result{what: "gradient of " + names[i], t: d})
		}
	}
	return list
}

// seed is the gradient of an output: numbers that differ, rounded to its type.
func seed(t *torch.Tensor) *torch.Tensor {
	x := torch.Empty(t.Shape(), kw.Dtype(ops.Float64))
	b := x.Storage().Bytes()
	for i := 0; i+8 <= len(b); i += 8 {
		v := float64(float32(math.Cos(0.7*float64(i/8) + 1)))
		putFloat(b[i:], float64(int(v*64))/64) // exact in every float type
	}
	return x.To(t.DType())
}

func putFloat(b []byte, v float64) {
	bits := math.Float64bits(v)
	for k := range 8 {
		b[k] = byte(bits >> (8 * k))
	}
}

// eager runs the graph operator by operator.
func (s *subject) eager() ([]result, error) { return s.execute(s.plain(), false) }

func (s *subject) plain() func([]torch.Value) []torch.Value {
	if s.train {
		return s.g.Run
	}
	return s.g.RunUntaped
}

// exact runs it in double precision; nil where that cannot be done.
func (s *subject) exact() []result {
	list, err := s.execute(func(in []torch.Value) []torch.Value { return s.g.RunWide(in, s.train) }, true)
	if err != nil || s.random { // in double precision other numbers are drawn
		return nil
	}
	return list
}

// noisy runs it with a rounding error after each operator.
func (s *subject) noisy(kind uint64) []result {
	draw := rand.New(rand.NewPCG(kind, 1))
	list, err := s.execute(func(in []torch.Value) []torch.Value {
		return s.g.RunChanged(in, func(n *graph.Node, v any) any {
			t, ok := v.(*torch.Tensor)
			row := n.OpRow()
			if !ok || !hasData(t) || row == nil || row.Tags.Has(ops.TagView) || row.Tags.Has(ops.TagMaybeView) ||
				row.Tags.Has(ops.TagInPlace) || !t.DType().IsFloat() || t.Numel() == 0 {
				return v
			}
			return t.Mul(rounding(t, draw))
		})
	}, false)
	if err != nil {
		return nil
	}
	return list
}

// rounding is a factor for each element: 1, or one unit in the last place beside it.
func rounding(t *torch.Tensor, draw *rand.Rand) *torch.Tensor {
	x := torch.Empty(t.Shape(), kw.Dtype(ops.Float64))
	eps := map[ops.DType]float64{ops.Float64: 0x1p-52, ops.Float32: 0x1p-23, ops.Float16: 0x1p-10, ops.BFloat16: 0x1p-7}[t.DType()]
	b := x.Storage().Bytes()
	for i := 0; i+8 <= len(b); i += 8 {
		putFloat(b[i:], [3]float64{1 - eps/2, 1, 1 + eps}[draw.IntN(3)])
	}
	return x.To(t.DType())
}

// sizes are the values of symbols in a call.
func sizes(g *graph.Graph, in []torch.Value) map[*sym.Symbol]int64 {
	out := map[*sym.Symbol]int64{}
	for i, p := range g.Placeholders() {
		graph.BindSymbols(p.Meta, in[i], func(s *sym.Symbol, v int64) { out[s] = v })
	}
	return out
}
