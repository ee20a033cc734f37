package backends

import "testing"

// This file compares complex numbers in graphs with PyTorch's answers
// (testdata/complex/make.py): values and gradients under each backend, and the captured graph.

func TestComplexAgrees(t *testing.T) { readFlowAnswers(t, "complex").agree(t, 12) }

func TestComplexPrintsAlike(t *testing.T) { readFlowAnswers(t, "complex").printAlike(t) }
