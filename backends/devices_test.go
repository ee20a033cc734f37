package backends

import (
	"strings"
	"testing"
)

// devices is a program that asks for devices, some of which are not there.
const devices = `
// try calls f, compiled, and prints what it returns or panics with.
func try(name string, f func(x *torch.Tensor) *torch.Tensor) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Println(name, "refused:", r)
		}
	}()
	y := torch.Compile(f)(torch.Ones(2))
	fmt.Println(name, y.Device(), y.Shape())
}

func main() {
	lacking := kw.Device("cuda")
	try("factory", func(x *torch.Tensor) *torch.Tensor { return torch.Zeros(2, lacking).Add(1) })
	try("random", func(x *torch.Tensor) *torch.Tensor { return torch.Randn(2, kw.Device("cuda:1")) })
	try("tensor", func(x *torch.Tensor) *torch.Tensor { return torch.NewTensor([]int{1, 2}, kw.Device("cuda")).Add(1) })
	try("to", func(x *torch.Tensor) *torch.Tensor { return x.To(kw.Device("cuda")).Mul(2) })
	try("to first", func(x *torch.Tensor) *torch.Tensor { return x.To("cuda").Mul(2) })
	try("misspelt", func(x *torch.Tensor) *torch.Tensor { return torch.Ones(2, kw.Device("gpu")) })
	try("meta", func(x *torch.Tensor) *torch.Tensor { return torch.Zeros(2, kw.Device("meta")).Add(1) })
	try("to meta", func(x *torch.Tensor) *torch.Tensor { return x.To("meta").Mul(2) })
	try("to cpu", func(x *torch.Tensor) *torch.Tensor { return x.To("cpu:0").Mul(2) })
	try("tensor on cpu", func(x *torch.Tensor) *torch.Tensor { return torch.NewTensor([]int{1, 2}, kw.Device("cpu")).Add(1) })
	try("mixed", func(x *torch.Tensor) *torch.Tensor { return x.Add(torch.Ones(2, kw.Device("meta"))) })
	try("mixed product", func(x *torch.Tensor) *torch.Tensor { return x.Matmul(torch.Ones(2, 2, kw.Device("meta"))) })
}
`

// TestDevices: compiled code refuses what eager code refuses, in the same words, and
// leaves tensors where they were asked to be.
func TestDevices(t *testing.T) {
	prog, err := loadText(t, devices)
	if err != nil {
		t.Fatal(err)
	}
	want, _, _ := runText(prog, nil, "")
	if n := strings.Count(want, "refused: "); n != 8 {
		t.Errorf("%d calls are refused, want 8:\n%s", n, want)
	}
	for _, w := range differentials(t) {
		if got, _, errs := runText(prog, NewSet(w.cfg), w.backend); got != want {
			t.Errorf("%s: %q, want %q\n%s", w.name, got, want, errs)
		}
	}
}
