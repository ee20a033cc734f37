package graph

import (
	"slices"
	"strings"
	"testing"

	"tcdbg/torch"
)

// slicesText is what PyTorch 2.15 prints of a map, scans and a choice of three.
const slicesText = `class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[s0, 3][3, 1]cpu", L_w_: "f32[3][1]cpu"):
        l_x_ = L_x_
        l_w_ = L_w_
        map_body_0 = self.map_body_0
        map_impl = torch.ops.higher_order.map_impl(map_body_0, [l_x_], [l_w_]);  map_body_0 = l_x_ = None
        getitem: "f32[s0, 3][3, 1]cpu" = map_impl[0];  map_impl = None
        scan_combine_fn_0 = self.scan_combine_fn_0
        scan = torch.ops.higher_order.scan(scan_combine_fn_0, [l_w_], [getitem], []);  scan_combine_fn_0 = l_w_ = getitem = None
        carry: "f32[3][1]cpu" = scan[0]
        out: "f32[s0, 3][3, 1]cpu" = scan[1];  scan = None
        associative_scan_combine_fn_0 = self.associative_scan_combine_fn_0
        associative_scan = torch.ops.higher_order.associative_scan(associative_scan_combine_fn_0, [out], ());  associative_scan_combine_fn_0 = out = None
        getitem_1: "f32[s0, 3][3, 1]cpu" = associative_scan[0];  associative_scan = None
        sum_1: "f32[][]cpu" = getitem_1.sum()
        to: "i64[][]cpu" = sum_1.to(dtype = torch.int64);  sum_1 = None
        switch_branch0_0 = self.switch_branch0_0
        switch_branch1_0 = self.switch_branch1_0
        switch_branch2_0 = self.switch_branch2_0
        switch = torch.ops.higher_order.switch(to, [switch_branch0_0, switch_branch1_0, switch_branch2_0], (getitem_1, carry));  to = switch_branch0_0 = switch_branch1_0 = switch_branch2_0 = getitem_1 = carry = None
        getitem_2: "f32[s0, 3][3, 1]cpu" = switch[0];  switch = None
        return (getitem_2,)

    class map_body_0(torch.nn.Module):
        def forward(self, child: "f32[3][1]cpu", l_w_: "f32[3][1]cpu"):
            mul: "f32[3][1]cpu" = child * l_w_;  child = l_w_ = None
            return (mul,)

    class scan_combine_fn_0(torch.nn.Module):
        def forward(self, child: "f32[3][1]cpu", child_1: "f32[3][1]cpu"):
            add: "f32[3][1]cpu" = child + child_1;  child = None
            neg: "f32[3][1]cpu" = child_1.neg();  child_1 = None
            return [add, neg]

    class associative_scan_combine_fn_0(torch.nn.Module):
        def forward(self, child: "f32[3][1]cpu", child_1: "f32[3][1]cpu"):
            add: "f32[3][1]cpu" = child + child_1;  child = child_1 = None
            return [add]

    class switch_branch0_0(torch.nn.Module):
        def forward(self, getitem_1: "f32[s0, 3][3, 1]cpu", carry: "f32[3][1]cpu"):
            add: "f32[s0, 3][3, 1]cpu" = getitem_1 + carry;  getitem_1 = carry = None
            return (add,)

    class switch_branch1_0(torch.nn.Module):
        def forward(self, getitem_1: "f32[s0, 3][3, 1]cpu", carry: "f32[3][1]cpu"):
            mul: "f32[s0, 3][3, 1]cpu" = getitem_1 * carry;  getitem_1 = carry = None
            return (mul,)

    class switch_branch2_0(torch.nn.Module):
        def forward(self, getitem_1: "f32[s0, 3][3, 1]cpu", carry: "f32[3][1]cpu"):
            neg: "f32[s0, 3][3, 1]cpu" = getitem_1.neg();  getitem_1 = None
            return (neg,)
`

func TestParseReadsSlices(t *testing.T) {
	g := flowGraph(t, slicesText)
	if got := g.Code(); got != slicesText {
		t.Errorf("printed again:\n%s", got)
	}
	for from, to := range map[string]string{
		"[l_x_], [l_w_])":       "[], [l_x_, l_w_])",
		"[l_w_], [getitem], []": "[l_w_], [getitem, l_w_], []",
		"return [add, neg]":     "return []",
		"return [add]":          "return [add, add]",
		"[switch_branch0_0, switch_branch1_0, switch_branch2_0], (":     "[switch_branch0_0], (",
		"child_1.neg();  child_1 = None\n            return [add, neg]": "child_1.sum();  child_1 = None\n            return [neg, add]",
		"(getitem_1, carry));  to":                                      "(getitem_1, carry);  to",
	} {
		if _, err := Parse("g", strings.Replace(slicesText, from, to, 1)); err == nil {
			t.Errorf("%s instead of %s passes", to, from)
		}
	}
}

// TestSlicesRun wants what loops over the slices give.
func TestSlicesRun(t *testing.T) {
	g := flowGraph(t, slicesText)
	w := torch.NewTensor([]float32{1, 2, 3})
	for fill, want := range map[float64][]float64{
		0.1:  {-0.1 + 1.3, -0.2 + 2.6, -0.3 + 3.9, -0.2 + 1.3, -0.4 + 2.6, -0.6 + 3.9, -0.3 + 1.3, -0.6 + 2.6, -0.9 + 3.9},
		-0.1: {-0.1, -0.2, -0.3, -0.2, -0.4, -0.6, -0.3, -0.6, -0.9},
	} {
		x := torch.Full([]int{3, 3}, fill)
		got := g.Run([]torch.Value{x, w})[0].(*torch.Tensor).Reshape(-1).Float64s()
		if !slices.EqualFunc(got, want, func(a, b float64) bool { return a-b < 1e-5 && b-a < 1e-5 }) {
			t.Errorf("of %v: %v, want %v", fill, got, want)
		}
	}
}

func TestSlicesAsGoCode(t *testing.T) {
	got := flowGraph(t, slicesText).GoCode()
	for _, text := range []string{
		"		getitem_y = map_body_0(l_x_.Select(0, i), l_w_)\n", "	carry := l_w_\n",
		"		carry, out_y = scan_combine_fn_0(carry, getitem.Select(0, i))\n",
		"			getitem_1_y = associative_scan_combine_fn_0(getitem_1_list[i-1], out.Select(0, i))\n",
		"	switch min(max(to.ItemInt(), 0), 2) {\n	case 0:\n		getitem_2 = switch_branch0_0(getitem_1, carry)\n",
	} {
		if !strings.Contains(got, text) {
			t.Errorf("no %q in\n%s", text, got)
		}
	}
}
