package export

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file writes a program as torch.export.save does: the texts of its archive.

// What the files that are written say of themselves: they are those of this PyTorch.
const (
	writtenMinor = 20
	writtenTorch = "2.15.0"
	atenVersion  = 10
)

// object is one of JSON.
type object = map[string]any

// Write is the text of the archive's files. The weights lie where Weights says.
func (p *Program) Write() (Files, error) {
	w := &writer{p: p, hints: map[string]int64{}}
	_, w.symbol = p.Env(func(s *Symbol) int64 { return s.Hint })
	for _, s := range p.Symbols {
		w.hints[s.Name] = s.Hint
	}
	model := object{
		"graph_module": object{
			"graph":             w.graph(),
			"signature":         object{"input_specs": w.inputSpecs(), "output_specs": w.outputSpecs()},
			"module_call_graph": w.calls(), "metadata": object{}, "treespec_namedtuple_fields": object{},
		},
		"opset_version": object{"aten": atenVersion}, "range_constraints": w.ranges(),
		"schema_version": object{"major": schemaMajor, "minor": writtenMinor},
		"verifiers":      []string{"TRAINING"}, "torch_version": writtenTorch, "guards_code": []string{},
	}
	var f Files
	f.Model = w.text(model)
	f.Weights = w.text(object{"config": w.stored(weightsFolder)})
	f.Constants = w.text(object{"config": w.stored(constantsFolder)})
	return f, w.err
}

type writer struct {
	p      *Program
	hints  map[string]int64
	symbol func(name string) (sym.Int, error)
	err    error
}

func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *writer) text(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		w.fail(err)
	}
	return b
}

func (w *writer) graph() object {
	tensors, sizes := object{}, object{}
	for name, t := range w.p.values {
		tensors[name] = w.tensor(t)
	}
	for name, text := range w.p.sizes {
		sizes[name] = w.size(sizeText(text))
	}
	inputs, outputs, nodes := []any{}, []any{}, []any{}
	for i := range w.p.Inputs {
		inputs = append(inputs, w.inputArg(&w.p.Inputs[i]))
	}
	for _, o := range w.p.Outputs {
		outputs = append(outputs, w.arg(o.Value))
	}
	for i := range w.p.Nodes {
		nodes = append(nodes, w.node(&w.p.Nodes[i]))
	}
	return object{
		"inputs": inputs, "outputs": outputs, "nodes": nodes, "tensor_values": tensors, "sym_int_values": sizes,
		"sym_bool_values": object{}, "sym_float_values": object{}, "is_single_tensor_return": false, "custom_obj_values": object{},
	}
}

// sizeText is a size of a text that is a number or an expression.
func sizeText(s string) Size {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return Size{Value: n}
	}
	return Size{Expr: s}
}

func (w *writer) size(s Size) object {
	if s.Expr == "" {
		return object{"as_int": s.Value}
	}
	hint, err := s.Eval(w.hints)
	if err != nil {
		w.fail(err)
	}
	x, err := readSize(s.Expr, w.symbol)
	if err != nil {
		w.fail(err)
	}
	return object{"as_expr": object{"expr_str": Sympy(x), "hint": object{"as_int": hint}}}
}

func (w *writer) sizes(list []Size) []object {
	out := make([]object, len(list))
	for i, s := range list {
		out[i] = w.size(s)
	}
	return out
}

func (w *writer) tensor(t *Tensor) object {
	return object{
		"dtype": dtypeNumber(t.DType), "sizes": w.sizes(t.Shape), "strides": w.sizes(t.Stride), "storage_offset": w.size(t.Offset),
		"requires_grad": t.Grad, "device": object{"type": t.Device, "index": nil}, "layout": int(stridedLayout),
	}
}

func dtypeNumber(d ops.DType) int {
	for n, x := range dtypes {
		if x == d {
			return n
		}
	}
	return 0
}

func (w *writer) inputArg(in *Input) object {
	if in.Kind == Fixed {
		return w.arg(in.Value)
	}
	return w.arg(Ref(in.Name))
}

func (w *writer) inputSpecs() []object {
	out := make([]object, len(w.p.Inputs))
	for i := range w.p.Inputs {
		in := &w.p.Inputs[i]
		arg := object{"name": in.Name}
		switch in.Kind {
		case Parameter:
			out[i] = object{"parameter": object{"arg": arg, "parameter_name": in.Target}}
		case Buffer:
			kept := w.p.Weights[in.Target].Kept()
			out[i] = object{"buffer": object{"arg": arg, "buffer_name": in.Target, "persistent": kept}}
		case Constant:
			out[i] = object{"tensor_constant": object{"arg": arg, "tensor_constant_name": in.Target}}
		case Fixed:
			out[i] = object{"constant_input": object{"name": in.Name, "value": w.arg(in.Value)}}
		default:
			out[i] = object{"user_input": object{"arg": w.arg(Ref(in.Name))}}
		}
	}
	return out
}

func (w *writer) outputSpecs() []object {
	out := make([]object, len(w.p.Outputs))
	for i, o := range w.p.Outputs {
		ref, _ := o.Value.(Ref)
		arg := object{"name": string(ref)}
		switch o.Kind {
		case BufferMutation:
			out[i] = object{"buffer_mutation": object{"arg": arg, "buffer_name": o.Target}}
		case InputMutation:
			out[i] = object{"user_input_mutation": object{"arg": arg, "user_input_name": o.Target}}
		default:
			out[i] = object{"user_output": object{"arg": w.arg(o.Value)}}
		}
	}
	return out
}

func (w *writer) node(n *Node) object {
	inputs, outputs := []object{}, []object{}
	for _, a := range n.Args {
		kind := 1
		if a.Keyword {
			kind = 2
		}
		inputs = append(inputs, object{"name": a.Name, "arg": w.arg(a.Value), "kind": kind})
	}
	for _, o := range n.Outs {
		switch {
		case o.Many:
			list := []object{}
			for _, name := range o.List {
				list = append(list, object{"name": name})
			}
			outputs = append(outputs, object{"as_tensors": list})
		case o.Name == "":
			outputs = append(outputs, object{"as_none": true})
		default:
			outputs = append(outputs, w.arg(Ref(o.Name)))
		}
	}
	var single any // of what takes graphs: whether its value is a tensor, and no tuple
	if n.FlowOp() != "" {
		single = false
	}
	return object{
		"target": n.Target, "inputs": inputs, "outputs": outputs, "metadata": object{"stack_trace": stackText(n.Stack)},
		"is_hop_single_tensor_return": single, "name": n.Name,
	}
}

// stackText is a stack as Python prints a traceback.
func stackText(stack []Frame) string {
	var sb strings.Builder
	for _, f := range stack {
		fmt.Fprintf(&sb, "  File \"%s\", line %d, in %s\n    %s\n", f.File, f.Line, f.Func, f.Code)
	}
	return strings.TrimSpace(sb.String())
}

// decimal is a float that stays one in JSON: 1.0.
type decimal float64

// MarshalJSON writes what Python reads as a float; what JSON has no number for is a text.
func (d decimal) MarshalJSON() ([]byte, error) {
	switch f := float64(d); {
	case math.IsNaN(f):
		return []byte(`"NaN"`), nil
	case math.IsInf(f, 1):
		return []byte(`"Infinity"`), nil
	case math.IsInf(f, -1):
		return []byte(`"-Infinity"`), nil
	}
	s := strconv.FormatFloat(float64(d), 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return []byte(s), nil
}

// arg writes an argument with its kind.
func (w *writer) arg(a Arg) object {
	switch a := a.(type) {
	case nil:
		return object{"as_none": true}
	case Ref:
		if w.p.sizes[string(a)] != "" {
			return object{"as_sym_int": object{"as_name": string(a)}}
		}
		return object{"as_tensor": object{"name": string(a)}}
	case int64:
		return object{"as_int": a}
	case float64:
		return object{"as_float": decimal(a)}
	case bool:
		return object{"as_bool": a}
	case string:
		return object{"as_string": a}
	case ops.DType:
		return object{"as_scalar_type": dtypeNumber(a)}
	case Layout:
		return object{"as_layout": int(a)}
	case MemoryFormat:
		return object{"as_memory_format": int(a)}
	case ops.Device:
		return object{"as_device": object{"type": string(a), "index": nil}}
	case *Sub:
		inner := *w
		inner.p = a.Body
		graph := inner.graph()
		graph["is_single_tensor_return"] = len(a.Body.Outputs) == 1 && a.Single
		if inner.err != nil {
			w.fail(inner.err)
		}
		return object{"as_graph": object{"name": a.Name, "graph": graph}}
	case []Arg:
		return w.list(a)
	}
	w.fail(fmt.Errorf("a value of type %T cannot be written", a))
	return nil
}

// list writes a list by what its elements are.
func (w *writer) list(list []Arg) object {
	tensors, none, sizes := 0, 0, 0
	for _, a := range list {
		switch a := a.(type) {
		case nil:
			none++
		case Ref:
			if w.p.sizes[string(a)] != "" {
				sizes++
			} else {
				tensors++
			}
		}
	}
	switch {
	case sizes > 0:
		return object{"as_sym_ints": each(list, func(a Arg) any {
			if r, ok := a.(Ref); ok {
				return object{"as_name": string(r)}
			}
			return object{"as_int": a}
		})}
	case none > 0:
		return object{"as_optional_tensors": each(list, func(a Arg) any { return w.arg(a) })}
	case tensors > 0:
		return object{"as_tensors": each(list, func(a Arg) any { return object{"name": a} })}
	case len(list) == 0:
		return object{"as_ints": []any{}}
	}
	switch list[0].(type) {
	case float64:
		return object{"as_floats": each(list, func(a Arg) any { f, _ := a.(float64); return decimal(f) })}
	case bool:
		return object{"as_bools": list}
	case string:
		return object{"as_strings": list}
	}
	return object{"as_ints": list}
}

func each(list []Arg, f func(Arg) any) []any {
	out := make([]any, len(list))
	for i, a := range list {
		out[i] = f(a)
	}
	return out
}

func (w *writer) ranges() object {
	out := object{}
	for _, s := range w.p.Symbols {
		r := object{"min_val": s.Min, "max_val": nil}
		if s.Max != math.MaxInt64 {
			r["max_val"] = s.Max
		}
		out[s.Name] = r
	}
	return out
}

func (w *writer) stored(folder string) object {
	out := object{}
	for name, x := range w.p.Weights {
		if path, ok := strings.CutPrefix(x.Path, folder); ok {
			out[name] = object{"path_name": path, "is_param": x.Param, "use_pickle": false, "tensor_meta": w.tensor(x.Tensor)}
		}
	}
	return out
}

func (w *writer) calls() []object {
	return []object{{"fqn": "", "signature": object{
		"inputs": []any{}, "outputs": []any{}, "in_spec": treeText(w.p.In), "out_spec": treeText(w.p.Out),
		"forward_arg_names": append([]string{}, w.p.Names...),
	}}}
}

// treeText is a tree as torch.utils._pytree writes it.
func treeText(t *Tree) string {
	b, _ := json.Marshal([]any{1, treeObject(t)})
	return string(b)
}

func treeObject(t *Tree) object {
	kids := []object{}
	for _, k := range t.Kids {
		kids = append(kids, treeObject(k))
	}
	out := object{"type": nil, "context": nil, "children_spec": kids}
	switch t.Kind {
	case Tuple:
		out["type"], out["context"] = "builtins.tuple", "null"
	case List:
		out["type"], out["context"] = "builtins.list", "null"
	case Dict:
		keys, _ := json.Marshal(append([]string{}, t.Keys...))
		out["type"], out["context"] = "builtins.dict", string(keys)
	}
	return out
}

// Sympy is an expression as sympy's srepr writes it: Mul(Integer(2), Symbol('s0', ...)).
func Sympy(x sym.Int) string {
	form, args := x.Parts()
	switch form {
	case sym.Number:
		return "Integer(" + x.String() + ")"
	case sym.Name:
		return "Symbol('" + x.String() + "', positive=True, integer=True)"
	}
	parts := make([]string, len(args))
	for i, a := range args {
		parts[i] = Sympy(a)
	}
	name := map[sym.Form]string{
		sym.Sum: "Add", sym.Times: "Mul", sym.Quotient: "FloorDiv", sym.Modulo: "Mod", sym.Maximum: "Max", sym.Minimum: "Min",
	}[form]
	return name + "(" + strings.Join(parts, ", ") + ")"
}
