package render

import (
	"fmt"

	"tcdbg/explain"
	"tcdbg/logs"
)

// This file writes the trie of stacks: from where all compiles were called, what is common said once, with the compiles at
// its ends.

// call is one line of the trie.
type call struct {
	pos      logs.Pos
	next     []*call
	byPlace  map[placeKey]*call
	compiles []*explain.Compile
}

type placeKey struct {
	file, fn string
	line     int
}

func (c *call) at(p logs.Pos) *call {
	key := placeKey{p.File, p.Func, p.Line}
	if x := c.byPlace[key]; x != nil {
		return x
	}
	x := &call{pos: p}
	if c.byPlace == nil {
		c.byPlace = map[placeKey]*call{}
	}
	c.byPlace[key] = x
	c.next = append(c.next, x)
	return x
}

// stackTrie joins the stacks of a report's compiles; n counts them.
func stackTrie(r *explain.Report) (root *call, n int) {
	root = &call{}
	for _, fr := range r.Frames {
		for _, c := range fr.Compiles {
			if len(c.Stack) == 0 {
				continue
			}
			n++
			at := root
			for _, p := range c.Stack {
				at = at.at(p)
			}
			at.compiles = append(at.compiles, c)
		}
	}
	return root, n
}

func (h *htmlWriter) stacks(r *explain.Report) {
	root, n := stackTrie(r)
	if n == 0 {
		return
	}
	h.section("stacks", "Stacks ("+explain.Count(n, "compile")+")", false)
	h.tag("p", "dim", "From where each compile was called; what stacks have in common stands once.")
	h.raw(`<ul class="stack">`)
	left := 0
	h.calls(root.next, 0, &left)
	h.raw("</ul>")
	if left > 0 {
		h.leftOut(left, "call")
	}
	h.end()
}

// deepestStack bounds how deep lists of calls are nested.
const deepestStack = 60

// calls writes calls below one. A chain keeps its indentation; what follows a fork, and one of several calls, is indented.
func (h *htmlWriter) calls(list []*call, depth int, left *int) {
	for _, c := range list {
		if h.sectionFull() {
			*left++
			continue
		}
		h.callLine(c)
		if len(c.next) == 0 {
			continue
		}
		nest := (len(list) > 1 || len(c.next) > 1) && depth < deepestStack
		if nest {
			h.raw("<li><ul>")
			depth++
		}
		h.calls(c.next, depth, left)
		if nest {
			h.raw("</ul></li>\n")
			depth--
		}
	}
}

func (h *htmlWriter) callLine(c *call) {
	class := "row"
	if explain.FrameworkFile(c.pos.File) {
		class += " noise"
	}
	h.raw(`<li class="` + class + `">`)
	h.tag("span", "", fmt.Sprintf("%s:%d", h.names.File(c.pos.File), c.pos.Line))
	h.tag("b", "", " "+explain.FunctionOf(c.pos, nil)+" ")
	h.tag("code", "", c.pos.Code)
	for _, x := range c.compiles {
		h.raw(" ")
		h.link(h.at.compiles[x], "["+idText(x.ID)+"] "+x.Frame.Title()+" "+string(x.Status))
	}
	h.raw("</li>\n")
}
