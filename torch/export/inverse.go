package export

import (
	"maps"
	"slices"
	"strings"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file finds aten's form of a call of ours: the way back of aten.go. Nothing is taken on
// trust: what is found is read again by the rules of aten.go, and has to be the same call.

// AtenCall is a call as aten has it. Its arguments are values of ours.
type AtenCall struct {
	Target string // torch.ops.aten.add.Tensor
	Args   []AtenArg
}

// AtenArg is an argument of it.
type AtenArg struct {
	Name    string
	Keyword bool
	Value   ops.Arg
}

// ToAten is aten's form of a call with bound arguments. Its error is *Unsupported where there is none.
func ToAten(row *ops.Op, bound []ops.Arg) (*AtenCall, error) {
	table := rules()
	bound = strided(row, bound)
	for _, base := range atenNames(row, table) {
		for i := range overloads()[base] {
			o := &overloads()[base][i]
			if c := o.call(row, bound, table); c != nil && c.means(row, bound, table) {
				return c, nil
			}
		}
	}
	return nil, &Unsupported{Op: row.FullName()}
}

// strided gives a pooling that steps by its window the steps by number, as aten has them.
func strided(row *ops.Op, bound []ops.Arg) []ops.Arg {
	stride, window := -1, -1
	for i, p := range row.Params() {
		switch p.Name {
		case "stride":
			stride = i
		case "kernel_size":
			window = i
		}
	}
	if stride < 0 || window < 0 || bound[stride] != nil {
		return bound
	}
	bound = slices.Clone(bound)
	bound[stride] = bound[window]
	return bound
}

// atenNames are the names that aten may have for a row of ours.
func atenNames(row *ops.Op, table map[string]rule) []string {
	names := []string{strings.ReplaceAll(row.Name, ".", "_")}
	for _, theirs := range slices.Sorted(maps.Keys(table)) {
		if table[theirs].op == row.Name {
			base, _, _ := strings.Cut(theirs, ".")
			names = append(names, base)
		}
	}
	return append(names, row.Aliases...)
}

// call fills in the arguments of o; nil where they do not fit.
func (o *overload) call(row *ops.Op, bound []ops.Arg, table map[string]rule) *AtenCall {
	base, _, _ := strings.Cut(o.name, ".")
	r, ok := table[o.name]
	if !ok {
		r = table[base]
	}
	ours := map[string]ops.Arg{}
	for i, p := range row.Params() {
		ours[p.Name] = bound[i]
	}
	c := &AtenCall{Target: "torch.ops.aten." + o.name}
	given := make([]bool, len(o.params))
	for i := range o.params {
		p := &o.params[i]
		v, has := p.value(r, ours)
		if !has && !p.hasDef {
			if v, has = p.filler(r); !has {
				return nil
			}
		}
		if has {
			if v, has = p.fitted(v); !has {
				return nil
			}
			given[i] = !p.hasDef || !isDefault(v, p.def)
		}
		c.Args = append(c.Args, AtenArg{p.name, p.keyword, v})
	}
	c.Args = o.trimmed(c.Args, given)
	return c
}

// trimmed leaves out what PyTorch's own calls leave out: arguments at their default after the last
// one by position, and those by keyword.
func (o *overload) trimmed(args []AtenArg, given []bool) []AtenArg {
	last := -1
	for i := range args {
		if given[i] && !args[i].Keyword {
			last = i
		}
	}
	var out []AtenArg
	for i, a := range args {
		switch {
		case given[i]:
		case a.Keyword || i > last:
			continue
		case a.Value == nil:
			a.Value = defaultValue(o.params[i].def)
		}

		out = append(out, a)
	}
	return out
}

// value is what our call has for an argument of aten's.
func (p *atenParam) value(r rule, ours map[string]ops.Arg) (ops.Arg, bool) {
	name := p.name
	if to, ok := r.rename[name]; ok {
		name = to
	}
	v, ok := ours[name]
	if !ok {
		v, ok = ours[secondNames[name]]
	}
	if s, isText := v.(string); ok && isText && name == "reduction" {
		return sym.C(slices.Index(reductions, s)), true
	}
	if b, isBool := v.(sym.Int); ok && isBool && p.name == "unbiased" {
		n, _ := b.IsConst()
		return n == 1, true
	}
	return v, ok
}

// filler is the value of a required argument that ours lacks.
func (p *atenParam) filler(r rule) (ops.Arg, bool) {
	if v, ok := r.only[p.name]; ok {
		return defaultValue(v), true
	}
	if _, ok := meaningless[p.name]; ok && p.typ == "bool" {
		return false, true
	}
	return nil, false
}

// fitted is v as the type of an argument wants it.
func (p *atenParam) fitted(v ops.Arg) (ops.Arg, bool) {
	base, optional := strings.CutSuffix(p.typ, "?")
	if v == nil {
		if p.hasDef && p.def != nil {
			return defaultValue(p.def), true
		}
		return nil, optional || p.hasDef
	}
	switch x := v.(type) {
	case ops.Value:
		return v, base == "Tensor"
	case []ops.Value:
		return v, base == "Tensor?[]" || base == "Tensor[]" && !slices.Contains(x, nil)
	case sym.Int:
		if c, isConst := x.IsConst(); base == "float" && isConst {
			return float64(c), true
		}
		return v, base == "int" || base == "Scalar"
	case []sym.Int:
		return v, base == "int[]"
	case float64:
		return v, base == "float" || base == "Scalar"
	case []float64:
		return v, base == "float[]"
	case bool:
		return v, base == "bool" || base == "Scalar"
	case []bool:
		return v, base == "bool[]"
	case string:
		if base == "MemoryFormat" {
			f, ok := memoryFormats[x]
			return f, ok
		}
		return v, base == "str"
	case ops.DType:
		return v, base == "ScalarType"
	case ops.Device:
		return v, base == "Device"
	case MemoryFormat:
		return v, base == "MemoryFormat"
	}
	return nil, false
}

var memoryFormats = map[string]MemoryFormat{"contiguous_format": 1, "channels_last": 2, "channels_last_3d": 3, "preserve_format": 4}

// defaultValue is a value of a schema as an argument of ours.
func defaultValue(d Arg) ops.Arg {
	switch d := d.(type) {
	case int64:
		return sym.Const(d)
	case []Arg:
		out := make([]sym.Int, len(d))
		for i, e := range d {
			n, _ := e.(int64)
			out[i] = sym.Const(n)
		}
		return out
	}
	return d
}

// isDefault compares with a default: one number stands for a list of them.
func isDefault(v ops.Arg, def Arg) bool {
	if list, ok := v.([]sym.Int); ok {
		if n, one := def.(int64); one {
			return !slices.ContainsFunc(list, func(x sym.Int) bool { return !sym.Is(x, n) })
		}
	}
	return sameArg(v, defaultValue(def))
}

// sameArg reports whether two arguments are surely equal.
func sameArg(a, b ops.Arg) bool {
	switch x := a.(type) {
	case sym.Int:
		y, ok := b.(sym.Int)
		return ok && sym.Same(x, y)
	case []sym.Int:
		y, ok := b.([]sym.Int)
		return ok && sym.AllSame(x, y)
	case []ops.Value:
		y, ok := b.([]ops.Value)
		if list, isInts := b.([]sym.Int); isInts {
			return len(x) == 0 && len(list) == 0
		}
		return ok && slices.Equal(x, y)
	case []float64:
		y, ok := b.([]float64)
		return ok && slices.Equal(x, y)
	case []bool:
		y, ok := b.([]bool)
		return ok && slices.Equal(x, y)
	}
	switch b.(type) {
	case []sym.Int, []ops.Value, []float64, []bool:
		return false
	}
	return a == b
}

// means reports whether aten's call is read as the call of row with the bound arguments.
func (c *AtenCall) means(row *ops.Op, bound []ops.Arg, table map[string]rule) bool {
	args := make(map[string]ops.Arg, len(c.Args))
	for _, a := range c.Args {
		v := a.Value
		if f, ok := v.(MemoryFormat); ok {
			v, _ = memoryFormat(f)
		}
		args[a.Name] = v
	}
	got, r, err := atenRow(c.Target, table)
	if err != nil {
		return false
	}
	back, err := bindCall(&Node{Target: c.Target}, got, r, args)
	if err != nil {
		return false
	}
	got, back = ops.OverInput(got, back)
	return got.ID == row.ID && slices.EqualFunc(back, bound, sameArg)
}
