package export

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"

	"tcdbg/ops/schema"
)

// This file reads schemas.txt: the operators of aten with their arguments, as PyTorch declares
// them. testdata/schemas.py wrote it.

//go:embed schemas.txt
var schemaText string

// overload is one operator of aten.
type overload struct {
	name   string // add.Tensor, relu.default
	params []atenParam
}

// atenParam is one argument of it.
type atenParam struct {
	name    string
	typ     string // Tensor, Tensor?, int[], ScalarType?, ...
	keyword bool
	hasDef  bool
	def     Arg
}

// overloads are all of them, by the name without that of the overload.
var overloads = sync.OnceValue(func() map[string][]overload {
	out := map[string][]overload{}
	for line := range strings.Lines(schemaText) {
		o, ok := readOverload(strings.TrimSpace(line))
		if !ok {
			panic("export: schemas.txt: " + line)
		}
		base, _, _ := strings.Cut(o.name, ".")
		out[base] = append(out[base], o)
	}
	return out
})

func readOverload(line string) (o overload, ok bool) {
	at := strings.IndexByte(line, '(')
	if at < 0 {
		return o, false
	}
	parts, ok := schema.Params(line[at:])
	if o.name = line[:at]; !strings.Contains(o.name, ".") {
		o.name += ".default"
	}
	keyword := false
	for _, part := range parts {
		if part == "*" {
			keyword = true
			continue
		}
		typ, rest, _ := strings.Cut(part, " ")
		name, def, hasDef := strings.Cut(rest, "=")
		p := atenParam{name: name, typ: schema.Type(typ), keyword: keyword, hasDef: hasDef}
		if hasDef {
			p.def = readDefault(def, p.typ)
		}
		o.params = append(o.params, p)
	}
	return o, ok
}

// readDefault reads what an argument is where a call does not say.
func readDefault(s, typ string) Arg {
	switch {
	case s == "None" || strings.HasPrefix(typ, "MemoryFormat"):
		return nil
	case s == "True" || s == "False":
		return s == "True"
	case strings.HasPrefix(s, `"`):
		return strings.Trim(s, `"`)
	case strings.HasPrefix(s, "["):
		out := []Arg{}
		for e := range strings.SplitSeq(strings.Trim(s, "[]"), ",") {
			if e = strings.TrimSpace(e); e != "" {
				out = append(out, readDefault(e, typ))
			}
		}
		return out
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		if strings.HasPrefix(typ, "float") {
			return float64(n)
		}
		return n
	}
	f, _ := strconv.ParseFloat(s, 64)
	return f
}

// overloadOf finds an operator by its target: torch.ops.aten.add.Tensor.
func overloadOf(target string) *overload {
	full := strings.TrimPrefix(target, "torch.ops.aten.")
	base, _, _ := strings.Cut(full, ".")
	list := overloads()[base]
	for i := range list {
		if list[i].name == full {
			return &list[i]
		}
	}
	return nil
}

// Bound are the arguments of a call of aten by name, with their defaults where it does not say; false for
// an operator that is not known.
func (n *Node) Bound() (map[string]Arg, bool) {
	out := map[string]Arg{}
	o := overloadOf(n.Target)
	if o != nil {
		for _, p := range o.params {
			out[p.name] = p.def
		}
	}
	for _, a := range n.Args {
		out[a.Name] = a.Value
	}
	_, isNumber := out["a"]
	return out, o != nil || isNumber || strings.HasPrefix(n.Target, "torch.ops.aten.sym_")
}
