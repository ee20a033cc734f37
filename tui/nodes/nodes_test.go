package nodes

import (
	"fmt"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/modules"
	"tcdbg/logs"
)

// stack is a graph of layers with two operators each.
func stack(layers int) *Graph {
	var inputs, ops []explain.GraphNode
	inputs = append(inputs, explain.GraphNode{Name: "l_x_", Op: "placeholder", Target: "L_x_", Type: "f32[4, 4]"})
	last := "l_x_"
	for i := range layers {
		w := fmt.Sprintf("l_self_modules_layers_modules_%d_modules_fc_parameters_weight_", i)
		inputs = append(inputs, explain.GraphNode{Name: w, Op: "placeholder", Target: w, Type: "f32[4, 4]"})
		mm, relu := fmt.Sprint("mm_", i), fmt.Sprint("relu_", i)
		pos := logs.Pos{File: "/m/model.py", Line: 7, Func: "forward", Code: "return self.fc(x).relu()"}
		ops = append(ops,
			explain.GraphNode{Name: mm, Op: "call_function", Target: "torch.mm", Type: "f32[4, 4]", Args: []string{last, w}, Pos: pos},
			explain.GraphNode{Name: relu, Op: "call_method", Target: "relu", Type: "f32[4, 4]", Args: []string{mm}, Pos: pos})
		last = relu
	}
	ops = append(ops, explain.GraphNode{Name: "output", Op: "output", Target: "output", Args: []string{last}})
	nodes := append(inputs, ops...)
	return Read(modules.Captured(&explain.Graph{LoadNodes: func() []explain.GraphNode { return nodes }}), nil)
}

func drawn(g *Graph, v *View, rails bool) []string {
	d := &Drawer{
		Graph: g, Lines: v.Lines(g), Width: 100, Heat: v.Heat, Place: func(p logs.Pos, _ int) string { return placeOf(p) },
		Chosen: func(*explain.GraphNode) bool { return false },
	}
	if d.Columns(); rails {
		d.Rails()
	}
	var out []string
	for i := range d.Lines {
		out = append(out, strings.TrimRight(d.Line(i).Text(), " "))
	}
	return out
}

func want(t *testing.T, lines []string, wanted ...string) {
	t.Helper()
	text := strings.Join(lines, "\n")
	for _, w := range wanted {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not in\n%s", w, text)
		}
	}
}

// A large graph is folded, in the table and in the drawing, and opens module by module.
func TestLargeGraphsAreFolded(t *testing.T) {
	g, v := stack(400), New()
	lines := drawn(g, &v, false)
	if len(lines) > 500 {
		t.Errorf("%d lines", len(lines))
	}
	want(t, lines, "401 inputs: 400 parameters, x", "layers  800 ops")
	for i, l := range v.Lines(g) {
		if l.Level != nil && l.Level.Path == "layers.3" {
			if !v.Toggle(&v.Lines(g)[i]) {
				t.Fatal("a module does not open")
			}
			break
		}
	}
	for _, l := range drawn(g, &v, true) {
		if strings.Contains(l, "relu_3 ") && strings.Contains(l, "●") {
			return
		}
	}
	t.Error(strings.Join(drawn(g, &v, true)[:12], "\n"))
}

// Around a node, up, down, and on the paths between two.
func TestNeighbourhoods(t *testing.T) {
	g, v := stack(100), New()
	v.Look("relu_50")
	lines := drawn(g, &v, true)
	if len(lines) != 5 {
		t.Errorf("%d lines within two hops:\n%s", len(lines), strings.Join(lines, "\n"))
	}
	want(t, []string{v.Says(g)}, "around relu_50, 2 hops")
	v.Hops(1)
	if n := len(v.Lines(g)); n != 7 {
		t.Error(n)
	}
	v.Look("relu_50")
	want(t, []string{v.Says(g)}, "upstream of relu_50, 3 hops")
	v.Look("relu_50")
	v.Look("relu_50")
	if v.Says(g) != "" {
		t.Error(v.Says(g))
	}
	v.Mark("mm_10")
	v.Mark("relu_12")
	if n := len(v.Lines(g)); n != 6 {
		t.Errorf("%d lines on the path", n)
	}
	want(t, []string{v.Says(g)}, "paths between mm_10 and relu_12")
	v.Of("another graph")
	if v.Says(g) != "" {
		t.Error(v.Says(g))
	}
}

func TestHeat(t *testing.T) {
	g, v := stack(3), New()
	v.NextHeat(g)
	if v.Heat != ByBytes {
		t.Error(v.Heat)
	}
	want(t, drawn(g, &v, false), "100 %")
	v.NextHeat(g)
	if v.Heat != ByFLOPs {
		t.Error(v.Heat)
	}
	if v.NextHeat(g); v.Heat != Cold { // nothing was timed
		t.Error(v.Heat)
	}
}

// All open, then all closed.
func TestFoldingAll(t *testing.T) {
	g, v := stack(100), New()
	v.ToggleAll(g)
	closed := len(v.Lines(g))
	v.ToggleAll(g)
	if open := len(v.Lines(g)); closed > 6 || open < 300 {
		t.Error(closed, open)
	}
	v.ToggleAll(g)
	v.Reveal(g, g.Find("relu_50"))
	want(t, drawn(g, &v, false), "relu_50")
}

// What a search finds in a closed module is counted there.
func TestHitsInClosedModules(t *testing.T) {
	g := stack(100)
	g.Tree.Each(func(l *modules.Level) {
		if l.Path == "layers" {
			if n := g.Hits(l, "relu"); n != 200 { // the line's code has it, too
				t.Error(n)
			}
			if n := g.Hits(l, "torch.mm"); n != 100 {
				t.Error(n)
			}
		}
	})
}

func TestStagesBesideEachOther(t *testing.T) {
	a, b := stack(3), stack(3)
	b.Nodes[b.Find("relu_1")].Target = "aten.gelu.default"
	c := Compare(a.Graph, b.Graph)
	if c.Summary() != "5 the same, 1 became another, 0 gone, 0 new" {
		t.Error(c.Summary())
	}
	n := c.Len()
	c.Toggle(0)
	if c.Len() <= n {
		t.Error("what is the same does not open")
	}
	for i := range c.Len() {
		if l := c.Draw(i, 60, func(p logs.Pos, _ int) string { return placeOf(p) }).Text(); strings.Contains(l, "~") {
			want(t, []string{l}, "relu_1  relu", "relu_1  aten.gelu.default")
		}
	}
}

// Twenty thousand nodes are drawn in time that grows with them.
func BenchmarkDrawing(b *testing.B) {
	g, v := stack(10_000), New()
	v.ToggleAll(g)
	v.ToggleAll(g)
	for b.Loop() {
		drawn(g, &v, true)
	}
}
