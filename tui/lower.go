package tui

import (

	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/explain"
	"tcdbg/tui/keys"
	"tcdbg/tui/theme"
)

// This file lowers a graph of PyTorch's trace with our own Inductor, and goes back to the trace.

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
	g := m.graphLookedAt()
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
				sc.over = m.newLowerSheet(l, g, forms)
				sc.over.lines().list.Set(sc.over, likely)
			}
			return nil
		})
	}
}

// graphLookedAt is the graph of the selected row, of the selection, or the only one.
func (m *Model) graphLookedAt() *explain.Graph {
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

func (m *Model) newLowerSheet(l Lowering, g *explain.Graph, forms []string) *lowerSheet {
	sc := &m.sc
	o := &lowerSheet{sheet{title: "Lower " + idText(g.ID) + " with our own Inductor: which form?", picks: true}, sc}
	for i, f := range forms {
		if i >= len(formKeys) {
			break
		}
		o.items = append(o.items, item{
			line: theme.Line{{Text: formKeys[i:i+1] + "  ", Style: theme.Accent | theme.Bold}, theme.T(theme.Plain, theme.Clean(f))},
			run:  func() tea.Cmd { return m.lowerForm(l, g, i, f) },
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
func (m *Model) lowerForm(l Lowering, g *explain.Graph, form int, name string) tea.Cmd {
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
