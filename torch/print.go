package torch

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tcdbg/ops"
	"tcdbg/torch/internal/refusal"
	"tcdbg/torch/internal/strided"
)

// This file prints tensors as PyTorch does.

const (
	printPrecision = 4
	printThreshold = 1000
	printEdge      = 3
	printWidth     = 80
)

// String is PyTorch's repr of the tensor.
func (t *Tensor) String() string {
	const prefix = "tensor("
	body, suffixes := bodyAndSuffixes(t, len(prefix))
	if fn := t.GradFn(); fn != "" && t.fake == nil {
		suffixes = append(suffixes, "grad_fn=<"+fn+">")
	} else if t.RequiresGrad() {
		suffixes = append(suffixes, "requires_grad=True")
	}
	return joinSuffixes(prefix+body, suffixes, len(prefix))
}

func bodyAndSuffixes(t *Tensor, indent int) (body string, suffixes []string) {
	standard := t.array.DType == ops.Float32 || t.array.DType == ops.Int64 || t.array.DType == ops.Bool || t.array.DType == ops.Complex64
	if t.array.Device == ops.Meta || t.fake != nil {
		if t.array.Device == ops.Meta {
			suffixes = append(suffixes, "device='meta'")
		}
		suffixes = append(suffixes, "size="+tupleText(t.array.Shape))
		if t.array.DType != ops.Float32 {
			suffixes = append(suffixes, "dtype="+t.array.DType.String())
		}
		return "...", suffixes
	}
	if strided.Product(t.array.Shape) == 0 {
		if len(t.array.Shape) != 1 {
			suffixes = append(suffixes, "size="+tupleText(t.array.Shape))
		}
		if t.array.DType != ops.Float32 {
			suffixes = append(suffixes, "dtype="+t.array.DType.String())
		}
		return "[]", suffixes
	}
	if !standard {
		suffixes = append(suffixes, "dtype="+t.array.DType.String())
	}
	p := newPrinter(t)
	return p.text(t.array.Shape, 0, indent, true), suffixes
}

// joinSuffixes appends the suffixes, on new lines where the line gets too long.
func joinSuffixes(s string, suffixes []string, indent int) string {
	length := len(s) - strings.LastIndexByte(s, '\n') + 1
	if !strings.Contains(s, "\n") {
		length = len(s) + 2
	}
	for _, x := range suffixes {
		if length+len(x)+2 > printWidth {
			s += ",\n" + strings.Repeat(" ", indent) + x
			length = indent + len(x)
		} else {
			s += ", " + x
			length += len(x) + 2
		}
	}
	return s + ")"
}

func tupleText(s []int) string {
	if len(s) == 1 {
		return "(" + strconv.Itoa(s[0]) + ",)"
	}
	return "(" + refusal.JoinInts(s) + ")"
}

// printer formats the elements of one tensor at a common width.
type printer struct {
	format    func(i int) string // element i in row-major order
	width     int
	summarize bool
	stride    []int // row-major
}

func newPrinter(t *Tensor) *printer {
	p := &printer{summarize: strided.Product(t.array.Shape) > printThreshold, stride: strided.ContiguousStrides(t.array.Shape)}
	var shown []int
	p.collect(t.array.Shape, 0, 0, &shown)
	switch {
	case t.array.DType == ops.Complex64:
		p.complexes(t, shown)
	case t.array.DType.IsFloat():
		vals := t.Float64s()
		f, w := floatFormat(pick(vals, shown))
		p.format, p.width = func(i int) string { return f(vals[i]) }, w
	case t.array.DType == ops.Bool:
		vals := t.Bools()
		p.words(shown, func(i int) string {
			if vals[i] {
				return "True"
			}
			return "False"
		})
	default:
		vals := t.Int64s()
		p.words(shown, func(i int) string { return strconv.FormatInt(vals[i], 10) })
	}
	return p
}

func pick(vals []float64, at []int) []float64 {
	out := make([]float64, len(at))
	for i, j := range at {
		out[i] = vals[j]
	}
	return out
}

// complexes formats real and imaginary parts each at its own width.
func (p *printer) complexes(t *Tensor, shown []int) {
	vals := strided.Elements[complex64](&t.array, ops.Complex64)
	re, im := make([]float64, len(shown)), make([]float64, len(shown))
	for i, j := range shown {
		re[i], im[i] = float64(real(vals[j])), float64(imag(vals[j]))
	}
	fr, wr := floatFormat(re)
	fi, wi := floatFormat(im)
	p.width = wr + wi + 1
	p.format = func(i int) string {
		r, m := fr(float64(real(vals[i]))), strings.TrimLeft(fi(float64(imag(vals[i]))), " ")
		if strings.HasPrefix(m, "-") || m == "nan" && math.Signbit(float64(imag(vals[i]))) {
			return r + m + "j"
		}
		return r + "+" + m + "j"
	}
}

// words right-aligns the texts of the shown elements.
func (p *printer) words(shown []int, text func(i int) string) {
	for _, i := range shown {
		p.width = max(p.width, len(text(i)))
	}
	p.format = func(i int) string { return pad(text(i), p.width) }
}

func pad(s string, width int) string {
	if len(s) < width {
		return strings.Repeat(" ", width-len(s)) + s
	}
	return s
}

// floatFormat chooses integer, fixed or scientific notation for all of vals.
func floatFormat(vals []float64) (format func(float64) string, width int) {
	low, high := math.Inf(1), 0.0
	whole := true
	var finite []float64
	for _, v := range vals {
		if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
			continue
		}
		finite = append(finite, v)
		low, high = math.Min(low, math.Abs(v)), math.Max(high, math.Abs(v))
		whole = whole && v == math.Ceil(v)
	}
	width = 1
	var text func(float64) string
	extra := 0
	switch {
	case len(finite) == 0:
		text = func(v float64) string { return fixedWhole(v) }
	case high/low > 1000 || high > 1e8 || !whole && low < 1e-4:
		text = func(v float64) string { return pythonFloat(v, 'e', printPrecision) }
	case whole:
		text, extra = fixedWhole, 0
	default:
		text = func(v float64) string { return pythonFloat(v, 'f', printPrecision) }
	}
	for _, v := range finite {
		width = max(width, len(text(v))+extra)
	}
	return func(v float64) string { return pad(text(v), width) }, width
}

// fixedWhole prints an integral float as "3.".
func fixedWhole(v float64) string {
	s := pythonFloat(v, 'f', 0)
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return s
	}
	return s + "."
}

// pythonFloat formats as Python does: inf and nan in lower case.
func pythonFloat(v float64, verb byte, precision int) string {
	switch {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	}
	return strconv.FormatFloat(v, verb, precision, 64)
}

// collect lists the elements that will be shown.
func (p *printer) collect(shape []int, dim, base int, out *[]int) {
	if dim == len(shape) {
		*out = append(*out, base)
		return
	}
	n := shape[dim]
	for i := 0; i < n; i++ {
		if p.summarize && n > 2*printEdge && i == printEdge {
			i = n - printEdge
		}
		p.collect(shape, dim+1, base+i*p.stride[dim], out)
	}
}

// text prints the sub-tensor at element base.
func (p *printer) text(shape []int, base, indent int, _ bool) string {
	dim := len(p.stride) - len(shape)
	switch len(shape) {
	case 0:
		return p.format(base)
	case 1:
		return p.vector(shape[0], base, indent)
	}
	n := shape[0]
	var parts []string
	for i := 0; i < n; i++ {
		if p.summarize && n > 2*printEdge && i == printEdge {
			parts = append(parts, "...")
			i = n - printEdge
		}
		parts = append(parts, p.text(shape[1:], base+i*p.stride[dim], indent+1, false))
	}
	sep := "," + strings.Repeat("\n", len(shape)-1) + strings.Repeat(" ", indent+1)
	return "[" + strings.Join(parts, sep) + "]"
}

// vector prints one row, wrapped at the line width.
func (p *printer) vector(n, base, indent int) string {
	perLine := max(1, (printWidth-indent)/(p.width+2))
	var items []string
	for i := 0; i < n; i++ {
		if p.summarize && n > 2*printEdge && i == printEdge {
			items = append(items, " ...")
			i = n - printEdge
		}
		items = append(items, p.format(base+i))
	}
	var lines []string
	for len(items) > 0 {
		k := min(perLine, len(items))
		lines = append(lines, strings.Join(items[:k], ", "))
		items = items[k:]
	}
	return "[" + strings.Join(lines, ",\n"+strings.Repeat(" ", indent+1)) + "]"
}

// Format implements fmt.Formatter for the verbs that print values, so that
// Printf("%v") and Println agree.
func (t *Tensor) Format(f fmt.State, verb rune) {
	if t == nil {
		fmt.Fprint(f, "None")
		return
	}
	if verb == 'f' || verb == 'g' || verb == 'e' || verb == 'd' {
		format := fmt.FormatString(f, verb)
		if verb == 'd' {
			fmt.Fprintf(f, format, t.ItemInt())
			return
		}
		fmt.Fprintf(f, format, t.Item())
		return
	}
	fmt.Fprint(f, t.String())
}
