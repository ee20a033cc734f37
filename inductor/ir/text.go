package ir

import (
	"fmt"
	"strconv"
	"strings"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// String prints the program: its buffers, its nodes, its outputs. Parse reads
// it back.
func (p *Program) String() string {
	var sb strings.Builder
	fmt.Fprintf(&sb, "program %s\n", p.Name)
	for _, b := range p.Buffers {
		sb.WriteString(b.text() + "\n")
	}
	for _, n := range p.Nodes {
		sb.WriteString(n.String())
	}
	for _, o := range p.Outputs {
		sb.WriteString("return " + o.text() + "\n")
	}
	return sb.String()
}

var bufferKinds = [...]string{"input", "temp", "result"}

func (b *Buffer) text() string {
	s := fmt.Sprintf("%s %s: %s[%s] stride [%s]", bufferKinds[b.Kind], b.Name, b.DType.Short(), sizes(b.Shape), sizes(b.Stride))
	if b.Param {
		s += " param"
	}
	return s
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

func sizes(xs []sym.Int) string {
	parts := make([]string, len(xs))
	for i, x := range xs {
		parts[i] = x.String()
	}
	return strings.Join(parts, ", ")
}

// String prints the node with its body, one operation a line.
func (n *Node) String() string {
	var sb strings.Builder
	sb.WriteString(n.Head())
	if n.Hoisted {
		sb.WriteString(hoistedMark)
	}
	if c := n.originText(); c != "" {
		sb.WriteString(" // " + c)
	}
	sb.WriteByte('\n')
	if n.Kind == Matmul {
		m := n.MM
		fmt.Fprintf(&sb, "  a %s[%s]\n  b %s[%s]\n  out %s[%s]\n", m.A.Name, n.matmulIndex(m.AIdx),
			m.B.Name, n.matmulIndex(m.BIdx), m.Out.Name, n.matmulIndex(m.OutIdx))
		if m.Conv != nil {
			sb.WriteString("  " + m.Conv.String() + "\n")
		}
		if m.Grad != nil {
			sb.WriteString("  " + m.Grad.String() + "\n")
		}
	}
	for i := range n.Body {
		sb.WriteString("  " + n.ValueText(i) + "\n")
	}
	return sb.String()
}

// hoistedMark comes after the loops of a node that the prologue runs.
const hoistedMark = " once"

// Head is the first line of the node: its name, kind and loops.
func (n *Node) Head() string {
	switch n.Kind {
	case Pointwise:
		return fmt.Sprintf("%s = pointwise [%s]", n.Name, sizes(n.Outer))
	case Reduction:
		return fmt.Sprintf("%s = reduction [%s | %s]", n.Name, sizes(n.Outer), sizes(n.Inner))
	case Sequential:
		return fmt.Sprintf("%s = sequential [%s | %s]", n.Name, sizes(n.Outer), sizes(n.Inner))
	case Matmul:
		return fmt.Sprintf("%s = matmul [%s | %s]", n.Name, sizes(n.Outer), n.MM.K)
	}
	outs := make([]string, len(n.Ext.Outs))
	for i, b := range n.Ext.Outs {
		outs[i] = b.Name
	}
	of := ""
	if n.Ext.Flow != nil {
		of = flowOf + strings.Join(n.Ext.Flow.Names, ", ")
	}
	return fmt.Sprintf("%s = extern %s(%s) -> %s%s because %s", n.Name, n.Ext.Name(),
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

func (n *Node) originText() string {
	parts := make([]string, len(n.Origins))
	for i, o := range n.Origins {
		parts[i] = o.Node
	}
	return strings.Join(parts, " ")
}

// ValueText prints operation i of the body.
func (n *Node) ValueText(i int) string {
	v := &n.Body[i]
	d := v.DType.Short()
	switch v.Op {
	case Const:
		return fmt.Sprintf("t%d = const.%s %s", i, d, v.ConstText())
	case Load:
		return fmt.Sprintf("t%d = load.%s %s[%s]", i, d, v.Buf.Name, n.IndexText(v.Index))
	case LoadAt:
		return fmt.Sprintf("t%d = loadat.%s %s[%s], t%d", i, d, v.Buf.Name, n.IndexText(v.Index), v.Args[0])
	case Store:
		return fmt.Sprintf("store.%s %s[%s], t%d", d, v.Buf.Name, n.IndexText(v.Index), v.Args[0])
	case StoreAt:
		return fmt.Sprintf("storeat.%s %s[%s], t%d, t%d", d, v.Buf.Name, n.IndexText(v.Index), v.Args[0], v.Args[1])
	case FoldAt:
		return fmt.Sprintf("foldat_%s.%s %s[%s], t%d, t%d", v.Red, d, v.Buf.Name, n.IndexText(v.Index), v.Args[0], v.Args[1])
	case Scan:
		return fmt.Sprintf("t%d = scan_%s.%s t%d", i, v.Red, d, v.Args[0])
	case IndexOf:
		return fmt.Sprintf("t%d = index.%s [%s]", i, d, n.IndexText(v.Index))
	case Reduce:
		return fmt.Sprintf("t%d = reduce_%s.%s t%d", i, v.Red, d, v.Args[0])
	}
	args := make([]string, len(v.Args))
	for k, a := range v.Args {
		args[k] = fmt.Sprintf("t%d", a)
	}
	return fmt.Sprintf("t%d = %s.%s %s", i, v.Op, d, strings.Join(args, ", "))
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
func (n *Node) IndexText(x Index) string {
	return x.text(func(k int) string {
		if k < len(n.Outer) {
			return "i" + strconv.Itoa(k)
		}
		return "r" + strconv.Itoa(k-len(n.Outer))
	})
}

func (n *Node) matmulIndex(x Index) string {
	return x.text(func(k int) string {
		if k < len(n.Outer) {
			return "i" + strconv.Itoa(k)
		}
		return "k"
	})
}

// Text prints an address; name names loop k.
func (x Index) Text(name func(k int) string) string { return x.text(name) }

func (x Index) text(name func(k int) string) string {
	var parts []string
	for k, c := range x.Coef {
		if v, ok := c.IsConst(); ok {
			switch v {
			case 0:
			case 1:
				parts = append(parts, name(k))
			default:
				parts = append(parts, fmt.Sprintf("%d*%s", v, name(k)))
			}
			continue
		}
		parts = append(parts, fmt.Sprintf("(%s)*%s", c, name(k)))
	}
	if !sym.Is(x.Off, 0) || len(parts) == 0 {
		parts = append(parts, x.Off.String())
	}
	return strings.Join(parts, " + ")
}
