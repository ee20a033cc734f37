package lower

import (
	"fmt"

	"tcdbg/graph"
	"tcdbg/inductor/ir"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// call is one operator call being lowered.
type call struct {
	l   *lowering
	n   *graph.Node
	row *ops.Op

	bound ops.Call // as rules see it
}

// arg returns the argument bound to the named parameter, nil where the operator
// has no such parameter or it was left out.
func (c *call) arg(name string) ops.Arg {
	for i, p := range c.row.Params() {
		if p.Name == name && i < len(c.n.Args) {
			return c.n.Args[i]
		}
	}
	return nil
}

// tensor is the value of an argument, nil when it is a number or None.
func (c *call) tensor(a ops.TensorArg) *tensor {
	n, ok := a.Arg.(*graph.Node)
	if !ok || n == nil {
		return nil
	}
	return c.l.vals[n]
}

// self is the first argument, which most operators call self or input.
func (c *call) self() *tensor { return c.tensor(ops.In[ops.SelfArgs](&c.bound).Self) }

func (c *call) namedTensor(name string) *tensor {
	n, ok := c.arg(name).(*graph.Node)
	if !ok || n == nil {
		return nil
	}
	return c.l.vals[n]
}

// number returns a named scalar argument, def where it was left out.
func (c *call) number(name string, def float64) float64 {
	a := c.arg(name)
	if a == nil {
		return def
	}
	return ops.NumberOf(a)
}

func (c *call) flag(name string) bool {
	v, _ := c.arg(name).(bool)
	return v
}

func (c *call) str(name string) string {
	v, _ := c.arg(name).(string)
	return v
}

// meta describes the (single) result.
func (c *call) meta() *ops.TensorMeta { return c.n.Meta.(*ops.TensorMeta) }

// result binds the call's value.
func (c *call) result(t *tensor) error {
	c.l.vals[c.n] = t
	return nil
}

// newResult makes the buffer of the result with the strides that the operator's
// rule gives.
func (c *call) newResult() *tensor {
	m := c.meta()
	buf := c.l.newBuffer(m.DType, m.Shape, m.Stride)
	return &tensor{buf: buf, dtype: m.DType, shape: m.Shape, stride: m.Stride}
}

// operand loads an argument that is a tensor or a number, as type d.
func (c *call) operand(b *body, a ops.Arg, d ops.DType) int {
	switch a := a.(type) {
	case *graph.Node:
		if t := c.l.vals[a]; t != nil {
			return b.cast(b.load(t), d)
		}
		if x, ok := a.Meta.(sym.Int); ok {
			return b.size(x, d)
		}
		panic(refusal{fmt.Errorf("inductor: %s: operand %s is neither a tensor nor an integer", c.n.Name, a.Name)})
	case sym.Int:
		return b.size(a, d)
	case float64, bool:
		return b.number(d, ops.NumberOf(a))
	}
	panic(refusal{fmt.Errorf("inductor: %s: operand of type %T", c.n.Name, a)})
}

// unsupportedDType finds a type among operands and results that loops cannot
// compute with.
func (c *call) unsupportedDType() (ops.DType, bool) {
	for _, in := range c.n.Inputs() {
		if m, ok := in.Meta.(*ops.TensorMeta); ok && !ir.Supported(m.DType) {
			return m.DType, true
		}
	}
	if m, ok := c.n.Meta.(*ops.TensorMeta); ok && !ir.Supported(m.DType) {
		return m.DType, true
	}
	return 0, false
}

// view gives the result of an operator that only changes the layout: the rule's
// strides and offset, over the memory of the first argument.
func (c *call) view() error {
	src := c.self()
	if src == nil {
		return fmt.Errorf("a view of what is not a tensor")
	}
	base := sym.Int{}
	if n := ops.In[ops.SelfArgs](&c.bound).Self.Arg.(*graph.Node); n.IsTensor() {
		base = sym.Sub(n.TensorMeta().Offset, src.off)
	}
	if m, ok := c.n.Meta.(*ops.TensorMeta); ok {
		return c.result(viewOf(src, m, base))
	}
	list, ok := c.n.Meta.([]ops.Result)
	if !ok {
		return fmt.Errorf("%s has no tensor results", c.row.Name)
	}
	for _, r := range list {
		c.l.multi[c.n] = append(c.l.multi[c.n], viewOf(src, r.(*ops.TensorMeta), base))
	}
	return nil
}

// viewOf is src seen through m, whose offset counts from the start of the
// storage: base is how far src's buffer starts after that.
func viewOf(src *tensor, m *ops.TensorMeta, base sym.Int) *tensor {
	return &tensor{buf: src.buf, line: src.line, dtype: m.DType, shape: m.Shape, stride: m.Stride, off: sym.Sub(m.Offset, base)}
}

// extern makes the call an eager one.
func (c *call) extern(why ir.Reason) error {
	x := &ir.ExternInfo{Op: c.n.Op, Reason: why}
	for _, a := range c.n.Args {
		v, err := c.externArg(a)
		if err != nil {
			return err
		}
		x.Args = append(x.Args, v)
	}
	n := c.l.newNode(ir.Extern, nil, nil)
	n.Ext = x
	results := []ops.Result{c.n.Meta}
	list, several := c.n.Meta.([]ops.Result)
	if several {
		results = list
	}
	var ts []*tensor
	for _, r := range results {
		m, ok := r.(*ops.TensorMeta)
		if !ok {
			return fmt.Errorf("%s yields no tensor (%s)", c.row.Name, ir.ReasonScalar)
		}
		buf := c.l.newBuffer(m.DType, m.Shape, m.Stride)
		x.Outs = append(x.Outs, buf)
		ts = append(ts, &tensor{buf: buf, dtype: m.DType, shape: m.Shape, stride: m.Stride})
	}
	if several {
		c.l.multi[c.n] = ts
		return nil
	}
	return c.result(ts[0])
}

func (c *call) externArg(a ops.Arg) (ops.Arg, error) {
	switch a := a.(type) {
	case *graph.Node:
		return c.externNode(a)
	case []ops.Value:
		out := make([]ops.Arg, len(a))
		for i, v := range a {
			if v == nil {
				continue
			}
			x, err := c.externNode(v.(*graph.Node))
			if err != nil {
				return nil, err
			}
			out[i] = x
		}
		return out, nil
	}
	return a, nil
}

// valueOf is the tensor of a graph value, nil for none.
func (l *lowering) valueOf(v ops.Value) *tensor { return l.vals[v.(*graph.Node)] }

func (c *call) externNode(n *graph.Node) (ops.Arg, error) {
	t := c.l.vals[n]
	if t == nil {
		if x, ok := n.Meta.(sym.Int); ok {
			return x, nil
		}
		return nil, fmt.Errorf("argument %s is not a tensor", n.Name)
	}
	if t.line != nil {
		cur := c.l.cur
		t = c.l.materialize(t, n)
		c.l.cur = cur
		c.l.vals[n] = t
	}
	return ir.BufArg{Buf: t.buf, Shape: t.shape, Stride: t.stride, Off: t.off}, nil
}
