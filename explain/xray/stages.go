package xray

import (
	"fmt"
	"slices"
	"strings"

	"tcdbg/explain"
	"tcdbg/explain/fusion"
	"tcdbg/logs/fx"
)

// This file follows the line through the stages after capture, whose graphs are texts.

// maxText bounds a text that is parsed for one line.
const maxText = 16 << 20

// lineNodes are the nodes of a graph's text that come from the line.
func (m *maker) lineNodes(text string) []fx.Node {
	if len(text) > maxText || !strings.Contains(text, fmt.Sprintf(":%d", m.subject.Pos.Line)) {
		return nil
	}
	g := fx.Parse(text)
	if g == nil {
		return nil
	}
	var out []fx.Node
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if s := n.Source; n.Operator() != "" && s.Line == m.subject.Pos.Line && s.File == m.subject.Pos.File {
			out = append(out, *n)
		}
	}
	return out
}

// stages are the nodes of the later graphs: pre-grad, joint, forward, backward, post-grad.
func (m *maker) stages() Section {
	sec := Section{Title: "IN LATER GRAPHS"}
	for _, g := range m.report.Graphs {
		if !m.in(g.ID) {
			continue
		}
		sec.Rows = append(sec.Rows, m.stagesOf(g)...)
	}
	return sec
}

// stagesOf are the nodes of one graph's stages; stages that have the same ones are told once.
func (m *maker) stagesOf(g *explain.Graph) []Row {
	id := g.ID
	var rows []Row
	var last []string
	names, from := "", 0
	for i, st := range g.Stages {
		if i == 0 || st.Load == nil { // the first is what was captured
			continue
		}
		nodes := texts(m.lineNodes(st.Load()))
		if len(nodes) == 0 {
			continue
		}
		if slices.Equal(nodes, last) {
			first, _, _ := strings.Cut(names, " … ")
			names = first + " … " + st.Name
		} else {
			names, from, last = st.Name, len(rows), nodes
			for _, text := range nodes {
				rows = append(rows, Row{Glyph: Captured, Text: text, ID: &id})
			}
		}
		for k := from; k < len(rows); k++ {
			rows[k].Detail = names + " " + idText(id)
		}
	}
	return rows
}

// passes are those that changed nodes of the line.
func (m *maker) passes() Section {
	sec := Section{Title: "PASSES THAT CHANGED IT"}
	loops := 0
	for _, p := range m.report.Passes {
		if !m.in(p.ID) || p.Step.Before == p.Step.After {
			continue
		}
		if fx.Parse(clip(p.Step.After)) == nil {
			loops++
			continue
		}
		before, after := texts(m.lineNodes(p.Step.Before)), texts(m.lineNodes(p.Step.After))
		if slices.Equal(before, after) {
			continue
		}
		id := p.ID
		row := Row{Text: p.Step.Pass, Detail: p.Step.Stage + " " + idText(id), ID: &id, Lang: "diff"}
		for _, t := range before {
			if !slices.Contains(after, t) {
				row.More = append(row.More, "- "+t)
			}
		}
		for _, t := range after {
			if !slices.Contains(before, t) {
				row.More = append(row.More, "+ "+t)
			}
		}
		sec.Rows = append(sec.Rows, row)
	}
	if loops > 0 {
		sec.Note = explain.Count(loops, "pass") + " over loops changed the graph; loops carry no source lines. Fusion shows them."
		sec.Note = strings.Replace(sec.Note, "passs", "passes", 1)
	}
	return sec
}

// clip is the start of a text, enough to tell what it is.
func clip(s string) string { return s[:min(len(s), 4096)] }

func texts(nodes []fx.Node) []string {
	out := make([]string, len(nodes))
	for i := range nodes {
		out[i] = nodeText(nodes[i].Name, nodes[i].Type, nodes[i].Operator(), nodes[i].Args)
	}
	return out
}

// fusions are the scheduler's decisions about nodes of the line.
func (m *maker) fusions() Section {
	sec := Section{Title: "FUSION"}
	untold := 0
	for _, f := range m.report.Fusions {
		if !m.in(f.ID) {
			continue
		}
		mine, ok := m.schedulerNodes(f)
		if !ok {
			untold += len(f.Steps)
			continue
		}
		var v *fusion.View // made for the first row
		for i := range f.Steps {
			s := &f.Steps[i]
			if !about(mine, s.A) && !about(mine, s.B) {
				continue
			}
			if v == nil {
				v = fusion.Of(f)
			}
			sec.Rows = append(sec.Rows, fusionRow(v, i))
		}
	}
	if untold > 0 {
		sec.Note = fmt.Sprintf("%d decisions are recorded without the source lines of their nodes: the Fusion screen has them.", untold)
	}
	return sec
}

// fusionRow is decision i, with what it saved or what its refusal costs in the words of the Fusion screen.
func fusionRow(v *fusion.View, i int) Row {
	f := v.Fusion
	s, id := &f.Steps[i], f.ID
	row := Row{Glyph: Fused, Text: f.Label(s.A) + " + " + f.Label(s.B), ID: &id}
	detail := v.Cost(i)
	if !s.Fused {
		row.Glyph, row.Uses = NotFused, s.Uses
		detail = s.Reason
		if cost := v.Cost(i); cost != "" {
			detail += ": " + cost
		}
		if s.Why != "" {
			row.More = append(row.More, s.Why)
		}
	}
	row.Detail = strings.TrimSpace(detail + " " + idText(id))
	return row
}

// schedulerNodes are the numbers of the scheduler's nodes that compute something of the line.
func (m *maker) schedulerNodes(f *explain.Fusion) (map[string]bool, bool) {
	if f.Start == nil {
		return nil, false
	}
	start, ok := f.Start()
	if !ok || len(start.Nodes) == 0 {
		return nil, false
	}
	names := map[string]bool{}
	for _, n := range m.lineNodes(start.Code) {
		names[n.Name] = true
	}
	out := map[string]bool{}
	for i, nodes := range start.Nodes {
		if slices.ContainsFunc(nodes, func(n string) bool { return names[n] }) {
			out[fmt.Sprintf("op%d", i)] = true
		}
	}
	return out, true
}

// about reports whether a group has one of the nodes. The middle of a long name is left
// out there: such a group is taken by its ends.
func about(mine map[string]bool, group string) bool {
	return slices.ContainsFunc(strings.Split(group, "_"), func(op string) bool { return mine[op] })
}

// kernels are those that compute something of the line, with their lines of it.
func (m *maker) kernels() Section {
	sec := Section{Title: "KERNELS"}
	for _, k := range m.report.Kernels {
		if !m.of(k.ID) || !slices.ContainsFunc(k.Pos, m.here) {
			continue
		}
		id := k.ID
		row := Row{Glyph: Generated, Text: k.Name, Detail: m.kernelFacts(k), ID: &id, Kernel: k.Name, Lang: k.Lang, Pos: m.subject.Pos}
		row.More = m.kernelLines(k)
		sec.Rows = append(sec.Rows, row)
	}
	return sec
}

// kernelFacts is what a kernel does and costs; what was not measured says so.
func (m *maker) kernelFacts(k *explain.Kernel) string {
	out := []string{idText(k.ID)}
	if n := len(k.Ops); n > 1 {
		out = append(out, fmt.Sprintf("%d operators", n))
	}
	if k.Bytes >= 0 && k.Lang != "extern" {
		out = append(out, explain.Bytes(k.Bytes)+" a call")
	}
	switch {
	case k.Timed > 0:
		out = append(out, explain.Nanos(k.Nanos/k.Timed)+" a call")
	default:
		out = append(out, "time not measured")
	}
	if k.Reason != "" {
		out = append(out, k.Reason)
	}
	return strings.Join(out, " · ")
}

// maxCodeLines bounds the lines of one kernel.
const maxCodeLines = 24

// kernelLines are the lines of the kernel's code that the line became.
func (m *maker) kernelLines(k *explain.Kernel) []string {
	if k.Load == nil {
		return nil
	}
	var want []int
	for _, l := range k.Lines {
		if slices.ContainsFunc(l.Pos, m.here) {
			want = append(want, l.Line-k.From)
		}
	}
	if len(want) == 0 {
		return nil
	}
	code := strings.Split(k.Load(), "\n")
	var out []string
	for _, i := range want {
		if i < 0 || i >= len(code) {
			continue
		}
		if len(out) == maxCodeLines {
			return append(out, "…")
		}
		if !strings.Contains(code[i], "async_compile.") { // it begins the kernel, and is of all its nodes
			out = append(out, strings.TrimSpace(code[i]))
		}
	}
	return out
}
