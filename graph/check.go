package graph

import (
	"fmt"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// Check verifies the graph's invariants: placeholders first, one output at the
// end, unique names, values defined before use, use counts that agree with the
// arguments, arguments and metadata that fit the operators' rules, and every
// symbol bound by a placeholder or an unbacked node. It returns the first
// violation.
func (g *Graph) Check() error {
	return newChecker(g).check()
}

func newChecker(g *Graph) *checker {
	return &checker{g: g, seen: map[*Node]bool{}, names: map[string]bool{}, bound: map[*sym.Symbol]bool{}}
}

func (c *checker) check() error {
	g := c.g
	for n := g.first; n != nil; n = n.next {
		if err := c.node(n); err != nil {
			return fmt.Errorf("graph %s: node %s: %w", g.Name, n.Name, err)
		}
		c.seen[n] = true
	}
	if g.OutputNode() == nil {
		return fmt.Errorf("graph %s: the last node is no output", g.Name)
	}
	return c.users()
}

type checker struct {
	g     *Graph
	seen  map[*Node]bool
	names map[string]bool
	bound map[*sym.Symbol]bool
	calls bool // a node other than a placeholder was met
}

func (c *checker) node(n *Node) error {
	if n.graph != c.g {
		return fmt.Errorf("belongs to another graph")
	}
	if c.names[n.Name] {
		return fmt.Errorf("name is taken twice")
	}
	c.names[n.Name] = true
	for _, in := range n.Inputs() {
		if !c.seen[in] {
			return fmt.Errorf("uses %s before it is defined", in.Name)
		}
	}
	switch n.Kind {
	case Placeholder:
		if c.calls {
			return fmt.Errorf("placeholder after a call")
		}
		c.bind(n.Meta)
		return nil
	case Output:
		if n.next != nil {
			return fmt.Errorf("output is not the last node")
		}
		return nil
	}
	c.calls = true
	return c.call(n)
}

// bind notes the symbols that a placeholder (or an unbacked result) carries.
func (c *checker) bind(meta any) {
	switch m := meta.(type) {
	case *ops.TensorMeta:
		for _, list := range [...][]sym.Int{m.Shape, m.Stride} {
			for _, s := range list {
				if x, ok := s.AsSymbol(); ok {
					c.bound[x] = true
				}
			}
		}
	case sym.Int:
		if x, ok := m.AsSymbol(); ok {
			c.bound[x] = true
		}
	}
}

func (c *checker) call(n *Node) error {
	switch {
	case n.Apply != nil:
		return c.apply(n)
	case n.Flow != nil:
		return c.flow(n)
	case n.Op == ops.None && n.IsNumber():
		if _, ok := numberForms[n.Target]; !ok {
			return fmt.Errorf("computes nothing known: %s", n.Target)
		}
		return nil
	case n.Op == ops.None:
		return c.getitem(n)
	}
	row := n.OpRow()
	if len(n.Args) != len(row.Params()) {
		return fmt.Errorf("%s has %d arguments, not %d", row.Name, len(n.Args), len(row.Params()))
	}
	res, err := row.Meta(&ops.Call{Op: row, Args: anyNumbers(n.Args)})
	if err != nil {
		return err
	}
	if row.Tags.Has(ops.TagDataDependent) {
		for _, r := range res {
			c.bind(r)
		}
		c.bind(n.Meta)
		return nil
	}
	if got := metaOf(res); !sameMeta(got, n.Meta) {
		return fmt.Errorf("holds %s where its operator gives %s", describe(n.Meta), describe(got))
	}
	return c.free(n.Meta)
}

func (c *checker) getitem(n *Node) error {
	if n.Target != "getitem" || len(n.Args) != 2 {
		return fmt.Errorf("calls nothing known: %s", n.Target)
	}
	src, ok := n.Args[0].(*Node)
	if !ok {
		return fmt.Errorf("getitem of no node")
	}
	list, ok := src.Meta.([]ops.Result)
	i, isInt := n.Args[1].(sym.Int)
	if !ok || !isInt {
		return fmt.Errorf("getitem of %s, which has one result", src.Name)
	}
	if k, _ := i.IsConst(); int(k) >= len(list) || !sameMeta(list[k], n.Meta) {
		return fmt.Errorf("getitem %s does not fit %s", i, src.Name)
	}
	return nil
}

func (c *checker) free(meta any) error {
	m, ok := meta.(*ops.TensorMeta)
	if !ok {
		return nil
	}
	for _, x := range m.Shape {
		for _, s := range x.Symbols() {
			if _, fixed := s.Fixed(); !fixed && !c.bound[s] {
				return fmt.Errorf("symbol %s is bound nowhere", s.Name)
			}
		}
	}
	return nil
}

func (c *checker) users() error {
	uses := map[*Node]map[*Node]int{}
	for n := range c.seen {
		for _, in := range n.Inputs() {
			if uses[in] == nil {
				uses[in] = map[*Node]int{}
			}
			uses[in][n]++
		}
	}
	for n := range c.seen {
		if len(uses[n]) != len(n.users) {
			return fmt.Errorf("graph %s: node %s: has %d users, counts %d", c.g.Name, n.Name, len(uses[n]), len(n.users))
		}
		for u, k := range uses[n] {
			if n.users[u] != k {
				return fmt.Errorf("graph %s: node %s: use count by %s is off", c.g.Name, n.Name, u.Name)
			}
		}
	}
	return nil
}

// metaOf turns an operator's results into a node's Meta.
func metaOf(res []ops.Result) any {
	if len(res) == 1 {
		return res[0]
	}
	return res
}

func sameMeta(a, b any) bool { return describe(a) == describe(b) }

func describe(m any) string {
	if list, ok := m.([]ops.Result); ok {
		return string(appendList(nil, list, func(b []byte, r ops.Result) []byte { return append(b, describe(r)...) }))
	}
	if t := typeText(m); t != "" {
		return t
	}
	return fmt.Sprintf("%v", m)
}
