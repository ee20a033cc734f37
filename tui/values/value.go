package values

import (
	"fmt"
	"strings"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/tui/theme"
)

// This file draws a value of the program: one line, and unfolded what is in it.

// value draws a value at an indent; z unfolds tensors and what has items.
func (b *builder) value(path string, indent int, v *logs.Value) {
	inner := len(v.Items) > 0 || v.Tensor != nil && hasNumbers(v.Tensor)
	open, glyph := b.open(path, false)
	if !inner {
		open, glyph, path = false, " ", ""
	}
	name := ""
	if v.Name != "" {
		name = theme.Fit(v.Name, max(8, theme.Width(v.Name))) + " "
	}
	style := theme.Plain
	if v.Arg {
		style = theme.Bold
	}
	line := theme.Line{{Text: theme.Spaces(indent)}, {Text: glyph + " ", Style: theme.Faint}, theme.T(style, name)}
	outer := b.names
	if outer != nil {
		b.names = append(outer[:len(outer):len(outer)], v.Name)
	}
	defer func() { b.names = outer }()
	b.add(Line{Line: append(line, theme.T(valueStyle(v), Text(v))), Path: path, Names: b.names})
	if !open {
		return
	}
	if v.Tensor != nil {
		b.tensor(indent+4, v.Tensor)
	}
	for i := range v.Items {
		b.value(fmt.Sprintf("%s/%d", path, i), indent+2, &v.Items[i])
	}
	if v.More > 0 {
		b.add(Line{Line: theme.Line{{Text: theme.Spaces(indent + 4)}, {Text: fmt.Sprintf("and %d more", v.More), Style: theme.Faint}}})
	}
}

func valueStyle(v *logs.Value) theme.Style {
	switch {
	case v.Unknown != "":
		return theme.Faint
	case v.Tensor != nil && v.Tensor.NaN+v.Tensor.Inf > 0:
		return theme.Red
	}
	return theme.Plain
}

// Text is a value on one line.
func Text(v *logs.Value) string {
	var out []string
	switch {
	case v.Tensor != nil:
		out = append(out, tensorText(v.Tensor))
	case v.Unknown != "":
		out = append(out, v.Unknown)
	case len(v.Items)+v.More > 0 && v.Text == "":
		out = append(out, fmt.Sprintf("%s of %d", v.Type, len(v.Items)+v.More))
	default:
		if v.Type != "" && !strings.HasPrefix(v.Text, v.Type) {
			out = append(out, v.Type)
		}
		out = append(out, explain.Squeeze(v.Text))
	}
	if v.Fake != nil {
		out = append(out, "traced as "+tensorType(v.Fake))
	}
	return strings.Join(out, "  ")
}

// tensorType is float32[8, 16].
func tensorType(t *logs.TensorValue) string { return t.Dtype + "[" + strings.Join(t.Shape, ", ") + "]" }

// fewElements is how many elements of a tensor stand for all of it.
const fewElements = 4

// tensorText is what a tensor is, and what is in it, on one line.
func tensorText(t *logs.TensorValue) string {
	s := tensorType(t)
	if t.Device != "" && t.Device != "cpu" {
		s += " " + t.Device
	}
	switch {
	case len(t.Shape) == 0 && len(t.First) == 1:
		return s + "  " + t.First[0]
	case len(t.First) > 0 && len(t.First) <= fewElements && t.Min == "":
		s += "  [" + strings.Join(t.First, ", ") + "]"
	case t.Min != "":
		s += "  " + t.Min + " … " + t.Max
		if t.Mean != "" {
			s += "  mean " + t.Mean
		}
	}
	return s + notFinite(t)
}

// notFinite says how many elements are NaN or Inf.
func notFinite(t *logs.TensorValue) string {
	s := ""
	if t.NaN > 0 {
		s += fmt.Sprintf("  %d NaN", t.NaN)
	}
	if t.Inf > 0 {
		s += fmt.Sprintf("  %d Inf", t.Inf)
	}
	return s
}

func hasNumbers(t *logs.TensorValue) bool {
	return t.Min != "" || len(t.First) > 0 || len(t.Stride) > 0 || len(t.Histogram) > 0
}

// tensor draws what is known of a tensor, a line each.
func (b *builder) tensor(indent int, t *logs.TensorValue) {
	put := func(label, text string) {
		if text != "" {
			b.add(Line{Line: theme.Line{
				{Text: theme.Spaces(indent)}, {Text: theme.Fit(label, 10), Style: theme.Faint}, theme.T(theme.Plain, text),
			}})
		}
	}
	if len(t.Stride) > 0 {
		put("stride", "["+strings.Join(t.Stride, ", ")+"]")
	}
	put("device", t.Device)
	if t.RequiresGrad {
		put("gradient", "required")
	}
	if t.Min != "" {
		put("range", t.Min+" … "+t.Max)
	}
	put("mean", t.Mean)
	put("not finite", strings.TrimSpace(notFinite(t)))
	if len(t.First) > 0 {
		put("first", "["+strings.Join(t.First, ", ")+"]")
	}
	put("histogram", bars(t.Histogram))
	if t.Sampled > 0 {
		put("", fmt.Sprintf("numbers of the first %d elements", t.Sampled))
	}
}

// bars draws counts as bars; a count that is not 0 has one.
func bars(counts []int64) string {
	const levels = "▁▂▃▄▅▆▇█"
	most := int64(0)
	for _, n := range counts {
		most = max(most, n)
	}
	if most == 0 || len(counts) > 64 {
		return ""
	}
	var s strings.Builder
	for _, n := range counts {
		if n <= 0 {
			s.WriteByte(' ')
			continue
		}
		s.WriteString(string([]rune(levels)[int(float64(n)/float64(most)*7)]))
	}
	return "|" + s.String() + "|"
}
