// This program is our side of `make bench-imported`: a model that PyTorch exported, or the same model written in Go, with the
// same weights. Arguments: "imported" or "written", FOLDER, NAME. It answers each line of standard input: to "first" with the
// milliseconds of the first call and how far its result is from PyTorch's, of the largest number there; to a number with
// the least milliseconds of as many calls.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"tcdbg/internal/test/modeltest/zoo"
	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/models"
	"tcdbg/torch/nn"
)

// module is a model of one tensor.
type module interface {
	Forward(x *torch.Tensor) *torch.Tensor
}

// written makes a model in Go.
func written(name string) module {
	switch name {
	case "resnet34":
		return models.ResNet34()
	case "resnext50_32x4d":
		return models.ResNeXt50_32x4d()
	case "wide_resnet50_2":
		return models.WideResNet50_2()
	case "densenet169":
		return models.DenseNet169()
	case "mobilenet_v3_large":
		return models.MobileNetV3Large()
	case "vgg13_bn":
		return models.VGG13(kw.BatchNorm(true))
	case "efficientnet_b1":
		return models.EfficientNetB1()
	case "squeezenet1_0":
		return models.SqueezeNet1_0()
	case "convnext_small":
		return models.ConvNeXtSmall()
	case "vit_b_32":
		return models.ViTB32()
	case "mistral":
		c := models.DefaultLlamaConfig()
		c.HiddenSize, c.IntermediateSize, c.NumHiddenLayers, c.VocabSize = 256, 512, 2, 1000
		c.NumAttentionHeads, c.NumKeyValueHeads = 8, 4
		return models.NewLlamaForCausalLM(c)
	case "t5_gated":
		c := models.DefaultT5Config()
		c.NumLayers, c.DModel, c.DFf, c.DKv, c.NumHeads, c.VocabSize, c.FeedForwardProj = 2, 256, 512, 32, 8, 500, "gated-gelu"
		return models.NewT5EncoderModel(c)
	}
	return zoo.Builds()[name].Make().(module)
}

// state are the weights of an exported program by the names that the model has in Go.
func state(p *torch.ExportedProgram) map[string]*torch.Tensor {
	out := map[string]*torch.Tensor{}
	for name, t := range p.StateDict() {
		out[strings.TrimPrefix(name, "wrapped.")] = t.Detach().Clone()
	}
	return out
}

// call makes the call that is timed, and the result that PyTorch has for it.
func call(how, folder, name string) (run func() *torch.Tensor, want *torch.Tensor, err error) {
	p, err := torch.LoadExported(folder + "/" + name + ".pt2")
	if err != nil {
		return nil, nil, err
	}
	recorded, err := torch.Load(folder + "/" + name + ".pt")
	if err != nil {
		return nil, nil, err
	}
	x, want := recorded.([]any)[0].(*torch.Tensor), recorded.([]any)[1].(*torch.Tensor)
	if how == "imported" {
		return func() *torch.Tensor { return p.Call(x)[0].(*torch.Tensor) }, want, nil
	}
	m := written(name)
	if err := nn.LoadStateDict(m, state(p), kw.Strict(false)); err != nil {
		return nil, nil, err
	}
	nn.Eval(m)
	fast := torch.Compile(m.Forward)
	return func() *torch.Tensor { return fast(x) }, want, nil
}

func main() {
	run, want, err := call(os.Args[1], os.Args[2], os.Args[3])
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	in := bufio.NewScanner(os.Stdin)
	torch.NoGrad(func() {
		for in.Scan() {
			calls, _ := strconv.Atoi(in.Text())
			least, last := timed(run, max(calls, 1))
			if calls == 0 {
				apart := last.Sub(want).Abs().Max().Item() / want.Abs().Max().Item()
				fmt.Println(least, apart)
			} else {
				fmt.Println(least)
			}
		}
	})
}

// timed is the least milliseconds of some calls, and the last result.
func timed(run func() *torch.Tensor, calls int) (least float64, last *torch.Tensor) {
	for i := range calls {
		start := time.Now()
		last = run()
		if ms := float64(time.Since(start).Nanoseconds()) / 1e6; i == 0 || ms < least {
			least = ms
		}
	}
	return least, last
}
