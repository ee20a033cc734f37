package nn

import (
	"tcdbg/torch"
	"tcdbg/torch/kw"
	F "tcdbg/torch/nn/functional"
)

// This file is distances of vectors.

// CosineSimilarity compares the directions of vectors.
type CosineSimilarity struct {
	Dim int
	Eps float64
}

// NewCosineSimilarity makes a CosineSimilarity. Options: kw.Dim(1),
// kw.Eps(1e-8).
func NewCosineSimilarity(opts ...torch.Option) *CosineSimilarity {
	known("CosineSimilarity", opts, "dim", "eps")
	return &CosineSimilarity{option(opts, "dim", 1), option(opts, "eps", 1e-8)}
}

// Forward compares a and b.
func (c *CosineSimilarity) Forward(a, b *torch.Tensor) *torch.Tensor {
	return F.CosineSimilarity(a, b, kw.Dim(c.Dim), kw.Eps(c.Eps))
}

// PairwiseDistance is the distance of vectors.
type PairwiseDistance struct {
	P, Eps  float64
	Keepdim bool
}

// NewPairwiseDistance makes a PairwiseDistance. Options: kw.P(2.0),
// kw.Eps(1e-6), kw.Keepdim(false).
func NewPairwiseDistance(opts ...torch.Option) *PairwiseDistance {
	known("PairwiseDistance", opts, "p", "eps", "keepdim")
	return &PairwiseDistance{option(opts, "p", 2.0), option(opts, "eps", 1e-6), option(opts, "keepdim", false)}
}

// Forward measures from a to b.
func (d *PairwiseDistance) Forward(a, b *torch.Tensor) *torch.Tensor {
	return F.PairwiseDistance(a, b, kw.P(d.P), kw.Eps(d.Eps), kw.Keepdim(d.Keepdim))
}
