package graph

import (
	"encoding/binary"
	"math"
	"slices"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file writes a graph as bytes that differ where anything differs that a compiler can read of it: code that was
// compiled for one graph is that of another with the same bytes.

// AppendKey appends them. ok is false for graphs that have none: with sizes that vary, with graphs inside, or with
// values of a kind that this file does not know.
func (g *Graph) AppendKey(b []byte) (key []byte, ok bool) {
	if g.Env != nil && len(g.Env.Symbols) > 0 {
		return b, false
	}
	k := keyWriter{b: b, ok: true, at: make(map[*Node]int, g.count)}
	k.texts(g.Name)
	k.bools(g.Aten, g.Untaped)
	for n := g.first; n != nil; n = n.next {
		k.node(n)
		k.at[n] = len(k.at)
	}
	k.names(g)
	return k.b, k.ok
}

// keyWriter writes a key. Texts and lists begin with their length and values with a letter of their kind, so that no two
// graphs are written alike.
type keyWriter struct {
	b  []byte
	ok bool
	at map[*Node]int // of the nodes before, by which arguments are written
}

func (k *keyWriter) int(n int64) { k.b = binary.AppendVarint(k.b, n) }

func (k *keyWriter) texts(list ...string) {
	for _, s := range list {
		k.int(int64(len(s)))
		k.b = append(k.b, s...)
	}
}

func (k *keyWriter) bools(list ...bool) {
	for _, v := range list {
		if v {
			k.b = append(k.b, 1)
		} else {
			k.b = append(k.b, 0)
		}
	}
}

func (k *keyWriter) node(n *Node) {
	if n.Apply != nil || n.Flow != nil {
		k.ok = false
		return
	}
	k.b = append(k.b, 'N', byte(n.Kind))
	k.texts(n.Name, n.Target, n.Source)
	k.int(int64(n.Op))
	k.bools(n.NoGrad)
	k.list(n.Args)
	k.meta(n.Meta)
	k.int(int64(len(n.Stack)))
	for i := range n.Stack {
		f := &n.Stack[i]
		k.texts(f.File, f.Func, f.Code)
		k.int(int64(f.Line))
		k.int(int64(f.Col))
	}
}

func (k *keyWriter) list(args []ops.Arg) {
	k.b = append(k.b, '[')
	k.int(int64(len(args)))
	for _, a := range args {
		k.arg(a)
	}
}

// arg writes an argument of a bound call.
func (k *keyWriter) arg(a ops.Arg) {
	switch a := a.(type) {
	case nil:
		k.b = append(k.b, 'n')
	case *Node:
		k.ref(a)
	case []ops.Value:
		k.b = append(k.b, 'V')
		k.int(int64(len(a)))
		for _, v := range a {
			k.arg(v)
		}
	case []ops.Arg:
		k.list(a)
	case sym.Int:
		k.size(a)
	case []sym.Int:
		k.sizes(a)
	case float64:
		k.float(a)
	case []float64:
		k.b = append(k.b, 'F')
		k.int(int64(len(a)))
		for _, x := range a {
			k.float(x)
		}
	case bool:
		k.b = append(k.b, 'b')
		k.bools(a)
	case []bool:
		k.b = append(k.b, 'B')
		k.int(int64(len(a)))
		k.bools(a...)
	case string:
		k.b = append(k.b, 's')
		k.texts(a)
	case ops.DType:
		k.b = append(k.b, 'd')
		k.int(int64(a))
	case ops.Device:
		k.b = append(k.b, 'D')
		k.texts(string(a))
	case int:
		k.b = append(k.b, 'I')
		k.int(int64(a))
	default:
		k.ok = false
	}
}

// ref writes a node before this one.
func (k *keyWriter) ref(n *Node) {
	at, known := k.at[n]
	k.ok = k.ok && known
	k.b = append(k.b, '%')
	k.int(int64(at))
}

func (k *keyWriter) float(x float64) {
	k.b = binary.LittleEndian.AppendUint64(append(k.b, 'f'), math.Float64bits(x))
}

func (k *keyWriter) size(x sym.Int) {
	c, known := x.IsConst()
	k.ok = k.ok && known
	k.b = append(k.b, 'i')
	k.int(c)
}

func (k *keyWriter) sizes(xs []sym.Int) {
	k.b = append(k.b, 'S')
	k.int(int64(len(xs)))
	for _, x := range xs {
		k.size(x)
	}
}

// meta writes what is known of a node's value.
func (k *keyWriter) meta(m any) {
	switch m := m.(type) {
	case *ops.TensorMeta:
		k.b = append(k.b, 'T')
		k.int(int64(m.DType))
		k.texts(string(m.Device))
		k.bools(m.RequiresGrad)
		k.sizes(m.Shape)
		k.sizes(m.Stride)
		k.size(m.Offset)
	case ops.ScalarMeta:
		k.b = append(k.b, 'c')
		k.int(int64(m.DType))
		k.texts(m.Expr)
	case []ops.Result:
		k.b = append(k.b, 'R')
		k.int(int64(len(m)))
		for _, x := range m {
			k.meta(x)
		}
	default:
		k.arg(m)
	}
}

// names writes the names that a new node would not get: they are in what is written of a compile.
func (k *keyWriter) names(g *Graph) {
	used := make([]string, 0, len(g.names))
	for name := range g.names {
		used = append(used, name)
	}
	slices.Sort(used)
	k.int(int64(len(used)))
	for _, name := range used {
		k.texts(name)
		k.int(int64(g.names[name]))
	}
	gone := make([]string, 0, 8)
	for name := range g.taken {
		gone = append(gone, name)
	}
	slices.Sort(gone)
	k.int(int64(len(gone)))
	k.texts(gone...)
}
