package ops

import (
	"fmt"
	"strconv"
	"strings"

	"tcdbg/ops/schema"
	"tcdbg/ops/sym"
)

// This file reads schemas: "(Tensor self, int dim=-1, *, dtype? dtype=None) -> Tensor".

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
