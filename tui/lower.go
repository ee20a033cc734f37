package tui

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/tui/keys"
	"tcdbg/tui/theme"
)

// This file lowers a graph of PyTorch's trace with our own Inductor, and goes back to the trace. Below are the rows of
// the Fusion screen that say how its kernels differ from PyTorch's.

// Lowering is a feed that can.
type Lowering interface {
	// Forms names the stages of a graph of the newest report that have a text, and says which is likely meant: that of
	// which out was made, where it is not nil (reads).
	Forms(g *explain.Graph, out *explain.OutputCode) (names []string, likely int)
	// Lower compiles one of them, shows that compile in place of the trace and says on which device the graph is (reads).
	// It fails where operators are missing.
	Lower(g *explain.Graph, form int) (device string, err error)
	// Lowered names the form that is shown; "" for none.
	Lowered() string
	// Unlower shows the trace again.
	Unlower()
}

// lowerSheet asks which form of a graph is lowered.
type lowerSheet struct {
	sheet
	sc *scene
}

// lower asks for a form of the graph that is looked at, or goes back to the trace.
func (m *Model) lower() tea.Cmd {
	sc := &m.sc
	l, ok := sc.feed.(Lowering)
	switch {
	case !ok:
		sc.fail("graphs of this trace cannot be lowered")
		return nil
	case l.Lowered() != "":
		return func() tea.Msg {
			l.Unlower()
			return statusMsg{text: "back in PyTorch's trace"}
		}
	case sc.report.OfGo():
		sc.fail("this is our own Inductor's compile: I is for graphs of PyTorch's traces")
		return nil
	}
	g := graphLookedAt(m)
	if g == nil {
		sc.fail("select a graph first: 6 lists them")
		return nil
	}
	var out *explain.OutputCode
	if k, ok := m.current().selected().(*kernelRow); ok {
		out = k.k.Output
	}
	return func() tea.Msg {
		forms, likely := l.Forms(g, out)
		return onUI(func(sc *scene) tea.Cmd {
			if len(forms) == 0 {
				sc.fail("the trace does not record this graph's text: TORCH_TRACE does, TORCH_LOGS does not")
				return nil
			}
			if sc.over == nil && !sc.prompt.On() {
				sc.over = newLowerSheet(m, l, g, forms)
				sc.over.lines().list.Set(sc.over, likely)
			}
			return nil
		})
	}
}

// graphLookedAt is the graph of the selected row, of the selection, or the only one.
func graphLookedAt(m *Model) *explain.Graph {
	sc := &m.sc
	find := func(s Selection) *explain.Graph {
		for _, g := range sc.report.Graphs {
			if s.HasID && keyOf(g.ID) == keyOf(s.ID) {
				return g
			}
		}
		return nil
	}
	if r := m.current().selected(); r != nil {
		if gr, ok := r.(*graphRow); ok {
			return gr.g
		}
		if g := find(r.sel()); g != nil {
			return g
		}
	}
	if g := find(sc.sel); g != nil {
		return g
	}
	if len(sc.report.Graphs) == 1 {
		return sc.report.Graphs[0]
	}
	return nil
}

// formKeys are what picks a form, in their order.
const formKeys = "123456789abcdefghi"

func newLowerSheet(m *Model, l Lowering, g *explain.Graph, forms []string) *lowerSheet {
	sc := &m.sc
	o := &lowerSheet{sheet{title: "Lower " + idText(g.ID) + " with our own Inductor: which form?", picks: true}, sc}
	for i, f := range forms {
		if i >= len(formKeys) {
			break
		}
		o.items = append(o.items, item{
			line: theme.Line{{Text: formKeys[i:i+1] + "  ", Style: theme.Accent | theme.Bold}, theme.T(theme.Plain, theme.Clean(f))},
			run:  func() tea.Cmd { return lowerForm(m, l, g, i, f) },
		})
	}
	return o
}

// key picks a form by its number, or the one at the cursor.
func (o *lowerSheet) key(k string) (tea.Cmd, bool) {
	at := -1
	switch a, _ := o.sc.keys.Find(k, keys.Graph); {
	case a == keys.Enter:
		at = o.list.Cursor()
	case a == keys.Up || a == keys.Down:
		o.list.Move(o, map[keys.Action]int{keys.Up: -1, keys.Down: 1}[a])
		return nil, true
	case len(k) == 1:
		for i := range formKeys {
			if formKeys[i] == k[0] {
				at = i
			}
		}
	}
	if at < 0 || at >= len(o.items) || o.items[at].run == nil {
		return nil, false
	}
	o.sc.over = nil
	return o.items[at].run(), true
}

// lowerForm lowers a form beside the UI. The kernels of a graph on a GPU are shown in Triton.
func lowerForm(m *Model, l Lowering, g *explain.Graph, form int, name string) tea.Cmd {
	m.sc.say("lowering " + name + " …")
	return func() tea.Msg {
		device, err := l.Lower(g, form)
		return onUI(func(sc *scene) tea.Cmd {
			if err != nil {
				sc.over = newRefusalSheet(sc, name, err)
				sc.say("")
				return nil
			}
			if p := m.pane(keys.Kernels); p.mode == kernelSourceMode && device != "" && device != "cpu" {
				p.mode = kernelTritonMode
			}
			sc.say("lowered: 6 graph, 7 fusion, 8 kernels; I goes back to PyTorch")
			return nil
		})
	}
}

// newRefusalSheet says why a graph is not lowered.
func newRefusalSheet(sc *scene, name string, err error) *sheet {
	o := &sheet{title: name + " is not lowered", brief: true}
	for _, l := range theme.Wrap(theme.Clean(err.Error()), max(20, sc.w-6)) {
		o.add(theme.L(theme.Plain, l))
	}
	return o
}

// loweredRow is a kernel of one compiler of which the other one put the nodes into several.
type loweredRow struct {
	l    *explain.Lowered
	r    *logs.Regrouped // nil: there is none, and said says so
	ours bool            // the kernel is
	i    int             // among those of its compiler
}

// said is what a comparison without a difference says.
func (r *loweredRow) said() string {
	if r.l.Silent != "" {
		return "not compared with PyTorch: " + r.l.Silent
	}
	return "PyTorch's kernels put the same nodes together"
}

func loweredRows(l *explain.Lowered) []row {
	if l == nil {
		return nil
	}
	if l.Silent != "" {
		return []row{&loweredRow{l: l}}
	}
	var rows []row
	add := func(head string, list []logs.Regrouped, ours bool) {
		if len(list) > 0 {
			rows = append(rows, &headRow{text: head})
		}
		for i := range list {
			rows = append(rows, &loweredRow{l, &list[i], ours, i})
		}
	}
	add("PyTorch fused, we did not", l.Apart, false)
	add("we fused, PyTorch did not", l.Joined, true)
	if len(rows) == 0 {
		rows = append(rows, &loweredRow{l: l})
	}
	return rows
}

func (r *loweredRow) key() string    { return fmt.Sprintf("lowered %t %d", r.ours, r.i) }
func (r *loweredRow) sel() Selection { return Selection{HasID: true, ID: r.l.ID} }
func (r *loweredRow) quiet() bool    { return false }

func (r *loweredRow) matches(q string) bool {
	if r.r == nil {
		return theme.IndexFold(r.said(), q) >= 0
	}
	if theme.IndexFold(r.r.Kernel, q) >= 0 {
		return true
	}
	for _, p := range r.r.Parts {
		if theme.IndexFold(p.Kernel, q) >= 0 || theme.IndexFold(strings.Join(p.Nodes, " "), q) >= 0 {
			return true
		}
	}
	return false
}

// whose tells the two compilers' kernels apart.
func (r *loweredRow) whose() (whole, parts string) {
	if r.ours {
		return "our", "PyTorch's"
	}
	return "PyTorch's", "ours"
}

func (r *loweredRow) draw(_ *scene, w int) theme.Line {
	if r.r == nil {
		return theme.Line{theme.T(theme.Plain, "= "+r.said())}
	}
	glyph := theme.Span{Text: theme.GlyphFailed + " ", Style: theme.Red}
	if r.ours {
		glyph = theme.Span{Text: theme.GlyphDone + " ", Style: theme.Green}
	}
	_, parts := r.whose()
	tail := fmt.Sprintf("  in %d of %s", len(r.r.Parts), parts)
	room := max(0, w-2-theme.Width(tail))
	return theme.Line{glyph, {Text: cutMiddle(theme.Clean(r.r.Kernel), room)}, {Text: tail, Style: theme.Faint}}
}

// detail lists the kernels of the other compiler with their nodes and lines.
func (r *loweredRow) detail(d *doc) {
	if r.r == nil {
		d.wrap(theme.Plain, 0, r.said()+".")
		return
	}
	whole, parts := r.whose()
	d.add(theme.T(theme.Bold, r.r.Kernel))
	d.wrap(theme.Plain, 0, fmt.Sprintf("What %s kernel computes is in %d of %s:", whole, len(r.r.Parts), parts))
	for _, p := range r.r.Parts {
		d.blank()
		d.add(theme.T(theme.Bold, p.Kernel))
		for _, n := range p.Nodes {
			d.link(Selection{HasID: true, ID: r.l.ID, Node: n}, theme.T(theme.Blue, "  "+n))
		}
		col := d.sc.placeColumn(p.Pos, d.width)
		for _, at := range p.Pos {
			d.link(posSel(at), theme.T(theme.Accent, "  "+d.sc.placeCell(at, col)), theme.T(theme.Plain, strings.TrimSpace(at.Code)))
		}
	}
}
