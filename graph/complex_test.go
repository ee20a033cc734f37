package graph

import (
	"strings"
	"testing"

	"tcdbg/torch"
)

const complexGraph = `class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[2][1]cpu"):
        l_x_ = L_x_
        complex_1: "c64[2][1]cpu" = torch.complex(l_x_, l_x_);  l_x_ = None
        mul: "c64[2][1]cpu" = complex_1 * (-1.5+2j);  complex_1 = None
        add: "c64[2][1]cpu" = mul + complex(0.0, 3.0);  mul = None
        real: "f32[2][2]cpu" = add.real
        imag: "f32[2][2]cpu" = add.imag;  add = None
        sub: "f32[2][1]cpu" = real - imag;  real = imag = None
        return (sub,)
`

// TestComplexInText reads a graph of complex numbers, computes it and writes it again.
func TestComplexInText(t *testing.T) {
	g, err := Parse("g", complexGraph)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"(-1.5+2j)", "complex(0.0, 3.0)", "= add.real"} {
		if !strings.Contains(g.Code(), text) {
			t.Errorf("no %s in\n%s", text, g.Code())
		}
	}
	x := torch.NewTensor([]float32{1, 2})
	got := g.Run([]torch.Value{x})[0].(*torch.Tensor)
	if want := x.Mul(-4).Sub(3); !torch.Allclose(got, want).Bool() { // (1+i)(-1.5+2i) is -3.5+0.5i
		t.Errorf("%v, want %v", got, want)
	}
}
