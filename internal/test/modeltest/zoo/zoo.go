// Package zoo makes the models of which PyTorch's answers are recorded, and puts
// them in the modes in which they were recorded. Programs under the interpreter
// use it too, so it imports torch's packages alone. Open this file first.
package zoo

import (
	"strings"

	"tcdbg/torch"
	"tcdbg/torch/models"
	"tcdbg/torch/nn"
)

// Build says how to make the model of a record.
type Build struct {
	Make  func() nn.Module
	Vocab int // for models that read tokens
	Slow  bool
	// Noise is how far gradients and the loss after a step may be off, where
	// float32 does not determine them to 1e-3.
	Noise float64
}

// Builds are the models of the records.
func Builds() map[string]Build {
	return map[string]Build{
		"resnet18": {Make: func() nn.Module { return models.ResNet18() }},
		// Eight values a channel in the last stage: PyTorch's own float64 gradients,
		// and its float32 ones without oneDNN, are 0.7% from the recorded ones.
		"resnet50":           {Make: func() nn.Module { return models.ResNet50() }, Slow: true, Noise: 1e-2},
		"densenet121":        {Make: func() nn.Module { return models.DenseNet121() }, Slow: true},
		"mobilenet_v3_small": {Make: func() nn.Module { return models.MobileNetV3Small() }},
		"vit_b_16":           {Make: func() nn.Module { return models.ViTB16() }, Slow: true},
		"vgg11":              {Make: func() nn.Module { return models.VGG11() }, Slow: true},
		"efficientnet_b0":    {Make: func() nn.Module { return models.EfficientNetB0() }, Slow: true},
		"squeezenet1_1":      {Make: func() nn.Module { return models.SqueezeNet1_1() }},
		"convnext_tiny":      {Make: func() nn.Module { return models.ConvNeXtTiny() }, Slow: true},
		"bert_base_2l": {Vocab: 30522, Make: func() nn.Module {
			c := models.DefaultBertConfig()
			c.NumHiddenLayers = 2
			return models.NewBertModel(c)
		}},
		"gpt2_2l":    {Vocab: 50257, Make: func() nn.Module { return GPT2() }},
		"llama_tiny": {Vocab: 1000, Make: func() nn.Module { return LlamaTiny() }},
		"t5_tiny": {Vocab: 500, Make: func() nn.Module {
			c := models.DefaultT5Config()
			c.NumLayers, c.DModel, c.DFf, c.DKv, c.NumHeads, c.VocabSize = 2, 64, 128, 16, 4, 500
			return models.NewT5EncoderModel(c)
		}},
	}
}

// GPT2 is the GPT-2 of two layers.
func GPT2() *models.GPT2LMHeadModel {
	c := models.DefaultGPT2Config()
	c.NLayer = 2
	return models.NewGPT2LMHeadModel(c)
}

// LlamaTiny is the LLaMA of the records.
func LlamaTiny() *models.LlamaForCausalLM {
	c := models.DefaultLlamaConfig()
	c.HiddenSize, c.IntermediateSize, c.NumHiddenLayers, c.VocabSize = 128, 352, 2, 1000
	c.NumAttentionHeads, c.NumKeyValueHeads = 8, 4
	return models.NewLlamaForCausalLM(c)
}

// Recorded is training mode as the records were made: without dropout, but for
// that of transformers' attention, which is no module there and stayed on. It
// draws from the generator where making the model left it.
func Recorded(m any) {
	nn.Train(m)
	nn.Walk(m, func(name string, part any) {
		switch p := part.(type) {
		case *nn.Dropout:
			p.SetTraining(inAttention(name))
		case *models.StochasticDepth:
			p.SetTraining(false)
		}
	})
}

func inAttention(name string) bool {
	for _, end := range []string{"attention.self.dropout", "attn.attn_dropout", "SelfAttention.dropout"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// Loss is the mean square of an output.
func Loss(y *torch.Tensor) *torch.Tensor { return y.Square().Mean() }
