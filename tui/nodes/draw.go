package nodes

import (
	"fmt"
	"strings"

	"tcdbg/explain"
	"tcdbg/explain/modules"
	"tcdbg/logs"
	"tcdbg/tui/rails"
	"tcdbg/tui/theme"
)

// This file draws the lines: as a table, and with rails from the nodes that make values to
// those that use them.

// Shape is dtype and sizes without strides and device, which the code view has.
func Shape(typ string) string {
	if i := strings.IndexByte(typ, ']'); i >= 0 {
		typ = typ[:i+1]
	}
	return theme.Clean(strings.ReplaceAll(typ, ", ", ","))
}

func placeOf(p logs.Pos) string {
	if p.Line == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d", p.File[strings.LastIndexByte(p.File, '/')+1:], p.Line)
}

// SumText is what a module adds up to.
func SumText(s modules.Sum, brief bool) string {
	parts := []string{explain.Count(s.Operators, "operator")}
	if brief {
		parts[0] = explain.Count(s.Operators, "op")
	}
	if s.Nanos > 0 {
		parts = append(parts, explain.Nanos(int64(s.Nanos)))
	}
	if s.Bytes > 0 {
		parts = append(parts, explain.Bytes(s.Bytes))
	}
	if s.FLOPs > 0 {
		parts = append(parts, modules.FLOPs(s.FLOPs))
	}
	return strings.Join(parts, " · ")
}

// Drawer draws lines.
type Drawer struct {
	Graph  *Graph
	Lines  []Line
	Width  int
	Heat   Heat
	Place  func(p logs.Pos, w int) string
	Chosen func(n *explain.GraphNode) bool
	// On says whether a column of the table is shown: target, shape, from; nil: all are.
	On func(name string) bool
	// Hits counts what a search finds in a closed module, 0 without one.
	Hits func(l *modules.Level) int

	name, target, shape int
	rails               []string // nil: a table
	wide                int      // of the rails
}

// TableColumns are the columns of the table that can be hidden, with what each says.
var TableColumns = []string{"target", "the operator", "shape", "dtype and sizes", "from", "the line that it comes from"}

func (d *Drawer) on(name string) bool { return d.On == nil || d.rails != nil || d.On(name) }

// barWide is the width of the heat.
const barWide = 7

// Columns measures the columns of a table.
func (d *Drawer) Columns() {
	d.name, d.target, d.shape = 6, 8, 7
	for i := range d.Lines {
		l := &d.Lines[i]
		if l.Level != nil || l.inputs {
			continue
		}
		n := &d.Graph.Nodes[l.Node]
		d.name = max(d.name, theme.Width(n.Name)+2*l.Depth)
		d.target, d.shape = max(d.target, theme.Width(n.Target)), max(d.shape, theme.Width(Shape(n.Type)))
	}
	w := d.room()
	name := min(36, max(12, w/4))
	d.target, d.shape = min(d.target, max(10, w/4)), min(d.shape, max(16, w/5))
	if !d.on("target") {
		d.target = -1
	}
	if !d.on("shape") {
		d.shape = -1
	}
	if !d.on("from") {
		name = max(name, w-d.target-d.shape-3)
	}
	d.name = min(d.name, name)
}

// Rails measures the columns of a drawing, and makes its rails.
func (d *Drawer) Rails() {
	d.rails = rails.Draw(d.quotient())
	for _, r := range d.rails {
		d.wide = max(d.wide, theme.Width(r))
	}
	d.wide = min(d.wide, max(12, d.Width/2))
	const place = 14
	d.name = 16
	room := d.room() - d.wide - 2 - 17 - place
	switch {
	case room >= 38:
		d.target, d.shape = 20, 16
	case room >= 26:
		d.target, d.shape = room-18, 16
	default:
		d.target, d.shape = max(4, min(20, room-2)), 0
	}
}

func (d *Drawer) room() int {
	if d.Heat != Cold {
		return d.Width - barWide - 1
	}
	return d.Width
}

// quotient is the graph of the lines: a closed module is one node, which reads what its nodes read.
func (d *Drawer) quotient() []explain.GraphNode {
	of := make([]int, len(d.Graph.Nodes))
	for i := range of {
		of[i] = -1
	}
	for k := range d.Lines {
		d.members(k, func(node int) { of[node] = k })
	}
	out := make([]explain.GraphNode, len(d.Lines))
	for k := range d.Lines {
		out[k].Name = fmt.Sprint(k)
		seen := map[int]bool{}
		d.members(k, func(node int) {
			for _, a := range d.Graph.Args(node) {
				// A rail goes down: what a module reads that is drawn below it has none.
				if from := of[a]; from >= 0 && from < k && !seen[from] {
					seen[from] = true
					out[k].Args = append(out[k].Args, fmt.Sprint(from))
				}
			}
		})
	}
	return out
}

// held reports whether a line is an input that a module holds: it is part of its module.
func (l *Line) held() bool { return l.input != nil && l.input.Kind != modules.Argument }

// members visits the nodes that a line stands for.
func (d *Drawer) members(k int, visit func(node int)) {
	switch l := &d.Lines[k]; {
	case l.inputs || l.held() || l.Level != nil && l.Open:
	case l.Level != nil:
		l.Level.Each(func(m *modules.Level) {
			for _, it := range m.Items {
				if it.Level == nil {
					visit(it.Node)
				}
			}
		})
	default:
		visit(l.Node)
	}
}

// Head is the line of headings of a table.
func (d *Drawer) Head() string {
	head := theme.Fit("NAME", d.name) + " " + column("TARGET", d.target) + column("SHAPE", d.shape)
	if d.on("from") {
		head += "FROM"
	}
	if d.Heat != Cold {
		head = theme.Spaces(barWide+1) + head
	}
	return head
}

// column is a text in a column of so many cells and a blank behind it; a hidden one has -1 cells.
func column(text string, cells int) string {
	if cells < 0 {
		return ""
	}
	return theme.Fit(text, cells) + " "
}

// Line draws line i.
func (d *Drawer) Line(i int) theme.Line {
	l := &d.Lines[i]
	var out theme.Line
	if d.Heat != Cold {
		out = append(out, d.bar(l), theme.Span{Text: " "})
	}
	if d.rails != nil {
		rail := d.rails[i]
		if l.inputs || l.Open || l.held() { // what it holds has the rails
			rail = strings.Replace(rail, "●", " ", 1)
		}
		out = append(out, theme.Span{Text: theme.Fit(rail, d.wide) + "  ", Style: theme.Compiled})
	}
	switch {
	case l.inputs:
		return append(out, theme.T(theme.Faint, glyph(l.Open)+d.Graph.InputText()))
	case l.Level != nil:
		return append(out, d.level(l)...)
	}
	return append(out, d.node(l)...)
}

func glyph(open bool) string {
	if open {
		return theme.GlyphOpen + " "
	}
	return theme.GlyphFolded + " "
}

// indent is what a line is moved in by.
func (d *Drawer) indent(l *Line) int {
	if d.rails != nil {
		return min(l.Depth, 2)
	}
	return min(2*l.Depth, 16)
}

func (d *Drawer) level(l *Line) theme.Line {
	out := theme.Line{
		{Text: theme.Spaces(d.indent(l)) + glyph(l.Open), Style: theme.Faint},
		theme.T(theme.Bold, l.Level.Name),
		theme.T(theme.Faint, "  "+SumText(l.Level.Sum, true)),
	}
	if l.Level.Sum.Unknown > 0 && l.Level.Sum.Bytes > 0 {
		out = append(out, theme.T(theme.Faint, " or more"))
	}
	if d.Hits != nil && !l.Open {
		if n := d.Hits(l.Level); n > 0 {
			out = append(out, theme.T(theme.Yellow, "  "+explain.Count(n, "match")))
		}
	}
	return out
}

func (d *Drawer) node(l *Line) theme.Line {
	n := &d.Graph.Nodes[l.Node]
	style, name, what := theme.Plain, theme.Plain, n.Target
	if n.Op == "placeholder" || n.Op == "output" {
		style, name = theme.Faint, theme.Faint
	}
	switch {
	case d.rails == nil:
		if d.Chosen(n) {
			name |= theme.Bold
		}
	case n.Op == "placeholder":
		name |= theme.Bold
		what = "input"
	case n.Op == "output":
		name |= theme.Bold
		what = ""
	default:
		name |= theme.Bold
	}
	out := theme.Line{
		theme.T(name, theme.Fit(theme.Spaces(d.indent(l))+theme.Clean(n.Name), d.name)+" "),
		theme.T(style, column(theme.Clean(what), d.target)),
		theme.T(theme.Yellow, column(Shape(n.Type), d.shape)),
	}
	if !d.on("from") {
		return out
	}
	room := d.room() - d.name - d.target - d.shape - 3
	if d.rails != nil {
		return append(out, theme.T(theme.Accent, d.Place(n.Pos, max(14, room-d.wide-2))))
	}
	code := theme.Width(strings.TrimSpace(n.Pos.Code))
	from := d.Place(n.Pos, max(12, min(room, max(room/2, room-code-2))))
	if from == "" {
		return append(out, theme.T(theme.Faint, n.Op))
	}
	return append(out, theme.T(theme.Accent, from+"  "), theme.T(theme.Faint, strings.TrimSpace(n.Pos.Code)))
}

// bar is a line's part of what the graph costs in all.
func (d *Drawer) bar(l *Line) theme.Span {
	if l.inputs || l.input != nil {
		return theme.Span{Text: theme.Spaces(barWide)}
	}
	var s modules.Sum
	if l.Level != nil {
		s = l.Level.Sum
	} else {
		s = d.Graph.NodeSum(l.Node, d.Graph.Nanos)
	}
	share := 0.0
	if total := d.Heat.of(d.Graph.Tree.Sum); total > 0 {
		share = d.Heat.of(s) / total
	}
	style := theme.Green
	switch {
	case share >= 0.25:
		style = theme.Red
	case share >= 0.05:
		style = theme.Yellow
	case share == 0:
		return theme.Span{Text: theme.Spaces(barWide)}
	}
	if share < 0.005 {
		return theme.Span{Text: theme.FitRight("< 1 %", barWide), Style: theme.Faint}
	}
	text := fmt.Sprintf("%s%2.0f %%", strings.Repeat("█", min(2, int(share*4))), share*100)
	return theme.Span{Text: theme.FitRight(text, barWide), Style: style}
}
