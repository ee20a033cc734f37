package graph

import (
	"fmt"

	"tcdbg/ops"
)

// This file is how control flow is written: the names of bodies, the brackets of lists.

// flowWords are how an operator's call is written, by Dynamo and by AOTAutograd.
type flowWords struct {
	bodies [2][]string // their names; of switch a pattern
	lists  [2]string   // the brackets of the lists of operands
	square bool        // Dynamo has the body return a list
}

var flowTexts = map[string]*flowWords{
	CondTarget:   {bodies: [2][]string{{"cond_true", "cond_false"}, {"true_graph", "false_graph"}}, lists: [2]string{"(", "("}},
	SwitchTarget: {bodies: [2][]string{{"switch_branch%d"}, {"branch%d_graph"}}, lists: [2]string{"(", "("}},
	WhileTarget: {
		bodies: [2][]string{{"cond_fn", "body_fn"}, {"while_loop_cond_graph", "while_loop_body_graph"}}, lists: [2]string{"((", "(("},
	},
	MapTarget:  {bodies: [2][]string{{"map_body"}, {"body_graph"}}, lists: [2]string{"[[", "[["}},
	ScanTarget: {bodies: [2][]string{{"scan_combine_fn"}, {"scan_combine_graph"}}, lists: [2]string{"[[[", "((("}, square: true},
	AssocTarget: {
		bodies: [2][]string{{"associative_scan_combine_fn"}, {"associative_scan_combine_graph"}},
		lists:  [2]string{"[(", "(("}, square: true,
	},
}

// style is the place of g's way of writing in flowTexts.
func (g *Graph) style() int {
	if g.Aten {
		return 1
	}
	return 0
}

// word is what body i of a call is called, but for the number of the call.
func (n *Node) word(i int) string {
	words := flowTexts[n.Flow.Op].bodies[n.graph.style()]
	if flowForms[n.Flow.Op].many {
		return fmt.Sprintf(words[0], i)
	}
	return words[i]
}

// The pairs of bodies that do not return a tuple.
const (
	bare   = -1 // a tensor: the condition of a loop
	square = -2 // a list
)

// namedBody is a body as the text of a graph has it; pair is how many of its outputs are a
// tuple of their own, 0 for none.
type namedBody struct {
	name string
	g    *Graph
	pair int
}

// bodies are those of n, nil where it calls no higher-order operator.
func (n *Node) bodies() []namedBody {
	switch {
	case n.Apply != nil:
		k := n.before(func(m *Node) bool { return m.Apply != nil })
		return []namedBody{
			{fmt.Sprintf("fwd_body_%d", k), n.Apply.Forward, n.Apply.Outputs}, {fmt.Sprintf("bwd_body_%d", k), n.Apply.Backward, 0},
		}
	case n.Flow != nil:
		k := n.before(func(m *Node) bool { return m.Flow != nil && m.Flow.Op == n.Flow.Op })
		var out []namedBody
		for i, b := range n.Flow.Bodies {
			pair := 0
			switch {
			case n.Flow.Op == WhileTarget && i == 0:
				pair = bare
			case flowTexts[n.Flow.Op].square && !n.graph.Aten:
				pair = square
			}
			out = append(out, namedBody{fmt.Sprintf("%s_%d", n.word(i), k), b, pair})
		}
		return out
	}
	return nil
}

// before counts the nodes in front of n that are of some kind.
func (n *Node) before(is func(*Node) bool) int {
	k := 0
	for m := n.prev; m != nil; m = m.prev {
		if is(m) {
			k++
		}
	}
	return k
}

// BodyNames are the names under which the module of n's graph holds the bodies of n.
func (n *Node) BodyNames() []string {
	var out []string
	for _, b := range n.bodies() {
		out = append(out, b.name)
	}
	return out
}

// higherOrder is the name of the higher-order operator that n calls, "" for none.
func (n *Node) higherOrder() string {
	switch {
	case n.Apply != nil:
		return ApplyTarget
	case n.Flow != nil:
		return n.Flow.Op
	}
	return ""
}

// flowArgs are the arguments as the graph's text has them.
func (n *Node) flowArgs() []ops.Arg {
	var pos []ops.Arg
	predicate, args := n.flowParts()
	if predicate != nil {
		pos = append(pos, predicate)
	}
	var bodies tuple
	for _, b := range n.BodyNames() {
		bodies = append(bodies, body(b))
	}
	if flowForms[n.Flow.Op].many {
		pos = append(pos, []any(bodies))
	} else {
		pos = append(pos, bodies...)
	}
	brackets := flowTexts[n.Flow.Op].lists[n.graph.style()]
	for i, a := range args {
		list := tuple{}
		for _, v := range a.([]ops.Value) {
			list = append(list, v)
		}
		if brackets[i] == '[' {
			pos = append(pos, []any(list))
		} else {
			pos = append(pos, list)
		}
	}
	return pos
}
