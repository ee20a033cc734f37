package zoo

import (
	"tcdbg/torch/kw"
	"tcdbg/torch/models"
	"tcdbg/torch/nn"
)

// This file makes the models of testdata/variants.json.gz and full.json.gz:
// other sizes and settings of the same models, and whole ones.

// Variants are the models of testdata/variants.json.gz.
func Variants() map[string]Build {
	return map[string]Build{
		"resnet34": {Make: func() nn.Module { return models.ResNet34(kw.NumClasses(10)) }},
		"resnet_groups": {Make: func() nn.Module {
			return models.NewResNet(models.Bottlenecks, []int{1, 2, 1, 1}, kw.NumClasses(7), kw.Groups(4), kw.WidthPerGroup(8))
		}, Noise: 1e-2},
		"wide_resnet": {Make: func() nn.Module {
			return models.NewResNet(models.Bottlenecks, []int{1, 1, 1, 1}, kw.NumClasses(12), kw.WidthPerGroup(128))
		}},
		"densenet_small": {Make: func() nn.Module {
			return models.NewDenseNet(12, []int{2, 3, 2, 2}, 24, kw.BnSize(3), kw.NumClasses(9))
		}},
		"mobilenet_v3_large": {Make: func() nn.Module { return models.MobileNetV3Large(kw.NumClasses(11)) }},
		"mobilenet_v3_half":  {Make: func() nn.Module { return models.MobileNetV3Small(kw.WidthMult(0.5)) }},
		"vit_small":          {Make: func() nn.Module { return models.NewVisionTransformer(48, 8, 3, 4, 64, 96, kw.NumClasses(10)) }},
		"vit_representation": {Make: func() nn.Module {
			return models.NewVisionTransformer(32, 16, 2, 2, 32, 64, kw.NumClasses(5), kw.RepresentationSize(24))
		}},
		"vgg13_bn":        {Make: func() nn.Module { return models.VGG13(kw.BatchNorm(true), kw.NumClasses(10)) }, Slow: true},
		"efficientnet_b1": {Make: func() nn.Module { return models.EfficientNetB1(kw.NumClasses(10)) }, Slow: true, Noise: 1e-2},
		"squeezenet1_0":   {Make: func() nn.Module { return models.SqueezeNet1_0(kw.NumClasses(10)) }},
		"convnext_small_stages": {Make: func() nn.Module {
			return models.NewConvNeXt([]int{16, 32, 64}, []int{2, 1, 2}, kw.LayerScale(0.5), kw.NumClasses(10))
		}},
		"bert_small": bertOf(300, func(c *models.BertConfig) {
			c.HiddenSize, c.NumHiddenLayers, c.NumAttentionHeads, c.IntermediateSize = 48, 3, 4, 80
			c.MaxPositionEmbeddings, c.TypeVocabSize = 40, 3
		}),
		"bert_relu": bertOf(100, func(c *models.BertConfig) {
			c.HiddenSize, c.NumHiddenLayers, c.NumAttentionHeads, c.IntermediateSize = 32, 1, 2, 64
			c.HiddenAct, c.LayerNormEps = "relu", 1e-6
		}),
		"gpt2_small": gpt2Of(200, func(c *models.GPT2Config) { c.NEmbd, c.NLayer, c.NHead, c.NPositions = 48, 3, 3, 32 }),
		"gpt2_inner": gpt2Of(150, func(c *models.GPT2Config) {
			c.NEmbd, c.NLayer, c.NHead, c.NInner = 32, 2, 4, 80
			c.ActivationFunction, c.ScaleAttnByInverseLayerIdx = "relu", true
		}),
		"llama_heads": llamaOf(250, func(c *models.LlamaConfig) {
			c.HiddenSize, c.IntermediateSize, c.NumHiddenLayers = 64, 96, 3
			c.NumAttentionHeads, c.NumKeyValueHeads, c.RmsNormEps = 4, 1, 1e-5
		}),
		"llama_biased": llamaOf(120, func(c *models.LlamaConfig) {
			c.HiddenSize, c.IntermediateSize, c.NumHiddenLayers = 48, 64, 2
			c.NumAttentionHeads, c.NumKeyValueHeads, c.HeadDim = 3, 0, 8
			c.AttentionBias, c.MlpBias, c.HiddenAct, c.TieWordEmbeddings = true, true, "gelu", true
		}),
		"t5_gated": t5Of(200, func(c *models.T5Config) {
			c.NumLayers, c.DModel, c.DFf, c.DKv, c.NumHeads = 3, 48, 64, 8, 6
			c.FeedForwardProj = "gated-gelu"
		}),
		"t5_buckets": t5Of(90, func(c *models.T5Config) {
			c.NumLayers, c.DModel, c.DFf, c.DKv, c.NumHeads = 2, 32, 64, 16, 2
			c.RelativeAttentionNumBuckets, c.RelativeAttentionMaxDistance = 16, 20
		}),
	}
}

// Full are the models of testdata/full.json.gz.
func Full() map[string]Build {
	return map[string]Build{
		"bert_base": bertOf(30522, func(*models.BertConfig) {}),
		"gpt2":      gpt2Of(50257, func(*models.GPT2Config) {}),
		"vit_b_16":  {Make: func() nn.Module { return models.ViTB16() }},
	}
}

// The records of language models were made without any dropout.

func bertOf(vocab int, set func(c *models.BertConfig)) Build {
	return Build{Vocab: vocab, Make: func() nn.Module {
		c := models.DefaultBertConfig()
		c.VocabSize, c.HiddenDropoutProb, c.AttentionProbsDropoutProb = vocab, 0, 0
		set(&c)
		return models.NewBertModel(c)
	}}
}

func gpt2Of(vocab int, set func(c *models.GPT2Config)) Build {
	return Build{Vocab: vocab, Make: func() nn.Module {
		c := models.DefaultGPT2Config()
		c.VocabSize, c.ResidPdrop, c.EmbdPdrop, c.AttnPdrop = vocab, 0, 0, 0
		set(&c)
		return models.NewGPT2LMHeadModel(c)
	}}
}

func llamaOf(vocab int, set func(c *models.LlamaConfig)) Build {
	return Build{Vocab: vocab, Make: func() nn.Module {
		c := models.DefaultLlamaConfig()
		c.VocabSize = vocab
		set(&c)
		return models.NewLlamaForCausalLM(c)
	}}
}

func t5Of(vocab int, set func(c *models.T5Config)) Build {
	return Build{Vocab: vocab, Make: func() nn.Module {
		c := models.DefaultT5Config()
		c.VocabSize, c.DropoutRate = vocab, 0
		set(&c)
		return models.NewT5EncoderModel(c)
	}}
}

// Scaled are the LLaMAs of testdata/rope.json.gz, with stretched positions.
func Scaled() map[string]Build {
	of := func(r models.RopeScaling) Build {
		return llamaOf(250, func(c *models.LlamaConfig) {
			c.HiddenSize, c.IntermediateSize, c.NumHiddenLayers = 64, 96, 2
			c.NumAttentionHeads, c.NumKeyValueHeads, c.MaxPositionEmbeddings, c.RopeScaling = 4, 2, 16, r
		})
	}
	return map[string]Build{
		"llama_linear":  of(models.RopeScaling{Type: "linear", Factor: 4}),
		"llama_dynamic": of(models.RopeScaling{Type: "dynamic", Factor: 2}),
		"llama_llama3": of(models.RopeScaling{
			Type: "llama3", Factor: 8, LowFreqFactor: 1, HighFreqFactor: 4, OriginalMaxPositionEmbeddings: 64,
		}),
	}
}

// Group is the models of one file of records.
func Group(name string) map[string]Build {
	switch name {
	case "models":
		return Builds()
	case "variants":
		return Variants()
	case "full":
		return Full()
	case "rope":
		return Scaled()
	}
	panic("no group of models named " + name)
}
