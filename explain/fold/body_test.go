package fold

import (
	"testing"

	"tcdbg/explain"
	"tcdbg/logs/fx"
)

// TestBodies wants the nodes of a higher-order operator's bodies at the get_attr that
// names them, with their own lines.
func TestBodies(t *testing.T) {
	nodes := explain.NodesOf(fx.Parse(`class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[4][1]cpu"):
        l_x_ = L_x_

         # File: model.go:9 in f, code: return Apply(x)
        fwd_body_0 = self.fwd_body_0
        bwd_body_0 = self.bwd_body_0
        autograd_function_apply = torch.ops.higher_order.autograd_function_apply(fwd_body_0, bwd_body_0, l_x_);  fwd_body_0 = bwd_body_0 = l_x_ = None
        getitem: "f32[4][1]cpu" = autograd_function_apply[0];  autograd_function_apply = None
        return (getitem,)

    class fwd_body_0(torch.nn.Module):
        def forward(self, l_x_: "f32[4][1]cpu"):

             # File: model.go:3 in Forward, code: x.Round()
            round_1: "f32[4][1]cpu" = l_x_.round();  l_x_ = None
            return ((round_1,), ())

    class bwd_body_0(torch.nn.Module):
        def forward(self, grad_0: "f32[4][1]cpu"):

             # File: model.go:5 in Backward, code: g.Mul(2)
            mul: "f32[4][1]cpu" = grad_0 * 2;  grad_0 = None
            return (mul,)
`))
	lines := map[string]int{}
	for _, n := range nodes {
		for _, b := range n.Body {
			if b.Op != "placeholder" && b.Op != "output" {
				lines[n.Name+" "+b.Name] = b.Pos.Line
			}
		}
	}
	if len(lines) != 2 || lines["fwd_body_0 round_1"] != 3 || lines["bwd_body_0 mul"] != 5 {
		t.Errorf("bodies at %v", lines)
	}
}
