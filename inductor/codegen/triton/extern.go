package triton

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tcdbg/inductor/plan"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file writes extern calls as calls of PyTorch's operators.

// extern calls PyTorch's operator of the same name.
func (m *module) extern(x *plan.Extern) {
	var outs []string
	for _, b := range x.Outs {
		outs = append(outs, m.names[b])
	}
	if x.Flow != nil {
		m.flow(x, outs)
		return
	}
	m.p("    fill((%s,), %s)  # %s", strings.Join(outs, ", "), m.externCall(ops.Get(x.Op), x), x.Reason)
}

// noCounterpart are operators of ours that PyTorch computes within others, or with
// other intermediate results.
var noCounterpart = map[string]bool{
	"_lstsq": true, "_repeat_index": true, "_with_data": true, "_ctc_loss": true, "_ctc_loss_backward": true,
}

// externCall is the call.
func (m *module) externCall(op *ops.Op, x *plan.Extern) string {
	name := strings.ReplaceAll(op.Name, ".", "_")
	switch {
	case noCounterpart[name]:
		m.fail(fmt.Errorf("%s: PyTorch has no such operator", op.Name))
	case name == "convolution_backward": // ours has no bias
		args := m.arguments(op, x, len(x.Args))
		last := len(args) - 1
		return fmt.Sprintf(
			"aten.%s(%s, None, %s, (*%s, False))", name, strings.Join(args[:3], ", "), strings.Join(args[3:last], ", "),
			args[last],
		)
	case name == "_class_index": // which PyTorch checks within one_hot
		args := m.arguments(op, x, len(x.Args))
		return fmt.Sprintf("(aten.one_hot(%s, %s), %[1]s.clone())[1]", args[0], args[1])
	case name == "_int_tensor":
		args := m.arguments(op, x, len(x.Args))
		return fmt.Sprintf("torch.tensor(%s, device=device).reshape(%s)", args[0], args[1])
	}
	if text, ok := m.poolBackward(op, x); ok {
		return text
	}
	name = strings.TrimSuffix(name, "_with_indices") // which PyTorch returns always
	if op.Overload != "" {
		name += "." + op.Overload
	}
	named := len(x.Args)
	switch name { // whose flags PyTorch wants by name
	case "sort":
		named = 1
	case "linalg_solve_triangular":
		named = 2
	}
	return fmt.Sprintf("aten.%s(%s)", name, strings.Join(m.arguments(op, x, named), ", "))
}

// poolBackward is the gradient of an average, for which PyTorch has an operator for
// each number of dimensions: that of a linear function, whatever its input is.
func (m *module) poolBackward(op *ops.Op, x *plan.Extern) (string, bool) {
	args := m.arguments(op, x, len(x.Args))
	switch op.Name {
	case "_adaptive_avg_pool_backward":
		return fmt.Sprintf("linear_grad(lambda x, n: aten.adaptive_avg_pool%sd(x, n), %s, %s, %[1]s)", args[2], args[1], args[0]), true
	case "_avg_pool_backward":
		dims := len(ops.In[ops.AvgPoolBackwardArgs](&ops.Call{Op: op, Args: x.Args}).KernelSize.Ints())
		rest := args[2:]
		if dims == 1 { // where PyTorch knows no divisor
			rest = args[2:7]
		}
		return fmt.Sprintf("linear_grad(lambda x, n: aten.avg_pool%dd(x, %s), %s, %s, %[1]d)", dims, strings.Join(rest, ", "),
			args[1], args[0]), true
	}
	return "", false
}

// arguments are those of a call, by name from the given one on and where the schema
// wants it.
func (m *module) arguments(op *ops.Op, x *plan.Extern, named int) []string {
	params := op.Params()
	last := len(x.Args)
	for last > 0 && x.Args[last-1] == nil && params[last-1].HasDef {
		last--
	}
	var out []string
	for i, a := range x.Args[:last] {
		p := &params[i]
		text := m.arg(sizesOf(x, p, a))
		if i >= named || p.KwOnly {
			text = p.Name + "=" + text
		}
		out = append(out, text)
	}
	return out
}

// sizesOf is an argument with what None means in a list of sizes: for an output size
// of a pool that of the input, for a stride the kernel's, which PyTorch's operators
// call an empty list.
func sizesOf(x *plan.Extern, p *ops.Param, a ops.Arg) ops.Arg {
	if a == nil && p.Name == "stride" && strings.HasPrefix(p.Type, "int[") {
		return []sym.Int{}
	}
	list, ok := a.([]sym.Int)
	if !ok || p.Name != "output_size" {
		return a
	}
	self, view := ops.In[ops.SelfArgs](&ops.Call{Op: ops.Get(x.Op), Args: x.Args}).Self.Arg.(plan.BufferView)
	if !view {
		return a
	}
	out := slices.Clone(list)
	for i := range out {
		if sym.Is(out[i], ops.NoSize) && len(self.Shape) >= len(out) {
			out[i] = self.Shape[len(self.Shape)-len(out)+i]
		}
	}
	return out
}

// arg is an argument as Python text.
func (m *module) arg(a ops.Arg) string {
	switch a := a.(type) {
	case nil:
		return "None"
	case plan.BufferView:
		return fmt.Sprintf("view(%s, %s, %s, %s)", m.names[a.Buffer], sizesText(a.Shape), sizesText(a.Stride), a.Offset)
	case sym.Int:
		return a.String()
	case []sym.Int:
		return m.list(len(a), func(i int) ops.Arg { return a[i] })
	case float64:
		return pythonFloat(a)
	case complex128:
		return fmt.Sprintf("complex(%s, %s)", pythonFloat(real(a)), pythonFloat(imag(a)))
	case []float64:
		return m.list(len(a), func(i int) ops.Arg { return a[i] })
	case bool:
		return map[bool]string{false: "False", true: "True"}[a]
	case []bool:
		return m.list(len(a), func(i int) ops.Arg { return a[i] })
	case string:
		return strconv.QuoteToASCII(a)
	case ops.DType:
		return "torch." + a.Name()
	case ops.Device:
		return "device"
	case []ops.Arg:
		return m.list(len(a), func(i int) ops.Arg { return a[i] })
	}
	m.fail(fmt.Errorf("an argument of type %T has no Python text", a))
	return "None"
}

func (m *module) list(n int, at func(int) ops.Arg) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = m.arg(at(i))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func pythonFloat(x float64) string {
	switch {
	case math.IsNaN(x):
		return "math.nan"
	case math.IsInf(x, 1):
		return "math.inf"
	case math.IsInf(x, -1):
		return "-math.inf"
	}
	s := strconv.FormatFloat(x, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}
