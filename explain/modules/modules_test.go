package modules

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/logs/fx"
)

// tower is a model of two blocks of a norm and a linear layer, as PyTorch writes its captured graph.
const tower = `class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[8, 16]", L_self_modules_blocks_modules_0_modules_norm_parameters_weight_: "f32[16]", ` +
	`L_self_modules_blocks_modules_0_modules_fc_parameters_weight_: "f32[16, 16]", ` +
	`L_self_modules_blocks_modules_1_modules_norm_parameters_weight_: "f32[16]", ` +
	`L_self_modules_blocks_modules_1_modules_fc_parameters_weight_: "f32[16, 16]", L_self_buffers_scale_: "f32[16]"):
        l_x_ = L_x_

        # File: /m/model.py:10 in forward, code: h = x.pow(2)
        pow_1: "f32[8, 16]" = l_x_.pow(2)

        # File: /m/model.py:11 in forward, code: return h * self.weight
        mul: "f32[8, 16]" = pow_1 * L_self_modules_blocks_modules_0_modules_norm_parameters_weight_

        # File: /m/model.py:30 in forward, code: return torch.relu(self.fc(self.norm(x)))
        linear: "f32[8, 16]" = torch._C._nn.linear(mul, L_self_modules_blocks_modules_0_modules_fc_parameters_weight_, None)
        relu: "f32[8, 16]" = torch.relu(linear)

        # File: /m/model.py:10 in forward, code: h = x.pow(2)
        pow_2: "f32[8, 16]" = relu.pow(2)

        # File: /m/model.py:11 in forward, code: return h * self.weight
        mul_1: "f32[8, 16]" = pow_2 * L_self_modules_blocks_modules_1_modules_norm_parameters_weight_

        # File: /m/model.py:30 in forward, code: return torch.relu(self.fc(self.norm(x)))
        linear_1: "f32[8, 16]" = torch._C._nn.linear(mul_1, L_self_modules_blocks_modules_1_modules_fc_parameters_weight_, None)
        relu_1: "f32[8, 16]" = torch.relu(linear_1)

        # File: /m/model.py:50 in forward, code: return x * self.scale
        out: "f32[8, 16]" = relu_1 * L_self_buffers_scale_
        return (out,)
`

// backward is its backward graph: of the second block, and the first layer's gradient.
const backward = `class GraphModule(torch.nn.Module):
    def forward(
        self,
        primals_2: "f32[16]",  # PlainAOTInput(idx=1)
        primals_4: "f32[16]",  # PlainAOTInput(idx=3)
        primals_5: "f32[16, 16]",  # PlainAOTInput(idx=4)
        mul_1: "f32[8, 16]",
        tangents_1: "f32[8, 16]",
    ):
        # Backward of forward node: File: /m/model.py:30 in forward, code: return torch.relu(self.fc(self.norm(x)))
        permute: "f32[16, 8]" = torch.ops.aten.permute.default(tangents_1, [1, 0])
        mm: "f32[16, 16]" = torch.ops.aten.mm.default(permute, mul_1)
        mm_1: "f32[8, 16]" = torch.ops.aten.mm.default(tangents_1, primals_5)
        # Backward of forward node: File: /m/model.py:11 in forward, code: return h * self.weight
        mul_2: "f32[8, 16]" = torch.ops.aten.mul.Tensor(mm_1, primals_4)
        return (None, None, None, None, mm, None)
`

func read(text string) []explain.GraphNode { return explain.NodesOf(fx.Parse(text)) }

func captured(text string) *Graph {
	return Captured(&explain.Graph{LoadNodes: func() []explain.GraphNode { return read(text) }})
}

// wantModules compares the modules of nodes.
func wantModules(t *testing.T, g *Graph, want map[string]string) {
	t.Helper()
	for name, module := range want {
		i := g.Find(name)
		if i < 0 {
			t.Fatalf("no node %s", name)
		}
		if g.Module[i] != module {
			t.Errorf("%s is in %q, not in %q", name, g.Module[i], module)
		}
	}
}

func TestModulesOfTheCapturedGraph(t *testing.T) {
	g := captured(tower)
	if got := g.InputText(); got != "6 inputs: 4 parameters, 1 buffer, x" {
		t.Error(got)
	}
	wantModules(t, g, map[string]string{
		"pow_1": "blocks.0.norm", "mul": "blocks.0.norm", "linear": "blocks.0.fc", "relu": "blocks.0",
		"pow_2": "blocks.1.norm", "mul_1": "blocks.1.norm",
		"linear_1": "blocks.1.fc", "out": "",
	})
	tree := g.Tree(map[string]float64{"linear": 500, "linear_1": 700})
	if s := tree.Sum; s.Operators != 9 || s.FLOPs != 2*2*8*16*16 || s.Nanos != 1200 {
		t.Errorf("%+v", s)
	}
	var zero *Level
	tree.Each(func(l *Level) {
		if l.Path == "blocks.0" {
			zero = l
		}
	})
	// Of 512 and 1,024 bytes: pow, mul, linear and relu.
	if zero == nil || zero.Sum.FLOPs != 2*8*16*16 || zero.Sum.Nanos != 500 || zero.Sum.Bytes != 1024+1088+2048+1024 {
		t.Errorf("%+v", zero)
	}
}

// A later stage knows its inputs by their numbers, gradients by their place among the outputs.
func TestModulesOfTheBackwardGraph(t *testing.T) {
	g := Later(read(backward), captured(tower))
	wantModules(t, g, map[string]string{"mm": "blocks.1.fc", "mm_1": "blocks.1.fc", "mul_2": "blocks.1.norm"})
	other := captured(strings.ReplaceAll(tower, `"f32[16, 16]"`, `"f32[16, 17]"`))
	if g = Later(read(backward), other); g.Inputs[0].Kind != Argument {
		t.Error("inputs of other shapes were taken for the captured ones")
	}
}

func TestModulesOfGoPrograms(t *testing.T) {
	for name, want := range map[string]Input{
		"l_m__Encoder_Layers_Modules_0__Module_Ln1_Weight": {Kind: Parameter, root: "m", Module: "Encoder.Layers.0.Ln1", Name: "Weight"},
		"L_m__Bn_RunningMean":                              {Kind: Buffer, root: "m", Module: "Bn", Name: "RunningMean"},
		"l_x_":                                             {Name: "x"},
		"l_self_parameters_weight_":                        {Kind: Parameter, root: "self", Name: "weight"},
		"l_args_0_modules_layers_modules_0_modules_self_attn_buffers_mask_": {
			Kind: Buffer, root: "args_0", Module: "layers.0.self_attn", Name: "mask",
		},
	} {
		if got := parseInput(name); got != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if in, ok := sourceInput("L['m'].Layers.Modules[3].Weight", true); !ok || in.Module != "Layers.3" || in.Kind != Parameter {
		t.Errorf("%+v", in)
	}
}

// A weight that an embedding and the last layer share is the embedding's.
func TestTiedWeights(t *testing.T) {
	g := captured(`class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "i64[4]", L_self_modules_body_modules_wte_parameters_weight_: "f32[9, 2]"):
        # File: /m/model.py:3 in forward, code: h = self.wte(x)
        h: "f32[4, 2]" = torch.nn.functional.embedding(L_x_, L_self_modules_body_modules_wte_parameters_weight_)
        # File: /m/model.py:40 in forward, code: return self.head(h)
        y: "f32[4, 9]" = torch._C._nn.linear(h, L_self_modules_body_modules_wte_parameters_weight_, None)
        return (y,)
`)
	wantModules(t, g, map[string]string{"h": "body.wte", "y": ""})
}

func TestNeighbours(t *testing.T) {
	g := captured(tower)
	at := func(name string) int { return g.Find(name) }
	if near := g.Near(at("relu"), 1, Both); len(near) != 3 || !near[at("linear")] || !near[at("pow_2")] {
		t.Error(near)
	}
	if up := g.Near(at("relu"), 0, Upstream); up[at("pow_2")] || !up[at("l_x_")] {
		t.Error(up)
	}
	if path := g.Between(at("relu_1"), at("mul")); len(path) != 7 || path[at("out")] || path[at("pow_1")] {
		t.Error(path)
	}
}

func TestMatchedStages(t *testing.T) {
	a := captured(tower)
	b := Later(read(strings.NewReplacer("torch.relu(linear)", "torch.ops.aten.relu.default(linear)",
		"pow_2: \"f32[8, 16]\" = relu.pow(2)", "extra: \"f32[8, 16]\" = torch.ops.aten.sin.default(relu)\n"+
			"        pow_2: \"f32[8, 16]\" = extra.pow(2)",
		"out: \"f32[8, 16]\" = relu_1 * L_self_buffers_scale_", "out: \"f32[8, 16]\" = torch.ops.aten.add.Tensor(relu_1, relu_1)",
	).Replace(tower)), a)
	var same, gone, added, other int
	for _, g := range Match(a, b) {
		for _, p := range g.Pairs {
			switch {
			case p.Same:
				same++
			case p.Left < 0:
				added++
				if b.Nodes[p.Right].Name != "extra" {
					t.Error(b.Nodes[p.Right].Name)
				}
			case p.Right < 0:
				gone++
			default:
				other++
			}
		}
	}
	if same != 8 || gone != 0 || added != 1 || other != 1 {
		t.Error(same, gone, added, other)
	}
}

// What is written is well-formed, and says nothing that the trace made up.
func TestWrittenGraphs(t *testing.T) {
	g := captured(strings.ReplaceAll(tower, "code: h = x.pow(2)", "code: h = \"<script>\x1b[31m\"]; x"))
	tree := g.Tree(nil)
	for _, depth := range []int{0, 9} {
		d := &Drawn{Graph: g, Tree: tree, Title: `a "title" <b>`, Open: func(l *Level) bool { return strings.Count(l.Path, ".") < depth }}
		for _, format := range Formats() {
			text, err := Write(format, d)
			if err != nil {
				t.Fatal(err)
			}
			switch format {
			case "json":
				var out struct {
					Nodes []struct{ Name, Module string }
				}
				if err := json.Unmarshal([]byte(text), &out); err != nil || len(out.Nodes) != len(g.Nodes) {
					t.Error(err, len(out.Nodes))
				}
			case "svg":
				for dec := xml.NewDecoder(strings.NewReader(text)); ; {
					if _, err := dec.Token(); err == io.EOF {
						break
					} else if err != nil {
						t.Fatal(err)
					}
				}
			case "dot":
				if open, end := strings.Count(text, "{"), strings.Count(text, "}"); open != end {
					t.Error(open, end)
				}
				if want := depth > 0; strings.Contains(text, `label="fc"`) != want {
					t.Errorf("depth %d:\n%s", depth, text)
				}
			}
			if strings.Contains(text, "<script>") && format != "json" || strings.Contains(text, "\x1b") {
				t.Errorf("%s: %q", format, text)
			}
		}
	}
	if _, err := Write("png", &Drawn{}); err == nil {
		t.Error("png was written")
	}
}

// A path deeper than any model's counts as the root, for nodes, levels and what is written.
func TestDeepPaths(t *testing.T) {
	w := "l_self" + strings.Repeat("_modules_a", 100) + "_parameters_weight_"
	nodes := []explain.GraphNode{
		{Name: w, Op: "placeholder", Type: "f32[8]"},
		{Name: "mul", Op: "call_function", Target: "mul", Type: "f32[8]", Args: []string{w}, Pos: logs.Pos{File: "m.py", Line: 1}},
	}
	g := Captured(&explain.Graph{LoadNodes: func() []explain.GraphNode { return nodes }})
	wantModules(t, g, map[string]string{w: "", "mul": ""})
	d := &Drawn{Graph: g, Tree: g.Tree(nil), Open: func(*Level) bool { return true }}
	if text, err := Write("dot", d); err != nil || !strings.Contains(text, `label="mul`) {
		t.Errorf("%v\n%s", err, text)
	}
}

// What computes beside modules is drawn in a cluster of its own, each node once.
func TestBesideModules(t *testing.T) {
	w := "l_self_modules_fc_parameters_weight_"
	nodes := []explain.GraphNode{{Name: w, Op: "placeholder"}, {Name: "mul", Op: "call_function", Target: "mul", Args: []string{w}}}
	for i := range 2 * maxBetween {
		nodes = append(nodes, explain.GraphNode{Name: fmt.Sprintf("add_%d", i), Op: "call_function", Target: "add"})
	}
	g := Captured(&explain.Graph{LoadNodes: func() []explain.GraphNode { return nodes }})
	text, err := Write("dot", &Drawn{Graph: g, Tree: g.Tree(nil), Open: func(*Level) bool { return true }})
	_, beside, ok := strings.Cut(text, "label=\""+Between+"\"")
	beside, _, _ = strings.Cut(beside, "}")
	if err != nil || !ok || strings.Count(beside, "label=\"add_") != 2*maxBetween || strings.Count(text, "label=\"add_") != 2*maxBetween {
		t.Errorf("%v\n%s", err, text)
	}
}

// A graph of a hundred thousand nodes takes no more than ten times one of ten thousand, about.
func TestNothingIsQuadratic(t *testing.T) {
	measure := func(layers int) time.Duration {
		var nodes []explain.GraphNode
		last := "l_x_"
		nodes = append(nodes, explain.GraphNode{Name: last, Op: "placeholder", Type: "f32[8]"})
		for i := range layers {
			w := "l_self_modules_layers_modules_" + strings.Repeat("1", 1+i%3) + "_modules_fc_parameters_weight_"
			if i < 3 {
				nodes = append(nodes, explain.GraphNode{Name: w, Op: "placeholder", Type: "f32[8]"})
			}
			name := "mul_" + time.Duration(i).String()
			args := []string{last, w}
			nodes = append(nodes, explain.GraphNode{Name: name, Op: "call_function", Target: "mul", Type: "f32[8]", Args: args})
			last = name
		}
		start := time.Now()
		g := Captured(&explain.Graph{LoadNodes: func() []explain.GraphNode { return nodes }})
		Match(g, Later(nodes, g))
		d := &Drawn{Graph: g, Tree: g.Tree(nil), Open: func(*Level) bool { return true }}
		for _, f := range Formats() {
			if _, err := Write(f, d); err != nil {
				t.Fatal(err)
			}
		}
		g.Near(1, 0, Both)
		return time.Since(start)
	}
	measure(1000)
	small, large := measure(5000), measure(50_000)
	if large > 40*small+2*time.Second {
		t.Errorf("%v for 5,000 nodes, %v for 50,000", small, large)
	}
}

// What our own engine times has the names of the compiled stage: its conv is not the captured graph's node of that name.
func TestTimesOfTheCompiledStage(t *testing.T) {
	g := captured(tower)
	stage := strings.NewReplacer("linear_1", "linear", "linear:", "mm:", "torch.relu(linear)", "torch.relu(mm)").Replace(tower)
	own := &explain.Graph{Stages: []explain.Stage{{Name: "forward", Load: func() string { return stage }}}}
	got := g.timesOf(map[string]float64{"mm": 100, "linear": 70, "out": 5}, own)
	var zero, one float64
	for name, ns := range got {
		switch m := g.Module[g.Find(name)]; {
		case strings.HasPrefix(m, "blocks.0"):
			zero += ns
		case strings.HasPrefix(m, "blocks.1"):
			one += ns
		}
	}
	if zero != 100 || one != 70 || got["out"] != 5 {
		t.Errorf("%v", got)
	}
}
