package modules

import (
	"testing"

	"tcdbg/explain"
	"tcdbg/logs"
)

// TestToldModules: what a trace tells of a node's module counts more than its neighbours; what it tells of nodes that
// there are not, or in words that are no path, is passed over.
func TestToldModules(t *testing.T) {
	pos := logs.Pos{File: "m.py", Line: 9, Func: "forward", Code: "return self.net(x)"}
	at := func(name, target string, args ...string) explain.GraphNode {
		return explain.GraphNode{Name: name, Op: "call_function", Target: target, Type: "f32[4]", Args: args, Pos: pos}
	}
	input := func(name string) explain.GraphNode {
		return explain.GraphNode{Name: name, Op: "placeholder", Target: name, Type: "f32[4]"}
	}
	own := &explain.Graph{LoadNodes: func() []explain.GraphNode {
		return []explain.GraphNode{
			input("l_self_modules_net_modules_0_parameters_weight_"), input("l_x_"),
			at("linear", "torch._C._nn.linear", "l_x_", "l_self_modules_net_modules_0_parameters_weight_"),
			at("relu", "torch.relu", "linear"), at("sum_1", "torch.sum", "relu"),
		}
	}}
	plain := Captured(own)
	if got := plain.Module[3]; got == "net.1" {
		t.Errorf("relu is in %q before anything is told", got)
	}
	own.LoadModules = func() logs.NodeModules {
		return logs.NodeModules{Modules: map[string][]string{
			"L['self'].net[0]": {"linear", "l_x_"}, "L['self'].net[1]": {"relu", "gone"}, "f(x)": {"sum_1"}, "L['self": {"sum_1"},
		}}
	}
	told := Captured(own)
	if told.Module[2] != "net.0" || told.Module[3] != "net.1" || told.Module[4] != plain.Module[4] {
		t.Errorf("%q", told.Module)
	}
	// Of a later stage the line says no more than that both are in net.
	gelu, mm := at("gelu_backward", "torch.ops.aten.gelu_backward.default", "primals_2"), at(
		"mm", "torch.ops.aten.mm.default", "gelu_backward", "primals_1",
	)
	later := Later([]explain.GraphNode{input("primals_1"), input("primals_2"), gelu, mm}, told)
	if later.Module[2] != "net" || later.Module[3] != "net.0" {
		t.Errorf("a later stage: %q", later.Module)
	}
}

// TestToldModulesOfStages: a later stage is told of like the captured graph; other stages of the name keep theirs.
func TestToldModulesOfStages(t *testing.T) {
	text := "def forward(self, primals_1: \"f32[4]\", primals_2: \"f32[4]\"):\n" +
		"    mul: \"f32[4]\" = torch.ops.aten.mul.Tensor(primals_1, primals_2)\n" +
		"    relu: \"f32[4]\" = torch.ops.aten.relu.default(mul);  mul = None\n    return (relu,)\n"
	own := &explain.Graph{Stages: []explain.Stage{{Name: "forward", Load: func() string { return text }}}}
	own.LoadNodes = func() []explain.GraphNode {
		var out []explain.GraphNode
		for _, name := range []string{"l_self_modules_scale_parameters_weight_", "l_x_"} {
			out = append(out, explain.GraphNode{Name: name, Op: "placeholder", Type: "f32[4]"})
		}
		return out
	}
	captured := Captured(own)
	for _, told := range []bool{false, true} {
		if told {
			own.Stages[0].LoadModules = func() logs.NodeModules {
				return logs.NodeModules{Stage: "forward", Modules: map[string][]string{"L['self'].act": {"relu"}}}
			}
		}
		st := StagesOf(own)
		g := st.Read(1, captured)
		if i := g.Find("relu"); i < 0 || (g.Module[i] == "act") != told {
			t.Errorf("told: %v: %q of %d nodes", told, g.Module, len(g.Nodes))
		}
	}
}

func TestModulePaths(t *testing.T) {
	for source, want := range map[string]string{
		"L['self'].layers[0].norm": "self layers.0.norm", "L['args'][0].model": "args_0 model", "L['self']": "self ",
		"L['self']._modules['layers']._modules['0'].fc": "self layers.0.fc", "L['m']['a'].b": "m_a b",
		"G['m'].x": "-", "L['self": "-", "L['x'][0": "-", "L['self'].f(x)": "-",
	} {
		got := "-"
		if root, path, ok := modulePath(source); ok {
			got = root + " " + path
		}
		if got != want {
			t.Errorf("%s: %q, want %q", source, got, want)
		}
	}
}
