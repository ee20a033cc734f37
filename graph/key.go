package graph

import (
	"slices"

	"tcdbg/ops"
	"tcdbg/ops/wire"
)

// This file writes a graph as bytes that differ where anything differs that a compiler can read of it: code that was
// compiled for one graph is that of another with the same bytes.

// AppendKey appends them. ok is false for graphs that have none: with sizes that vary, with graphs inside, or with
// values of a kind that this file does not know.
func (g *Graph) AppendKey(b []byte) (key []byte, ok bool) {
	if g.Env != nil && len(g.Env.Symbols) > 0 {
		return b, false
	}
	k := keyWriter{wire.Writer{B: b}, make(map[*Node]int, g.count)}
	k.Other = k.other
	k.Texts(g.Name)
	k.Bools(g.Aten, g.Untaped)
	for n := g.first; n != nil; n = n.next {
		k.node(n)
		k.at[n] = len(k.at)
	}
	k.names(g)
	return k.B, !k.Lost
}

// keyWriter writes a key.
type keyWriter struct {
	wire.Writer
	at map[*Node]int // of the nodes before, by which arguments are written
}

func (k *keyWriter) node(n *Node) {
	if n.Apply != nil || n.Flow != nil {
		k.Lost = true
		return
	}
	k.B = append(k.B, 'N', byte(n.Kind))
	k.Texts(n.Name, n.Target, n.Source)
	k.Int(int64(n.Op))
	k.Bools(n.NoGrad, n.Derivative)
	k.Args(n.Args)
	k.meta(n.Meta)
	k.Len(len(n.Stack))
	for i := range n.Stack {
		f := &n.Stack[i]
		k.Texts(f.File, f.Func, f.Code)
		k.Int(int64(f.Line))
		k.Int(int64(f.Col))
	}
}

// other writes an argument that only a graph has.
func (k *keyWriter) other(a ops.Arg) bool {
	switch a := a.(type) {
	case *Node: // one before this one
		at, known := k.at[a]
		k.Letter('%')
		k.Int(int64(at))
		return known
	case []ops.Value:
		k.Letter('V')
		k.Len(len(a))
		for _, v := range a {
			k.Arg(v)
		}
	case int:
		k.Letter('N')
		k.Int(int64(a))
	default:
		return false
	}
	return true
}

// meta writes what is known of a node's value.
func (k *keyWriter) meta(m any) {
	switch m := m.(type) {
	case *ops.TensorMeta:
		k.Letter('T')
		k.Int(int64(m.DType))
		k.Texts(string(m.Device))
		k.Bools(m.RequiresGrad)
		k.Sizes(m.Shape)
		k.Sizes(m.Stride)
		k.Size(m.Offset)
	case ops.ScalarMeta:
		k.Letter('c')
		k.Int(int64(m.DType))
		k.Texts(m.Expr)
	case []ops.Result:
		k.Letter('R')
		k.Len(len(m))
		for _, x := range m {
			k.meta(x)
		}
	default:
		k.Arg(m)
	}
}

// names writes the names that a new node would not get: they are in what is written of a compile.
func (k *keyWriter) names(g *Graph) {
	used := make([]string, 0, len(g.names))
	for name := range g.names {
		used = append(used, name)
	}
	slices.Sort(used)
	k.Len(len(used))
	for _, name := range used {
		k.Texts(name)
		k.Int(int64(g.names[name]))
	}
	gone := make([]string, 0, 8)
	for name := range g.taken {
		gone = append(gone, name)
	}
	slices.Sort(gone)
	k.Len(len(gone))
	k.Texts(gone...)
}
