package fx

import (
	"reflect"
	"strings"
	"testing"
)

const code = `class GraphModule(torch.nn.Module):
    def forward(self, L_a_: "f32[10][1]cpu", L_b_: "f32[10][1]cpu", s77: "Sym(s77)"):
        l_a_ = L_a_
        l_b_ = L_b_

        # File: /u/m.py:4 in bar, code: x = a / (torch.abs(a) + 1)
        abs_1: "f32[10][1]cpu" = torch.abs(l_a_)
        add: "f32[10][1]cpu" = abs_1 + 1;  abs_1 = None
        x: "f32[10][1]cpu" = l_a_ / add;  l_a_ = add = None

        # File: /u/m.py:5 in bar, code: if b.sum() < 0:
        sum_1: "f32[][]cpu" = l_b_.sum()
        lt: "b8[][]cpu" = sum_1 < 0;  sum_1 = None
        item = x[0]
        w = self.weight
        y = self.L__self___lin(item);  item = None
        neg = -y
        return (x, lt)
`

func TestCode(t *testing.T) {
	g := Parse(code)
	var got []string
	for _, n := range g.Nodes {
		got = append(got, n.Name+" "+n.Op+" "+n.Target+" "+strings.Join(n.Args, ","))
	}
	want := []string{
		"l_a_ placeholder L_a_ ", "l_b_ placeholder L_b_ ", "s77 placeholder s77 ",
		"abs_1 call_function torch.abs l_a_", "add call_function operator.add abs_1", "x call_function operator.truediv l_a_,add",
		"sum_1 call_method sum l_b_", "lt call_function operator.lt sum_1", "item call_function operator.getitem x",
		"w get_attr weight ", "y call_module L__self___lin item", "neg call_function operator.neg y", "output output output x,lt",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if n := g.Nodes[5]; n.Type != "f32[10][1]cpu" || n.Source != (Source{"/u/m.py", 4, "bar", "x = a / (torch.abs(a) + 1)"}) {
		t.Errorf("node %+v", n)
	}
	if ops := strings.Join(g.Operators(), " "); ops != "abs add truediv sum lt getitem L__self___lin neg" {
		t.Errorf("operators %s", ops)
	}
}

// TestOneOfSeveralResultsIsNoOperator: x.max(0) is one operator, whichever of
// its results is taken; what is taken of a result is one more.
func TestOneOfSeveralResultsIsNoOperator(t *testing.T) {
	g := Parse(`class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[4, 4][4, 1]cpu"):
        l_x_ = L_x_
        max_1 = l_x_.max(0)
        values: "f32[4][1]cpu" = max_1[0];  max_1 = None
        head: "f32[2][1]cpu" = values[slice(None, 2, None)];  values = None
        return (head,)
`)
	if ops := strings.Join(g.Operators(), " "); ops != "max getitem" {
		t.Errorf("operators %q", ops)
	}
}

func TestTable(t *testing.T) {
	g := Parse(`opcode         name    target                                                  args              kwargs
-------------  ------  ------------------------------------------------------  ----------------  --------
placeholder    l_a_    L_a_                                                    ()                {}
call_function  abs_1   <built-in method abs of type object at 0x7f8d259298a0>  (l_a_,)           {}
call_function  add     <built-in function add>                                 (abs_1, 1)        {}
call_method    sum_1   sum                                                     (add,)            {}
output         output  output                                                  ((sum_1,),)       {}
`)
	if ops := strings.Join(g.Operators(), " "); ops != "abs add sum" || len(g.Nodes) != 5 || strings.Join(g.Nodes[2].Args, "") != "abs_1" {
		t.Errorf("operators %s, nodes %+v", ops, g.Nodes)
	}
}

func TestListing(t *testing.T) {
	g := Parse("graph():\n    %x : [num_users=1] = placeholder[target=x]\n    %mm : Tensor \"f32[4]\"[num_users=1] = " +
		"call_function[target=torch.ops.aten.mm.default](args = (%x, %x), kwargs = {})\n    return %mm\n")
	if len(g.Nodes) != 3 || g.Nodes[1].Type != "f32[4]" || g.Nodes[1].Operator() != "aten.mm.default" || g.Nodes[2].Op != "output" {
		t.Errorf("nodes %+v", g.Nodes)
	}
}

func TestNestedClasses(t *testing.T) {
	g := Parse("class GraphModule(torch.nn.Module):\n    def forward(self, x):\n        y = x + 1\n        return (y,)\n\n    class " +
		"cond_true_0(torch.nn.Module):\n        def forward(self, z):\n            w = z * 2\n            return (w,)\n")
	if len(g.Subs) != 1 || g.Subs[0].Name != "cond_true_0" || strings.Join(g.Operators(), "") != "add" ||
		strings.Join(g.Subs[0].Operators(), "") != "mul" {
		t.Errorf("graph %+v", g)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(code)
	f.Add("graph():\n    %x : [num_users=1] = placeholder[target=x]\n")
	f.Add("opcode  name  target  args  kwargs\n------  ----  ------  ----  ------\noutput  output  output  ()  {}\n")
	f.Fuzz(func(t *testing.T, text string) {
		g := Parse(text)
		if g == nil {
			return
		}
		g.Operators()
		g.Placeholders()
		for _, n := range g.Nodes {
			if n.Op == "" {
				t.Errorf("a node without an op: %+v", n)
			}
		}
	})
}

// TestParametersByLine: graphs of PyTorch 2.15 have one input a line, with a remark.
func TestParametersByLine(t *testing.T) {
	g := Parse("class <lambda>(torch.nn.Module):\n    def forward(\n        self,\n        arg0_1: \"f32[4, 8][8, 1]cpu\",  # " +
		"PlainAOTInput(idx=0)\n        arg1_1: \"Sym(s77)\",  # PlainAOTInput(idx=1)\n    ):\n        # File: /w/m.py:8 in forward, " +
		"code: return x.relu()\n        relu: \"f32[4, 8][8, 1]cpu\" = torch.ops.aten.relu.default(arg0_1);  arg0_1 = None\n        " +
		"return (\n            relu,  # PlainAOTOutput(idx=0)\n            arg1_1,  # PlainAOTOutput(idx=1)\n        )\n")
	if g == nil || g.Placeholders() != 2 || g.Nodes[0].Name != "arg0_1" || strings.Join(g.Operators(), " ") != "aten.relu.default" {
		t.Fatalf("%+v", g)
	}
	whole := Parse("class <lambda>(torch.nn.Module):\n    def forward(self, arg0_1, arg1_1):\n        relu = " +
		"torch.ops.aten.relu.default(arg0_1)\n        return (relu, arg1_1)\n")
	if last, want := g.Nodes[len(g.Nodes)-1], whole.Nodes[len(whole.Nodes)-1]; last.Op != "output" ||
		!reflect.DeepEqual(last.Args, want.Args) || len(g.Nodes) != len(whole.Nodes) {
		t.Errorf("%+v, in one line %+v", last, want)
	}
	if n := g.Nodes[1]; n.Type != "Sym(s77)" || g.Nodes[2].Source.Line != 8 {
		t.Errorf("%+v", n)
	}
}

// TestResultsByLine: a joint graph of PyTorch 2.15 unflattens its results, one a line; none of them is an operator.
func TestResultsByLine(t *testing.T) {
	head := "class inner_f(torch.nn.Module):\n    def forward(self, primals_1, tangents_1):\n        # File: /w/m.py:8 in forward, " +
		"code: return x.relu()\n        relu: \"f32[4][1]cpu\" = torch.ops.aten.relu.default(primals_1);  primals_1 = None\n        "
	g := Parse(head + "return pytree.tree_unflatten([\n            relu,  # PlainAOTOutput(idx=0)\n            None,  # None\n" +
		"            tangents_1,  # GradAOTOutput(grad_of=PlainAOTInput(idx=0))\n        ], self._out_spec)\n")
	whole := Parse(head + "return pytree.tree_unflatten([relu, None, tangents_1], self._out_spec)\n")
	if !reflect.DeepEqual(g, whole) || strings.Join(g.Operators(), " ") != "aten.relu.default" {
		t.Errorf("%+v\nin one line\n%+v", g, whole)
	}
}

// TestBackwardSources: a joint graph of PyTorch 2.15 says of the nodes of the backward pass which line's node each is of,
// and declares its inputs one a line.
func TestBackwardSources(t *testing.T) {
	g := Parse("class inner_f(torch.nn.Module):\n    def forward(\n        self,\n        primals,\n        tangents,\n    ):\n" +
		"        primals_1: \"f32[4][1]cpu\"  # PlainAOTInput(idx=0)\n        tangents_1: \"f32[4][1]cpu\"  # TangentAOTInput()\n" +
		"        primals_1, tangents_1, = fx_pytree.tree_flatten_spec([primals, tangents], self._in_spec)\n" +
		"        # File: /w/m.py:8 in forward, code: y = x.relu()\n" +
		"        relu: \"f32[4][1]cpu\" = torch.ops.aten.relu.default(primals_1)\n" +
		"        # File: /w/m.py:9 in forward, code: z = y.isnan()\n        isnan: \"b8[4][1]cpu\" = torch.ops.aten.isnan.default(relu)\n" +
		"        # Backward of forward node: File: /w/m.py:8 in forward, code: y = x.relu()\n" +
		"        mul: \"f32[4][1]cpu\" = torch.ops.aten.mul.Tensor(tangents_1, relu)\n        return pytree.tree_unflatten([relu, mul])\n")
	lines := map[string]int{}
	for _, n := range g.Nodes {
		if n.Operator() != "" {
			lines[n.Name+"("+strings.Join(n.Args, " ")+")"] = n.Source.Line
		}
	}
	if want := map[string]int{"relu(primals_1)": 8, "isnan(relu)": 9, "mul(tangents_1 relu)": 8}; !reflect.DeepEqual(lines, want) {
		t.Errorf("%v, want %v", lines, want)
	}
}

// TestCuts: commas, assignments and operators within brackets and quotes are
// none of the statement's own.
func TestCuts(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a, b", "a| b"},
		{"f(a, b), [c, d], {e: 1, f: 2}, g", "f(a, b)| [c, d]| {e: 1, f: 2}| g"},
		{"'a, b', \"c, d\", e", "'a, b'| \"c, d\"| e"},
		{"'it, (', \"don't, [\", e", "'it, ('| \"don't, [\"| e"},
		{"f('(', a), b", "f('(', a)| b"},
	} {
		if got := strings.Join(splitTop(c.text, ','), "|"); got != c.want {
			t.Errorf("%s splits into %s", c.text, got)
		}
	}
	for _, c := range []struct{ text, lhs, rhs string }{
		{"x = y", "x", "y"},
		{`x: "a = b" = f(k = 1)`, `x: "a = b"`, "f(k = 1)"},
		{"x: {'k = v'} = y = z", "x: {'k = v'}", "y = z"},
	} {
		if lhs, rhs, ok := cutAssign(c.text); !ok || lhs != c.lhs || rhs != c.rhs {
			t.Errorf("%s is cut into %q and %q, %t", c.text, lhs, rhs, ok)
		}
	}
	if _, _, ok := cutAssign("f(k = 1)"); ok {
		t.Error("a keyword argument is taken for an assignment")
	}
	for text, want := range map[string]string{
		"(a + b) * c": "mul", "x[a + b] < 3": "lt", "f(' + ') - c": "sub", "-x": "neg",
		"not x": "not_",
	} {
		if got := infix(text); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

// TestAugmentedAssignments: what changes its target is printed in two statements, and is one node.
func TestAugmentedAssignments(t *testing.T) {
	g := Parse(`class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[4][1]cpu", y: "f32[4][1]cpu"):
        x += y;  z: "f32[4][1]cpu" = x;  x = y = None
        return (z,)
`)
	if n := g.Nodes[2]; len(g.Nodes) != 4 || n.Name != "z" || n.Target != "operator.iadd" || n.Text != "x += y" ||
		n.Type != "f32[4][1]cpu" || strings.Join(n.Args, ",") != "x,y" {
		t.Errorf("%+v", g.Nodes)
	}
}
