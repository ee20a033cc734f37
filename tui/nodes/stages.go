package nodes

import (
	"fmt"
	"strings"

	"tcdbg/explain"
	"tcdbg/explain/modules"
	"tcdbg/logs"
	"tcdbg/tui/theme"
)

// This file is two stages beside each other: what each line of the program was, and what it became.

// Compared is two stages, matched.
type Compared struct {
	Left, Right *modules.Graph
	Groups      []modules.Group
	lines       []comparedLine
	toggled     map[int]bool
}

type comparedLine struct{ group, pair int } // pair -1: the group's heading

// Compare matches two stages.
func Compare(left, right *modules.Graph) *Compared {
	c := &Compared{Left: left, Right: right, Groups: modules.Match(left, right), toggled: map[int]bool{}}
	c.layout()
	return c
}

// layout lists the lines: of a group that did not change its heading alone.
func (c *Compared) layout() {
	c.lines = c.lines[:0]
	for k := range c.Groups {
		c.lines = append(c.lines, comparedLine{k, -1})
		if (c.Groups[k].Changed() > 0) == c.toggled[k] {
			continue
		}
		for p := range c.Groups[k].Pairs {
			c.lines = append(c.lines, comparedLine{k, p})
		}
	}
}

// Toggle opens or closes the group of a line, and says where its heading is.
func (c *Compared) Toggle(i int) int {
	if i < 0 || i >= len(c.lines) {
		return i
	}
	for c.lines[i].pair >= 0 {
		i--
	}
	c.toggled[c.lines[i].group] = !c.toggled[c.lines[i].group]
	c.layout()
	return i
}

// ToggleAll closes all groups, or opens them.
func (c *Compared) ToggleAll() {
	closing := len(c.lines) > len(c.Groups)
	for k := range c.Groups {
		c.toggled[k] = (c.Groups[k].Changed() > 0) == closing
	}
	c.layout()
}

// Len is the number of lines.
func (c *Compared) Len() int { return len(c.lines) }

// Summary counts what became of the nodes.
func (c *Compared) Summary() string {
	var same, other, left, right int
	for k := range c.Groups {
		for _, p := range c.Groups[k].Pairs {
			switch {
			case p.Same:
				same++
			case p.Right < 0:
				left++
			case p.Left < 0:
				right++
			default:
				other++
			}
		}
	}
	return fmt.Sprintf("%d the same, %d became another, %d gone, %d new", same, other, left, right)
}

// Node is what line i stands for: a node of the left stage, else of the right.
func (c *Compared) Node(i int) (n *explain.GraphNode, captured bool) {
	l := c.lines[i]
	pairs := c.Groups[l.group].Pairs
	p := pairs[max(0, l.pair)]
	if p.Left >= 0 {
		return &c.Left.Nodes[p.Left], true
	}
	return &c.Right.Nodes[p.Right], false
}

// Text is line i for searches.
func (c *Compared) Text(i int) string {
	l := c.lines[i]
	g := &c.Groups[l.group]
	if l.pair < 0 {
		return placeOf(g.Pos) + " " + g.Module + " " + g.Pos.Code
	}
	p := g.Pairs[l.pair]
	return cell(c.Left, p.Left) + " " + cell(c.Right, p.Right)
}

func cell(g *modules.Graph, i int) string {
	if i < 0 {
		return ""
	}
	n := &g.Nodes[i]
	return theme.Clean(n.Name) + "  " + theme.Clean(short(n.Target)) + "  " + Shape(n.Type)
}

func short(target string) string {
	return strings.TrimPrefix(strings.TrimPrefix(target, "torch.ops."), "torch.nn.functional.")
}

// sideBySide is the width from which the stages lie beside each other.
const sideBySide = 76

// Draw draws line i.
func (c *Compared) Draw(i, w int, place func(p logs.Pos, w int) string) theme.Line {
	l := c.lines[i]
	g := &c.Groups[l.group]
	if l.pair < 0 {
		return c.heading(l.group, w, place)
	}
	p := g.Pairs[l.pair]
	mark, style := "~ ", theme.Yellow
	switch {
	case p.Same:
		mark, style = "= ", theme.Faint
	case p.Right < 0:
		mark, style = "- ", theme.Red
	case p.Left < 0:
		mark, style = "+ ", theme.Green
	}
	left, right := cell(c.Left, p.Left), cell(c.Right, p.Right)
	if w < sideBySide {
		text := left + " → " + right
		if p.Left < 0 || p.Right < 0 || p.Same {
			text = left
			if p.Left < 0 {
				text = right
			}
		}
		return theme.Line{{Text: "  " + mark + text, Style: style}}
	}
	half := (w - 7) / 2
	return theme.Line{
		{Text: "  " + mark, Style: style},
		{Text: theme.Fit(left, half), Style: style},
		{Text: " │ ", Style: theme.Faint},
		{Text: theme.Cut(right, half), Style: style},
	}
}

func (c *Compared) heading(k, w int, place func(p logs.Pos, w int) string) theme.Line {
	g := &c.Groups[k]
	what := fmt.Sprintf("%d of %d differ", g.Changed(), len(g.Pairs))
	if g.Changed() == 0 {
		what = explain.Count(len(g.Pairs), "node") + " the same"
	}
	at := place(g.Pos, max(14, w/4))
	if at == "" {
		at = "no line"
	}
	out := theme.Line{
		{Text: glyph((g.Changed() > 0) != c.toggled[k]), Style: theme.Faint},
		theme.T(theme.Accent, at+"  "),
	}
	if g.Module != "" {
		out = append(out, theme.T(theme.Bold, g.Module+"  "))
	}
	return append(out, theme.T(theme.Faint, what+"  "), theme.T(theme.Faint, strings.TrimSpace(g.Pos.Code)))
}
