package ir

import (
	"fmt"
	"strconv"
	"strings"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// String prints the program: its buffers, its nodes, its outputs. Parse reads
// it back. A trace has it after each pass, so that it is written into one buffer.
func (p *Program) String() string {
	b := make([]byte, 0, 256*(len(p.Buffers)+len(p.Nodes)))
	b = appendAll(b, "program ", p.Name, "\n")
	for _, x := range p.Buffers {
		b = append(x.append(b), '\n')
	}
	for _, n := range p.Nodes {
		b = n.append(b)
	}
	for _, o := range p.Outputs {
		b = appendAll(b, "return ", o.text(), "\n")
	}
	return string(b)
}

// appendAll writes texts one after the other.
func appendAll(b []byte, texts ...string) []byte {
	for _, t := range texts {
		b = append(b, t...)
	}
	return b
}

var bufferKinds = [...]string{"input", "temp", "result"}

func (x *Buffer) append(b []byte) []byte {
	b = appendAll(b, bufferKinds[x.Kind], " ", x.Name, ": ", x.DType.Short(), "[")
	b = appendSizes(append(appendSizes(b, x.Shape), "] stride ["...), x.Stride)
	b = append(b, ']')
	if x.Param {
		b = append(b, " param"...)
	}
	return b
}

func (o Output) text() string {
	if o.Buf == nil {
		if o.Value == nil {
			return "None"
		}
		return fmt.Sprintf("value %v", o.Value)
	}
	return fmt.Sprintf("%s + %s shape [%s] stride [%s]", o.Buf.Name, o.Off, sizes(o.Shape), sizes(o.Stride))
}

func sizes(xs []sym.Int) string { return string(appendSizes(nil, xs)) }

func appendSizes(b []byte, xs []sym.Int) []byte {
	for i, x := range xs {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = x.Append(b)
	}
	return b
}

// String prints the node with its body, one operation a line.
func (n *Node) String() string { return string(n.append(nil)) }

func (n *Node) append(b []byte) []byte {
	b = n.AppendHead(b)
	if n.Hoisted {
		b = append(b, hoistedMark...)
	}
	for i, o := range n.Origins {
		sep := " "
		if i == 0 {
			sep = " // "
		}
		b = appendAll(b, sep, o.Node)
	}
	b = append(b, '\n')
	if n.Kind == Matmul {
		m := n.MM
		operand := func(b []byte, role string, x *Buffer, at Index) []byte {
			return append(n.appendProduct(appendAll(b, "  ", role, " ", x.Name, "["), at), "]\n"...)
		}
		b = operand(operand(operand(b, "a", m.A, m.AIdx), "b", m.B, m.BIdx), "out", m.Out, m.OutIdx)
		if m.Conv != nil {
			b = append(m.Conv.append(append(b, "  "...)), '\n')
		}
		if m.Grad != nil {
			b = appendAll(b, "  ", m.Grad.String(), "\n")
		}
	}
	for i := range n.Body {
		b = append(n.AppendValue(append(b, "  "...), i), '\n')
	}
	return b
}

// hoistedMark comes after the loops of a node that the prologue runs.
const hoistedMark = " once"

// AppendHead writes the first line of the node: its name, kind and loops.
func (n *Node) AppendHead(b []byte) []byte {
	loops := func(kind string, inner ...sym.Int) []byte {
		b = appendSizes(appendAll(b, n.Name, " = ", kind, " ["), n.Outer)
		if n.Kind != Pointwise {
			b = appendSizes(append(b, " | "...), inner)
		}
		return append(b, ']')
	}
	switch n.Kind {
	case Pointwise:
		return loops("pointwise")
	case Reduction:
		return loops("reduction", n.Inner...)
	case Sequential:
		return loops("sequential", n.Inner...)
	case Matmul:
		return loops("matmul", n.MM.K)
	}
	outs := make([]string, len(n.Ext.Outs))
	for i, b := range n.Ext.Outs {
		outs[i] = b.Name
	}
	of := ""
	if n.Ext.Flow != nil {
		of = flowOf + strings.Join(n.Ext.Flow.Names, ", ")
	}
	return fmt.Appendf(b, "%s = extern %s(%s) -> %s%s because %s", n.Name, n.Ext.Name(),
		argsText(n.Ext.Args), strings.Join(outs, ", "), of, n.Ext.Reason)
}

// flowOf comes before the names of the bodies of control flow.
const flowOf = " of "

func argsText(args []ops.Arg) string {
	parts := make([]string, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case BufArg:
			parts[i] = a.Buf.Name
		case []sym.Int:
			parts[i] = "[" + sizes(a) + "]"
		case []ops.Arg:
			parts[i] = "[" + argsText(a) + "]"
		default:
			parts[i] = fmt.Sprint(a)
		}
	}
	return strings.Join(parts, ", ")
}

// ValueText prints operation i of the body.
func (n *Node) ValueText(i int) string { return string(n.AppendValue(nil, i)) }

// AppendValue is ValueText at the end of b.
func (n *Node) AppendValue(b []byte, i int) []byte {
	v := &n.Body[i]
	d := v.DType.Short()
	if v.Op != Store && v.Op != StoreAt && v.Op != FoldAt {
		b = append(appendTemp(b, i), " = "...)
	}
	at := func(op string) []byte {
		return append(n.appendIndex(appendAll(b, op, ".", d, " ", v.Buf.Name, "["), v.Index), ']')
	}
	switch v.Op {
	case Const:
		return appendAll(b, "const.", d, " ", v.ConstText())
	case Load:
		return at("load")
	case LoadAt:
		return appendTemps(append(at("loadat"), ", "...), v.Args[:1])
	case Store:
		return appendTemps(append(at("store"), ", "...), v.Args[:1])
	case StoreAt:
		return appendTemps(append(at("storeat"), ", "...), v.Args[:2])
	case FoldAt:
		return appendTemps(append(at("foldat_"+v.Red.String()), ", "...), v.Args[:2])
	case Scan:
		return appendTemps(appendAll(b, "scan_", v.Red.String(), ".", d, " "), v.Args[:1])
	case IndexOf:
		return append(n.appendIndex(appendAll(b, "index.", d, " ["), v.Index), ']')
	case Reduce:
		return appendTemps(appendAll(b, "reduce_", v.Red.String(), ".", d, " "), v.Args[:1])
	}
	return appendTemps(appendAll(b, v.Op.String(), ".", d, " "), v.Args)
}

func appendTemp(b []byte, i int) []byte { return strconv.AppendInt(append(b, 't'), int64(i), 10) }

func appendTemps(b []byte, args []int) []byte {
	for i, a := range args {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = appendTemp(b, a)
	}
	return b
}

// ConstText prints a constant so that it reads back exactly.
func (v *Value) ConstText() string {
	if v.DType.IsFloat() {
		return strconv.FormatFloat(v.F, 'g', -1, 64)
	}
	return strconv.FormatInt(v.I, 10)
}

// IndexText prints an address over the node's loops: i0, i1, ... outer, r0, ...
// inner.
func (n *Node) IndexText(x Index) string { return string(n.appendIndex(nil, x)) }

func (n *Node) appendIndex(b []byte, x Index) []byte {
	return x.append(b, func(b []byte, k int) []byte {
		if k < len(n.Outer) {
			return strconv.AppendInt(append(b, 'i'), int64(k), 10)
		}
		return strconv.AppendInt(append(b, 'r'), int64(k-len(n.Outer)), 10)
	})
}

// appendProduct writes an address of a product, whose inner loop is k.
func (n *Node) appendProduct(b []byte, x Index) []byte {
	return x.append(b, func(b []byte, k int) []byte {
		if k < len(n.Outer) {
			return strconv.AppendInt(append(b, 'i'), int64(k), 10)
		}
		return append(b, 'k')
	})
}

// Text prints an address; name names loop k.
func (x Index) Text(name func(k int) string) string {
	return string(x.append(nil, func(b []byte, k int) []byte { return append(b, name(k)...) }))
}

func (x Index) append(b []byte, name func(b []byte, k int) []byte) []byte {
	from := len(b)
	next := func() {
		if len(b) > from {
			b = append(b, " + "...)
		}
	}
	for k, c := range x.Coef {
		v, ok := c.IsConst()
		switch {
		case ok && v == 0:
			continue
		case !ok:
			next()
			b = append(c.Append(append(b, '(')), ")*"...)
		case v == 1:
			next()
		default:
			next()
			b = append(strconv.AppendInt(b, v, 10), '*')
		}
		b = name(b, k)
	}
	if !sym.Is(x.Off, 0) || len(b) == from {
		next()
		b = x.Off.Append(b)
	}
	return b
}
