package tui

import (
	"fmt"
	"sort"
	"strings"

	"tcdbg/explain"
	"tcdbg/tui/keys"
	"tcdbg/tui/rails"
	"tcdbg/tui/syntax"
	"tcdbg/tui/theme"

	tea "github.com/charmbracelet/bubbletea"
)

// This file is screen 6, Graph: what was captured? As a table, a drawing,
// operators as bars, and code at every stage.

// graphScreen is the Graph screen.
type graphScreen struct {
	pane
	nodesOf kept[[]explain.GraphNode] // parsed graphs
}

func newGraph() screen {
	return &graphScreen{
		pane: pane{
			title:     keys.Title{Name: "Graph", Short: "Gph", Key: "6", Asks: "What was captured?"},
			leadLines: 2, detailed: true, share: 0.34,
			modes: []string{"table", "drawing", "operators", "code"},
		},
		nodesOf: newKept[[]explain.GraphNode](maxTrees),
	}
}

func (*graphScreen) empty(_ *scene) []string {
	return []string{
		"No graph was captured yet.",
		"A graph is what the compiler saw of a function between two breaks: its operators in order, with shapes and where each comes from.",
	}
}

func (*graphScreen) count(r *explain.Report) int { return r.Totals.Graphs }

func (scr *graphScreen) lead(sc *scene, _ int) []theme.Line {
	n := len(sc.report.Graphs)
	if n == 0 {
		return nil
	}
	return []theme.Line{{
		{Text: " " + count(n, "graph"), Style: theme.Bold | theme.Compiled},
		{Text: fmt.Sprintf(" of %s", count(sc.report.Totals.Ops, "operator"))},
		{Text: " · v: " + scr.modes[scr.mode%4], Style: theme.Faint},
	}, sc.callLine()}
}

// act goes to the graph before or after.
func (scr *graphScreen) act(sc *scene, a keys.Action) (tea.Cmd, bool) {
	return nil, scr.stepItem(sc, a)
}

func (*graphScreen) rows(in *input) []row {
	most := 1
	for _, g := range in.report.Graphs {
		most = max(most, len(g.Ops))
	}
	names := map[compileKey]string{}
	for _, f := range in.report.Frames {
		for _, c := range f.Compiles {
			names[keyOf(c.ID)] = f.Title()
		}
	}
	rows := make([]row, 0, len(in.report.Graphs))
	for _, g := range in.report.Graphs {
		rows = append(rows, &graphRow{g, names[keyOf(g.ID)], most, 0})
	}
	width := 0
	for _, r := range rows {
		width = max(width, theme.Width(r.(*graphRow).name()))
	}
	for _, r := range rows {
		r.(*graphRow).width = width
	}
	return rows
}

// graphRow is a captured graph with its operators as a bar.
type graphRow struct {
	g     *explain.Graph
	fn    string
	most  int // operators of the largest graph
	width int // of the longest name
}

// name is the function's, or where it is not known the graph's.
func (r *graphRow) name() string {
	if r.fn == "" {
		return r.g.Name
	}
	return r.fn
}

func (r *graphRow) key() string { return "graph " + r.g.Name + idText(r.g.ID) }

func (r *graphRow) sel() Selection { return Selection{HasID: true, ID: r.g.ID} }

func (r *graphRow) matches(q string) bool {
	if ofRank(r.g.ID, q) || theme.IndexFold(r.fn, q) >= 0 || theme.IndexFold(r.g.Name, q) >= 0 {
		return true
	}
	for _, op := range r.g.Ops {
		if theme.IndexFold(op, q) >= 0 {
			return true
		}
	}
	return false
}

func (r *graphRow) draw(sc *scene, w int) theme.Line {
	id := sc.idCell(r.g.ID)
	fixed := len(id) + 1 + 5 // the id, a blank, the number of operators
	name := min(r.width, max(8, w-fixed-4))
	barw := min(12, max(0, w-fixed-name))
	l := theme.Line{{Text: id, Style: theme.Faint}}
	l = append(l, theme.T(theme.Plain, theme.Fit(theme.Clean(r.name()), w-fixed-barw)+" "))
	l = append(l, theme.Span{Text: theme.FitRight(fmt.Sprint(len(r.g.Ops)), 4) + " "})
	return append(l, theme.Span{Text: bar(float64(len(r.g.Ops)), float64(r.most), barw), Style: theme.Compiled})
}

// nodes parses a graph's nodes once, beside the UI.
func (scr *graphScreen) nodes(sc *scene, g *explain.Graph) ([]explain.GraphNode, bool) {
	return scr.nodesOf.get(&sc.texts, "nodes "+g.Name+idText(g.ID), g.Nodes)
}

func (scr *graphScreen) detail(sc *scene, r row, w int) *doc {
	d := newDoc(sc, w)
	gr := r.(*graphRow)
	g := gr.g
	nodes, ok := scr.nodes(sc, g)
	if !ok {
		d.add(theme.T(theme.Faint, "reading the graph …"))
		return d
	}
	title := gr.fn
	if title == "" {
		title = g.Name
	}
	inputs := 0
	for i := range nodes {
		if nodes[i].Op == "placeholder" {
			inputs++
		}
	}
	d.add(
		theme.T(theme.Bold, title+" "+idText(g.ID)),
		theme.T(theme.Faint, fmt.Sprintf("  %s, %s", count(max(inputs, g.Inputs), "input"), count(len(g.Ops), "operator"))),
	)
	if text := g.SavedText(); text != "" {
		d.wrap(theme.Faint, 2, text)
	}
	d.blank()
	switch scr.mode {
	case 0:
		graphTable(d, g, nodes)
	case 1:
		graphDrawing(d, g, nodes)
	case 2:
		graphBars(d, g)
	case 3:
		graphCode(d, g)
	}
	return d
}

// graphTable is the nodes as a table: the user's line at the right.
func graphTable(d *doc, g *explain.Graph, nodes []explain.GraphNode) {
	if len(nodes) == 0 {
		if g.Table != "" {
			d.code(d.sc.hl, syntax.FX, g.Table)
		} else {
			graphBars(d, g)
		}
		return
	}
	nw, tw, sw := 6, 8, 7
	for i := range nodes {
		nw, tw, sw = max(nw, theme.Width(nodes[i].Name)), max(tw, theme.Width(nodes[i].Target)), max(
			sw, theme.Width(shapeText(nodes[i].Type)),
		)
	}
	nw, tw, sw = min(nw, 24, max(12, d.width/4)), min(tw, max(10, d.width/4)), min(sw, max(16, d.width/5))
	room := d.width - nw - tw - sw - 3
	d.add(theme.T(theme.Faint, padded(nw, "NAME", tw, "TARGET", sw, "SHAPE")+"FROM"))
	d.focus = focusNode(d.sc, g, nodes, d.Len())
	d.parts = append(d.parts, part{
		n: len(nodes), code: true,
		line: func(i int) theme.Line {
			n := &nodes[i]
			style := theme.Plain
			if n.Op == "placeholder" || n.Op == "output" {
				style = theme.Faint
			}
			l := theme.Line{
				theme.T(style|theme.Bold&chosen(d.sc, g, n), theme.Fit(theme.Clean(n.Name), nw)+" "),
				theme.T(style, theme.Fit(theme.Clean(n.Target), tw)+" "),
				theme.T(theme.Yellow, theme.Fit(shapeText(n.Type), sw)+" "),
			}
			from := nodePlace(d.sc, n, room)
			if from == "" {
				return append(l, theme.T(theme.Faint, n.Op))
			}
			return append(l, theme.T(theme.Accent, from+"  "), theme.T(theme.Faint, strings.TrimSpace(n.Pos.Code)))
		},
		text:   func(i int) string { return nodes[i].Name + " " + nodes[i].Target + " " + nodes[i].Pos.Code },
		target: nodeTarget(g, nodes),
	})
}

// nodePlace is a node's line of the program in a column of w cells: without its
// folders where its code would not fit beside it, and never without its number.
func nodePlace(sc *scene, n *explain.GraphNode, w int) string {
	code := theme.Width(strings.TrimSpace(n.Pos.Code))
	return sc.placeIn(n.Pos, max(12, min(w, max(w/2, w-code-2))))
}

// shapeText is dtype and sizes without strides and device, which the code
// view has.
func shapeText(typ string) string {
	if i := strings.IndexByte(typ, ']'); i >= 0 {
		typ = typ[:i+1]
	}
	return theme.Clean(strings.ReplaceAll(typ, ", ", ","))
}

// chosen is all bits when a node is the selection, else none.
func chosen(sc *scene, g *explain.Graph, n *explain.GraphNode) theme.Style {
	if sc.sel.Node == n.Name && sc.sel.HasID && keyOf(sc.sel.ID) == keyOf(g.ID) {
		return ^theme.Style(0)
	}
	return 0
}

// focusNode is the line of the selected node, or of the first one of the
// selected source line.
func focusNode(sc *scene, g *explain.Graph, nodes []explain.GraphNode, first int) int {
	at := 0
	for i := range nodes {
		if chosen(sc, g, &nodes[i]) != 0 {
			return first + i
		}
		if at == 0 && sc.sel.Pos.Line > 0 && lineOf(nodes[i].Pos) == lineOf(sc.sel.Pos) {
			at = first + i
		}
	}
	return at
}

func nodeTarget(g *explain.Graph, nodes []explain.GraphNode) func(i int) (Selection, bool) {
	return func(i int) (Selection, bool) {
		n := &nodes[i]
		return Selection{Pos: placeOnly(n.Pos), HasID: true, ID: g.ID, Node: n.Name}, true
	}
}

// graphBars counts operators by name.
func graphBars(d *doc, g *explain.Graph) {
	counts := map[string]int{}
	for _, op := range g.Ops {
		counts[op]++
	}
	names := make([]string, 0, len(counts))
	for n := range counts {
		names = append(names, n)
	}
	sort.Slice(names, func(i, j int) bool {
		if counts[names[i]] != counts[names[j]] {
			return counts[names[i]] > counts[names[j]]
		}
		return names[i] < names[j]
	})
	if len(names) == 0 {
		d.add(theme.T(theme.Faint, "no operators recorded"))
		return
	}
	most := float64(counts[names[0]])
	for _, n := range names {
		d.add(theme.T(theme.Plain, theme.Fit(n, min(28, d.width/2))+" "), theme.T(
			theme.Plain, theme.FitRight(fmt.Sprint(counts[n]), 4)+" ",
		),
			theme.T(theme.Compiled, bar(float64(counts[n]), most, max(8, d.width/2-8))))
	}
}

// graphCode is the text of every stage, one after the other.
func graphCode(d *doc, g *explain.Graph) {
	if len(g.Stages) == 0 {
		d.wrap(theme.Faint, 0, "The trace does not record this graph's text.")
		return
	}
	for _, s := range g.Stages {
		d.heading(strings.ToUpper(s.Name))
		text, ok := d.sc.text(fmt.Sprintf("stage %d %s %s %s", s.Seq, s.Name, g.Name, idText(g.ID)), s.Load)
		if !ok {
			d.add(theme.T(theme.Faint, "reading …"))
			continue
		}
		lang := syntax.FX
		if strings.Contains(text, "func ") && !strings.Contains(text, "def ") {
			lang = syntax.Go
		}
		d.code(d.sc.hl, lang, text)
	}
}

// This file draws a graph in characters: one line a node in order, and a rail
// for every value from the node that makes it to the last one that uses it.

// maxDrawn is the number of nodes up to which a drawing helps.
const maxDrawn = 60

// graphDrawing appends the drawing, or says why there is none.
func graphDrawing(d *doc, g *explain.Graph, nodes []explain.GraphNode) {
	switch {
	case len(nodes) == 0:
		d.wrap(theme.Faint, 0, "The trace does not record this graph's text, so there is nothing to draw.")
		return
	case len(nodes) > maxDrawn:
		d.wrap(
			theme.Faint, 0,
			fmt.Sprintf(
				"The graph has %d nodes, and a drawing shows up to %d. v shows the operators as bars, v again the code.",
				len(nodes), maxDrawn,
			),
		)
		return
	}
	rails := rails.Draw(nodes)
	wide := 0
	for _, r := range rails {
		wide = max(wide, theme.Width(r))
	}
	c := drawingColumns(d.width - wide - 2)
	d.focus = focusNode(d.sc, g, nodes, d.Len())
	d.parts = append(d.parts, part{
		n: len(nodes), code: true,
		line: func(i int) theme.Line {
			n := &nodes[i]
			style := theme.Plain
			if n.Op == "placeholder" || n.Op == "output" {
				style = theme.Faint
			}
			what := n.Target
			if n.Op == "placeholder" {
				what = "input"
			} else if n.Op == "output" {
				what = ""
			}
			return theme.Line{
				{Text: theme.Fit(rails[i], wide) + "  ", Style: theme.Compiled},
				theme.T(style|theme.Bold, theme.Fit(theme.Clean(n.Name), 16)+" "), theme.T(
					style, theme.Fit(theme.Clean(what), c.target)+" ",
				),
				theme.T(theme.Yellow, theme.Fit(shapeText(n.Type), c.shape)+" "), theme.T(theme.Accent, d.sc.placeIn(n.Pos, c.place)),
			}
		},
		text:   func(i int) string { return nodes[i].Name + " " + nodes[i].Target },
		target: nodeTarget(g, nodes),
	})
}

// drawnColumns are the widths of what is beside the rails.
type drawnColumns struct{ target, shape, place int }

// drawingColumns shares the cells after the rails and the name of 16: the line of
// the program is kept before the shape, which the table has too.
func drawingColumns(room int) drawnColumns {
	const place = 14
	room -= 17 + place
	switch {
	case room >= 38:
		return drawnColumns{20, 16, place + room - 38}
	case room >= 26:
		return drawnColumns{room - 18, 16, place}
	}
	return drawnColumns{max(4, min(20, room-2)), 0, place}
}
