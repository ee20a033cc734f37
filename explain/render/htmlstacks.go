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
		h.leftOut(left, "line")
	}
	h.end()
}

// deepestStack bounds how deep lists of calls are nested.
const deepestStack = 60

// calls writes calls below one: a chain without a fork keeps its indentation.
func (h *htmlWriter) calls(list []*call, depth int, left *int) {
	for _, c := range list {
		for c != nil {
			if h.sectionFull() {
				*left++
				return
			}
			h.callLine(c)
			forks := len(c.next) > 1 || len(c.compiles) > 0 && len(c.next) > 0
			if forks && depth < deepestStack {
				h.raw("<li><ul>")
				h.calls(c.next, depth+1, left)
				h.raw("</ul></li>\n")
				c = nil
			} else if forks {
				h.calls(c.next, depth, left)
				c = nil
			} else if len(c.next) == 1 {
				c = c.next[0]
			} else {
				c = nil
			}
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
