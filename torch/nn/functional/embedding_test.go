package functional_test

import (
	"fmt"
	"strings"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	F "tcdbg/torch/nn/functional"
)

// TestEmbeddingShortensWhatItLooksUp holds which rows kw.MaxNorm changes, in the
// table itself and past the tape.
func TestEmbeddingShortensWhatItLooksUp(t *testing.T) {
	w := torch.NewTensor([][]float64{{3, 4}, {0.3, 0.4}, {6, 8}, {0, 2}}, kw.Dtype(torch.Float64)).RequiresGrad_()
	y := F.Embedding(torch.NewTensor([]int{0, 1, 3}), w, kw.MaxNorm(1))
	if s := fmt.Sprint(w.Detach()); s != "tensor([[0.6000, 0.8000],\n        [0.3000, 0.4000],\n        [6.0000, 8.0000],\n        "+
		"[0.0000, 1.0000]], dtype=torch.float64)" {
		t.Errorf("the table is %s", s)
	}
	y.Sum().Backward()
	if s := fmt.Sprint(w.Grad().Sum(kw.Dim(1)).Float64s()); s != "[2 2 0 2]" {
		t.Errorf("the gradient is %s", s)
	}
	defer func() {
		if e, ok := recover().(*torch.Error); !ok || !strings.Contains(e.Msg, "argument 'max_norm' must be float, not string") {
			t.Errorf("got %v", e)
		}
	}()
	F.Embedding(torch.NewTensor([]int{0}), w, kw.MaxNorm("one"))
}
