package guard

import (
	"fmt"
	"go/types"
	"strconv"
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
func Tree(gs []*Guard) []byte {
	tree := &node{}
	for _, g := range gs {
		at := tree.place(g.Source)
		at.leaves = append(at.leaves, g)
	}
	const head = "\nTREE_GUARD_MANAGER:\n+- RootGuardManager\n"
	return tree.append(append(make([]byte, 0, lineRoom*len(gs)), head...), "| ", map[types.Type]string{})
}

// lineRoom is about how many bytes a guard takes in the tree.
const lineRoom = 512

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
		c = &node{src: s}
		if up.children == nil {
			up.children = map[*value.Source]*node{}
		}
		up.children[s] = c
		up.order = append(up.order, c)
	}
	return c
}

// append writes the guards below n; names are those of types so far.
func (n *node) append(b []byte, indent string, names map[types.Type]string) []byte {
	for _, g := range n.leaves {
		b = appendAll(b, indent, "+- ", g.kind.String(), ": ", g.text)
		b = append(g.appendComment(b), '\n')
	}
	inner := indent + "| "
	for _, c := range n.order {
		b = appendAll(b, indent, "+- GuardManager: source=", c.src.Name, ", accessed_by=", accessor(c.src))
		name, known := names[c.src.Type]
		if !known {
			name = value.TypeName(c.src.Type)
			names[c.src.Type] = name
		}
		b = c.append(appendAll(b, ", type=<class '", name, "'>\n"), inner, names)
	}
	return b
}

func appendAll(b []byte, texts ...string) []byte {
	for _, t := range texts {
		b = append(b, t...)
	}
	return b
}

func comment(g *Guard) string { return string(g.appendComment(nil)) }

func (g *Guard) appendComment(b []byte) []byte {
	if g.pos.File == "" {
		return b
	}
	b = appendAll(b, "  # ", strings.TrimSpace(g.pos.Code), "  # ", g.pos.File, ":")
	return appendAll(strconv.AppendInt(b, int64(g.pos.Line), 10), " in ", g.pos.Func)
}

// accessor names the step from the parent, in the style of PyTorch's accessors.
func accessor(s *value.Source) string {
	switch s.Kind {
	case value.Register:
		return "FrameLocalsGuardAccessor(key='" + value.LocalName(s.Reg) + "')"
	case value.Global:
		return "DictGetItemGuardAccessor('" + s.Global.Name() + "')"
	case value.Field:
		return "GetAttrGuardAccessor(" + s.Parent.Type.Underlying().(*types.Struct).Field(s.Index).Name() + ")"
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
