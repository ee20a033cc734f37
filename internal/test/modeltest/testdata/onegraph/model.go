// onegraph compiles the model that its argument names under Fullgraph, which
// refuses any break, and compares what it gives with the eager model; with a
// third argument, how far apart they may be, the gradients of a loss too.
package main

import (
	"fmt"
	"os"
	"strconv"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/models"
	"tcdbg/torch/nn"
)

func image(size int) *torch.Tensor { return torch.Randn(2, 3, size, size) }

func tokens(vocab int) *torch.Tensor { return torch.Randint(0, vocab, []int{2, 16}) }

// build makes a model and an input for it. Language models are small: their
// graphs are those of the large ones.
func build(name string) (nn.Module, *torch.Tensor) {
	switch name {
	case "resnet18":
		return models.ResNet18(), image(64)
	case "resnet50":
		return models.ResNet50(), image(64)
	case "densenet121":
		return models.DenseNet121(), image(64)
	case "mobilenet_v3_small":
		return models.MobileNetV3Small(), image(64)
	case "vit_b_16":
		return models.ViTB16(), image(224)
	case "vgg11":
		return models.VGG11(), image(64)
	case "efficientnet_b0":
		return models.EfficientNetB0(), image(64)
	case "squeezenet1_1":
		return models.SqueezeNet1_1(), image(64)
	case "convnext_tiny":
		return models.ConvNeXtTiny(), image(64)
	case "bert":
		c := models.DefaultBertConfig()
		c.NumHiddenLayers, c.HiddenSize, c.IntermediateSize, c.VocabSize = 2, 96, 192, 500
		return models.NewBertModel(c), tokens(500)
	case "gpt2":
		c := models.DefaultGPT2Config()
		c.NLayer, c.NEmbd, c.VocabSize = 2, 96, 500
		return models.NewGPT2LMHeadModel(c), tokens(500)
	case "llama":
		c := models.DefaultLlamaConfig()
		c.NumHiddenLayers, c.HiddenSize, c.IntermediateSize, c.VocabSize = 2, 128, 352, 500
		c.NumAttentionHeads, c.NumKeyValueHeads = 8, 4
		return models.NewLlamaForCausalLM(c), tokens(500)
	case "t5":
		c := models.DefaultT5Config()
		c.NumLayers, c.DModel, c.DFf, c.DKv, c.NumHeads, c.VocabSize = 2, 64, 128, 16, 4, 500
		return models.NewT5EncoderModel(c), tokens(500)
	}
	panic("no model named " + name)
}

func main() {
	name, backend := os.Args[1], os.Args[2]
	torch.ManualSeed(0)
	m, x := build(name)
	nn.Eval(m)
	fast := torch.Compile(m.Forward, kw.Fullgraph(true), kw.Backend(backend))
	torch.NoGrad(func() {
		want, got := m.Forward(x), fast(x)
		agree("agrees", got, want, 1e-4)
	})
	if len(os.Args) > 3 {
		tolerance, err := strconv.ParseFloat(os.Args[3], 64)
		if err != nil {
			panic(err)
		}
		train(m, x, backend, tolerance)
	}
}

// train compares the gradients of a loss of the compiled and the eager model.
// Dropout is off, which would draw other numbers in the second call.
func train(m nn.Module, x *torch.Tensor, backend string, tolerance float64) {
	nn.Train(m)
	nn.Walk(m, func(_ string, part any) {
		switch p := part.(type) {
		case *nn.Dropout:
			p.SetTraining(false)
		case *models.StochasticDepth:
			p.SetTraining(false)
		}
	})
	loss := func(x *torch.Tensor) *torch.Tensor { return m.Forward(x).Square().Mean() }
	want := gradients(m, loss(x))
	got := gradients(m, torch.Compile(loss, kw.Fullgraph(true), kw.Backend(backend))(x))
	agree("trains", got, want, tolerance)
}

// gradients are the norms of the parameters' gradients of a loss.
func gradients(m any, loss *torch.Tensor) *torch.Tensor {
	nn.ZeroGrad(m)
	loss.Backward()
	var norms []*torch.Tensor
	for _, p := range nn.Parameters(m) {
		if p.Grad() != nil {
			norms = append(norms, p.Grad().Norm())
		}
	}
	return torch.Stack(norms)
}

// agree says whether two tensors are close in units of the largest value.
func agree(what string, got, want *torch.Tensor, tolerance float64) {
	off := got.Sub(want).Abs().Max().Item() / (1e-6 + want.Abs().Max().Item())
	fmt.Println(what+":", off < tolerance)
	if !(off < tolerance) {
		fmt.Println("relative difference", off)
	}
}
