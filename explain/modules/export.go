package modules

import (
	"encoding/json"
	"fmt"
	"html"
	"slices"
	"strings"

	"tcdbg/explain"
	"tcdbg/logs/printable"
)

// This file writes a graph for other programs: as text, DOT and JSON; svg.go draws it.

// Drawn is a graph to write.
type Drawn struct {
	*Graph
	Tree  *Level
	Nanos map[string]float64
	Title string
	Open  func(*Level) bool // of DOT, SVG and text: modules that are closed are one node
}

// formats are the forms in which a graph is written.
var formats = map[string]func(*Drawn) string{"dot": dot, "svg": svg, "json": asJSON, "txt": text}

// Formats names them.
func Formats() []string { return []string{"dot", "svg", "json", "txt"} }

// Write writes a graph in one of the formats.
func Write(format string, d *Drawn) (string, error) {
	write, ok := formats[format]
	if !ok {
		return "", fmt.Errorf("unknown format %q of a graph; known: %s", printable.Clean(format), strings.Join(Formats(), ", "))
	}
	return write(d), nil
}

// box is a node of what is drawn: a node of the graph, or a closed module.
type box struct {
	id    int
	level *Level // nil: the node
	node  int
	in    *Level // the open module around it
	args  []int  // boxes
}

// boxes are the nodes and the closed modules, with the edges between them. Parameters and buffers are left out:
// they are part of their module.
func (d *Drawn) boxes() []box {
	of := make([]int, len(d.Nodes))
	for i := range of {
		of[i] = -1
	}
	var out []box
	for i := range d.Inputs {
		if in := &d.Inputs[i]; in.Kind == Argument {
			of[in.Node] = len(out)
			out = append(out, box{id: len(out), node: in.Node, in: d.Tree})
		}
	}
	for _, r := range d.Tree.Rows(d.Open) {
		b := box{id: len(out), node: r.Node, level: r.Level, in: r.In}
		switch {
		case r.Level != nil && r.Open:
			continue
		case r.Level != nil:
			r.Level.Each(func(l *Level) {
				for _, it := range l.Items {
					if it.Level == nil {
						of[it.Node] = b.id
					}
				}
			})
		default:
			of[r.Node] = b.id
		}
		out = append(out, b)
	}
	for i := range d.Nodes {
		to := of[i]
		for _, a := range d.args[i] {
			if from := of[a]; to >= 0 && from >= 0 && from != to {
				out[to].args = append(out[to].args, from)
			}
		}
	}
	for i := range out {
		slices.Sort(out[i].args)
		out[i].args = slices.Compact(out[i].args)
	}
	return out
}

// label is the lines of a box.
func (d *Drawn) label(b *box) []string {
	if b.level != nil {
		return []string{b.level.Name, SumText(b.level.Sum)}
	}
	n := &d.Nodes[b.node]
	if n.Op == "output" {
		return []string{"output"}
	}
	second := n0(n.Target)
	if n.Op == "placeholder" {
		second = "input"
	}
	if t, _, ok := strings.Cut(n.Type, "]"); ok {
		second += "  " + t + "]"
	}
	return []string{printable.Clean(n.Name), printable.Clean(second)}
}

// sum is what a box costs.
func (d *Drawn) sum(b *box) Sum {
	if b.level != nil {
		return b.level.Sum
	}
	return d.NodeSum(b.node, d.Nanos)
}

// SumText is what a module adds up to, for people.
func SumText(s Sum) string {
	parts := []string{explain.Count(s.Operators, "operator")}
	if s.Nanos > 0 {
		parts = append(parts, explain.Nanos(int64(s.Nanos)))
	}
	if s.Bytes > 0 {
		parts = append(parts, explain.Bytes(s.Bytes))
	}
	if s.FLOPs > 0 {
		parts = append(parts, FLOPs(s.FLOPs))
	}
	if s.Unknown > 0 && s.Bytes > 0 {
		parts[len(parts)-1] += " or more"
	}
	return strings.Join(parts, ", ")
}

// FLOPs is a number of floating-point operations for people.
func FLOPs(n int64) string {
	v, i := float64(n), 0
	units := []string{"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"}
	for v >= 999.5 && i < len(units)-1 {
		v /= 1000
		i++
	}
	return fmt.Sprintf("%.3g %s", v, units[i])
}

// dot is the graph in the language of Graphviz: open modules are clusters.
func dot(d *Drawn) string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n  node [shape=box, fontname=\"monospace\", fontsize=10];\n", quoted(d.Title))
	boxes := d.boxes()
	in := map[*Level][]*box{}
	for i := range boxes {
		in[boxes[i].in] = append(in[boxes[i].in], &boxes[i])
	}
	cluster := 0
	var visit func(l *Level, indent string)
	visit = func(l *Level, indent string) {
		for _, x := range in[l] {
			fmt.Fprintf(&b, "%sn%d [label=%s];\n", indent, x.id, quoted(strings.Join(d.label(x), "\n")))
		}
		for _, m := range modulesOf(l) {
			if !d.Open(m) {
				continue
			}
			cluster++
			fmt.Fprintf(&b, "%ssubgraph cluster_%d {\n%s  label=%s;\n", indent, cluster, indent, quoted(m.Name))
			visit(m, indent+"  ")
			fmt.Fprintf(&b, "%s}\n", indent)
		}
	}
	visit(d.Tree, "  ")
	for i := range boxes {
		for _, a := range boxes[i].args {
			fmt.Fprintf(&b, "  n%d -> n%d;\n", a, boxes[i].id)
		}
	}
	b.WriteString("}\n")
	return b.String()
}

// quoted is a string of DOT.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

// jsonNode is a node in JSON.
type jsonNode struct {
	Name     string   `json:"name"`
	Op       string   `json:"op"`
	Target   string   `json:"target"`
	Type     string   `json:"type,omitempty"`
	Module   string   `json:"module,omitempty"`
	Kind     string   `json:"kind,omitempty"` // of inputs
	File     string   `json:"file,omitempty"`
	Line     int      `json:"line,omitempty"`
	Code     string   `json:"code,omitempty"`
	Args     []string `json:"args,omitempty"`
	Bytes    int64    `json:"bytes,omitempty"`
	FLOPs    int64    `json:"flops,omitempty"`
	Nanos    float64  `json:"nanos,omitempty"`
	Estimate bool     `json:"at_least,omitempty"` // bytes and flops are at least these
}

type jsonModule struct {
	Path      string  `json:"path"`
	Operators int     `json:"operators"`
	Bytes     int64   `json:"bytes"`
	FLOPs     int64   `json:"flops"`
	Nanos     float64 `json:"nanos,omitempty"`
	Unknown   int     `json:"unknown_nodes,omitempty"`
}

// asJSON is the whole graph, whatever is open.
func asJSON(d *Drawn) string {
	out := struct {
		Title   string       `json:"title"`
		Inputs  string       `json:"inputs"`
		Modules []jsonModule `json:"modules"`
		Nodes   []jsonNode   `json:"nodes"`
	}{Title: d.Title, Inputs: d.InputText()}
	d.Tree.Each(func(l *Level) {
		if l.Name == Between {
			return
		}
		s := l.Sum
		out.Modules = append(out.Modules, jsonModule{l.Path, s.Operators, s.Bytes, s.FLOPs, s.Nanos, s.Unknown})
	})
	kinds := map[int]string{}
	for i := range d.Inputs {
		kinds[d.Inputs[i].Node] = d.Inputs[i].Kind.String()
	}
	for i := range d.Nodes {
		n, c := &d.Nodes[i], d.Cost[i]
		out.Nodes = append(out.Nodes, jsonNode{
			n.Name, n.Op, n.Target, n.Type, d.Module[i], kinds[i], n.Pos.File, n.Pos.Line, strings.TrimSpace(n.Pos.Code), n.Args,
			c.Bytes, c.FLOPs, d.Nanos[n.Name], c.Unknown,
		})
	}
	b, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		panic(err) // strings and numbers
	}
	return string(b) + "\n"
}

// text is the tree as lines.
func text(d *Drawn) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n", printable.Clean(d.Title), printable.Clean(d.InputText()))
	fmt.Fprintf(&b, "%s (bytes read and written before fusion)\n\n", SumText(d.Tree.Sum))
	for _, r := range d.Tree.Rows(d.Open) {
		indent := strings.Repeat("  ", r.Depth)
		if r.Level != nil {
			fmt.Fprintf(&b, "%s%s: %s\n", indent, printable.Clean(r.Level.Name), SumText(r.Level.Sum))
			continue
		}
		n := &d.Nodes[r.Node]
		shape, _, _ := strings.Cut(n.Type, "]")
		if shape != "" {
			shape += "]"
		}
		b.WriteString(strings.TrimRight(indent+printable.Clean(strings.Join([]string{n.Name, n.Target, shape, place(n)}, "  ")), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

func place(n *explain.GraphNode) string {
	if n.Pos.Line == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d", n.Pos.File[strings.LastIndexByte(n.Pos.File, '/')+1:], n.Pos.Line)
}

func escaped(s string) string { return html.EscapeString(printable.Clean(s)) }
