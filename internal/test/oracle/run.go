package oracle

import (
	"encoding/json"
	"fmt"
	"math"
	"math/cmplx"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"tcdbg/ops"
	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// runner is one run of one case.
type runner struct {
	suite   *Suite
	c       *Case
	backend Backend
	inputs  []*torch.Tensor // in the order of the case's tensors
	row     *ops.Op         // of the last call
	inPlace bool            // the case calls the in-place form of what its adapter names
}

func (r *runner) run() error {
	args, kwargs, err := r.arguments()
	if err != nil {
		return err
	}
	outs, err := r.call(args, kwargs)
	if err != nil {
		return r.refused(err)
	}
	if r.c.Error != "" {
		return fmt.Errorf("was not refused; want %s", r.c.Error)
	}
	if len(outs) != len(r.c.Outs) {
		return fmt.Errorf("%d results, want %d", len(outs), len(r.c.Outs))
	}
	for i, want := range r.c.Outs {
		if err := r.result(i, outs[i], want); err != nil {
			return fmt.Errorf("result %d: %w", i, err)
		}
	}
	return r.gradients(outs)
}

// panicked turns a refusal of torch into an error; other panics are bugs.
func (r *runner) panicked(p any) error {
	if e, ok := p.(*torch.Error); ok {
		return r.refused(e)
	}
	if e, ok := p.(error); ok && !strings.Contains(fmt.Sprintf("%T", p), "runtime.") {
		return r.refused(e)
	}
	stack := strings.Split(string(debug.Stack()), "\n")
	at := ""
	for i, line := range stack {
		if strings.Contains(line, "panic(") && i+3 < len(stack) {
			at = strings.TrimSpace(stack[i+3])
		}
	}
	return fmt.Errorf("panic: %v %s", p, at)
}

var number = regexp.MustCompile(`-?\d+`)

// refused compares a refusal: it must be wanted, and a message with numbers
// must name the same ones.
func (r *runner) refused(err error) error {
	if r.c.Error == "" {
		return fmt.Errorf("refused: %w", err)
	}
	want := number.FindAllString(r.c.Error, -1)
	got := number.FindAllString(err.Error(), -1)
	for _, n := range want {
		if !slices.Contains(got, n) {
			return fmt.Errorf("message %q does not name %s of %q", err, n, r.c.Error)
		}
	}
	return nil
}

// arguments decodes the case's arguments; floating inputs become leaves.
func (r *runner) arguments() ([]any, map[string]any, error) {
	var args []any
	for _, a := range r.c.Args {
		v, err := r.value(a)
		if err != nil {
			return nil, nil, err
		}
		args = append(args, v)
	}
	kwargs := map[string]any{}
	for _, k := range sortedKeys(r.c.Kwargs) {
		v, err := r.value(r.c.Kwargs[k])
		if err != nil {
			return nil, nil, err
		}
		kwargs[k] = v
	}
	return args, kwargs, nil
}

// sortedKeys orders keywords by the tensors in them: the stored strides and
// gradients follow the order of the call.
func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int {
		x, y := firstTensor(m[a]), firstTensor(m[b])
		if len(x) != len(y) {
			return len(x) - len(y)
		}
		if x != y {
			return strings.Compare(x, y)
		}
		return strings.Compare(a, b)
	})
	return keys
}

func firstTensor(v any) string {
	switch v := v.(type) {
	case map[string]any:
		if n, ok := v["tensor"].(string); ok {
			return n
		}
	case []any:
		for _, u := range v {
			if n := firstTensor(u); n != "" {
				return n
			}
		}
	}
	return ""
}

// pySlice is a Python slice.
type pySlice struct{ start, stop, step any }

// ellipsis is Python's ...
type ellipsis struct{}

func (r *runner) value(v any) (any, error) {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil && !strings.ContainsAny(v.String(), ".eE") {
			return int(i), nil
		}
		f, err := v.Float64()
		return f, err
	case []any:
		out := make([]any, len(v))
		for i, u := range v {
			x, err := r.value(u)
			if err != nil {
				return nil, err
			}
			out[i] = x
		}
		return out, nil
	case map[string]any:
		return r.special(v)
	}
	return v, nil
}

func (r *runner) special(v map[string]any) (any, error) {
	if n, ok := v["tensor"].(string); ok {
		return r.input(n)
	}
	if d, ok := v["dtype"].(string); ok {
		t, known := ops.ParseDType(d)
		if !known {
			return nil, fmt.Errorf("dtype %s", d)
		}
		return t, nil
	}
	if f, ok := v["float"].(string); ok {
		switch f {
		case "inf":
			return math.Inf(1), nil
		case "-inf":
			return math.Inf(-1), nil
		}
		return math.NaN(), nil
	}
	if c, ok := v["complex"].([]any); ok && len(c) == 2 {
		re, _ := c[0].(json.Number).Float64()
		im, _ := c[1].(json.Number).Float64()
		return complex(re, im), nil
	}
	if s, ok := v["slice"].([]any); ok {
		var out [3]any
		for i := range out {
			out[i], _ = r.value(s[i])
		}
		return pySlice{out[0], out[1], out[2]}, nil
	}
	if _, ok := v["ellipsis"]; ok {
		return ellipsis{}, nil
	}
	return nil, fmt.Errorf("argument %v", v)
}

// input loads a tensor in the layout that it had.
func (r *runner) input(name string) (*torch.Tensor, error) {
	t, err := r.suite.data.tensor(name)
	if err != nil {
		return nil, err
	}
	if i := len(r.inputs); i < len(r.c.Strides) {
		t = restride(t, r.c.Strides[i])
	}
	if t.DType().IsFloat() || t.DType().IsComplex() {
		if r.c.Error == "" && !r.c.Exact && !t.IsContiguous() {
			t = t.Clone()
		}
		if !r.c.NoGrad {
			t.RequiresGrad_()
		}
	}
	r.inputs = append(r.inputs, t)
	return t, nil
}

// restride stores t with other strides.
func restride(t *torch.Tensor, stride []int) *torch.Tensor {
	shape, old, _ := t.Layout()
	if slices.Equal(old, stride) || t.Numel() == 0 {
		return t
	}
	stride = append([]int{}, stride...)
	once := append([]int{}, shape...) // what is stored once, where the layout repeats it
	size := 1
	for i, n := range shape {
		size += (n - 1) * stride[i]
		if stride[i] == 0 {
			once[i] = 1
			t = t.Narrow(i, 0, 1)
		}
	}
	s := torch.NewStorage(size * t.DType().Size())
	torch.FromStorage(s, t.DType(), once, stride, 0).Copy_(t)
	return torch.FromStorage(s, t.DType(), shape, stride, 0)
}

// result compares one result with PyTorch's.
func (r *runner) result(i int, got, want any) error {
	m, ok := want.(map[string]any)
	if !ok {
		if !sameNumber(got, want) && fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("got %v, want %v", got, want)
		}
		return nil
	}
	name, ok := m["tensor"].(string)
	if !ok {
		return fmt.Errorf("unknown result %v", want)
	}
	t, ok := got.(*torch.Tensor)
	if !ok {
		return fmt.Errorf("got %T, want a tensor", got)
	}
	ref, err := r.suite.data.tensor(name)
	if err != nil {
		return err
	}
	if err := compare(t.Detach(), ref); err != nil {
		return err
	}
	return r.strides(t, m["stride"])
}

// sameNumber reports whether a number equals one of the file ("-5.0" is -5).
func sameNumber(got, want any) bool {
	n, ok := want.(json.Number)
	if !ok {
		return false
	}
	w, err := n.Float64()
	g, isFloat := got.(float64)
	return err == nil && isFloat && g == w
}

// strides compares the layout of views and of what preserves formats.
func (r *runner) strides(t *torch.Tensor, want any) error {
	if r.row == nil || !(r.row.Tags.Has(ops.TagView) || r.row.Tags.Has(ops.TagPointwise)) {
		return nil
	}
	list, _ := want.([]any)
	_, stride, _ := t.Layout()
	for i, w := range list {
		n, _ := w.(json.Number).Int64()
		if int(n) != stride[i] && t.Size(i) != 1 && t.Numel() > 0 {
			return fmt.Errorf("strides %v, want %v", stride, list)
		}
	}
	return nil
}

// tolerances are PyTorch's own by dtype.
func tolerances(d ops.DType) (rtol, atol float64) {
	switch d {
	case ops.Float64:
		return 1e-12, 1e-12
	case ops.Float32:
		return 1.3e-6, 1e-5
	case ops.BFloat16:
		return 1.6e-2, 1e-5
	case ops.Float16:
		return 1e-3, 1e-5
	}
	return 0, 0
}

// compare checks dtype, shape and every element.
func compare(got, want *torch.Tensor) error {
	if got.DType() != want.DType() {
		return fmt.Errorf("dtype %s, want %s", got.DType(), want.DType())
	}
	if !slices.Equal(got.Shape(), want.Shape()) {
		return fmt.Errorf("shape %v, want %v", got.Shape(), want.Shape())
	}
	switch d := want.DType(); {
	case d.IsComplex():
		return compareComplex(got.Complex64s(), want.Complex64s())
	case !d.IsFloat():
		return compareExact(got, want)
	}
	rtol, atol := tolerances(want.DType())
	a, b := got.Float64s(), want.Float64s()
	for i := range b {
		if math.IsNaN(a[i]) && math.IsNaN(b[i]) || a[i] == b[i] {
			continue
		}
		if !(math.Abs(a[i]-b[i]) <= atol+rtol*math.Abs(b[i])) {
			return fmt.Errorf("element %d: got %v, want %v", i, a[i], b[i])
		}
	}
	return nil
}

// compareComplex allows float32's tolerance on the distance of two numbers.
func compareComplex(got, want []complex64) error {
	rtol, atol := tolerances(ops.Float32)
	for i, w := range want {
		a, b := complex128(got[i]), complex128(w)
		if samePart(real(a), real(b)) && samePart(imag(a), imag(b)) || cmplx.IsNaN(a) && cmplx.IsNaN(b) {
			continue
		}
		if !(cmplx.Abs(a-b) <= atol+rtol*cmplx.Abs(b)) {
			return fmt.Errorf("element %d: got %v, want %v", i, a, b)
		}
	}
	return nil
}

// samePart reports whether two parts are equal or both NaN.
func samePart(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

func compareExact(got, want *torch.Tensor) error {
	a, b := got.Int64s(), want.Int64s()
	for i := range b {
		if a[i] != b[i] {
			return fmt.Errorf("element %d: got %d, want %d", i, a[i], b[i])
		}
	}
	return nil
}

// gradients runs the tape with the stored cotangents.
func (r *runner) gradients(outs []any) error {
	if r.c.Grads == nil {
		return nil
	}
	var diff, cots []*torch.Tensor
	for i, o := range outs {
		t, ok := o.(*torch.Tensor)
		if !ok {
			continue
		}
		cot, err := r.suite.data.tensor(fmt.Sprintf("%s.cot%d", r.c.Name, i))
		if err != nil {
			continue
		}
		if !t.RequiresGrad() {
			return fmt.Errorf("result %d does not require grad", i)
		}
		diff, cots = append(diff, t), append(cots, cot)
	}
	var leaves []*torch.Tensor
	for _, t := range r.inputs {
		if t.RequiresGrad() {
			leaves = append(leaves, t)
		}
	}
	grads := torch.Grad(diff, leaves, kw.GradOutputs(cots), kw.AllowUnused(true))
	n := 0
	for i, t := range r.inputs {
		if !t.RequiresGrad() {
			continue
		}
		g := grads[n]
		n++
		if err := r.gradient(i, g); err != nil {
			return fmt.Errorf("gradient %d: %w", i, err)
		}
	}
	return nil
}

func (r *runner) gradient(i int, g *torch.Tensor) error {
	if i >= len(r.c.Grads) {
		return nil
	}
	if r.c.Grads[i] == nil {
		if g != nil && g.Abs().Sum().Item() != 0 {
			return fmt.Errorf("got one, want none")
		}
		return nil
	}
	want, err := r.suite.data.tensor(*r.c.Grads[i])
	if err != nil {
		return err
	}
	if g == nil {
		return fmt.Errorf("got none, want one")
	}
	return compare(g.Detach(), want)
}
