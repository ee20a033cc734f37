package guard

import (
	"fmt"
	"strings"

	"tcdbg/logs"
	"tcdbg/tracer/value"
)

// This file prints guards as PyTorch prints its tree, and reports those that fail.

func Record(g *Guard) logs.Guard {
	rec := logs.Guard{Kind: g.kind.String(), Text: g.text, Expected: g.want, Pos: g.pos}
	if g.Source != nil {
		rec.Source = g.Source.Name
	}
	return rec
}

// Tree prints guards as PyTorch prints its tree: managers nested by
// source, one leaf a line, with the user's line as a comment.
func Tree(gs []*Guard) string {
	var sb strings.Builder
	sb.WriteString("\nTREE_GUARD_MANAGER:\n+- RootGuardManager\n")
	tree := &node{children: map[*value.Source]*node{}}
	for _, g := range gs {
		tree.place(g.Source).leaves = append(tree.place(g.Source).leaves, g)
	}
	tree.print(&sb, "| ")
	return sb.String()
}

// node is a guard manager: one source.
type node struct {
	src      *value.Source
	children map[*value.Source]*node
	order    []*node
	leaves   []*Guard
}

func (n *node) place(s *value.Source) *node {
	if s == nil {
		return n
	}
	up := n.place(s.Parent)
	c := up.children[s]
	if c == nil {
		c = &node{src: s, children: map[*value.Source]*node{}}
		up.children[s] = c
		up.order = append(up.order, c)
	}
	return c
}

func (n *node) print(sb *strings.Builder, indent string) {
	for _, g := range n.leaves {
		fmt.Fprintf(sb, "%s+- %s: %s%s\n", indent, g.kind, g.text, comment(g))
	}
	for _, c := range n.order {
		fmt.Fprintf(
			sb, "%s+- GuardManager: source=%s, accessed_by=%s, type=<class '%s'>\n", indent, c.src.Name,
			accessor(c.src), value.TypeName(c.src.Type),
		)
		c.print(sb, indent+"| ")
	}
}

func comment(g *Guard) string {
	if g.pos.File == "" {
		return ""
	}
	return fmt.Sprintf("  # %s  # %s:%d in %s", strings.TrimSpace(g.pos.Code), g.pos.File, g.pos.Line, g.pos.Func)
}

// accessor names the step from the parent, in the style of PyTorch's accessors.
func accessor(s *value.Source) string {
	switch s.Kind {
	case value.Register:
		return "FrameLocalsGuardAccessor(key='" + value.LocalName(s.Reg) + "')"
	case value.Global:
		return "DictGetItemGuardAccessor('" + s.Global.Name() + "')"
	case value.Field:
		return "GetAttrGuardAccessor(" + s.Argument()[strings.LastIndexByte(s.Argument(), '.')+1:] + ")"
	case value.Elem, value.Item:
		return fmt.Sprintf("ListGetItemGuardAccessor(%d)", s.Index)
	case value.MapValue:
		return "DictGetItemGuardAccessor(" + s.Key.Text + ")"
	case value.Dynamic:
		return "TypeGuardAccessor"
	case value.Free:
		return fmt.Sprintf("ClosureGuardAccessor(%d)", s.Index)
	}
	return "DerefGuardAccessor"
}

// Failures tests all guards of an entry one by one. Guards whose path is
// broken by an earlier failure are left out, but never the first one.
func Failures(entry int, gs []*Guard, a *Addresses) []logs.GuardFailure {
	var out []logs.GuardFailure
	for _, g := range gs {
		if g.Test(a) {
			continue
		}
		f := g.actual(a)
		if f.broken && len(out) > 0 {
			continue
		}
		msg := f.message
		if msg == "" {
			msg = g.text + comment(g)
		}
		gf := logs.GuardFailure{Entry: entry, Guard: Record(g), Actual: f.actual, Message: msg, Dim: f.dim}
		if g.Source != nil {
			gf.Origin = g.Source.Origin()
			if g.Source.IsSpelled() {
				gf.Argument = g.Source.Argument()
			}
		}
		out = append(out, gf)
	}
	return out
}
