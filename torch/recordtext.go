package torch

import (
	"fmt"
	"strings"

	"tcdbg/ops"
)

// This file prints recorded operators.

// Graph is the recorded operators as torch.fx prints a graph.
func (r *Recording) Graph() string {
	users := make([]int, len(r.values))
	for _, c := range r.calls {
		seen := map[valueRef]bool{}
		for _, a := range c.args {
			for _, v := range refsOf(a) {
				if v >= 0 && !seen[v] {
					seen[v] = true
					users[v]++
				}
			}
		}
	}
	for _, id := range r.outputs {
		users[id]++
	}
	var b strings.Builder
	b.WriteString("graph():\n")
	line := func(id int, format string, args ...any) {
		fmt.Fprintf(&b, "    %%%s : [num_users=%d] = %s\n", r.values[id].name, users[id], fmt.Sprintf(format, args...))
	}
	for _, id := range r.inputs {
		line(id, "placeholder[target=%s]", r.values[id].name)
	}
	for id, v := range r.values {
		if v.apart {
			line(id, "get_attr[target=%s]", v.name)
		}
	}
	for _, c := range r.calls {
		args := r.texts(c, "%")
		if len(args) == 1 {
			args[0] += "," // a Python tuple of one
		}
		line(c.outs[0], "call_function[target=torch.ops.aten.%s](args = (%s), kwargs = {})", c.row.Name, strings.Join(args, ", "))
	}
	names := make([]string, len(r.outputs))
	for i, id := range r.outputs {
		names[i] = r.values[id].name
	}
	b.WriteString("    return " + strings.Join(names, ", "))
	return b.String()
}

// TorchScript is the recorded operators as torch.jit prints the graph of a trace.
func (r *Recording) TorchScript() string {
	var b strings.Builder
	typed := func(id int) string {
		v := r.values[id]
		m := &v.meta
		if v.apart {
			m = v.t.TensorMeta()
		}
		return "%" + v.name + " : " + m.DType.ScalarType() + "(" + sizesText(m) + ")"
	}
	heads := make([]string, 0, len(r.values))
	for _, id := range r.inputs {
		heads = append(heads, typed(id))
	}
	for id, v := range r.values {
		if v.apart {
			heads = append(heads, typed(id))
		}
	}
	fmt.Fprintf(&b, "graph(%s):\n", strings.Join(heads, ",\n      "))
	for _, c := range r.calls {
		outs := make([]string, len(c.outs))
		for i, id := range c.outs {
			outs[i] = typed(id)
		}
		fmt.Fprintf(&b, "  %s = aten::%s(%s)\n", strings.Join(outs, ", "), c.row.Name, strings.Join(r.texts(c, "%"), ", "))
	}
	names := make([]string, len(r.outputs))
	for i, id := range r.outputs {
		names[i] = "%" + r.values[id].name
	}
	fmt.Fprintf(&b, "  return (%s)\n", strings.Join(names, ", "))
	return b.String()
}

func sizesText(m *ops.TensorMeta) string {
	parts := make([]string, len(m.Shape), len(m.Shape)+3)
	strides := make([]string, len(m.Stride))
	for i := range m.Shape {
		parts[i], strides[i] = m.Shape[i].String(), m.Stride[i].String()
	}
	if len(strides) > 0 {
		parts = append(parts, "strides=["+strings.Join(strides, ", ")+"]")
	}
	grad := 0
	if m.RequiresGrad {
		grad = 1
	}
	return strings.Join(append(parts, fmt.Sprintf("requires_grad=%d", grad), fmt.Sprintf("device=%s", m.Device)), ", ")
}

// texts are the arguments of a call; those at the end that have their defaults are left out.
func (r *Recording) texts(c recordedCall, mark string) []string {
	n, params := len(c.args), c.row.Params()
	for n > 0 && params[n-1].HasDef && fmt.Sprint(c.args[n-1]) == fmt.Sprint(params[n-1].Default) {
		n--
	}
	out := make([]string, n)
	for i, a := range c.args[:n] {
		switch a := a.(type) {
		case nil:
			out[i] = "None"
		case valueRef:
			out[i] = mark + r.values[a].name
		case []valueRef:
			list := make([]string, len(a))
			for k, v := range a {
				if list[k] = "None"; v >= 0 {
					list[k] = mark + r.values[v].name
				}
			}
			out[i] = "[" + strings.Join(list, ", ") + "]"
		case bool:
			out[i] = map[bool]string{true: "True", false: "False"}[a]
		default:
			out[i] = strings.ReplaceAll(fmt.Sprint(a), " ", ", ")
		}
	}
	return out
}

func refsOf(a ops.Arg) []valueRef {
	switch a := a.(type) {
	case valueRef:
		return []valueRef{a}
	case []valueRef:
		return a
	}
	return nil
}
