package layout

import (
	"tcdbg/inductor/ir"
	"tcdbg/ops/sym"
)

// perGroup is how many channels each group has of a convolution in groups whose image and result can be in blocks; 0 for
// any other. The runtime has windows of three columns, and groups that fill blocks together, or blocks that fill a group.
func perGroup(n *ir.Node) int64 {
	mm, c := n.MM, n.MM.Conv
	if c == nil || c.Lanes > 1 || len(n.Outer) != 4 || n.Depthwise() || c.ApartH > 0 || c.KW != 3 || c.DilW != 1 || c.StepW > 2 {
		return 0
	}
	per, known := n.Outer[2].IsConst()
	even := sym.Same(mm.AIdx.Coef[1], sym.Mul(mm.AIdx.Coef[2], n.Outer[2])) // filters follow one another
	if !known || per&(per-1) != 0 || !even || !sym.Is(mm.K, per*c.KH*c.KW) {
		return 0
	}
	return per
}
