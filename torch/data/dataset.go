// Package data is torch.utils.data: data sets and loaders that make batches of
// them.
//
// It is a source package: the interpreter runs it from source. It imports
// torch and torch/kw only. Open this file first, then loader.go.
package data

import (
	"fmt"
	"sort"

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

// StackDataset is data sets side by side: a sample has the tensors of all.
type StackDataset struct{ Datasets []Dataset }

// NewStackDataset makes a StackDataset of data sets of equal length.
func NewStackDataset(sets ...Dataset) *StackDataset {
	if len(sets) == 0 {
		panic(&torch.Error{Op: "StackDataset", Kind: "ValueError", Msg: "At least one dataset should be passed"})
	}
	for _, d := range sets {
		if d.Len() != sets[0].Len() {
			panic(&torch.Error{Op: "StackDataset", Kind: "ValueError", Msg: "Size mismatch between datasets"})
		}
	}
	return &StackDataset{sets}
}

// Len is the number of samples.
func (s *StackDataset) Len() int { return s.Datasets[0].Len() }

// Get returns sample i of each data set.
func (s *StackDataset) Get(i int) []*torch.Tensor {
	var out []*torch.Tensor
	for _, d := range s.Datasets {
		out = append(out, d.Get(i)...)
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

// ConcatDataset is data sets one after the other.
type ConcatDataset struct {
	Datasets []Dataset
	ends     []int // where each ends
}

// NewConcatDataset makes a ConcatDataset.
func NewConcatDataset(sets ...Dataset) *ConcatDataset {
	if len(sets) == 0 {
		panic(&torch.Error{Op: "ConcatDataset", Kind: "AssertionError", Msg: "datasets should not be an empty iterable"})
	}
	c := &ConcatDataset{Datasets: sets}
	total := 0
	for _, d := range sets {
		total += d.Len()
		c.ends = append(c.ends, total)
	}
	return c
}

// Len is the number of samples of all.
func (c *ConcatDataset) Len() int { return c.ends[len(c.ends)-1] }

// Get returns sample i; a negative one counts from the end.
func (c *ConcatDataset) Get(i int) []*torch.Tensor {
	if i < 0 {
		if -i > c.Len() {
			panic(&torch.Error{Op: "ConcatDataset", Kind: "ValueError", Msg: "absolute value of index should not exceed dataset length"})
		}
		i += c.Len()
	}
	k := sort.SearchInts(c.ends, i+1)
	if k > 0 {
		i -= c.ends[k-1]
	}
	return c.Datasets[k].Get(i)
}

// RandomSplit divides a data set at random into parts of the given lengths.
func RandomSplit(d Dataset, lengths ...int) []*Subset {
	return RandomSplitFrom(torch.DefaultGenerator(), d, lengths...)
}

// RandomSplitFrom is RandomSplit that draws from a generator.
func RandomSplitFrom(g *torch.Generator, d Dataset, lengths ...int) []*Subset {
	total := 0
	for _, n := range lengths {
		total += n
	}
	if total != d.Len() {
		panic(&torch.Error{
			Op: "random_split", Kind: "ValueError",
			Msg: fmt.Sprintf("Sum of input lengths does not equal the length of the input dataset: %d and %d", total, d.Len()),
		})
	}
	order := g.Perm(total)
	var out []*Subset
	for _, n := range lengths {
		out = append(out, &Subset{d, order[:n]})
		order = order[n:]
	}
	return out
}
