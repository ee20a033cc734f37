package inductor

import (
	"strings"
	"testing"

	"tcdbg/graph"
	"tcdbg/inductor/codegen/cpp"
	"tcdbg/logs"
)

// flowText is a choice, with sizes that vary, and a loop.
const flowText = `class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[s0, 3][3, 1]cpu", arg1_1: "f32[3][1]cpu"):
        sum_1: "f32[][]cpu" = torch.ops.aten.sum.default(arg0_1)
        gt: "b8[][]cpu" = torch.ops.aten.gt.Scalar(sum_1, 0);  sum_1 = None
        true_graph_0 = self.true_graph_0
        false_graph_0 = self.false_graph_0
        cond = torch.ops.higher_order.cond(gt, true_graph_0, false_graph_0, (arg0_1, arg1_1));  gt = true_graph_0 = false_graph_0 = arg0_1 = None
        getitem: "f32[s0, 3][3, 1]cpu" = cond[0];  cond = None
        while_loop_cond_graph_0 = self.while_loop_cond_graph_0
        while_loop_body_graph_0 = self.while_loop_body_graph_0
        while_loop = torch.ops.higher_order.while_loop(while_loop_cond_graph_0, while_loop_body_graph_0, (getitem,), (arg1_1,));  while_loop_cond_graph_0 = while_loop_body_graph_0 = getitem = arg1_1 = None
        getitem_1: "f32[s0, 3][3, 1]cpu" = while_loop[0];  while_loop = None
        return (getitem_1,)

    class true_graph_0(torch.nn.Module):
        def forward(self, arg0_1: "f32[s0, 3][3, 1]cpu", arg1_1: "f32[3][1]cpu"):
            mul: "f32[s0, 3][3, 1]cpu" = torch.ops.aten.mul.Tensor(arg0_1, arg1_1);  arg0_1 = arg1_1 = None
            sin: "f32[s0, 3][3, 1]cpu" = torch.ops.aten.sin.default(mul);  mul = None
            return (sin,)

    class false_graph_0(torch.nn.Module):
        def forward(self, arg0_1: "f32[s0, 3][3, 1]cpu", arg1_1: "f32[3][1]cpu"):
            cos: "f32[s0, 3][3, 1]cpu" = torch.ops.aten.cos.default(arg0_1);  arg0_1 = None
            return (cos,)

    class while_loop_cond_graph_0(torch.nn.Module):
        def forward(self, child: "f32[s0, 3][3, 1]cpu", arg1_1: "f32[3][1]cpu"):
            sum_1: "f32[][]cpu" = torch.ops.aten.sum.default(child);  child = None
            lt: "b8[][]cpu" = torch.ops.aten.lt.Scalar(sum_1, 9);  sum_1 = None
            return lt

    class while_loop_body_graph_0(torch.nn.Module):
        def forward(self, child: "f32[s0, 3][3, 1]cpu", arg1_1: "f32[3][1]cpu"):
            add: "f32[s0, 3][3, 1]cpu" = torch.ops.aten.add.Tensor(child, arg1_1);  child = arg1_1 = None
            return (add,)
`

// TestFlowPrograms wants a program for each body, named by the texts of the whole.
func TestFlowPrograms(t *testing.T) {
	g, err := graph.Parse("g", flowText)
	if err != nil {
		t.Fatal(err)
	}
	c, err := compile(g, Options{Machine: cpp.Machine{Lanes: 8}, Cores: 1})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range c.out.All() {
		names = append(names, p.Name)
	}
	want := "g g_true_graph_0 g_false_graph_0 g_while_loop_cond_graph_0 g_while_loop_body_graph_0"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("programs %s, want %s", got, want)
	}
	for _, k := range c.out.Provenance.Kernels {
		if k.Extern && k.Ops[0] == "cond" && (k.To != k.From+4 || len(k.Lines) != 5 || k.Lines[0].Nodes[0] != "cond") {
			t.Errorf("%s is in lines %d to %d: %v", k.Name, k.From, k.To, k.Lines)
		}
	}
	shown := c.shown(&targets[1]).Text
	for _, text := range []string{
		"if (*buf1)\n", "    buf2 = g_true_graph_0(arg0_1, arg1_1);", "    buf2 = g_false_graph_0(arg0_1, arg1_1);",
		"while (*g_while_loop_cond_graph_0(buf3, arg1_1))", "    buf3 = g_while_loop_body_graph_0(buf3, arg1_1);",
	} {
		if !strings.Contains(c.out.Wrapper, text) {
			t.Errorf("C without %q:\n%s", text, c.out.Wrapper)
		}
	}
	for _, text := range []string{
		".item():\n        fill((buf2,), g_true_graph_0.call([", "    else:\n        fill((buf2,), g_false_graph_0.call([",
		"    while g_while_loop_cond_graph_0.call([", "        fill((buf3,), g_while_loop_body_graph_0.call([",
	} {
		if !strings.Contains(shown, text) {
			t.Errorf("Triton without %q:\n%s", text, shown)
		}
	}
	if !strings.Contains(c.out.IR, "extern cond(") || !strings.Contains(c.out.IR, "extern while_loop(") {
		t.Errorf("loops:\n%s", c.out.IR)
	}
}

// TestFlowReplays goes back over the fusion of a graph with control flow.
func TestFlowReplays(t *testing.T) {
	groups, _, err := Replay(logs.Schedule{Graph: "g", Code: flowText, Hints: map[string]int64{"s0": 5}, Lanes: 8}, -1)
	if err != nil || len(groups) != 4 {
		t.Errorf("%d groups: %v", len(groups), err)
	}
}

// slicesText is a map, scans and a choice of three.
const slicesText = `class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[s0, 3][3, 1]cpu", arg1_1: "f32[3][1]cpu", arg2_1: "i64[][]cpu"):
        exp: "f32[3][1]cpu" = torch.ops.aten.exp.default(arg1_1);  arg1_1 = None
        body_graph_0 = self.body_graph_0
        map_impl = torch.ops.higher_order.map_impl(body_graph_0, [arg0_1], [exp]);  body_graph_0 = arg0_1 = None
        getitem: "f32[s0, 3][3, 1]cpu" = map_impl[0];  map_impl = None
        scan_combine_graph_0 = self.scan_combine_graph_0
        scan = torch.ops.higher_order.scan(scan_combine_graph_0, (exp,), (getitem,), ());  scan_combine_graph_0 = exp = getitem = None
        getitem_1: "f32[3][1]cpu" = scan[0]
        getitem_2: "f32[s0, 3][3, 1]cpu" = scan[1];  scan = None
        associative_scan_combine_graph_0 = self.associative_scan_combine_graph_0
        associative_scan = torch.ops.higher_order.associative_scan(associative_scan_combine_graph_0, (getitem_2,), ());  associative_scan_combine_graph_0 = getitem_2 = None
        getitem_3: "f32[s0, 3][3, 1]cpu" = associative_scan[0];  associative_scan = None
        branch0_graph_0 = self.branch0_graph_0
        branch1_graph_0 = self.branch1_graph_0
        branch2_graph_0 = self.branch2_graph_0
        switch = torch.ops.higher_order.switch(arg2_1, [branch0_graph_0, branch1_graph_0, branch2_graph_0], (getitem_3, getitem_1));  arg2_1 = branch0_graph_0 = branch1_graph_0 = branch2_graph_0 = getitem_3 = getitem_1 = None
        getitem_4: "f32[s0, 3][3, 1]cpu" = switch[0];  switch = None
        return (getitem_4,)

    class body_graph_0(torch.nn.Module):
        def forward(self, arg0_1: "f32[3][1]cpu", arg1_1: "f32[3][1]cpu"):
            mul: "f32[3][1]cpu" = torch.ops.aten.mul.Tensor(arg0_1, arg1_1)
            return (mul,)

    class scan_combine_graph_0(torch.nn.Module):
        def forward(self, arg0_1: "f32[3][1]cpu", arg1_1: "f32[3][1]cpu"):
            add: "f32[3][1]cpu" = torch.ops.aten.add.Tensor(arg0_1, arg1_1)
            neg: "f32[3][1]cpu" = torch.ops.aten.neg.default(arg1_1)
            return (add, neg)

    class associative_scan_combine_graph_0(torch.nn.Module):
        def forward(self, arg0_1: "f32[3][1]cpu", arg1_1: "f32[3][1]cpu"):
            mul: "f32[3][1]cpu" = torch.ops.aten.mul.Tensor(arg0_1, arg1_1)
            return (mul,)

    class branch0_graph_0(torch.nn.Module):
        def forward(self, arg0_1: "f32[s0, 3][3, 1]cpu", arg1_1: "f32[3][1]cpu"):
            add: "f32[s0, 3][3, 1]cpu" = torch.ops.aten.add.Tensor(arg0_1, arg1_1)
            return (add,)

    class branch1_graph_0(torch.nn.Module):
        def forward(self, arg0_1: "f32[s0, 3][3, 1]cpu", arg1_1: "f32[3][1]cpu"):
            sin: "f32[s0, 3][3, 1]cpu" = torch.ops.aten.sin.default(arg0_1)
            return (sin,)

    class branch2_graph_0(torch.nn.Module):
        def forward(self, arg0_1: "f32[s0, 3][3, 1]cpu", arg1_1: "f32[3][1]cpu"):
            cos: "f32[s0, 3][3, 1]cpu" = torch.ops.aten.cos.default(arg0_1)
            return (cos,)
`

// TestSlicesPrograms is TestFlowPrograms for what calls a body for each slice.
func TestSlicesPrograms(t *testing.T) {
	g, err := graph.Parse("g", slicesText)
	if err != nil {
		t.Fatal(err)
	}
	c, err := compile(g, Options{Machine: cpp.Machine{Lanes: 8}, Cores: 1})
	if err != nil {
		t.Fatal(err)
	}
	shown := c.shown(&targets[1]).Text
	for _, text := range []string{
		"for (i = 0; i < s0; i++)\n", "    buf1[i] = g_body_graph_0(arg0_1[i], buf0);",
		"    buf2, buf3[i] = g_scan_combine_graph_0(buf2, buf1[i]);",
		"buf4[0] = buf3[0];", "for (i = 1; i < s0; i++)\n", "    buf4[i] = g_associative_scan_combine_graph_0(buf4[i - 1], buf3[i]);",
		"switch (*arg2_1)\n", "case 2: buf5 = g_branch2_graph_0(buf4, buf2); break;",
	} {
		if !strings.Contains(c.out.Wrapper, text) {
			t.Errorf("C without %q:\n%s", text, c.out.Wrapper)
		}
	}
	for _, text := range []string{
		"    for i in range(0, s0):\n        fill((buf1[i],), g_body_graph_0.call([view(arg0_1, (s0, 3), (3, 1), 0)[i], ",
		"        fill((buf2, buf3[i],), g_scan_combine_graph_0.call([buf2, view(buf1",
		"    for i in range(1, s0):\n        fill((buf4[i],), g_associative_scan_combine_graph_0.call([buf4[i - 1].contiguous(), view(buf3",
		".item() <= 0:\n        fill((buf5,), g_branch0_graph_0.call([", ".item() == 1:\n",
		"    else:\n        fill((buf5,), g_branch2_graph_0.call([",
	} {
		if !strings.Contains(shown, text) {
			t.Errorf("Triton without %q:\n%s", text, shown)
		}
	}
}
