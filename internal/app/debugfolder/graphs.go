package debugfolder

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tcdbg/backends/reproducer"
	"tcdbg/graph"
	"tcdbg/internal/app/repro"
	"tcdbg/logs"
)

// This file writes the files of one compiled graph: of a compile that trains there are two, forward
// and backward.

// compiledGraph is the folder of one.
type compiledGraph struct {
	dir   string
	pre   string // loops before fusion
	fused bool   // ir_post_fusion is written
}

// roles are what the names of stages and of graphs end in.
var roles = []string{"forward", "backward", "inference"}

// compiled takes a record of a compile.
func (w *writer) compiled(id logs.CompileID, r *logs.Record, out logs.Out) error {
	c := w.compiles[id]
	if c == nil {
		c = &compile{number: -1, readable: map[string]string{}, lowered: map[string]string{}, graphs: map[string]*compiledGraph{}}
		w.compiles[id] = c
	}
	switch name := r.Content(); name {
	case "tcdbg_graph_inputs":
		c.known, _ = decoded[logs.GraphInputs](r)
	case "aot_joint_graph", "aot_forward_graph", "aot_backward_graph", "aot_inference_graph":
		if c.number < 0 {
			c.number, w.count = w.count, w.count+1
			c.aot = w.log(filepath.Join("torchinductor", fmt.Sprintf("aot_model___%d_debug.log", c.number)), "+aot", r.Thread)
		}
		c.aot.Emit(out)
		c.readable[strings.TrimSuffix(strings.TrimPrefix(name, "aot_"), "_graph")] = string(out.Payload)
	case "tcdbg_schedule":
		if v, ok := decoded[logs.Schedule](r); ok {
			return w.scheduled(c, v)
		}
	case "tcdbg_pass_step":
		if v, ok := decoded[logs.PassStep](r); ok && v.Stage == "inductor" {
			return c.pass(v)
		}
	case "tcdbg_provenance":
		if v, ok := decoded[logs.Provenance](r); ok {
			return c.graphs[v.Graph].mappings(v)
		}
	case "inductor_output_code":
		name := strings.TrimSuffix(logs.JSONString(r.Field("filename")), ".c")
		return c.graphs[strings.TrimPrefix(name, "tc_entry_")].file("output_code.c", string(out.Payload))
	case "tcdbg_triton_code":
		if v, ok := decoded[logs.TargetCode](r); ok && v.Ext == ".py" {
			return c.graphs[v.Graph].file("output_code.py", v.Text)
		}
	}
	return nil
}

// pass keeps the loops as passes leave them. Bodies of control flow are compiled while the graph that holds
// them is: what tells them apart is the name in the first line of the loops.
func (c *compile) pass(v logs.PassStep) error {
	if v.Pass != "fuse" {
		c.lowered[programName(v.After)] = v.After
		return nil
	}
	g := c.graphs[programName(v.Before)]
	if g == nil {
		return nil
	}
	g.fused = true
	if err := g.file("ir_pre_fusion.txt", v.Before); err != nil {
		return err
	}
	return g.file("ir_post_fusion.txt", v.After)
}

// programName is the name of a program of loops.
func programName(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimPrefix(line, "program ")
}

// scheduled opens the folder of a graph that is lowered.
func (w *writer) scheduled(c *compile, v logs.Schedule) error {
	role := "inference"
	for _, name := range roles {
		if strings.HasSuffix(v.Graph, "_"+name) {
			role = name
		}
	}
	g := &compiledGraph{
		dir: filepath.Join(w.dir, "torchinductor", fmt.Sprintf("model__%d_%s_%d.%d", max(c.number, 0), role, w.graphs, w.graphs)),
		pre: c.lowered[v.Graph],
	}
	c.graphs[v.Graph] = g
	w.graphs++
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return err
	}
	readable := c.readable[role]
	if readable == "" {
		readable = v.Code
	}
	err := g.file("fx_graph_readable.py", readable)
	if err == nil {
		err = g.file("fx_graph_transformed.py", v.Code)
	}
	if err == nil {
		err = g.runnable(v.Graph, role, readable, v.Hints, c.known)
	}
	return err
}

// runnable writes the graph as a program of its own, or why it cannot be one.
func (g *compiledGraph) runnable(name, role, text string, hints map[string]int64, known logs.GraphInputs) error {
	known.Hints, known.Ungraded = hints, nil
	known.NoGrad = known.NoGrad || role != "inference" // derivatives are in the graph already
	fx, err := repro.Parse(graph.Word(name), text, known)
	var inputs []reproducer.Input
	if err == nil {
		inputs, err = reproducer.Random(fx, known.Inputs)
	}
	program := ""
	if err == nil {
		p := reproducer.Program{Graph: fx, Inputs: inputs, NoGrad: known.NoGrad, Options: reproducer.Options(known)}
		p.Doc = []string{
			fmt.Sprintf("The %s graph %s alone, as the inductor was given it.", role, graph.Word(name)), "",
			"It runs the graph compiled and eagerly on random inputs and prints where results differ.",
			"Run it: tcdbg run --plain fx_graph_runnable.go.",
		}
		program, err = p.Text()
	}
	if err != nil {
		return g.file("fx_graph_runnable.txt", "There is no program of this graph: "+err.Error()+"\n")
	}
	return g.file("fx_graph_runnable.go", program)
}

// mappings says which nodes each kernel computes, and which kernels compute each node.
func (g *compiledGraph) mappings(v logs.Provenance) error {
	if err := g.unfused(); err != nil {
		return err
	}
	out := struct {
		CodeToPost map[string][]string `json:"cppCodeToPost"`
		PostToCode map[string][]string `json:"postToCppCode"`
	}{map[string][]string{}, map[string][]string{}}
	for i, k := range v.Kernels {
		name := fmt.Sprintf("%s:%d", k.Name, i+1)
		for _, line := range k.Lines {
			for _, node := range line.Nodes {
				if !slices.Contains(out.CodeToPost[name], node) {
					out.CodeToPost[name] = append(out.CodeToPost[name], node)
					out.PostToCode[node] = append(out.PostToCode[node], name)
				}
			}
		}
	}
	text, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	return g.file("inductor_provenance_tracking_node_mappings.json", string(text)+"\n")
}

// unfused writes the loops of a graph in which fusion changed nothing.
func (g *compiledGraph) unfused() error {
	if g == nil || g.fused || g.pre == "" {
		return nil
	}
	g.fused = true
	err := g.file("ir_pre_fusion.txt", g.pre)
	if err == nil {
		err = g.file("ir_post_fusion.txt", g.pre)
	}
	return err
}

// file writes one file; a nil graph has none.
func (g *compiledGraph) file(name, text string) error {
	if g == nil {
		return nil
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return os.WriteFile(filepath.Join(g.dir, name), []byte(text), 0o644)
}
