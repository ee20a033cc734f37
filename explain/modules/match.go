package modules

import (
	"strconv"
	"strings"

	"tcdbg/logs"
)

// This file matches the nodes of two stages of a graph: by their names where both stages
// have them, else by the line and the module that they come from.

// Pair is a node of each stage, -1 for none.
type Pair struct {
	Left, Right int
	Same        bool // the same operator, of the same type
}

// Group is what one line of the program became in one module.
type Group struct {
	Pos    logs.Pos
	Module string
	Pairs  []Pair
}

// Changed counts the nodes that the other stage has not, or has another operator for.
func (g *Group) Changed() int {
	n := 0
	for _, p := range g.Pairs {
		if !p.Same {
			n++
		}
	}
	return n
}

// Match lists the groups of two stages, in the order of the left one; those of the right alone follow.
func Match(a, b *Graph) []Group {
	left := map[int]int{} // right node: its partner
	taken := map[int]bool{}
	for j := range b.Nodes {
		i := a.Find(b.Nodes[j].Name)
		if i >= 0 && computes(&b.Nodes[j]) && operator(a, i) == operator(b, j) {
			left[j], taken[i] = i, true
		}
	}
	m := matcher{at: map[string]int{}}
	for i := range a.Nodes {
		if computes(&a.Nodes[i]) {
			m.add(a, i, true)
		}
	}
	for j := range b.Nodes {
		if !computes(&b.Nodes[j]) {
			continue
		}
		if i, ok := left[j]; ok {
			k := m.at[key(a, i)]
			m.groups[k].named = append(m.groups[k].named, [2]int{i, j})
			continue
		}
		m.add(b, j, false)
	}
	out := make([]Group, len(m.groups))
	for k := range m.groups {
		out[k] = m.groups[k].pairs(a, b, taken)
	}
	return out
}

type matcher struct {
	groups []group
	at     map[string]int
}

type group struct {
	pos         logs.Pos
	module      string
	left, right []int
	named       [][2]int
}

func key(g *Graph, i int) string {
	pos := g.Nodes[i].Pos
	return pos.File + ":" + strconv.Itoa(pos.Line) + " " + g.Module[i]
}

func (m *matcher) add(g *Graph, i int, left bool) {
	k, ok := m.at[key(g, i)]
	if !ok {
		k = len(m.groups)
		m.at[key(g, i)] = k
		m.groups = append(m.groups, group{pos: g.Nodes[i].Pos, module: g.Module[i]})
	}
	if left {
		m.groups[k].left = append(m.groups[k].left, i)
	} else {
		m.groups[k].right = append(m.groups[k].right, i)
	}
}

// pairs puts a group's nodes beside each other: those of one name, then the others in order, those with the same operator first.
func (gr *group) pairs(a, b *Graph, taken map[int]bool) Group {
	out := Group{Pos: gr.pos, Module: gr.module}
	partner := map[int]int{}
	for _, p := range gr.named {
		partner[p[0]] = p[1]
	}
	free := map[string][]int{} // right nodes by operator
	for _, j := range gr.right {
		op := operator(b, j)
		free[op] = append(free[op], j)
	}
	used := map[int]bool{}
	for _, i := range gr.left {
		j, ok := partner[i]
		if op := operator(a, i); !ok && !taken[i] && len(free[op]) > 0 {
			j, ok = free[op][0], true
			free[op] = free[op][1:]
			used[j] = true
		}
		if !ok {
			out.Pairs = append(out.Pairs, Pair{i, -1, false})
			continue
		}
		out.Pairs = append(out.Pairs, Pair{i, j, sameShape(a.Nodes[i].Type, b.Nodes[j].Type)})
	}
	at := 0
	for _, j := range gr.right {
		if used[j] {
			continue
		}
		for at < len(out.Pairs) && out.Pairs[at].Right >= 0 {
			at++
		}
		if at < len(out.Pairs) {
			out.Pairs[at].Right = j
		} else {
			out.Pairs = append(out.Pairs, Pair{-1, j, false})
		}
	}
	return out
}

// renamed are operators of torch that aten has under another name.
var renamed = map[string]string{
	"conv1d": "convolution", "conv2d": "convolution", "conv3d": "convolution", "flatten": "view", "reshape": "view",
	"adaptive_avg_pool2d": "_adaptive_avg_pool2d", "truediv": "div", "iadd": "add", "imul": "mul", "isub": "sub", "concat": "cat",
	"matmul": "mm", "softmax": "_softmax", "layer_norm": "native_layer_norm", "_to_copy": "to", "float": "to",
}

// operator is the name by which the operators of two stages are compared: add of add_ and aten.add.Tensor.
func operator(g *Graph, i int) string {
	op := n0(g.Nodes[i].Target)
	if !strings.HasPrefix(op, "_") {
		op = strings.TrimSuffix(op, "_")
	}
	if to, ok := renamed[op]; ok {
		return to
	}
	return op
}
