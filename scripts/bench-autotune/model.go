// This program times the thirteen models of the records, in evaluation, under mode default and under others, in turns
// in one process, and prints a table: the least time of a call under each, and what default takes of it. Its arguments
// are the seconds for each model and names of models; without names all run.
package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/models"
	"tcdbg/torch/nn"
)

// Module is a model of one tensor.
type Module interface {
	Forward(x *torch.Tensor) *torch.Tensor
}

// workload is a model and its input.
type workload struct {
	name string
	make func() (Module, *torch.Tensor)
}

func image(size int) *torch.Tensor { return torch.Randn(2, 3, size, size) }

func words(vocabulary int) *torch.Tensor { return torch.Randint(0, vocabulary, []int{2, 16}) }

func llama() Module {
	c := models.DefaultLlamaConfig()
	c.VocabSize, c.HiddenSize, c.IntermediateSize = 1000, 128, 352
	c.NumHiddenLayers, c.NumAttentionHeads, c.NumKeyValueHeads = 2, 8, 4
	return models.NewLlamaForCausalLM(c)
}

func bert() Module {
	c := models.DefaultBertConfig()
	c.NumHiddenLayers = 2
	return models.NewBertModel(c)
}

func gpt2() Module {
	c := models.DefaultGPT2Config()
	c.NLayer = 2
	return models.NewGPT2LMHeadModel(c)
}

func t5() Module {
	c := models.DefaultT5Config()
	c.NumLayers, c.DModel, c.DFf, c.DKv, c.NumHeads, c.VocabSize = 2, 64, 128, 16, 4, 500
	return models.NewT5EncoderModel(c)
}

var workloads = []workload{
	{"resnet18", func() (Module, *torch.Tensor) { return models.ResNet18(), image(64) }},
	{"resnet50", func() (Module, *torch.Tensor) { return models.ResNet50(), image(64) }},
	{"densenet121", func() (Module, *torch.Tensor) { return models.DenseNet121(), image(64) }},
	{"mobilenet_v3_small", func() (Module, *torch.Tensor) { return models.MobileNetV3Small(), image(64) }},
	{"vit_b_16", func() (Module, *torch.Tensor) { return models.ViTB16(), image(224) }},
	{"vgg11", func() (Module, *torch.Tensor) { return models.VGG11(), image(64) }},
	{"efficientnet_b0", func() (Module, *torch.Tensor) { return models.EfficientNetB0(), image(64) }},
	{"squeezenet1_1", func() (Module, *torch.Tensor) { return models.SqueezeNet1_1(), image(64) }},
	{"convnext_tiny", func() (Module, *torch.Tensor) { return models.ConvNeXtTiny(), image(64) }},
	{"bert_base_2l", func() (Module, *torch.Tensor) { return bert(), words(30522) }},
	{"gpt2_2l", func() (Module, *torch.Tensor) { return gpt2(), words(50257) }},
	{"llama_tiny", func() (Module, *torch.Tensor) { return llama(), words(1000) }},
	{"t5_tiny", func() (Module, *torch.Tensor) { return t5(), words(500) }},
}

// modes are what is compared; the first is what the others are held against.
var modes = []string{"default", "max-autotune-no-cudagraphs", "max-autotune"}

// measured is what one model took under each mode.
type measured struct {
	first, least []time.Duration // [] /* mode */
	off          float64         // the largest difference of a result, of the largest number of default's
}

func main() {
	seconds, names := 2.0, []string{}
	for _, a := range os.Args[1:] {
		if s, err := strconv.ParseFloat(a, 64); err == nil {
			seconds = s
		} else {
			names = append(names, a)
		}
	}
	var ratios []float64
	fmt.Printf("%d threads; least ms of a call, in turns for %.1f s a model\n", torch.GetNumThreads(), seconds)
	fmt.Printf("%-20s %9s %9s %8s %9s %8s %9s %9s\n", "model", modes[0], "no-graphs", "ratio", "autotune", "ratio", "first, s", "off")
	for _, w := range workloads {
		if len(names) > 0 && !slices.Contains(names, w.name) {
			continue
		}
		torch.NoGrad(func() {
			m := measure(w, seconds)
			show(w.name, m)
			ratios = append(ratios, float64(m.least[0])/float64(m.least[2]))
		})
	}
	faster := 0
	for _, r := range ratios {
		if r >= 1.1 {
			faster++
		}
	}
	fmt.Printf("max-autotune: %d models, at least 1.1 times as fast on %d, the least ratio %.3f\n", len(ratios), faster, slices.Min(ratios))
}

func show(name string, m measured) {
	ms := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
	base := ms(m.least[0])
	fmt.Printf("%-20s %9.3f %9.3f %8.3f %9.3f %8.3f %9.2f %9.1e\n", name, base, ms(m.least[1]), base/ms(m.least[1]), ms(m.least[2]),
		base/ms(m.least[2]), m.first[1].Seconds(), m.off)
}

// measure times calls in turns.
func measure(w workload, seconds float64) measured {
	torch.ManualSeed(0)
	m, x := w.make()
	nn.Eval(m)
	var out measured
	var calls []func(x *torch.Tensor) *torch.Tensor
	var want *torch.Tensor
	for _, mode := range modes {
		f := torch.Compile(m.Forward, kw.Mode(mode))
		start := time.Now()
		got := f(x).Clone()
		out.first = append(out.first, time.Since(start))
		out.least = append(out.least, time.Hour)
		calls = append(calls, f)
		if want == nil {
			want = got
		}
		out.off = max(out.off, got.Sub(want).Abs().Max().Item()/max(1e-30, want.Abs().Max().Item()))
	}
	first := 0
	for end := time.Now().Add(time.Duration(seconds * 1e9)); time.Now().Before(end); first++ {
		out.round(calls, first%len(calls), x)
	}
	return out
}

// round times a few calls of each mode, from one of them on; the first call finds the caches of another.
func (m *measured) round(calls []func(x *torch.Tensor) *torch.Tensor, from int, x *torch.Tensor) {
	for n := range calls {
		i := (from + n) % len(calls)
		for range 8 {
			start := time.Now()
			calls[i](x)
			m.least[i] = min(m.least[i], time.Since(start))
		}
	}
}
