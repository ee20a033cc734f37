package lower

import (
	"slices"
	"sync"

	"tcdbg/graph"
	"tcdbg/graph/decompose"
	"tcdbg/inductor/ir"
	"tcdbg/ops"
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
	ops.Where:               where,
	ops.Mm:                  mm("mat2"),
	ops.Bmm:                 mm("mat2"),
	ops.Matmul:              mm("other"),
	ops.Addmm:               addmm,
	ops.Linear:              linear,
	ops.Convolution:         convolution,
	ops.ConvolutionBackward: convolutionBack,
	ops.Softmax:             softmax,
	ops.LayerNorm:           layerNorm,
	ops.Reshape:             reshape,
	ops.Contiguous:          maybeCopy,
	ops.Clone:               clone,
	ops.To:                  maybeCopy,
	ops.ToCopy:              clone,
	ops.Copy:                copySource,
	ops.Flip:                flip,
	ops.Cat:                 cat,
	ops.SliceScatter:        sliceScatter,
	ops.SelectScatter:       selectScatter,
	ops.Full:                full,
	ops.FullLike:            full,
	ops.Zeros:               constant(0),
	ops.Ones:                constant(1),
	ops.Empty:               constant(0),
	ops.Arange:              arange,
	ops.Linspace:            linspace,
	ops.EmptyLike:           constant(0),

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
	ops.AdaptiveMaxPool1dIndices: adaptiveMax(1), ops.AdaptiveMaxPool2dIndices: adaptiveMax(2),
	ops.AdaptiveMaxPool3dIndices: adaptiveMax(3),
}

// Decomposed is g, or a copy of it in which every call without a lowering is replaced
// by what it decomposes into. What aot gives has none of these.
func Decomposed(g *graph.Graph) *graph.Graph {
	if !slices.ContainsFunc(g.Nodes(), unlowered) {
		return g
	}
	g, _ = g.Clone(g.Name)
	decompose.Expand(g, unlowered)
	return g
}

// unlowered reports whether a call has a decomposition and no lowering.
func unlowered(n *graph.Node) bool {
	row := n.OpRow()
	return row != nil && row.Decompose != nil && lowerings()[n.Op] == nil &&
		!row.Tags.Has(ops.TagView) && !row.Tags.Has(ops.TagInPlace)
}
