package guard

import (
	"tcdbg/torch"
	"tcdbg/tracer/value"
)

// This file is guards on how tensors share memory.

// GradAliases demands that the tensors at of, whose gradients are replaced, are as
// distinct as when they were traced.
func (gs *Set) GradAliases(of []*value.Source) {
	want := make([]int, len(of))
	meet(gs.entry, of, func(i, first int) bool { want[i] = first; return true })
	text := "tensors whose gradients the function replaces are as distinct as on the first call"
	gs.Check(NoTensorAliasing, nil, text, text, func(a *Addresses) bool {
		return meet(a, of, func(i, first int) bool { return want[i] == first })
	}, func(*Addresses) Failure { return plain("two of them are one, or no longer so") })
}

// meet hands visit the place in the list at which each tensor was met first,
// until it returns false or there is no tensor.
func meet(a *Addresses, of []*value.Source, visit func(i, first int) bool) bool {
	seen := make(map[*torch.Tensor]int, len(of))
	for i, s := range of {
		p := a.At(s)
		if p == nil {
			return false
		}
		t := *(**torch.Tensor)(p)
		first, met := seen[t]
		if !met {
			first, seen[t] = i, i
		}
		if !visit(i, first) {
			return false
		}
	}
	return true
}

// maxTensorAliasGuards bounds the pairs that are guarded one by one.
const maxTensorAliasGuards = 32

// Input is a tensor that a graph reads.
type Input struct {
	Src     *value.Source
	Tensor  *torch.Tensor
	Written bool // by the graph
}

// TensorAliases tells inputs that are written from the others, or demands that they
// share memory as they did.
func (gs *Set) TensorAliases(inputs []Input) {
	var apart [][2]Input
	for i, a := range inputs {
		if !a.Written {
			continue
		}
		for j, b := range inputs {
			switch {
			case i == j || b.Written && j < i:
			case a.Tensor.Storage() == b.Tensor.Storage():
				gs.tensorAlias(a, b)
			default:
				apart = append(apart, [2]Input{a, b})
			}
		}
	}
	if len(apart) > maxTensorAliasGuards {
		gs.apart(inputs)
		return
	}
	for _, p := range apart {
		gs.tensorAlias(p[0], p[1])
	}
}

// apart is one guard in place of very many: no mutated input shares memory
// with an input with which it shared none.
func (gs *Set) apart(inputs []Input) {
	group := map[*torch.Storage]int{} // of the inputs that shared memory
	var srcs []*value.Source
	var groups []int
	written := map[int]bool{}
	for _, in := range inputs {
		st := in.Tensor.Storage()
		if _, ok := group[st]; !ok {
			group[st] = len(group)
		}
		srcs, groups = append(srcs, in.Src), append(groups, group[st])
		written[group[st]] = written[group[st]] || in.Written
	}
	text := "tensors that the function writes share no memory with others"
	gs.Check(NoTensorAliasing, nil, text, text, func(ad *Addresses) bool {
		seen := make(map[*torch.Storage]int, len(srcs))
		for i, s := range srcs {
			p := ad.At(s)
			if p == nil || *(**torch.Tensor)(p) == nil {
				return false
			}
			st := (*(**torch.Tensor)(p)).Storage()
			if g, ok := seen[st]; ok && g != groups[i] && (written[g] || written[groups[i]]) {
				return false
			}
			seen[st] = groups[i]
		}
		return true
	}, func(*Addresses) Failure { return plain("some share memory") })
}

func (gs *Set) tensorAlias(a, b Input) {
	p, q := a.Src, b.Src
	want := aliasOf(a.Tensor, b.Tensor)
	text := p.Name + " shares no memory with " + q.Name
	if want.shared {
		text = p.Name + " shares memory with " + q.Name
	}
	gs.Check(NoTensorAliasing, p, text, text,
		func(ad *Addresses) bool {
			x, y := ad.At(p), ad.At(q)
			return x != nil && y != nil && aliasOf(*(**torch.Tensor)(x), *(**torch.Tensor)(y)) == want
		},
		func(ad *Addresses) Failure {
			x, y := ad.At(p), ad.At(q)
			if x == nil || y == nil {
				return plain("no tensor")
			}
			return plain(aliasOf(*(**torch.Tensor)(x), *(**torch.Tensor)(y)).text())
		})
}

// tensorAlias is how two tensors lie to each other.
type tensorAlias struct {
	shared bool
	delta  int  // elements between them, where they share memory
	one    bool // views of one tensor
}

func aliasOf(x, y *torch.Tensor) tensorAlias {
	if x == nil || y == nil || x.Storage() != y.Storage() {
		return tensorAlias{}
	}
	_, _, i := x.Layout()
	_, _, j := y.Layout()
	return tensorAlias{true, j - i, x.ViewRoot() == y.ViewRoot()}
}

func (a tensorAlias) text() string {
	if a.shared {
		return "they share memory in another way"
	}
	return "they share no memory"
}
