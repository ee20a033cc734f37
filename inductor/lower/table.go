package lower

import (
	"sync"

	"tcdbg/graph"
	"tcdbg/inductor/ir"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// lowerFunc lowers one call and binds its result.
type lowerFunc func(c *call) error

// lowerings is the table, made once; views need no row (see call.view).
var lowerings = sync.OnceValue(func() *[ops.NumIDs]lowerFunc {
	t := new([ops.NumIDs]lowerFunc)
	for id, f := range pointwiseTable {
		t[id] = pointwise(f)
	}
	for id, o := range comparisons {
		t[id] = comparison(o)
	}
	for id, f := range predicates {
		t[id] = predicate(f)
	}
	for id, o := range logicals {
		t[id] = logical(o)
	}
	for id, r := range reductions {
		t[id] = reduction(r)
	}
	for id, f := range others {
		t[id] = f
	}
	return t
})

// Has reports whether operator id is lowered to loops or is a view.
func Has(id ops.ID) bool {
	return lowerings()[id] != nil || ops.Get(id).Tags.Has(ops.TagView)
}

var others = map[ops.ID]lowerFunc{
	ops.Where:         where,
	ops.Mm:            mm,
	ops.Bmm:           mm,
	ops.Matmul:        mm,
	ops.Addmm:         addmm,
	ops.Linear:        linear,
	ops.Convolution:   convolution,
	ops.Softmax:       softmax,
	ops.LayerNorm:     layerNorm,
	ops.Reshape:       reshape,
	ops.Contiguous:    maybeCopy,
	ops.Clone:         clone,
	ops.To:            maybeCopy,
	ops.ToCopy:        clone,
	ops.Copy:          copySource,
	ops.Flip:          flip,
	ops.Cat:           cat,
	ops.SliceScatter:  sliceScatter,
	ops.SelectScatter: selectScatter,
	ops.Full:          full,
	ops.FullLike:      full,
	ops.Zeros:         constant(0),
	ops.Ones:          constant(1),
	ops.Empty:         constant(0),
	ops.Arange:        arange,
	ops.Linspace:      linspace,
	ops.EmptyLike:     constant(0),

	ops.Gather:        gather,
	ops.IndexSelect:   indexSelect,
	ops.Index:         advancedIndex,
	ops.ConstantPadNd: constantPad,
	ops.Pad:           pad,

	ops.Cumsum:  scanned(ir.RSum),
	ops.Cumprod: scanned(ir.RProd),
	ops.Cummax:  extremes(ir.RMax),
	ops.Cummin:  extremes(ir.RMin),

	ops.Scatter:         scatter,
	ops.ScatterAdd:      scatterAdd,
	ops.ScatterReduce:   scatterReduce,
	ops.IndexAdd:        indexAdd,
	ops.IndexPut:        indexPut,
	ops.DiagonalScatter: diagonalScatter,

	ops.MaxPool1dIndices: maxPool(1), ops.MaxPool2dIndices: maxPool(2), ops.MaxPool3dIndices: maxPool(3),
	ops.AvgPool1d: avgPool(1), ops.AvgPool2d: avgPool(2), ops.AvgPool3d: avgPool(3),
	ops.AdaptiveAvgPool1d: adaptiveAvg(1), ops.AdaptiveAvgPool2d: adaptiveAvg(2), ops.AdaptiveAvgPool3d: adaptiveAvg(3),
	ops.AdaptiveMaxPool1dIndices: adaptiveMax(1), ops.AdaptiveMaxPool2dIndices: adaptiveMax(2), ops.AdaptiveMaxPool3dIndices: adaptiveMax(3),
}

// Decompose rewrites, on a copy, every call that has a decomposition and no
// lowering, until none is left.
func Decompose(g *graph.Graph) *graph.Graph {
	for {
		found := false
		for n := g.First(); n != nil && !found; n = n.Next() {
			found = wantsDecompose(n)
		}
		if !found {
			return g
		}
		g = decomposeOnce(g)
	}
}

func wantsDecompose(n *graph.Node) bool {
	row := n.OpRow()
	return row != nil && row.Decompose != nil && lowerings()[n.Op] == nil &&
		!row.Tags.Has(ops.TagView) && !row.Tags.Has(ops.TagInPlace)
}

func decomposeOnce(g *graph.Graph) *graph.Graph {
	h := graph.New(g.Name, g.Env)
	h.Aten = g.Aten
	m := map[*graph.Node]*graph.Node{}
	get := func(n *graph.Node) *graph.Node { return m[n] }
	parts := map[*graph.Node][]ops.Value{} // results of a decomposed call
	for n := g.First(); n != nil; n = n.Next() {
		if src := source(n); src != nil && parts[src] != nil {
			i, _ := n.Args[1].(sym.Int).IsConst()
			m[n] = parts[src][i].(*graph.Node)
			continue
		}
		c := n.CopyInto(h, get)
		if !wantsDecompose(n) {
			m[n] = c
			continue
		}
		b := &graph.Builder{G: h, Before: c, Stack: n.Stack}
		outs := n.OpRow().Decompose(b, &ops.Call{Op: n.OpRow(), Args: c.Args})
		if outs == nil {
			m[n] = c
			continue
		}
		h.Erase(c)
		if _, several := n.Meta.([]ops.Result); several {
			parts[n] = outs
			continue
		}
		m[n] = outs[0].(*graph.Node)
	}
	return h
}

// source is the node that a getitem takes apart.
func source(n *graph.Node) *graph.Node {
	if n.Op != ops.None || n.Target != "getitem" {
		return nil
	}
	src, _ := n.Args[0].(*graph.Node)
	return src
}
