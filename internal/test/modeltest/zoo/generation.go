package zoo

import (
	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/models"
)

// Generation is a model that goes on with a prompt of 8 tokens.
type Generation struct {
	Model models.CausalLM
	Vocab int
	Opts  []torch.Option
}

// Generate takes 32 tokens at most, after the first columns of an input, by a
// step that runs the model's.
func (g Generation) Generate(step models.CausalLM, input *torch.Tensor) *torch.Tensor {
	return models.Generate(step, input.Narrow(1, 0, 8), 32, g.Opts...)
}

// Generations are the texts of testdata/generated.json.
func Generations() map[string]func() Generation {
	llama := func(opts ...torch.Option) func() Generation {
		return func() Generation { return Generation{LlamaTiny(), 1000, opts} }
	}
	return map[string]func() Generation{
		"gpt2_2l":             func() Generation { return Generation{GPT2(), 50257, nil} },
		"llama_tiny":          llama(),
		"llama_tiny_one_ends": llama(kw.EosTokenId(36)),
		"llama_tiny_ends":     llama(kw.EosTokenId([]int{36, 893}), kw.PadTokenId(7)),
		"llama_tiny_both_end": llama(kw.EosTokenId([]int{107, 124}), kw.PadTokenId(0)),
	}
}
