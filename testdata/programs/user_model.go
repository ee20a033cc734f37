package main

import (
	"errors"
	"fmt"
	"math"
	"sort"
	"strings"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
	F "tcdbg/torch/nn/functional"
	"tcdbg/torch/optim"
)

type Activation func(*torch.Tensor) *torch.Tensor

func (a Activation) Twice() Activation { return func(x *torch.Tensor) *torch.Tensor { return a(a(x)) } }

type Kind int

const (
	Dense Kind = iota
	Act
	Skip
)

var names = map[Kind]string{Dense: "dense", Act: "act", Skip: "skip"}

func (k Kind) String() string { return names[k] }

type Spec struct {
	Kind
	In, Out int
	Fn      Activation
}
type layer interface {
	Forward(x *torch.Tensor) *torch.Tensor
	kind() Kind
}
type dense struct{ *nn.Linear }
type act struct{ f Activation }
type skip struct{ inner layer }

func (dense) kind() Kind                             { return Dense }
func (act) kind() Kind                               { return Act }
func (skip) kind() Kind                              { return Skip }
func (a act) Forward(x *torch.Tensor) *torch.Tensor  { return a.f(x) }
func (s skip) Forward(x *torch.Tensor) *torch.Tensor { return s.inner.Forward(x).Add(x) }

type Net struct {
	layers []layer
	stats  map[Kind]int
	hooks  []func(k Kind, x *torch.Tensor)
}
type Option func(*Net) error

func WithHook(f func(Kind, *torch.Tensor)) Option {
	return func(n *Net) error { n.hooks = append(n.hooks, f); return nil }
}

var errEmpty = errors.New("empty net")

func Build(specs []Spec, opts ...Option) (n *Net, err error) {
	if len(specs) == 0 {
		return nil, errEmpty
	}
	n = &Net{stats: make(map[Kind]int)}
	for i, s := range specs {
		switch s.Kind {
		case Dense:
			n.layers = append(n.layers, dense{nn.NewLinear(s.In, s.Out)})
		case Act:
			n.layers = append(n.layers, act{s.Fn})
		case Skip:
			n.layers = append(n.layers, skip{dense{nn.NewLinear(s.In, s.In)}})
		default:
			return nil, fmt.Errorf("layer %d: kind %d", i, int(s.Kind))
		}
	}
	for _, o := range opts {
		if err = o(n); err != nil {
			return
		}
	}
	return
}

func (n *Net) Forward(x *torch.Tensor) *torch.Tensor {
	for _, l := range n.layers {
		n.stats[l.kind()]++
		x = l.Forward(x)
		for _, h := range n.hooks {
			h(l.kind(), x)
		}
	}
	return x
}
func (n *Net) Parameters() (ps []*torch.Tensor) {
	for _, l := range n.layers {
		switch l := l.(type) {
		case dense:
			ps = append(ps, l.Weight, l.Bias)
		case skip:
			d := l.inner.(dense)
			ps = append(ps, d.Weight, d.Bias)
		}
	}
	return
}

type tracker struct {
	best float64
	hist []float64
}

func (t *tracker) update(v float64) (improved bool) {
	defer func() { t.hist = append(t.hist, math.Round(v*1e3)/1e3) }()
	if improved = v < t.best; improved {
		t.best = v
	}
	return
}

func main() {
	torch.ManualSeed(1)
	seen := map[string]int{}
	tanh := Activation(func(x *torch.Tensor) *torch.Tensor { return x.Tanh() })
	n, err := Build([]Spec{{Kind: Dense, In: 3, Out: 8}, {Kind: Act, Fn: tanh.Twice()}, {Kind: Skip, In: 8}, {Kind: Dense, In: 8, Out: 1}},
		WithHook(func(k Kind, x *torch.Tensor) { seen[fmt.Sprint(k, x.Shape())]++ }))
	if err != nil {
		panic(err)
	}
	_, err = Build(nil)
	fmt.Println(errors.Is(err, errEmpty), len(n.Parameters()))
	_, err = Build([]Spec{{Kind: 9}})
	fmt.Println(err)
	opt := optim.NewSGD(n.Parameters(), kw.Lr(0.05))
	x, y := torch.Randn(16, 3), torch.Randn(16, 1)
	step := torch.Compile(func(x, y *torch.Tensor) *torch.Tensor { return F.MseLoss(n.Forward(x), y) })
	t := &tracker{best: math.Inf(1)}
	update := t.update
	for epoch := range 4 {
		opt.ZeroGrad()
		loss := step(x, y)
		loss.Backward()
		opt.Step()
		fmt.Println(epoch, update(loss.Item()))
	}
	fmt.Println(t.hist, n.stats)
	keys := make([]string, 0, len(seen))
	for k := range seen {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	fmt.Println(strings.Join(keys, " "), seen[keys[0]])
	fmt.Printf("%v %+v\n", Spec{Kind: Act, In: 1}.Kind, Spec{Kind: Skip, In: 2}.In)
}
