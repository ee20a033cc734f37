// Package schema takes the text of a schema apart and says how its parameters are spelt
// as fields of a Go struct. It imports nothing of ours: the generator of those structs
// must build while package ops does not.
package schema

import "strings"

// Params lists the parameters of a schema as text, with a "*" where arguments by name
// begin: "Tensor self", "int dim=-1". It is false where s is no schema.
func Params(s string) ([]string, bool) {
	body, _, ok := strings.Cut(s, ") ->")
	if !ok || !strings.HasPrefix(body, "(") {
		return nil, false
	}
	return split(body[1:]), true
}

// split cuts at the commas outside brackets.
func split(s string) []string {
	var out []string
	depth, from := 0, 0
	for i, r := range s {
		switch r {
		case '[', '(':
			depth++
		case ']', ')':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, strings.TrimSpace(s[from:i]))
				from = i + 1
			}
		}
	}
	if last := strings.TrimSpace(s[from:]); last != "" {
		out = append(out, last)
	}
	return out
}

// Type takes the lengths of lists out of a parameter's type: int[] for int[2].
func Type(typ string) string {
	i, j := strings.IndexByte(typ, '['), strings.IndexByte(typ, ']')
	if i < 0 {
		return typ
	}
	return typ[:i+1] + typ[j:]
}

// Field is the name of the field for a parameter: KernelSize for kernel_size.
func Field(param string) string {
	var out strings.Builder
	for part := range strings.SplitSeq(param, "_") {
		switch {
		case part == "dtype":
			out.WriteString("DType")
		case part != "":
			out.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return out.String()
}

// Kind is the type of the field for a parameter of a type.
func Kind(typ string) string {
	switch strings.TrimSuffix(typ, "?") {
	case "Tensor", "Operand":
		return "TensorArg"
	case "Tensor[]", "Tensor?[]":
		return "TensorsArg"
	case "int":
		return "IntArg"
	case "int[]":
		return "IntsArg"
	case "float", "Scalar":
		return "NumberArg"
	case "bool":
		return "BoolArg"
	case "str":
		return "StrArg"
	case "dtype":
		return "DTypeArg"
	case "device":
		return "DeviceArg"
	case "bool[]", "float[]":
		return "ListArg"
	}
	return "EitherArg"
}
