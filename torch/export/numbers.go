package export

import (
	"fmt"
	"strings"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file computes the numbers of a program: sizes of tensors and what is made of
// them. They are no calls of operators: arguments hold them as expressions.

// number handles a node that is no tensor operator; done is not set for one that is.
func (w *walker) number(n *Node, args map[string]ops.Arg) (done bool, err error) {
	short := shortTarget(n.Target)
	var v any
	switch short {
	case "aten.sym_size.int", "aten.sym_stride.int":
		v, err = sizeOf(short, args)
	case "aten.sym_numel.default":
		m := ops.MetaOf(args["self"])
		if m == nil {
			return true, &Unsupported{Op: short}
		}
		v = sym.Product(m.Shape)
	case "aten._assert_tensor_metadata.default":
		return true, assertMetadata(args)
	case "aten._assert_scalar.default":
		if b, ok := args["self"].(bool); !ok || !b {
			return true, fmt.Errorf("the program asserts what does not hold: %v", args["assert_msg"])
		}
		return true, nil
	case "operator.getitem":
		if v, err = item(args); err == nil {
			w.vals[n.Name] = v
		}
		return true, err
	default:
		name, ok := strings.CutPrefix(short, "_operator.")
		if !ok {
			if name, ok = strings.CutPrefix(short, "torch.sym_"); !ok {
				return false, nil
			}
		}
		v, err = w.arithmetic(short, name, n)
	}
	if err != nil {
		return true, err
	}
	if n.Results != 0 {
		w.vals[n.Name] = v
		return true, nil
	}
	if len(n.Outs) != 1 || n.Outs[0].Many {
		return true, fmt.Errorf("%s gives one number", short)
	}
	w.vals[n.Outs[0].Name] = v
	return true, nil
}

func sizeOf(op string, args map[string]ops.Arg) (any, error) {
	m := ops.MetaOf(args["self"])
	d, ok := args["dim"].(sym.Int)
	c, isConst := d.IsConst()
	if m == nil || !ok || !isConst {
		return nil, &Unsupported{Op: op}
	}
	list := m.Shape
	if op == "aten.sym_stride.int" {
		list = m.Stride
	}
	if c < 0 {
		c += int64(len(list))
	}
	if c < 0 || c >= int64(len(list)) {
		return nil, fmt.Errorf("%s: a tensor of %d dimensions has no dimension %d", op, len(list), c)
	}
	return list[c], nil
}

// assertMetadata compares a tensor with what a program says of it.
func assertMetadata(args map[string]ops.Arg) error {
	m := ops.MetaOf(args["a"])
	if m == nil {
		return fmt.Errorf("aten._assert_tensor_metadata.default: no tensor")
	}
	if d, ok := args["dtype"].(ops.DType); ok && d != m.DType {
		return fmt.Errorf("a tensor is of dtype %s where the program says %s", m.DType, d)
	}
	return nil
}

// arithmetic computes a function of Python's operator module on sizes.
func (w *walker) arithmetic(op, name string, n *Node) (any, error) {
	var x []sym.Int
	for _, a := range n.Args {
		v, err := w.value(a.Value)
		if err != nil {
			return nil, err
		}
		i, ok := v.(sym.Int)
		if !ok {
			return nil, &Unsupported{Op: op, Why: "of what are no whole numbers"}
		}
		x = append(x, i)
	}
	if name == "neg" && len(x) == 1 {
		return sym.Neg(x[0]), nil
	}
	if len(x) != 2 {
		return nil, &Unsupported{Op: op}
	}
	if c, ok := x[1].IsConst(); ok && c == 0 && (name == "floordiv" || name == "mod") {
		return nil, fmt.Errorf("%s by 0", op)
	}
	switch name {
	case "add":
		return sym.Add(x[0], x[1]), nil
	case "sub":
		return sym.Sub(x[0], x[1]), nil
	case "mul":
		return sym.Mul(x[0], x[1]), nil
	case "floordiv":
		return sym.FloorDiv(x[0], x[1]), nil
	case "mod":
		return sym.Mod(x[0], x[1]), nil
	case "max":
		return sym.Max(x[0], x[1]), nil
	case "min":
		return sym.Min(x[0], x[1]), nil
	}
	return compare(op, name, x[0], x[1])
}

func compare(op, name string, a, b sym.Int) (any, error) {
	f := map[string]func(a, b sym.Int) bool{
		"eq": sym.Eq, "ne": sym.Ne, "lt": sym.Lt, "le": sym.Le, "gt": sym.Gt, "ge": sym.Ge,
	}[name]
	if f == nil {
		return nil, &Unsupported{Op: op}
	}
	return f(a, b), nil
}
