package tui

import (
	"fmt"
	"sort"
	"strings"

	"tcdbg/explain"
	"tcdbg/explain/modules"
	"tcdbg/tui/columns"
	"tcdbg/tui/keys"
	"tcdbg/tui/nodes"
	"tcdbg/tui/prompt"
	"tcdbg/tui/syntax"
	"tcdbg/tui/theme"

	tea "github.com/charmbracelet/bubbletea"
)

// This file is screen 6, Graph: what was captured? As a table, a drawing,
// operators as bars, and code at every stage.

// graphScreen is the Graph screen.
type graphScreen struct {
	pane
	read     kept[*nodes.Graph]    // graphs with their modules
	compared kept[*nodes.Compared] // two stages of a graph
	look     nodes.View
	// What the document shows: lines of a graph or of two stages from line from on.
	graph  *nodes.Graph
	lines  []nodes.Line
	both   *nodes.Compared
	from   int
	stages [2]int // beside each other; 0, 0: captured and the last one
}

// What only the Graph screen does.
const (
	around keys.Action = keys.Own + iota
	markNode
	moreHops
	fewerHops
	heat
	leftStage
	rightStage
)

// The views.
const (
	asTable = iota
	asDrawing
	asOperators
	asCode
	asStages
)

func newGraph() screen {
	const group = "Graph"
	return &graphScreen{
		pane: pane{
			title:     keys.Title{Name: "Graph", Short: "Gph", Key: "6", Asks: "What was captured?"},
			leadLines: 2, detailed: true, share: 0.34, columns: columns.Of(nodes.TableColumns...),
			modes: []string{"table", "drawing", "operators", "code", "stages"},
			keys: []keys.Binding{
				keys.Bind(around, "around the node, upstream, downstream, all", group, 0, "a"),
				keys.Bind(fewerHops, "fewer hops around the node", group, 0, "{"),
				keys.Bind(moreHops, "more hops around the node", group, 0, "}"),
				keys.Bind(markNode, "mark a node; on a second one: the paths between them", group, 0, "M"),
				keys.Bind(heat, "heat by bytes, FLOPs, time, or none", group, 0, "o"),
				keys.Bind(rightStage, "another stage at the right", group, 0, "d"),
				keys.Bind(leftStage, "another stage at the left", group, 0, "D"),
			},
		},
		read:     newKept[*nodes.Graph](maxTrees),
		compared: newKept[*nodes.Compared](maxTrees),
		look:     nodes.New(),
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
		{Text: " · v: " + scr.modes[scr.mode%len(scr.modes)], Style: theme.Faint},
	}, sc.callLine()}
}

// act folds, looks around a node, compares stages, or goes to the graph before or after.
func (scr *graphScreen) act(sc *scene, a keys.Action) (tea.Cmd, bool) {
	switch a {
	case keys.Fold:
		if !scr.fold() {
			sc.say("enter or tab goes into the graph; there z opens and closes the module at the cursor")
		}
	case keys.Enter:
		return nil, scr.inside && scr.fold()
	case keys.FoldAll:
		scr.foldAll()
	case keys.Export:
		if scr.graph == nil {
			return nil, false // what has no nodes is written as it is shown
		}
		return scr.export(sc), true
	case around, markNode, moreHops, fewerHops, heat:
		scr.lookAround(sc, a)
	case leftStage, rightStage:
		scr.nextStage(sc, a)
	default:
		return nil, scr.stepItem(sc, a)
	}
	scr.version++
	return nil, true
}

// fold opens or closes the line at the cursor; false: there is none that folds.
func (scr *graphScreen) fold() bool {
	i := scr.docList.Cursor() - scr.from
	switch {
	case !scr.inside || i < 0:
		return false
	case scr.both != nil:
		if i >= scr.both.Len() {
			return false
		}
		scr.docList.Set(docSource{d: scr.doc}, scr.from+scr.both.Toggle(i))
	case i >= len(scr.lines) || !scr.look.Toggle(&scr.lines[i]):
		return false
	}
	scr.version++
	return true
}

func (scr *graphScreen) foldAll() {
	switch {
	case scr.both != nil:
		scr.both.ToggleAll()
	case scr.graph != nil:
		scr.look.ToggleAll(scr.graph)
	}
}

// node is the name of the node at the cursor, else the selected one.
func (scr *graphScreen) node(sc *scene) string {
	if i := scr.docList.Cursor() - scr.from; scr.inside && i >= 0 && i < len(scr.lines) && scr.graph != nil {
		if l := &scr.lines[i]; l.Level == nil && l.Node >= 0 {
			return scr.graph.Nodes[l.Node].Name
		}
		return ""
	}
	if scr.graph != nil && scr.graph.Find(sc.sel.Node) >= 0 {
		return sc.sel.Node
	}
	return ""
}

// lookAround limits what is shown to a neighbourhood, or shows what is hot.
func (scr *graphScreen) lookAround(sc *scene, a keys.Action) {
	if scr.graph == nil {
		sc.say("v shows the graph's nodes")
		return
	}
	name := scr.node(sc)
	if name == "" && (a == markNode || a == around && scr.look.Says(scr.graph) == "") {
		sc.say("enter or tab goes into the graph; this is done on a node")
		return
	}
	switch a {
	case around:
		scr.look.Look(name)
	case markNode:
		scr.look.Mark(name)
	case moreHops:
		scr.look.Hops(1)
	case fewerHops:
		scr.look.Hops(-1)
	case heat:
		scr.look.NextHeat(scr.graph)
		sc.say(scr.look.Heat.String())
		return
	}
	if says := scr.look.Says(scr.graph); says != "" {
		sc.say(says)
	} else {
		scr.look.Unmark()
		if i := scr.graph.Find(name); i >= 0 {
			scr.look.Reveal(scr.graph, i)
		}
	}
	scr.moveTo(sc, name)
}

// moveTo puts the document's cursor on a node, wherever it is now.
func (scr *graphScreen) moveTo(sc *scene, name string) {
	i, r := scr.graph.Find(name), scr.selected()
	if i < 0 || r == nil {
		return
	}
	sel := r.sel()
	sel.Node, sel.Pos = name, placeOnly(scr.graph.Nodes[i].Pos)
	scr.choose(sc, sel)
	scr.docKey = docKey{} // the document is made around it
}

// nextStage compares with the next stage.
func (scr *graphScreen) nextStage(sc *scene, a keys.Action) {
	r, ok := scr.selected().(*graphRow)
	if !ok {
		return
	}
	st := modules.StagesOf(r.g)
	if len(st.Of) < 2 {
		sc.say("the trace has no other stage of this graph")
		return
	}
	pair := scr.stagePair(&st)
	side := 1
	if a == leftStage {
		side = 0
	}
	if scr.mode == asStages {
		for next := true; next; next = pair[0] == pair[1] {
			pair[side] = (pair[side] + 1) % len(st.Of)
		}
	}
	scr.mode, scr.stages = asStages, pair
	sc.say(st.Names[pair[0]] + " beside " + st.Names[pair[1]])
}

// stagePair are the stages that are compared, of those that a graph has.
func (scr *graphScreen) stagePair(st *modules.Stages) [2]int {
	p := scr.stages
	if p[0] == p[1] || p[0] >= len(st.Of) || p[1] >= len(st.Of) {
		return [2]int{0, st.Last()}
	}
	return p
}

// export asks for the form, and writes what is shown in it.
func (scr *graphScreen) export(sc *scene) tea.Cmd {
	g, names := scr.graph, modules.Formats()
	return sc.prompt.Start("write the graph as "+strings.Join(names, ", ")+": ", names[0], prompt.Typed{
		Accept: func(form string) tea.Cmd {
			feed, form := sc.feed, strings.TrimSpace(form)
			drawn := &modules.Drawn{Graph: g.Graph, Tree: g.Tree, Nanos: g.Nanos, Title: sc.report.Title, Open: scr.look.Open(g)}
			return func() tea.Msg {
				text, err := modules.Write(form, drawn)
				if err != nil {
					return statusMsg{err.Error(), true}
				}
				path, err := feed.Export("graph."+form, text)
				if err != nil {
					return statusMsg{err.Error(), true}
				}
				return statusMsg{text: "wrote " + path}
			}
		},
	})
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

// graphOf reads a graph's nodes once, beside the UI.
func (scr *graphScreen) graphOf(sc *scene, g *explain.Graph) (*nodes.Graph, bool) {
	r := sc.report
	return scr.read.get(&sc.texts, "nodes "+g.Name+idText(g.ID), func() *nodes.Graph {
		captured := modules.Captured(g)
		return nodes.Read(captured, modules.Times(r, g, captured))
	})
}

func (scr *graphScreen) detail(sc *scene, r row, w int) *doc {
	d := newDoc(sc, w)
	gr := r.(*graphRow)
	g := gr.g
	scr.graph, scr.lines, scr.both = nil, nil, nil
	read, ok := scr.graphOf(sc, g)
	if !ok {
		d.add(theme.T(theme.Faint, "reading the graph …"))
		return d
	}
	title := gr.fn
	if title == "" {
		title = g.Name
	}
	d.add(
		theme.T(theme.Bold, title+" "+idText(g.ID)),
		theme.T(theme.Faint, fmt.Sprintf("  %s, %s", count(max(len(read.Inputs), g.Inputs), "input"), count(len(g.Ops), "operator"))),
	)
	if text := g.SavedText(); text != "" {
		d.wrap(theme.Faint, 2, text)
	}
	switch scr.mode {
	case asTable, asDrawing:
		scr.drawNodes(d, g, read)
	case asStages:
		scr.drawStages(d, g, read)
	case asOperators:
		d.blank()
		graphBars(d, g)
	case asCode:
		d.blank()
		graphCode(d, g)
	}
	return d
}

// drawNodes is the nodes as a table, the user's line at the right, or with rails between them.
func (scr *graphScreen) drawNodes(d *doc, g *explain.Graph, read *nodes.Graph) {
	switch {
	case len(read.Nodes) == 0 && scr.mode == asDrawing:
		d.blank()
		d.wrap(theme.Faint, 0, "The trace does not record this graph's text, so there is nothing to draw.")
		return
	case len(read.Nodes) == 0:
		d.blank()
		if g.Table != "" {
			d.code(d.sc.hl, syntax.FX, g.Table)
		} else {
			graphBars(d, g)
		}
		return
	}
	scr.look.Of(g.Name + idText(g.ID))
	scr.graph, scr.lines = read, scr.look.Lines(read)
	if s := read.Tree.Sum; s.Bytes > 0 {
		d.wrap(theme.Faint, 2, scr.costText(s))
	}
	if says := scr.look.Says(read); says != "" {
		d.add(theme.T(theme.Accent, "  "+says), theme.T(theme.Faint, fmt.Sprintf("  (%s)", count(len(scr.lines), "node"))))
	}
	d.blank()
	draw := &nodes.Drawer{
		Graph: read, Lines: scr.lines, Width: d.width, Heat: scr.look.Heat, Place: d.sc.placeIn,
		Chosen: func(n *explain.GraphNode) bool { return chosen(d.sc, g, n) },
		Hits:   scr.hits(read), On: scr.columns.On,
	}
	if scr.mode == asDrawing {
		draw.Rails()
	} else {
		draw.Columns()
		d.add(theme.T(theme.Faint, draw.Head()))
	}
	scr.from = d.Len()
	d.focus = scr.focus(d.sc, g, read)
	lines := scr.lines
	d.parts = append(d.parts, part{
		n: len(lines), code: true, line: draw.Line,
		text: func(i int) string { return read.Text(&lines[i]) },
		target: func(i int) (Selection, bool) {
			if lines[i].Level != nil || lines[i].Node < 0 {
				return Selection{HasID: true, ID: g.ID}, true
			}
			n := &read.Nodes[lines[i].Node]
			return Selection{Pos: placeOnly(n.Pos), HasID: true, ID: g.ID, Node: n.Name}, true
		},
	})
}

// costText says what a graph costs in all.
func (scr *graphScreen) costText(s modules.Sum) string {
	text := bytesText(s.Bytes) + " read and written before fusion"
	if s.FLOPs > 0 {
		text += " · " + modules.FLOPs(s.FLOPs)
	}
	if s.Nanos > 0 {
		text += " · " + nanos(int64(s.Nanos)) + " a call"
	}
	if s.Unknown > 0 {
		text += " · " + count(s.Unknown, "node") + " of unknown size"
	}
	if scr.look.Heat != nodes.Cold {
		text += " · " + scr.look.Heat.String()
	}
	return text
}

// hits counts, once for every search, what it finds in a closed module.
func (scr *graphScreen) hits(read *nodes.Graph) func(l *modules.Level) int {
	query, found := "", map[string]int{}
	return func(l *modules.Level) int {
		if scr.query == "" {
			return 0
		}
		if query != scr.query {
			query = scr.query
			clear(found)
		}
		n, ok := found[l.Path]
		if !ok {
			n = read.Hits(l, query)
			found[l.Path] = n
		}
		return n
	}
}

// focus is the line of the selected node, or of the first one of the selected source line; the module that
// holds it where that is closed.
func (scr *graphScreen) focus(sc *scene, g *explain.Graph, read *nodes.Graph) int {
	want := -1
	for i := range read.Nodes {
		if chosen(sc, g, &read.Nodes[i]) {
			want = i
			break
		}
		if want < 0 && sc.sel.Pos.Line > 0 && lineOf(read.Nodes[i].Pos) == lineOf(sc.sel.Pos) {
			want = i
		}
	}
	if want < 0 {
		return 0
	}
	at := 0
	for i := range scr.lines {
		l := &scr.lines[i]
		if l.Level == nil && l.Node == want {
			return scr.from + i
		}
		if l.Level != nil && !l.Open && l.Level.Holds(read.Module[want]) {
			at = scr.from + i
		}
	}
	return at
}

// chosen reports whether a node is the selection.
func chosen(sc *scene, g *explain.Graph, n *explain.GraphNode) bool {
	return sc.sel.Node == n.Name && sc.sel.HasID && keyOf(sc.sel.ID) == keyOf(g.ID)
}

// drawStages is two stages beside each other.
func (scr *graphScreen) drawStages(d *doc, g *explain.Graph, captured *nodes.Graph) {
	d.blank()
	st := modules.StagesOf(g)
	if len(st.Of) < 2 || len(captured.Nodes) == 0 {
		d.wrap(theme.Faint, 0, "The trace has no other stage of this graph to compare with.")
		return
	}
	pair := scr.stagePair(&st)
	key := fmt.Sprintf("stages %s %s %v %d %d", g.Name, idText(g.ID), pair, st.Of[pair[0]].Seq, st.Of[pair[1]].Seq)
	both, ok := scr.compared.get(&d.sc.texts, key, func() *nodes.Compared {
		var read [2]*modules.Graph
		for side, i := range pair {
			read[side] = st.Read(i, captured.Graph)
		}
		return nodes.Compare(read[0], read[1])
	})
	d.add(theme.T(theme.Bold, st.Names[pair[0]]+" │ "+st.Names[pair[1]]))
	if !ok {
		d.add(theme.T(theme.Faint, "reading both stages …"))
		return
	}
	d.add(theme.T(theme.Faint, both.Summary()))
	d.blank()
	scr.both, scr.from = both, d.Len()
	d.parts = append(d.parts, part{
		n: both.Len(), code: true,
		line: func(i int) theme.Line { return both.Draw(i, d.width, d.sc.placeIn) },
		text: both.Text,
		target: func(i int) (Selection, bool) {
			n, left := both.Node(i)
			s := Selection{Pos: placeOnly(n.Pos), HasID: true, ID: g.ID}
			if left && pair[0] == 0 {
				s.Node = n.Name
			}
			return s, true
		},
	})
}

// hidden passes over the stages where there is one only.
func (scr *graphScreen) hidden(_ *scene, mode int) bool {
	r, ok := scr.selected().(*graphRow)
	return mode == asStages && ok && len(modules.StagesOf(r.g).Of) < 2
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
