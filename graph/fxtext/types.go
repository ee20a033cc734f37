package fxtext

import (
	"fmt"
	"strconv"
	"strings"

	"tcdbg/ops"
	"tcdbg/torch/export"
)

// This file reads annotations: f32[s77, 16][16, 1]cuda:0 and Sym(4*s77).

const maxRank = 64

// sizeType reads the annotation of a number; false where it is none of a whole one.
func sizeType(typ string) (expr string, ok bool) {
	inner, ok := strings.CutPrefix(typ, "Sym(")
	if !ok || !strings.HasSuffix(inner, ")") || len(inner) > 4096 {
		return "", false
	}
	return strings.TrimSuffix(inner, ")"), true
}

// tensor reads the annotation of a tensor. Strides are nil where it has none.
func (t *reader) tensor(typ string) (*export.Tensor, error) {
	short, rest, ok := strings.Cut(typ, "[")
	if !ok {
		return nil, fmt.Errorf("%s is no tensor", clip(typ))
	}
	d, ok := dtypeOf(short)
	if !ok {
		return nil, fmt.Errorf("the dtype %s is not supported", clip(short))
	}
	shape, rest, ok := strings.Cut(rest, "]")
	if !ok {
		return nil, fmt.Errorf("%s is no tensor", clip(typ))
	}
	m := &export.Tensor{DType: d, Device: "cpu", Strided: true}
	var err error
	if m.Shape, err = t.list(shape); err != nil {
		return nil, err
	}
	if inner, ok := strings.CutPrefix(rest, "["); ok {
		stride, device, ok := strings.Cut(inner, "]")
		if !ok {
			return nil, fmt.Errorf("%s is no tensor", clip(typ))
		}
		if m.Stride, err = t.list(stride); err != nil {
			return nil, err
		}
		if len(m.Stride) != len(m.Shape) {
			return nil, fmt.Errorf("%s has sizes of %d dimensions and strides of %d", clip(typ), len(m.Shape), len(m.Stride))
		}
		rest = device
	}
	if rest == "cpu" && len(m.Shape) == 0 {
		return m, nil // a number, which may be on the CPU in a graph on a GPU
	}
	return m, t.on(rest)
}

// on notes the device of a tensor: one for the whole graph.
func (t *reader) on(device string) error {
	switch {
	case device == "" || device == t.device:
	case t.device == "":
		t.device = clip(device)
	default:
		return fmt.Errorf("the graph is on several devices, %s and %s, and graphs on one are lowered", t.device, clip(device))
	}
	return nil
}

func dtypeOf(short string) (ops.DType, bool) {
	for d := range ops.NumDTypes {
		if d.Short() == short {
			return d, true
		}
	}
	return 0, false
}

// list reads the sizes between brackets.
func (t *reader) list(text string) ([]export.Size, error) {
	out := []export.Size{}
	if strings.TrimSpace(text) == "" {
		return out, nil
	}
	for _, s := range splitTop(text) {
		if len(out) >= maxRank {
			return nil, fmt.Errorf("a tensor of more than %d dimensions", maxRank)
		}
		v, err := strconv.ParseInt(s, 10, 64)
		switch {
		case err != nil:
			out = append(out, export.Size{Expr: t.noted(s)})
		case v < 0 || v > 1<<46:
			return nil, fmt.Errorf("%d is no size", v)
		default:
			out = append(out, export.Size{Value: v})
		}
	}
	return out, nil
}

// splitTop splits at the commas outside of brackets.
func splitTop(s string) []string {
	var out []string
	depth, from := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, strings.TrimSpace(s[from:i]))
				from = i + 1
			}
		}
	}
	return append(out, strings.TrimSpace(s[from:]))
}
