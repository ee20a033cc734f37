package tracer

import (
	"strings"
	"testing"
)

// TestExplainPrintsGuardsAsPyTorch: all fields that torch._dynamo.explain has, in its
// order and quotes.
func TestExplainPrintsGuardsAsPyTorch(t *testing.T) {
	got := runProgram(t, `
var scale = 2.0

func f(x *torch.Tensor, k int) *torch.Tensor { return x.Mul(scale).Add(k) }

func main() {
	fmt.Print(torch.Explain(f)(torch.Ones(3), 4))
}`, true)
	for _, want := range []string{
		"    Name: \"L['x']\"\n    Source: local\n    Create Function: TENSOR_MATCH\n    Guard Types: ['TENSOR_MATCH']\n    Code List: [\"",
		"    Name: \"L['k']\"\n    Source: local\n    Create Function: EQUALS_MATCH\n    Guard Types: ['EQUALS_MATCH']\n    Code " +
			"List: [\"L['k'] == 4\"]\n    Object Weakref: None\n    Guarded Class Weakref: None\n",
		"    Name: \"G['scale']\"\n    Source: global\n    Create Function: EQUALS_MATCH\n",
		"    Name: ''\n    Source: global\n    Create Function: GRAD_MODE\n    Guard Types: ['GRAD_MODE']\n    Code List: ['grad_mode == ",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("no\n%s\nin\n%s%s", want, got.stdout, got.stderr)
		}
	}
}
