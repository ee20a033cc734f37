// Package data is torch.utils.data: data sets and loaders that make batches of
// them.
//
// It is a source package: the interpreter runs it from source. It imports
// torch and torch/kw only. Open this file first, then loader.go.
package data

import (
	"fmt"

	"tcdbg/torch"
)

// Dataset is a list of samples, each a list of tensors.
type Dataset interface {
	Len() int
	Get(i int) []*torch.Tensor
}

// TensorDataset is the rows of tensors of equal length.
type TensorDataset struct{ Tensors []*torch.Tensor }

// NewTensorDataset makes a TensorDataset.
func NewTensorDataset(tensors ...*torch.Tensor) *TensorDataset {
	for _, t := range tensors {
		if t.Size(0) != tensors[0].Size(0) {
			panic(&torch.Error{Op: "TensorDataset", Kind: "AssertionError", Msg: "Size mismatch between tensors"})
		}
	}
	return &TensorDataset{tensors}
}

// Len is the number of rows.
func (d *TensorDataset) Len() int { return d.Tensors[0].Size(0) }

// Get returns row i of each tensor.
func (d *TensorDataset) Get(i int) []*torch.Tensor {
	out := make([]*torch.Tensor, len(d.Tensors))
	for k, t := range d.Tensors {
		out[k] = t.Select(0, i)
	}
	return out
}

// Subset is some samples of a data set.
type Subset struct {
	Dataset Dataset
	Indices []int
}

// Len is the number of samples.
func (s *Subset) Len() int { return len(s.Indices) }

// Get returns sample i of the subset.
func (s *Subset) Get(i int) []*torch.Tensor { return s.Dataset.Get(s.Indices[i]) }

// RandomSplit divides a data set at random into parts of the given lengths.
func RandomSplit(d Dataset, lengths ...int) []*Subset {
	total := 0
	for _, n := range lengths {
		total += n
	}
	if total != d.Len() {
		panic(&torch.Error{Op: "random_split", Kind: "ValueError", Msg: fmt.Sprintf("Sum of input lengths does not equal the length of the input dataset: %d and %d", total, d.Len())})
	}
	order := torch.DefaultGenerator().Perm(total)
	var out []*Subset
	for _, n := range lengths {
		out = append(out, &Subset{d, order[:n]})
		order = order[n:]
	}
	return out
}
