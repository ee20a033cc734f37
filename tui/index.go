package tui

import (
	"fmt"
	"strings"
	"sync"

	"tcdbg/explain"
	"tcdbg/logs"
)

// This file is the index of source lines: what happened at each line of each
// file. Graphs and guards are parsed once each and kept as positions only, off
// the UI goroutine, when the Source screen is first opened.

// line is a place in a source file.
type line struct {
	file string
	n    int
}

func lineOf(p logs.Pos) line { return line{p.File, p.Line} }

// lineFacts is everything that happened at one source line.
type lineFacts struct {
	code    string
	nodes   []nodeAt
	kernels []*explain.Kernel
	breaks  []*explain.BreakGroup
	guards  []guardAt
	fails   []*explain.Recompile
	entry   []*explain.Frame // functions that begin here
	errors  []*explain.Failure
	stands  bool // the program stands here
	point   bool // a breakpoint
}

// nodeAt is a node of a captured graph.
type nodeAt struct {
	graph        *explain.Graph
	name, target string
	pos          logs.Pos
}

// guardAt is a guard that the line asked for.
type guardAt struct {
	compile    *explain.Compile
	kind, text string
	pos        logs.Pos
}

// parsed keeps what was parsed of graphs and guards between snapshots.
type parsed struct {
	mu     sync.Mutex
	nodes  map[string][]nodeAt // by graph; later reports hold copies of it
	guards map[string][]guardAt

	fileMu sync.Mutex
	files  map[string][]string
}

// sourceIndex is the facts of all lines.
type sourceIndex struct {
	lines map[line]*lineFacts
	files []string // in the order of their first appearance
	known map[string]bool
}

// index makes the index of a report.
func (c *parsed) index(r *explain.Report) *sourceIndex {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.nodes == nil {
		c.nodes, c.guards = map[string][]nodeAt{}, map[string][]guardAt{}
	}
	x := &sourceIndex{lines: map[line]*lineFacts{}, known: map[string]bool{}}
	x.frames(r, c)
	x.breaks(r)
	x.session(r)
	x.failures(r)
	for _, g := range r.Graphs {
		for _, n := range c.nodesOf(g) {
			if l := x.at(n.pos); l != nil {
				l.nodes = append(l.nodes, n)
			}
		}
	}
	for _, k := range r.Kernels {
		for _, p := range k.Pos {
			if l := x.at(p); l != nil && (len(l.kernels) == 0 || l.kernels[len(l.kernels)-1] != k) {
				l.kernels = append(l.kernels, k)
			}
		}
	}
	return x
}

// at finds or makes the facts of a line.
func (x *sourceIndex) at(p logs.Pos) *lineFacts {
	if p.File == "" || p.Line <= 0 {
		return nil
	}
	k := lineOf(p)
	l := x.lines[k]
	if l == nil {
		l = &lineFacts{}
		x.lines[k] = l
		if !x.known[p.File] {
			x.known[p.File] = true
			x.files = append(x.files, p.File)
		}
	}
	if l.code == "" {
		l.code = p.Code
	}
	return l
}

func (x *sourceIndex) frames(r *explain.Report, c *parsed) {
	for _, fr := range r.Frames {
		if l := x.at(fr.Pos); l != nil {
			l.entry = append(l.entry, fr)
		}
		for _, comp := range fr.Compiles {
			for _, g := range c.guardsOf(comp) {
				if l := x.at(g.pos); l != nil {
					l.guards = append(l.guards, g)
				}
			}
		}
	}
}

// session marks the lines at which the program stands, and those of breakpoints.
func (x *sourceIndex) session(r *explain.Report) {
	for _, s := range r.Session.Standing() {
		if l := x.at(s.Where); l != nil {
			l.stands = true
		}
	}
	for _, p := range r.Session.Points {
		for k, l := range x.lines { // a breakpoint may name the end of a path
			l.point = l.point || pointAt(p, k)
		}
	}
}

func (x *sourceIndex) breaks(r *explain.Report) {
	for _, b := range r.Breaks {
		if b.Lead == nil || b.Lead.Noise {
			continue
		}
		if l := x.at(b.Lead.Pos); l != nil {
			l.breaks = append(l.breaks, b)
		}
	}
	for _, rc := range r.Recompiles {
		for _, g := range rc.Failures {
			l := x.at(g.Pos)
			if l != nil && (len(l.fails) == 0 || l.fails[len(l.fails)-1] != rc) {
				l.fails = append(l.fails, rc)
			}
		}
	}
}

func (x *sourceIndex) failures(r *explain.Report) {
	for _, f := range r.Failures {
		if l := x.at(f.Pos); l != nil {
			l.errors = append(l.errors, f)
		}
	}
}

// nodesOf are the nodes of a graph that have a place.
func (c *parsed) nodesOf(g *explain.Graph) []nodeAt {
	key := fmt.Sprint(idText(g.ID), g.Name, len(g.Ops))
	if kept, ok := c.nodes[key]; ok {
		return kept
	}
	var out []nodeAt
	var visit func(nodes []explain.GraphNode)
	visit = func(nodes []explain.GraphNode) {
		for _, n := range nodes {
			switch {
			case n.Body != nil:
				visit(n.Body)
			case n.Pos.Line > 0 && n.Op != "placeholder" && n.Op != "output":
				out = append(out, nodeAt{g, n.Name, n.Target, n.Pos})
			}
		}
	}
	visit(g.Nodes())
	c.nodes[key] = out
	return out
}

// guardsOf are the guards of a compile that a line asked for.
func (c *parsed) guardsOf(comp *explain.Compile) []guardAt {
	if comp.Guards == nil {
		return nil
	}
	key := fmt.Sprint(idText(comp.ID), comp.Guards.Leaves)
	if kept, ok := c.guards[key]; ok {
		return kept
	}
	var out []guardAt
	var visit func(g *explain.GuardNode)
	visit = func(g *explain.GuardNode) {
		if g.Kind != "" && !g.Noise && g.Pos.Line > 0 {
			out = append(out, guardAt{comp, g.Kind, g.Text, g.Pos})
		}
		for _, k := range g.Children {
			visit(k)
		}
	}
	if root := comp.Guards.Root(); root != nil {
		visit(root)
	}
	c.guards[key] = out
	return out
}

// column is where the marked part of a place begins in its file, 0 where that is
// not known: PyTorch records lines without their indentation.
func (sc *scene) column(p logs.Pos) int {
	if p.Col == 0 || p.Code == "" || p.Code[0] == ' ' || p.Code[0] == '\t' {
		return p.Col
	}
	lines, _ := sc.parsed.known(p.File) // read beside the UI, by readMarked
	if p.Line < 1 || p.Line > len(lines) {
		return 0
	}
	line := lines[p.Line-1]
	code := strings.TrimLeft(line, " \t")
	if strings.TrimRight(code, " \t\r") != p.Code {
		return 0 // the file has changed since
	}
	return p.Col + len(line) - len(code)
}

// readMarked reads the files of the places that a report marks columns of.
func (c *parsed) readMarked(feed Feed, r *explain.Report) {
	for _, g := range r.Breaks {
		if g.Lead != nil && g.Lead.Pos.Col > 0 {
			c.file(feed, g.Lead.Pos.File)
		}
	}
	for _, f := range r.Failures {
		if f.Pos.Col > 0 {
			c.file(feed, f.Pos.File)
		}
	}
}

// file reads a source file once.
func (c *parsed) file(feed Feed, name string) []string {
	if lines, ok := c.known(name); ok {
		return lines
	}
	lines, err := feed.Source(name)
	if err != nil {
		lines = nil
	}
	c.fileMu.Lock()
	defer c.fileMu.Unlock()
	if c.files == nil {
		c.files = map[string][]string{}
	}
	c.files[name] = lines
	return lines
}

// known is a file that was read before; nobody waits for a disk or a parser.
func (c *parsed) known(name string) ([]string, bool) {
	c.fileMu.Lock()
	defer c.fileMu.Unlock()
	lines, ok := c.files[name]
	return lines, ok
}
