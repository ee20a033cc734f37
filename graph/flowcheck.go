package graph

import (
	"fmt"
	"maps"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file checks control flow.

// flow checks that the bodies fit the node and each other.
func (c *checker) flow(n *Node) error {
	f := n.Flow
	if err := fits(n, f); err != nil {
		return err
	}
	for _, b := range f.Bodies {
		inner := newChecker(b)
		maps.Copy(inner.bound, c.bound)
		if err := inner.check(); err != nil {
			return err
		}
		if !takesAll(b, n.taken()) {
			return fmt.Errorf("%s does not take the operands", b.Name)
		}
	}
	if p := n.Predicate(); p != nil && !p.IsTensor() {
		return fmt.Errorf("the predicate is no tensor")
	}
	for _, b := range f.Bodies {
		if err := n.gives(b); err != nil {
			return err
		}
	}
	if !sameMeta(n.Meta, n.flowMeta()) {
		return fmt.Errorf("holds %s where its bodies give %s", describe(n.Meta), describe(n.flowMeta()))
	}
	return nil
}

// gives checks that body b gives what is wanted of it: what the first branch gives, tensors
// like those that are carried, or slices like those that are put together.
func (n *Node) gives(b *Graph) error {
	f, outs := n.Flow, nodesOf(b.Outputs())
	var want []ops.Result
	switch {
	case flowForms[f.Op].chooses:
		want = n.flowMeta()
	case f.Op == WhileTarget && b == f.Bodies[0]:
		return nil
	case f.Op == AssocTarget:
		for _, p := range b.Placeholders()[:n.Sliced()] {
			want = append(want, p.TensorMeta())
		}
	default:
		want = n.flowMeta()[:n.Carried()]
	}
	if len(outs) != len(want) && (len(outs) < len(want) || f.Op != MapTarget && f.Op != ScanTarget) {
		return fmt.Errorf("%s gives %d tensors where %d are wanted", b.Name, len(outs), len(want))
	}
	for i, m := range want {
		if x, y := m.(*ops.TensorMeta), outs[i].TensorMeta(); x.DType != y.DType || !sym.AllSame(x.Shape, y.Shape) {
			return fmt.Errorf("%s gives %s where %s is wanted", b.Name, typeText(y), typeText(x))
		}
	}
	return nil
}

// fits reports what is missing for the value of a node to be known.
func fits(n *Node, f *Flow) error {
	form, known := flowForms[f.Op]
	if !known {
		return fmt.Errorf("%s is no control flow", f.Op)
	}
	bodies, want := len(flowTexts[f.Op].bodies[0]), form.lists
	if form.chooses {
		want++
	}
	if len(n.Args) != want {
		return fmt.Errorf("%s has %d arguments, not %d", f.Op, len(n.Args), want)
	}
	if len(f.Bodies) != bodies && !form.many || form.many && len(f.Bodies) < 2 {
		return fmt.Errorf("%d bodies do not fit %s", len(f.Bodies), f.Op)
	}
	n.Flow = f
	if err := n.divisible(); err != nil {
		return err
	}
	for _, b := range f.Bodies {
		if k := len(n.taken()); len(b.Placeholders()) != k {
			return fmt.Errorf("%s takes %d values, not %d", b.Name, len(b.Placeholders()), k)
		}
		for _, a := range b.Outputs() {
			if x, ok := a.(*Node); !ok || !x.IsTensor() {
				return fmt.Errorf("%s gives no tensor", b.Name)
			}
		}
	}
	body := f.Bodies[len(f.Bodies)-1]
	for i, p := range body.Placeholders() {
		if i < n.Carried() && !p.IsTensor() {
			return fmt.Errorf("%s carries %s, which is no tensor", f.Op, p.Name)
		}
	}
	if len(body.Outputs()) < n.Carried() {
		return fmt.Errorf("%s gives %d tensors where %d are carried", body.Name, len(body.Outputs()), n.Carried())
	}
	return nil
}

// divisible reports which operand that is taken apart cannot be: all have a first dimension,
// of one length.
func (n *Node) divisible() error {
	if flowForms[n.Flow.Op].sliced < 0 {
		return nil
	}
	k := n.Carried()
	list := n.Operands()[k : k+n.Sliced()]
	if len(list) == 0 {
		return fmt.Errorf("%s takes nothing apart", n.Flow.Op)
	}
	for _, x := range list {
		if !x.IsTensor() || len(x.TensorMeta().Shape) == 0 {
			return fmt.Errorf("%s takes %s apart, which has no dimension", n.Flow.Op, x.Name)
		}
		if !sym.AllSame(x.TensorMeta().Shape[:1], []sym.Int{n.Length()}) {
			return fmt.Errorf("%s takes %s apart, which has %s slices, not %s", n.Flow.Op, x.Name, x.TensorMeta().Shape[0], n.Length())
		}
	}
	return nil
}

// takesAll reports whether the placeholders of g have the shapes and types of some values.
func takesAll(g *Graph, values []any) bool {
	phs := g.Placeholders()
	if len(phs) != len(values) {
		return false
	}
	for i, p := range phs {
		x, ok1 := p.Meta.(*ops.TensorMeta)
		y, ok2 := values[i].(*ops.TensorMeta)
		if ok1 != ok2 || ok1 && (x.DType != y.DType || !sym.AllSame(x.Shape, y.Shape)) {
			return false
		}
	}
	return true
}
