package tracer

import (
	"go/types"
	"maps"
	"slices"
	"sync"
	"unsafe"

	"tcdbg/torch"
	"tcdbg/tracer/host"

	"golang.org/x/tools/go/ssa"
)

// This file is what a trial sees of a call beside its results: the tensors that the call can
// reach, which of them it writes, and gradients after a backward pass.

// StateLeaf is a tensor that a call can reach.
type StateLeaf struct {
	Path   string
	Tensor *torch.Tensor
	Wrote  bool
	Grad   bool // the gradient of the one before
}

// Bounds of what is looked at.
const (
	maxReached   = 1024
	deepestReach = 16
)

// root is a variable that a call can reach.
type root struct {
	name string
	typ  types.Type
	p    unsafe.Pointer
}

// version is which tensor lay under a name, and with which content.
type version struct {
	tensor, grad   *torch.Tensor
	data, gradData uint64
}

func versionOf(x *torch.Tensor) version {
	v := version{tensor: x, grad: x.Grad()}
	if st := x.Storage(); st != nil {
		v.data = st.Version()
	}
	if v.grad != nil && v.grad.Storage() != nil {
		v.gradData = v.grad.Storage().Version()
	}
	return v
}

// reached is what a call that is about to begin can reach.
type reached struct {
	t      *Tracer
	roots  []root
	before map[string]version
	busy   bool // a map was left out, which another goroutine was writing
}

// reach notes what the call of c whose frame is f can reach: parameters, what its function
// captures, and variables of the package. A parameter is copied, since its frame goes with the call.
func (t *Tracer) reach(c *Compiled, f *host.Frame) *reached {
	r := &reached{t: t, before: map[string]version{}}
	keep := func(name string, v ssa.Value) {
		q := t.in.New(v.Type())
		t.in.Copy(v.Type(), q, f.Addr(v))
		r.roots = append(r.roots, root{name, v.Type(), q})
	}
	for _, p := range c.fn.Params {
		keep(p.Name(), p)
	}
	for _, v := range c.fn.FreeVars {
		keep(v.Name(), v)
	}
	if pkg := packageOf(c.fn); pkg != nil {
		for _, name := range slices.Sorted(maps.Keys(pkg.Members)) {
			if g, ok := pkg.Members[name].(*ssa.Global); ok {
				r.roots = append(r.roots, root{name, g.Type().(*types.Pointer).Elem(), t.in.GlobalAddr(g)})
			}
		}
	}
	for _, l := range r.walk() {
		x := l.Value.(*torch.Tensor)
		r.before[l.Path] = versionOf(x)
		t.named.put(x, l.Path)
	}
	return r
}

// packageOf is the package of a function, also of a method value's; nil for none.
func packageOf(fn *ssa.Function) *ssa.Package {
	if o := fn.Object(); fn.Pkg == nil && o != nil && o.Pkg() != nil {
		return fn.Prog.Package(o.Pkg())
	}
	return fn.Pkg
}

// foreign reports whether a type is of a package that is not interpreted from source: what lies
// within its values is not the program's.
func (t *Tracer) foreign(typ types.Type) bool {
	n, ok := types.Unalias(typ).(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return false
	}
	pkg := t.prog.SSA.Package(n.Obj().Pkg())
	return pkg == nil || pkg.Func("init") == nil || len(pkg.Func("init").Blocks) == 0
}

func (r *reached) walk() []Leaf {
	w := &walker{t: r.t, most: maxReached, deep: deepestReach, tensors: true, seen: map[unsafe.Pointer]bool{}}
	for _, x := range r.roots {
		w.walk(x.name, x.typ, x.p, 0)
	}
	r.busy = r.busy || w.busy
	return w.out
}

// tensors are those that the call can reach at its beginning.
func (r *reached) tensors() (out []*torch.Tensor) {
	if r != nil {
		for _, l := range r.walk() {
			out = append(out, l.Value.(*torch.Tensor))
		}
	}
	return out
}

// state lists the tensors after the call; a gradient that is another one is listed, too.
func (r *reached) state() (out []StateLeaf, more bool) {
	if r == nil {
		return nil, false
	}
	list := r.walk()
	for _, l := range list {
		x := l.Value.(*torch.Tensor)
		if x.Fake() != nil || x.Storage() == nil {
			continue
		}
		old, now := r.before[l.Path], versionOf(x)
		out = append(out, StateLeaf{Path: l.Path, Tensor: x, Wrote: old.tensor != x || old.data != now.data})
		if now.grad != nil {
			wrote := old.grad != now.grad || old.gradData != now.gradData
			out = append(out, StateLeaf{Path: l.Path + ".grad", Tensor: now.grad, Wrote: wrote, Grad: true})
		}
	}
	return out, len(list) >= maxReached || r.busy
}

// names are those by which compiled calls reached tensors that collect gradients.
type names struct {
	mu sync.Mutex
	of map[*torch.Tensor]string
}

func (n *names) put(x *torch.Tensor, name string) {
	if !x.RequiresGrad() {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.of == nil {
		n.of = map[*torch.Tensor]string{}
	}
	if _, known := n.of[x]; !known {
		n.of[x] = name
	}
}

// Graded is the gradients that a backward pass added to; those of one that was captured have no
// Tensor, since the graph that ended with them may have changed them since.
type Graded struct {
	Leaves  []StateLeaf
	Unnamed int // tensors to which no compiled call has a way
}

// graded names the leaves of a backward pass.
func (t *Tracer) graded(pass torch.BackwardPass) {
	if t.cfg.Recording != nil && !t.cfg.Recording() {
		return
	}
	var g Graded
	t.named.mu.Lock()
	for _, x := range pass.Leaves {
		name, known := t.named.of[x]
		if !known {
			g.Unnamed++
			continue
		}
		leaf := StateLeaf{Path: name}
		if !pass.Captured {
			leaf.Tensor = x.Grad()
		}
		g.Leaves = append(g.Leaves, leaf)
	}
	t.named.mu.Unlock()
	t.cfg.Graded(&g)
}
