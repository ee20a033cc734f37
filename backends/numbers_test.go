package backends

import "testing"

// This file compares numbers that come out of data with PyTorch's answers
// (testdata/numbers/make.py): values and gradients under each backend, and the captured graph.

func numberAnswers(t *testing.T) *flowAnswers {
	a := readFlowAnswers(t, "numbers")
	a.setup = "compiler.Configure(func(s *compiler.Settings) { s.CaptureScalarOutputs, s.CaptureDynamicOutputShapeOps = true, true })"
	return a
}

func TestNumbersAgree(t *testing.T) { numberAnswers(t).agree(t, 12) }

func TestNumbersPrintAlike(t *testing.T) { numberAnswers(t).printAlike(t) }
