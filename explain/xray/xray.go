// Package xray follows one line of a program through the compiler: what it broke and guarded,
// the nodes that were captured from it, those of each later stage, the passes that changed
// them, what the scheduler fused and refused, and the kernels with their lines.
//
// What binds the stages is the source line that PyTorch and our engine note at each node.
// What has no line (loops between passes, the scheduler's nodes of PyTorch's text logs) is
// left out, and a note says so.
//
// It imports explain, logs and logs/fx. Open this file first, then stages.go.
package xray

import (
	"fmt"
	"slices"
	"strings"

	"tcdbg/explain"
	"tcdbg/logs"
)

// Subject is what is looked at: a line, of all compiles or of one.
type Subject struct {
	Pos logs.Pos
	ID  *explain.ID // nil: all compiles
}

// Column is the way of a line, stage by stage.
type Column struct {
	Pos      logs.Pos
	Sections []Section
}

// Section is one stage.
type Section struct {
	Title string
	Rows  []Row
	Note  string // what is not told, and why
}

// Row is one thing in a stage, with what it leads to.
type Row struct {
	Glyph  Glyph
	Text   string
	Detail string // how much, how often, why
	More   []string
	Uses   []logs.SharedUse // the indexings of a pair that was not fused
	Lang   string           // of More, where it is code: c, cpp, triton, diff

	Pos    logs.Pos
	ID     *explain.ID
	Node   string // captured node
	Kernel string
	Break  string // key of its group
}

// Glyph is the kind of a row.
type Glyph int

// The kinds.
const (
	Plain Glyph = iota
	Broken
	Guarded
	Recompiled
	Captured
	Fused
	NotFused
	Generated
)

// maxRows bounds a section: a line of a loop may be in thousands of nodes.
const maxRows = 60

// Of makes the column of a subject. It reads and parses texts of the trace.
func Of(r *explain.Report, s Subject) *Column {
	m := &maker{report: r, subject: s}
	m.compiled()
	c := &Column{Pos: s.Pos}
	if len(m.nodes) > 0 && c.Pos.Code == "" {
		c.Pos.Code = m.nodes[0].node.Pos.Code
	}
	for _, part := range []func() Section{m.causes, m.captured, m.stages, m.passes, m.fusions, m.kernels, m.served, m.guards} {
		if sec := part(); len(sec.Rows) > 0 || sec.Note != "" {
			if n := len(sec.Rows) - maxRows; n > 0 {
				sec.Rows = sec.Rows[:maxRows]
				sec.Note = strings.TrimSpace(fmt.Sprintf("and %d more. %s", n, sec.Note))
			}
			c.Sections = append(c.Sections, sec)
		}
	}
	return c
}

// maker makes one column.
type maker struct {
	report  *explain.Report
	subject Subject
	nodes   []node              // captured from the line
	ids     map[explain.ID]bool // compiles that the line is in
}

// node is a captured node.
type node struct {
	graph *explain.Graph
	node  explain.GraphNode
}

// here reports whether a place is the line.
func (m *maker) here(p logs.Pos) bool {
	return p.Line == m.subject.Pos.Line && p.File == m.subject.Pos.File
}

// of reports whether a compile is looked at.
func (m *maker) of(id explain.ID) bool { return m.subject.ID == nil || m.subject.ID.SameCompile(id) }

// in reports whether the line is in a compile that is looked at.
func (m *maker) in(id explain.ID) bool { return m.of(id) && m.ids[id.WithoutAttempt()] }

// compiled finds the nodes that were captured from the line, and the compiles they are in.
func (m *maker) compiled() {
	m.ids = map[explain.ID]bool{}
	for _, g := range m.report.Graphs {
		for _, n := range g.Nodes() {
			if m.of(g.ID) && m.here(n.Pos) {
				m.nodes = append(m.nodes, node{g, n})
				m.ids[g.ID.WithoutAttempt()] = true
			}
		}
	}
	for _, k := range m.report.Kernels {
		if m.of(k.ID) && slices.ContainsFunc(k.Pos, m.here) {
			m.ids[k.ID.WithoutAttempt()] = true
		}
	}
}

// causes are the breaks and the recompiles that the line made.
func (m *maker) causes() Section {
	sec := Section{Title: "BREAKS AND RECOMPILES"}
	for _, g := range m.report.Breaks {
		if g.Lead == nil || !m.here(g.Lead.Pos) {
			continue
		}
		sec.Rows = append(sec.Rows, Row{
			Glyph: Broken, Text: strings.TrimSpace(g.Lead.Code + " " + g.Lead.Title()), Detail: explain.GroupOften(g),
			Break: g.Key, Pos: g.Lead.Pos,
		})
	}
	for _, rc := range m.report.Recompiles {
		for i := range rc.Failures {
			if f := &rc.Failures[i]; m.here(f.Pos) && rc.Compile != nil && m.of(rc.Compile.ID) {
				id := rc.Compile.ID
				sec.Rows = append(sec.Rows, Row{
					Glyph: Recompiled, Text: explain.FailureText(f), Detail: idText(id), ID: &id, Pos: f.Pos,
				})
			}
		}
	}
	return sec
}

// served is what the calls cost of the entries that the line is in.
func (m *maker) served() Section {
	sec := Section{Title: "WHAT CALLS OF ITS ENTRIES COST"}
	for _, f := range m.report.Frames {
		for _, c := range f.Compiles {
			if c.Served == nil || !m.in(c.ID) {
				continue
			}
			id, lines := c.ID, c.Lines()
			sec.Rows = append(sec.Rows, Row{Text: lines[0], Detail: idText(id), ID: &id, More: lines[1:], Pos: m.subject.Pos})
		}
	}
	if len(sec.Rows) == 0 && len(m.ids) > 0 {
		sec.Note = "Not measured."
	}
	return sec
}

// guards are the checks that the line asked for.
func (m *maker) guards() Section {
	sec := Section{Title: "GUARDS THAT THE LINE NEEDS"}
	for _, f := range m.report.Frames {
		for _, c := range f.Compiles {
			if !c.Guards.Told() || !m.of(c.ID) {
				continue
			}
			id := c.ID
			eachGuard(c.Guards.Root(), func(g *explain.GuardNode) {
				if m.here(g.Pos) {
					sec.Rows = append(sec.Rows, Row{
						Glyph: Guarded, Text: strings.TrimSpace(g.Kind + " " + explain.Squeeze(g.Text)), Detail: idText(id),
						ID: &id, Pos: g.Pos,
					})
				}
			})
		}
	}
	return sec
}

func eachGuard(g *explain.GuardNode, f func(*explain.GuardNode)) {
	if g == nil {
		return
	}
	if g.Kind != "" && !g.Noise {
		f(g)
	}
	for _, c := range g.Children {
		eachGuard(c, f)
	}
}

// captured are the nodes of the line.
func (m *maker) captured() Section {
	sec := Section{Title: "CAPTURED"}
	for _, n := range m.nodes {
		id := n.graph.ID
		sec.Rows = append(sec.Rows, Row{
			Glyph: Captured, Text: nodeText(n.node.Name, n.node.Type, n.node.Target, n.node.Args), Detail: idText(id),
			ID: &id, Node: n.node.Name, Pos: n.node.Pos,
		})
	}
	switch {
	case len(m.nodes) == 0 && len(m.ids) > 0 && !m.placed():
		sec.Note = "The trace does not tell which captured operators come from this line."
	case len(m.nodes) == 0 && m.report.Live: // a trace that still runs has no graph yet
		sec.Note = "No graph so far has an operator of this line."
	case len(m.nodes) == 0:
		sec.Note = "No operator was captured from this line."
	}
	return sec
}

// placed reports whether the graphs that the line is in say which lines their operators come from.
func (m *maker) placed() bool {
	for _, g := range m.report.Graphs {
		if m.in(g.ID) && slices.ContainsFunc(g.Nodes(), func(n explain.GraphNode) bool { return n.Pos.Line > 0 }) {
			return true
		}
	}
	return false
}

// nodeText is a node as one line.
func nodeText(name, typ, target string, args []string) string {
	if typ != "" {
		name += ": " + typ
	}
	return name + " = " + target + "(" + strings.Join(args, ", ") + ")"
}

func idText(id explain.ID) string {
	return strings.TrimSpace(explain.RankPrefix(id) + fmt.Sprintf("[%d/%d]", id.CompileID.Frame, id.Compile))
}
