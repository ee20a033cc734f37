package aot

import (
	"fmt"

	"tcdbg/graph"
	"tcdbg/graph/decompose"
	"tcdbg/graph/pass"
	"tcdbg/logs"
	"tcdbg/ops"
)

// This file holds the pass tables: what happens to a captured graph, and what to each
// of the pure graphs that it becomes.

// compilation is one captured graph on its way to pure graphs; the fields below train
// are what the passes leave.
type compilation struct {
	*Request
	train    bool         // gradients are wanted
	prepared *graph.Graph // the captured graph as functionalization reads it
	pure     *functional
	joint    *joint
	parts    *parts
}

func (c *compilation) wantsGradients() bool { return c.train }

// captured is the table of a captured graph.
var captured = pass.NewTable("aot",
	pass.Pass[*compilation]{
		Name: "prepare", Doc: "express whatever may share memory by plain views and copies",
		Run: func(c *compilation) (int, error) {
			c.prepared = prepare(c.Graph, c.train)
			return 1, nil
		},
		Print: func(c *compilation) string { return codeOf(c.prepared, c.Graph) },
		Check: func(c *compilation) error { return c.prepared.Check() },
	},
	pass.Pass[*compilation]{
		Name: "functionalize", Doc: "remove mutation and views of what is mutated",
		Needs: []pass.Need{{Pass: "prepare", Why: "it knows plain views and operators in place, no composite operators"}},
		Run: func(c *compilation) (n int, err error) {
			c.pure, err = functionalize(c.prepared, c.Example, c.train)
			return 1, err
		},
		Print: func(c *compilation) string {
			if c.pure == nil {
				return c.prepared.Code()
			}
			return c.pure.graph.Code()
		},
		Check: func(c *compilation) error { return c.pure.graph.Check() },
	},
	pass.Pass[*compilation]{
		Name: "decompose_without_derivative", Doc: "expand operators that have no derivative of their own",
		Needs: []pass.Need{{Pass: "functionalize", Why: "derivatives are those of pure operators"}},
		When:  (*compilation).wantsGradients,
		Run: func(c *compilation) (int, error) {
			return decompose.Expand(c.pure.graph, func(n *graph.Node) bool { return n.OpRow().Backward == nil }), nil
		},
		Print:  func(c *compilation) string { return c.pure.graph.Code() },
		Check:  func(c *compilation) error { return c.pure.graph.Check() },
		Record: true,
	},
	pass.Pass[*compilation]{
		Name: "differentiate", Doc: "trace the joint graph: the forward operators, then the gradients of the inputs",
		Needs: []pass.Need{{Pass: "decompose_without_derivative", Why: "what is left with no derivative is refused by the backward pass"}},
		When:  (*compilation).wantsGradients,
		Run: func(c *compilation) (n int, err error) {
			if c.joint, err = trace(c.pure, c.Example); err != nil {
				return 0, err
			}
			if c.Log != nil {
				c.Log.Emit(logs.Out{Kind: "aot_joint_graph", ID: c.ID, Payload: []byte(c.joint.code()), Place: logs.Here()})
			}
			return 1, nil
		},
		Print: func(c *compilation) string {
			if c.joint == nil {
				return c.pure.graph.Code()
			}
			return c.joint.code()
		},
		Check: func(c *compilation) error { return c.joint.whole().Check() },
	},
	pass.Pass[*compilation]{
		Name: "decompose_norms", Doc: "expand normalisations that were differentiated as a whole",
		Needs:  []pass.Need{{Pass: "differentiate", Why: "the derivative is that of the whole"}},
		When:   (*compilation).wantsGradients,
		Run:    func(c *compilation) (int, error) { return c.joint.takeNormsApart(), nil },
		Print:  func(c *compilation) string { return c.joint.code() },
		Check:  func(c *compilation) error { return c.joint.whole().Check() },
		Record: true,
	},
	pass.Pass[*compilation]{
		Name: "pick_early", Doc: "compute what is read at one place of each row for that place alone",
		Needs:  []pass.Need{{Pass: "decompose_norms", Why: "the logarithm of a softmax is differences only then"}},
		When:   (*compilation).wantsGradients,
		Run:    func(c *compilation) (int, error) { return c.joint.rewrite(pickFirst), nil },
		Print:  func(c *compilation) string { return c.joint.code() },
		Check:  func(c *compilation) error { return c.joint.whole().Check() },
		Record: true,
	},
	pass.Pass[*compilation]{
		Name: "partition", Doc: "split the joint graph into a forward and a backward graph",
		Needs: []pass.Need{
			{Pass: "differentiate", Why: "it is the joint graph that is split"},
			{Pass: "decompose_norms", Why: "parts of a normalisation can be computed again, all of it not"},
			{Pass: "pick_early", Why: "what only a loss over classes picks from is not written by the forward graph"},
		},
		When: (*compilation).wantsGradients,
		Run: func(c *compilation) (int, error) {
			c.parts = c.joint.partition(c.budget())
			if c.Log != nil && len(c.parts.wants) > 0 {
				c.Log.Emit(logs.Artifact(c.ID, c.parts.choice.size))
			}
			return 1, nil
		},
		Record: true,
		Print: func(c *compilation) string {
			if c.parts == nil {
				return c.joint.code()
			}
			return c.parts.forward.Code() + "\n" + c.parts.backward.Code()
		},
		Check: func(c *compilation) error {
			if err := c.parts.forward.Check(); err != nil {
				return err
			}
			return c.parts.backward.Check()
		},
	},
)

// codeOf is the text of g, or of the graph before where g is not there yet.
func codeOf(g, before *graph.Graph) string {
	if g == nil {
		g = before
	}
	return g.Code()
}

// pureGraph is a graph without mutation on its way to the compiler.
type pureGraph struct {
	*graph.Graph
	keep  func(ops.ID) bool
	plain bool // no rewrites by patterns
}

// wanted tells which calls are decomposed: all that can be and that the compiler does
// not take as they are.
func (g *pureGraph) wanted(n *graph.Node) bool { return g.keep == nil || !g.keep(n.Op) }

// pure is the table of rewrites between functionalization and the compiler.
var pure = pass.NewTable("aot pure",
	rewrite("decompose", "express operators through core ones",
		func(g *pureGraph) int { return decompose.Expand(g.Graph, g.wanted) }),
	rewrite("sum_products", "make sums of products of few terms one product of many",
		pattern(sumProducts),
		pass.Need{Pass: "decompose", Why: "the gradient of a linear layer is such a product only then"}),
	rewrite("cse", "compute equal pure values once",
		func(g *pureGraph) int { return cse(g.Graph) },
		pass.Need{Pass: "sum_products", Why: "what it concatenates may be concatenated already"},
		pass.Need{Pass: "decompose", Why: "equal parts of different operators show when both are core operators"}),
	rewrite("scatter_into_sum", "add what is scattered into zeros straight into the sum that it becomes part of",
		pattern(scatterIntoSum),
		pass.Need{Pass: "decompose", Why: "the gradient of an embedding is such a scatter only then"}),
	rewrite("pick_first", "compute what is read at one place of each row for that place alone",
		pattern(pickFirst),
		pass.Need{Pass: "decompose", Why: "the logarithm of a softmax is differences only then"}),
	rewrite("sum_one_hot", "take the one number that a row has instead of adding up zeros",
		pattern(sumOneHot),
		pass.Need{Pass: "decompose", Why: "the gradient of a loss over classes is such a sum only then"}),
	rewrite("sum_slices", "make sums of neighbouring slices of two tensors one sum",
		pattern(sumSlices),
		pass.Need{Pass: "decompose", Why: "the gradient of a concatenation is slices only then"},
		pass.Need{Pass: "cse", Why: "a slice that is taken twice has one reader only then"}),
	rewrite("compute_again", "compute what derivatives read where they read it, unless it takes longer than to keep it",
		pattern(computeAgain),
		pass.Need{Pass: "decompose", Why: "parts of an operator can be computed again where all of it takes too long"},
		pass.Need{Pass: "cse", Why: "it would make the copies one again"},
		pass.Need{Pass: "pick_first", Why: "what only a loss over classes picks from is in no memory"}),
	rewrite("draw_like", "have a draw take its form from a tensor that is there",
		func(g *pureGraph) int { return drawLike(g.Graph) },
		pass.Need{Pass: "decompose", Why: "dropout is such a draw only then"}),
	rewrite("dead_code", "drop values that nobody reads",
		func(g *pureGraph) int { return g.EliminateDead() },
		pass.Need{Pass: "decompose", Why: "a decomposition may leave results that nobody reads"},
		pass.Need{Pass: "cse", Why: "of equal values the first keeps its name, read or not"},
		pass.Need{Pass: "sum_products", Why: "the products that became one are no longer read"},
		pass.Need{Pass: "compute_again", Why: "what derivatives alone have read is no longer read where it was"},
		pass.Need{Pass: "pick_first", Why: "what was computed for whole rows may have no reader left"},
		pass.Need{Pass: "scatter_into_sum", Why: "the zeros that were scattered into are no longer read"},
		pass.Need{Pass: "sum_slices", Why: "of a whole sum some slices may have no reader"},
		pass.Need{Pass: "draw_like", Why: "the tensors that draws took their form from are no longer read"}),
)

// pattern is a rewrite of operators that stand together in a certain way.
func pattern(run func(*graph.Graph) int) func(*pureGraph) int {
	return func(g *pureGraph) int {
		if g.plain {
			return 0
		}
		return run(g.Graph)
	}
}

// rewrite is a row that rewrites a graph in place.
func rewrite(name, doc string, run func(g *pureGraph) int, needs ...pass.Need) pass.Pass[*pureGraph] {
	return pass.Pass[*pureGraph]{
		Name: name, Doc: doc, Needs: needs, Record: true,
		Run:   func(g *pureGraph) (int, error) { return everywhere(g, run), nil },
		Print: func(g *pureGraph) string { return g.Code() },
		Check: func(g *pureGraph) error { return g.Graph.Check() },
	}
}

// everywhere runs a rewrite on a graph and on the bodies of its control flow.
func everywhere(g *pureGraph, run func(g *pureGraph) int) int {
	count := run(g)
	for _, b := range g.FlowBodies() {
		count += everywhere(&pureGraph{b, g.keep, g.plain}, run)
	}
	return count
}

// cse makes equal calls of pure operators one node.
func cse(g *graph.Graph) int { return cseAmong(g, func(*graph.Node) bool { return true }) }

// cseAmong is cse among some of the nodes.
func cseAmong(g *graph.Graph, some func(*graph.Node) bool) int {
	seen := map[string]*graph.Node{}
	count := 0
	for _, n := range g.Nodes() {
		if n.Kind == graph.Placeholder || n.Kind == graph.Output || n.Flow != nil || !some(n) {
			continue
		}
		if row := n.OpRow(); row != nil && (row.Tags.Has(ops.TagRandom) || row.Tags.Has(ops.TagInPlace)) {
			continue
		}
		key := fmt.Sprintf("%d %s %s", n.Op, n.Target, n.ArgsText())
		if old := seen[key]; old != nil {
			n.ReplaceUses(old)
			g.Erase(n)
			count++
			continue
		}
		seen[key] = n
	}
	return count
}
