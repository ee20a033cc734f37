package tracer

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tcdbg/torch"
)

// This file calls every method of Tensor that is no operator in a compiled function.

// methodCall is how a program calls a method of x, a tensor of 2x3 that wants
// gradients; y is a copy without.
type methodCall struct {
	code  string // an expression, or statements that set r
	brk   string // code of the break that is wanted
	skip  string // why no program calls it
	grown bool   // what the trace answers of a size stays open when the batch changes
}

// methodCalls has a row for each method; the test finds those that lack one.
var methodCalls = map[string]methodCall{
	"Size":          {code: "x.Size(0) + 10*x.Size(-1)", grown: true},
	"Shape":         {code: "x.Shape()", grown: true},
	"Stride":        {code: "x.Stride()", grown: true},
	"StorageOffset": {code: "x.StorageOffset()"},
	"Dim":           {code: "x.Dim()", grown: true},
	"Numel":         {code: "x.Numel()", grown: true},
	"DType":         {code: "x.DType()", grown: true},
	"Device":        {code: "x.Device()", grown: true},
	"IsContiguous":  {code: "x.IsContiguous()"},
	"IsLeaf":        {code: "x.IsLeaf()", grown: true},
	"RequiresGrad":  {code: "x.RequiresGrad()", grown: true},
	"Grad":          {code: "x.Grad() == nil", grown: true},
	"SetGrad":       {code: "x.SetGrad(torch.OnesLike(y)); r = x.Grad().Shape()", grown: true},
	"GradFn":        {code: "y.GradFn()", brk: "GB0156"},
	"GradRefused":   {code: "x.GradRefused(y)", brk: "GB0156"},
	"RequiresGrad_": {code: "y.RequiresGrad_(); r = y.RequiresGrad()", brk: "GB0125"},
	"RetainGrad":    {code: "x.RetainGrad(); r = 1", brk: "GB0156"},
	"RegisterHook":  {code: "x.RegisterHook(func(g *torch.Tensor) *torch.Tensor { return g }); r = 1", brk: "GB0156"},
	"Backward":      {code: "x.Sum().Backward(); r = x.Grad().Shape()", brk: "GB0123"},
	"ViewRefused":   {code: "x.ViewRefused()", brk: "GB0156"},
	"SetDynamic":    {code: "y.SetDynamic(torch.DimStatic, 1); r = 1", brk: "GB0156"},
	"SetUnbacked":   {code: "y.SetUnbacked(torch.Unbacked{}, 1); r = 1", brk: "GB0156"},
	"DimMark":       {code: "x.DimMark(0)", brk: "GB0156"},
	"SetDims":       {code: "y.SetDims(nil); r = 1", brk: "GB0156"},
	"DimOf":         {code: "x.DimOf(0) == nil", brk: "GB0156"},
	"GradPlace":     {code: "*x.GradPlace() == nil", brk: "GB0156"},
	"Fake":          {code: "x.Fake() == nil", brk: "GB0156"},
	"Storage":       {code: "x.Storage() == x.Storage()", brk: "GB9014"},
	"ViewRoot":      {code: "x.ViewRoot() == x", brk: "GB0156"},
	"Ptr":           {code: "x.Ptr() == nil", brk: "GB9014"},
	"Layout":        {code: "_, s, _ := x.Layout(); r = s", brk: "GB0156"},
	"Array":         {code: "x.Array() == nil", brk: "GB0156"},
	"String":        {code: "x.String()", brk: "GB9014"},
	"Format":        {skip: "fmt calls it: see the break for fmt.Println"},
	"Detach_":       {code: "y.Detach_(); r = y.RequiresGrad()", brk: "GB0156"},
	"Resize_":       {code: "y.Resize_(3, 1); r = y.Shape()", brk: "GB0156"},
	"ResizeAs_":     {code: "y.ResizeAs_(x); r = y.Shape()", brk: "GB0156"},
	"SetData":       {code: "y.SetData(x.Detach().Mul(2)); r = y.Sum().Item()", brk: "GB0156"},
	"Cuda":          {skip: "there is no such device: see TestDevicesAreRefused"},
	"At":            {code: "x.At(0).Shape()"},
	"SetAt":         {code: "y.SetAt(5.0, 0); r = y.Shape()"},
	"Data":          {code: "x.Data()", brk: "GB9014"},
	"Float64s":      {code: "x.To(torch.Float64).Float64s()", brk: "GB9014"},
	"Float32s":      {code: "x.Float32s()", brk: "GB9014"},
	"Int64s":        {code: "x.To(torch.Int64).Int64s()", brk: "GB9014"},
	"Ints":          {code: "x.To(torch.Int64).Ints()", brk: "GB9014"},
	"Bools":         {code: "x.Gt(0).Bools()", brk: "GB9014"},
	"Complex64s":    {code: "torch.Complex(y, y).Complex64s()", brk: "GB9014"},
	"Bool":          {code: "x.Sum().Gt(0).Bool()", brk: "GB0170"},
	"TensorMeta":    {code: "x.TensorMeta() == nil", brk: "GB0156"},
}

// text is a program that calls the method on tensors of two batch sizes.
func (c methodCall) text() string {
	code := c.code
	if !strings.Contains(code, "r = ") {
		code = "r = " + code
	}
	return fmt.Sprintf(`
func f(x, y *torch.Tensor) (*torch.Tensor, any) {
	var r any
	z := x.Mul(2)
	%s
	return z.Add(1), r
}

func main() {
	fast := torch.Compile(f)
	for _, n := range []int{2, 2, 4, 5} {
		y := torch.Arange(n * 3).Reshape(n, 3).Add(0.5)
		x := y.Clone().RequiresGrad_()
		z, r := fast(x, y)
		fmt.Println(z.Shape(), z.Sum().Item(), r)
		fmt.Println(y.Shape(), y.Sum().Item(), x.Shape(), y.RequiresGrad())
	}
}`, code)
}

// TestMethodsThatAreNoOperators wants the answer of eager from each, and the break
// that the table names or none.
func TestMethodsThatAreNoOperators(t *testing.T) {
	typ := reflect.TypeFor[*torch.Tensor]()
	bound := torch.Bindings()
	seen := 0
	for i := range typ.NumMethod() {
		name := typ.Method(i).Name
		if _, ok := bound["(*tcdbg/torch.Tensor)."+name]; ok {
			continue
		}
		c, ok := methodCalls[name]
		if !ok {
			t.Errorf("Tensor.%s has no row in methodCalls", name)
			continue
		}
		seen++
		if c.skip != "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			got := both(t, c.text())
			if got.exit.Code != 0 {
				t.Fatalf("exit %d\n%s", got.exit.Code, got.stderr)
			}
			codes := strings.Fields(got.codes())
			if c.brk == "" && len(codes) > 0 || c.brk != "" && !slices.Contains(codes, c.brk) {
				t.Errorf("breaks %v, want %q", codes, c.brk)
			}
			for _, b := range got.breaks() {
				if b.Code == c.brk && !strings.Contains(b.Detail, name) && c.brk != "GB0170" && c.brk != "GB9004" {
					t.Errorf("the break does not name the method: %s", b.Detail)
				}
			}
			if n := len(got.graphs()); c.grown && n != 2 {
				t.Errorf("%d graphs for batch sizes 2, 4 and 5, want 2", n)
			}
		})
	}
	if seen != len(methodCalls) {
		t.Errorf("methodCalls has %d rows for %d methods", len(methodCalls), seen)
	}
}

// TestQueriesOfWhatIsComputed asks tensors that the graph makes, views among them, by
// calls, method values and method expressions, and for what is not there.
func TestQueriesOfWhatIsComputed(t *testing.T) {
	for _, code := range []string{
		"r = x.Mul(2).T().Stride()",
		"r = x.At(torch.Range(1, 2)).StorageOffset()",
		"r = x.T().IsContiguous()",
		"r = x.Mul(2).Unsqueeze(1).Stride()[0] + x.Sum(kw.Dim(0)).Numel()",
		"f := x.Stride; r = f()",
		"f := (*torch.Tensor).Size; r = f(x, 1)",
		"r = func() (e any) { defer func() { e = fmt.Sprint(recover()) }(); return x.Size(7) }()",
		"if x.Stride()[0] > 3 { z = z.Mul(3) }; r = x.Reshape(-1).Stride()",
		"for _, s := range x.T().Stride() { z = z.Add(float64(s)) }; r = 1",
	} {
		t.Run(code, func(t *testing.T) {
			if got := both(t, methodCall{code: code}.text()); got.exit.Code != 0 {
				t.Errorf("exit %d\n%s", got.exit.Code, got.stderr)
			}
		})
	}
}
