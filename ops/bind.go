package ops

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"tcdbg/ops/schema"
	"tcdbg/ops/sym"
)

// This file reads schemas, "(Tensor self, int dim=-1, *, dtype? dtype=None) -> Tensor",
// and binds arguments to them.

// Params returns op's parsed schema.
func (op *Op) Params() []Param {
	if p := op.params.Load(); p != nil {
		return *p
	}
	p, err := parseSchema(op.Schema)
	if err != nil {
		panic(fmt.Sprintf("ops: %s: %v", op.FullName(), err))
	}
	op.params.Store(&p)
	return p
}

// Returns lists the result types of op's schema: ["Tensor", "Tensor"], or
// ["Tensor[]"] for a list whose length the arguments decide.
func (op *Op) Returns() []string {
	_, after, _ := strings.Cut(op.Schema, "->")
	after = strings.Trim(strings.TrimSpace(after), "()")
	parts := strings.Split(after, ",")
	for i := range parts {
		parts[i], _, _ = strings.Cut(strings.TrimSpace(parts[i]), " ")
	}
	return parts
}

func parseSchema(s string) ([]Param, error) {
	parts, ok := schema.Params(s)
	if !ok {
		return nil, fmt.Errorf("schema %q", s)
	}
	var out []Param
	kwOnly := false
	for _, part := range parts {
		if part == "*" {
			kwOnly = true
			continue
		}
		p, err := parseParam(part)
		if err != nil {
			return nil, err
		}
		p.KwOnly = kwOnly
		out = append(out, p)
	}
	return out, nil
}

func parseParam(s string) (Param, error) {
	typ, rest, ok := strings.Cut(s, " ")
	if !ok {
		return Param{}, fmt.Errorf("parameter %q", s)
	}
	p := Param{Type: typ}
	name, def, hasDef := strings.Cut(rest, "=")
	p.Name = name
	if i := strings.IndexByte(typ, '['); i >= 0 && typ[i+1] != ']' {
		j := strings.IndexByte(typ, ']')
		n, err := strconv.Atoi(typ[i+1 : j])
		if err != nil {
			return Param{}, fmt.Errorf("parameter %q: %w", s, err)
		}
		p.Repeat, p.Type = n, typ[:i+1]+typ[j:]
	}
	if !hasDef {
		return p, nil
	}
	p.HasDef = true
	d, err := parseDefault(&p, def)
	if err != nil {
		return Param{}, fmt.Errorf("parameter %q: %w", s, err)
	}
	p.Default = d
	return p, nil
}

func parseDefault(p *Param, s string) (Arg, error) {
	switch s {
	case "None":
		return nil, nil
	case "True":
		return true, nil
	case "False":
		return false, nil
	case "[]":
		return []sym.Int{}, nil
	}
	if s[0] == '\'' {
		return strings.Trim(s, "'"), nil
	}
	var raw Arg
	switch {
	case s[0] == '[':
		var list []int
		for part := range strings.SplitSeq(strings.Trim(s, "[]"), ",") {
			n, err := strconv.Atoi(strings.TrimSpace(part))
			if err != nil {
				return nil, err
			}
			list = append(list, n)
		}
		raw = list
	case strings.ContainsAny(s, ".einf") && p.Base() != "dtype":
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return nil, err
		}
		raw = f
	default:
		n, err := strconv.Atoi(s)
		if err != nil {
			return nil, err
		}
		raw = n
	}
	v, ok := convert(p, raw)
	if !ok {
		return nil, fmt.Errorf("default %s does not fit", s)
	}
	return v, nil
}

// Param is one parameter of a schema.
type Param struct {
	Name string
	// "Tensor", "Tensor?", "Tensor[]", "Operand", "Scalar", "int", "int[]", "float", "float[]",
	// "bool", "str", "dtype", "device", with ? when optional
	Type    string
	KwOnly  bool
	Default Arg
	HasDef  bool
	// Repeat is n for int[n]: a single number stands for n equal ones.
	Repeat int
}

// Optional reports whether None may be given.
func (p *Param) Optional() bool { return p.Type[len(p.Type)-1] == '?' }

// Base is the type without its question mark.
func (p *Param) Base() string {
	if p.Optional() {
		return p.Type[:len(p.Type)-1]
	}
	return p.Type
}

// IsTensor reports whether the parameter takes one tensor (an Operand may).
func (p *Param) IsTensor() bool {
	b := p.Base()
	return b == "Tensor" || b == "Operand"
}

// IsTensors reports whether the parameter takes a list of tensors.
func (p *Param) IsTensors() bool {
	b := p.Base()
	return b == "Tensor[]" || b == "Tensor?[]"
}

// BindError says which argument of which operator does not fit.
type BindError struct {
	Op  string
	Msg string
}

func (e *BindError) Error() string { return e.Op + "(): " + e.Msg }

// Bind checks positional and keyword arguments against op's schema, converts
// Go numbers to the Arg forms, fills in defaults and returns one Arg for each
// parameter. The error names the operator and the argument, as PyTorch does.
func Bind(op *Op, pos []Arg, kw map[string]Arg) ([]Arg, error) {
	params := op.Params()
	pos = deviceFirst(op, pos)
	if len(pos) > len(params) {
		return nil, &BindError{op.Name, fmt.Sprintf("takes %d positional arguments but %d were given", len(params), len(pos))}
	}
	out := make([]Arg, len(params))
	used := 0
	for i := range params {
		p := &params[i]
		var a Arg
		given := false
		if i < len(pos) {
			a, given = pos[i], true
		}
		if len(kw) > 0 {
			if v, ok := kw[p.Name]; ok {
				if given {
					return nil, &BindError{op.Name, fmt.Sprintf("got multiple values for argument '%s'", p.Name)}
				}
				a, given = v, true
				used++
			}
		}
		if !given {
			if !p.HasDef {
				return nil, &BindError{op.Name, fmt.Sprintf("missing required argument '%s'", p.Name)}
			}
			out[i] = p.Default
			continue
		}
		if p.Base() == "device" && !isNil(a) {
			d, err := deviceArg(a)
			if err != nil {
				return nil, err
			}
			a = d
		}
		v, ok := convert(p, a)
		if !ok {
			if err := pointsOfTensors(op, pos); err != nil {
				return nil, err
			}
			return nil, &BindError{op.Name, mismatch(p, i, a)}
		}
		out[i] = v
	}
	if used < len(kw) {
		return nil, unexpected(op, params, kw)
	}
	return out, nil
}

// pointsOfTensors refuses bounds of linspace and logspace that are no numbers.
func pointsOfTensors(op *Op, pos []Arg) error {
	if op.ID != Linspace && op.ID != Logspace || len(pos) < 2 {
		return nil
	}
	var got []string
	for i, name := range []string{"start", "end"} {
		if m := MetaOf(pos[i]); m != nil {
			got = append(got, fmt.Sprintf("%s with %d dimension(s)", name, len(m.Shape)))
		}
	}
	if got == nil {
		return nil
	}
	return Errorf(
		"%s only supports 0-dimensional start and end tensors, but got %s: their numbers come from Item", op.Name,
		strings.Join(got, " and "),
	)
}

func unexpected(op *Op, params []Param, kw map[string]Arg) error {
	worst := ""
	for name := range kw {
		known := false
		for i := range params {
			known = known || params[i].Name == name
		}
		if !known && (worst == "" || name < worst) {
			worst = name
		}
	}
	return &BindError{op.Name, fmt.Sprintf("got an unexpected keyword argument '%s'", worst)}
}

// convert brings a into the form that the schema type calls for.
func convert(p *Param, a Arg) (Arg, bool) {
	if isNil(a) {
		return nil, p.Optional()
	}
	switch p.Base() {
	case "Tensor":
		v, ok := a.(Value)
		return v, ok
	case "Operand":
		if v, ok := a.(Value); ok {
			return v, true
		}
		return toScalar(a)
	case "Scalar":
		return toScalar(a)
	case "int":
		return toInt(a)
	case "int[]":
		return toInts(a, p.Repeat)
	case "Scalar|str":
		if s, ok := a.(string); ok {
			return s, true
		}
		return toScalar(a)
	case "int[]|str":
		if s, ok := a.(string); ok {
			return s, true
		}
		return toInts(a, p.Repeat)
	case "float":
		return toFloat(a)
	case "float[]":
		return toFloats(a, p.Repeat)
	case "bool":
		b, ok := a.(bool)
		return b, ok
	case "bool[]":
		b, ok := a.([]bool)
		return b, ok
	case "str":
		s, ok := a.(string)
		return s, ok
	case "dtype":
		d, ok := a.(DType)
		return d, ok
	case "device":
		switch d := a.(type) {
		case Device:
			return d, true
		case string:
			return Device(d), true
		}
		return nil, false
	case "Tensor[]", "Tensor?[]":
		return toTensors(a, p.Base() == "Tensor?[]")
	}
	panic("ops: unknown schema type " + p.Type)
}

// isNil reports whether a is nil or a nil pointer in an interface.
func isNil(a Arg) bool {
	if a == nil {
		return true
	}
	if _, ok := a.(Value); ok {
		v := reflect.ValueOf(a)
		return v.Kind() == reflect.Pointer && v.IsNil()
	}
	return false
}

func toScalar(a Arg) (Arg, bool) {
	switch x := a.(type) {
	case bool:
		return x, true
	case float64:
		return x, true
	case float32:
		return float64(x), true
	case complex128:
		return x, true
	case complex64:
		return complex128(x), true
	case Value: // a number that a graph node yields
		return x, isNumber(x)
	}
	return toInt(a)
}

func toInt(a Arg) (Arg, bool) {
	switch x := a.(type) {
	case sym.Int:
		return x, true
	case int:
		return sym.C(x), true
	case int64:
		return sym.Const(x), true
	case int32:
		return sym.Const(int64(x)), true
	case uint8:
		return sym.Const(int64(x)), true
	case []int:
		if len(x) == 1 {
			return sym.C(x[0]), true
		}
	case []sym.Int:
		if len(x) == 1 {
			return x[0], true
		}
	case Value:
		return x, isNumber(x)
	}
	return nil, false
}

// isNumber reports whether a value stands for a number rather than a tensor.
func isNumber(v Value) bool {
	t, ok := v.(tensorValue)
	return ok && !t.IsTensor()
}

func toInts(a Arg, repeat int) (Arg, bool) {
	switch x := a.(type) {
	case []sym.Int:
		return spread(x, repeat), true
	case []int:
		return spread(sym.Consts(x), repeat), true
	case []int64:
		out := make([]sym.Int, len(x))
		for i, v := range x {
			out[i] = sym.Const(v)
		}
		return spread(out, repeat), true
	}
	one, ok := toInt(a)
	if !ok {
		return nil, false
	}
	i, ok := one.(sym.Int)
	if !ok {
		return nil, false
	}
	return spread([]sym.Int{i}, repeat), true
}

func spread(x []sym.Int, repeat int) []sym.Int {
	if repeat < 2 || len(x) != 1 {
		return x
	}
	out := make([]sym.Int, repeat)
	for i := range out {
		out[i] = x[0]
	}
	return out
}

func toFloat(a Arg) (Arg, bool) {
	switch x := a.(type) {
	case float64:
		return x, true
	case float32:
		return float64(x), true
	}
	i, ok := toInt(a)
	if !ok {
		return nil, false
	}
	switch x := i.(type) {
	case sym.Int:
		if c, isC := x.IsConst(); isC {
			return float64(c), true
		}
		return float64(sym.Force(x)), true
	case Value:
		return x, true
	}
	return nil, false
}

func toFloats(a Arg, repeat int) (Arg, bool) {
	var out []float64
	switch x := a.(type) {
	case []float64:
		out = x
	case []int:
		for _, v := range x {
			out = append(out, float64(v))
		}
	default:
		one, ok := toFloat(a)
		f, isF := one.(float64)
		if !ok || !isF {
			return nil, false
		}
		out = []float64{f}
	}
	for len(out) == 1 && repeat > 1 || len(out) > 1 && len(out) < repeat && out[0] == out[len(out)-1] {
		out = append(out, out[0])
	}
	return out, true
}

func toTensors(a Arg, holes bool) (Arg, bool) {
	switch x := a.(type) {
	case []Value:
		out := x
		for i, v := range x {
			if !isNil(v) {
				continue
			}
			if !holes {
				return nil, false
			}
			if v != nil {
				out = append([]Value(nil), out...)
				out[i] = nil
			}
		}
		return out, true
	case Value:
		if holes {
			return []Value{x}, true
		}
	}
	return nil, false
}

// mismatch says why a is no value of parameter i.
func mismatch(p *Param, i int, a Arg) string {
	list, _ := a.([]Value)
	if at := slices.IndexFunc(list, func(v Value) bool { return isNil(v) }); at >= 0 {
		return fmt.Sprintf("expected Tensor as element %d in argument %d, but got NoneType", at, i)
	}
	return fmt.Sprintf("argument '%s' (position %d) must be %s, not %s", p.Name, i+1, typeName(p.Type), argTypeName(a))
}

func typeName(t string) string {
	switch t {
	case "Operand":
		return "Tensor or Number"
	case "Scalar", "Scalar?":
		return "Number"
	case "Tensor[]":
		return "tuple of Tensors"
	case "int[]", "int[]?":
		return "tuple of ints"
	}
	return t
}

func argTypeName(a Arg) string {
	switch a.(type) {
	case nil:
		return "NoneType"
	case Value:
		return "Tensor"
	case int, int64, int32, sym.Int:
		return "int"
	case float64, float32:
		return "float"
	case bool:
		return "bool"
	case string:
		return "str"
	case DType:
		return "torch.dtype"
	}
	return fmt.Sprintf("%T", a)
}
