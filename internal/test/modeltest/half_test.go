package modeltest

import (
	"testing"

	"tcdbg/internal/test/modeltest/zoo"
	"tcdbg/torch"
	"tcdbg/torch/nn"
)

// TestTextModelsInHalfPrecision: models that read tokens run with weights of half precision, as transformers' do: what they
// make of float32 themselves, as angles of positions, takes the type of the text. Results are those of float32 but for rounding.
func TestTextModelsInHalfPrecision(t *testing.T) {
	for _, name := range []string{"gpt2_2l", "llama_tiny", "t5_tiny", "bert_base_2l"} {
		b := zoo.Builds()[name]
		torch.ManualSeed(0)
		m := b.Make()
		nn.Eval(m)
		ids := torch.Randint(0, b.Vocab, []int{2, 9})
		torch.NoGrad(func() {
			want := m.Forward(ids)
			for _, d := range []torch.DType{torch.Bfloat16, torch.Float16} {
				half := b.Make()
				if err := nn.LoadStateDict(half, nn.StateDict(m)); err != nil {
					t.Fatal(err)
				}
				nn.Eval(half)
				nn.To(half, d)
				got := half.Forward(ids)
				apart := got.To(torch.Float32).Sub(want).Abs().Max().Item() / want.Abs().Max().Item()
				if got.DType() != d || !(apart < 0.05) {
					t.Errorf("%s of %v: a result of %v, %g of float32's apart", name, d, got.DType(), apart)
				}
			}
		})
	}
}
