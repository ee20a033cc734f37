// This program is our side of `make bench-peers`: it compiles a workload and times calls of it
// on request, so that a driver can measure its peers in between. A line of standard input is
// the name of a workload and either "first", whose answer is the time of building it and that
// of its first call, or a number of calls, whose answer is the time of each, in microseconds.
// The latest workload alone is kept. End of input ends it.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/models"
	"tcdbg/torch/nn"
	F "tcdbg/torch/nn/functional"
	"tcdbg/torch/optim"
)

// Module is a model of one tensor.
type Module interface {
	Forward(x *torch.Tensor) *torch.Tensor
}

// Encoder is the part of a BERT after its embeddings.
type Encoder struct{ Layer []*models.BertLayer }

// NewEncoder has so many layers of BERT-base.
func NewEncoder(layers int) *Encoder {
	return &Encoder{models.NewBertModel(models.DefaultBertConfig()).Encoder.Layer[:layers]}
}

// Forward takes float32[batch, time, hidden] to the same.
func (e *Encoder) Forward(x *torch.Tensor) *torch.Tensor {
	for _, l := range e.Layer {
		x = l.Forward(x, nil)
	}
	return x
}

func newMLP() *nn.Sequential {
	return nn.NewSequential(
		nn.NewLinear(784, 512), nn.NewReLU(), nn.NewLinear(512, 512), nn.NewReLU(), nn.NewLinear(512, 1000),
	)
}

func newGPT2() *models.GPT2LMHeadModel {
	return models.NewGPT2LMHeadModel(models.DefaultGPT2Config())
}

// newLlama is a LLaMA of TinyLlama's shape with 6 of its 22 layers.
func newLlama() *models.LlamaForCausalLM {
	c := models.DefaultLlamaConfig()
	c.HiddenSize, c.IntermediateSize, c.NumHiddenLayers, c.NumAttentionHeads, c.NumKeyValueHeads = 2048, 5632, 6, 32, 4
	return models.NewLlamaForCausalLM(c)
}

func silu(x, y *torch.Tensor) *torch.Tensor { return F.Silu(x).Mul(x).Add(y) }

func softmax(x *torch.Tensor) *torch.Tensor { return x.Softmax(-1) }

func layerNorm(x, w, b *torch.Tensor) *torch.Tensor {
	return F.LayerNorm(x, []int{4096}, kw.Weight(w), kw.Bias(b))
}

// whole has the steps of training captured in one graph each.
var whole bool

// autocast is inference under torch.Autocast to bfloat16.
func autocast(m Module, x *torch.Tensor) func() {
	call := inference(m, x)
	return func() { torch.Autocast(torch.Bfloat16, call) }
}

// inBfloat16 is inference of a model whose weights are of bfloat16.
func inBfloat16(m Module, x *torch.Tensor) func() {
	nn.To(m, torch.Bfloat16)
	if x.DType().IsFloat() {
		x = x.To(torch.Bfloat16)
	}
	return inference(m, x)
}

var overhead = kw.Mode("reduce-overhead")

// inference is calls of a model in evaluation.
func inference(m Module, x *torch.Tensor) func() {
	nn.Eval(m)
	fast := torch.Compile(m.Forward, overhead)
	return func() { fast(x) }
}

// workload makes one call of the named workload; nil where there is none.
func workload(name string) func() {
	if step, ok := strings.CutPrefix(name, "train_"); ok {
		step, whole = strings.CutSuffix(step, "_whole")
		return trainingWorkload(step)
	}
	switch name {
	case "tiny":
		fast, x := torch.Compile(softmax, overhead), torch.Randn(4, 4)
		return func() { fast(x) }
	case "mlp":
		return inference(newMLP(), torch.Randn(64, 784))
	case "mobilenet":
		return inference(models.MobileNetV3Small(), torch.Randn(2, 3, 224, 224))
	case "resnet":
		return inference(models.ResNet50(), torch.Randn(2, 3, 224, 224))
	case "densenet":
		return inference(models.DenseNet121(), torch.Randn(4, 3, 128, 128))
	case "vit":
		return inference(models.ViTB16(), torch.Randn(2, 3, 224, 224))
	case "mobilenet_large":
		return inference(models.MobileNetV3Large(), torch.Randn(2, 3, 224, 224))
	case "efficientnet":
		return inference(models.EfficientNetB0(), torch.Randn(2, 3, 224, 224))
	case "convnext":
		return inference(models.ConvNeXtTiny(), torch.Randn(2, 3, 224, 224))
	case "resnext":
		return inference(models.ResNeXt50_32x4d(), torch.Randn(2, 3, 224, 224))
	case "vgg":
		return inference(models.VGG11(), torch.Randn(2, 3, 224, 224))
	case "squeezenet":
		return inference(models.SqueezeNet1_1(), torch.Randn(2, 3, 224, 224))
	case "t5":
		return inference(models.NewT5EncoderModel(models.DefaultT5Config()), tokens())
	case "llama":
		return inference(newLlama(), tokens())
	case "llama_token":
		return inference(newLlama(), torch.Randint(0, 30000, []int{1, 1}))
	case "bert":
		return inference(models.NewBertModel(models.DefaultBertConfig()), tokens())
	case "gpt2":
		return inference(newGPT2(), tokens())
	case "mlp_bf16":
		return autocast(newMLP(), torch.Randn(64, 784))
	case "bert_bf16":
		return autocast(models.NewBertModel(models.DefaultBertConfig()), tokens())
	case "resnet_bf16":
		return autocast(models.ResNet50(), torch.Randn(2, 3, 224, 224))
	case "gpt2_token":
		return inference(newGPT2(), torch.Randint(0, 30000, []int{1, 1}))
	case "gpt2_token_bf16":
		return inBfloat16(newGPT2(), torch.Randint(0, 30000, []int{1, 1}))
	case "linear_row_bf16":
		return inBfloat16(nn.NewLinear(4096, 4096), torch.Randn(1, 4096))
	case "encoder":
		return inference(NewEncoder(12), torch.Randn(1, 128, 768))
	case "matmul":
		return inference(nn.NewLinear(1024, 1024, kw.Bias(false)), torch.Randn(1024, 1024))
	case "softmax":
		fast, x := torch.Compile(softmax, overhead), torch.Randn(4096, 4096)
		return func() { fast(x) }
	case "layer_norm":
		fast := torch.Compile(layerNorm, overhead)
		x, w, b := torch.Randn(4096, 4096), torch.Ones(4096), torch.Zeros(4096)
		return func() { fast(x, w, b) }
	case "silu":
		fast := torch.Compile(silu, overhead)
		x, y := torch.Randn(16<<20), torch.Randn(16<<20)
		return func() { fast(x, y) }
	}
	return nil
}

// tokens are ids of BERT's and GPT-2's words, int64[1, 128].
func tokens() *torch.Tensor { return torch.Randint(0, 30000, []int{1, 128}) }

func trainingWorkload(name string) func() {
	switch name {
	case "mlp":
		return classifier(newMLP(), torch.Randn(64, 784))
	case "resnet":
		return classifier(models.ResNet50(), torch.Randn(2, 3, 224, 224))
	case "densenet":
		return classifier(models.DenseNet121(), torch.Randn(4, 3, 128, 128))
	case "mobilenet":
		return classifier(models.MobileNetV3Small(), torch.Randn(8, 3, 128, 128))
	case "convnext":
		return classifier(models.ConvNeXtTiny(), torch.Randn(2, 3, 128, 128))
	case "resnext":
		return classifier(models.ResNeXt50_32x4d(), torch.Randn(2, 3, 128, 128))
	case "vit":
		return classifier(models.ViTB16(), torch.Randn(2, 3, 224, 224))
	case "resnet18":
		m := models.ResNet18()
		sgd := optim.NewSGD(nn.Parameters(m), kw.Lr(0.01), kw.Momentum(0.9))
		return step(sgd, m, torch.Randn(4, 3, 128, 128), crossEntropy(4))
	case "gpt2":
		m := newGPT2()
		return step(optim.NewAdam(nn.Parameters(m)), m, tokens(), crossEntropy(128))
	case "encoder":
		e, y := NewEncoder(4), torch.Randn(4, 128, 768)
		mse := func(out *torch.Tensor) *torch.Tensor { return F.MseLoss(out, y) }
		return step(optim.NewAdamW(nn.Parameters(e)), e, torch.Randn(4, 128, 768), mse)
	}
	return nil
}

// classifier is steps of Adam that learn one of a thousand classes for each row of x.
func classifier(m Module, x *torch.Tensor) func() {
	return step(optim.NewAdam(nn.Parameters(m)), m, x, crossEntropy(x.Size(0)))
}

// crossEntropy is the loss of logits for as many drawn classes.
func crossEntropy(rows int) func(*torch.Tensor) *torch.Tensor {
	y := torch.Randint(0, 1000, []int{rows})
	return func(out *torch.Tensor) *torch.Tensor { return F.CrossEntropy(out.Reshape(rows, -1), y) }
}

// step makes a compiled step of training: forward pass, backward pass (at which the graph
// breaks, unless the whole step is to be in it) and the step of the optimizer.
func step(opt optim.Optimizer, m Module, x *torch.Tensor, loss func(*torch.Tensor) *torch.Tensor) func() {
	nn.Train(m)
	return torch.Compile(func() {
		opt.ZeroGrad()
		loss(m.Forward(x)).Backward()
		opt.Step()
	}, kw.CaptureBackward(whole))
}

func main() {
	torch.ManualSeed(0)
	var kept string
	var run func()
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		name, what, _ := strings.Cut(in.Text(), " ")
		if name != kept {
			start := time.Now()
			kept, run = name, workload(name)
			if run == nil {
				fmt.Println("error: no workload", name)
				return
			}
			if what == "first" {
				fmt.Print(time.Since(start).Microseconds(), " ")
			}
		}
		calls := 1
		if what != "first" {
			n, err := strconv.Atoi(what)
			if err != nil {
				fmt.Println("error: want a number of calls:", err)
				return
			}
			calls = n
		}
		if strings.HasPrefix(name, "train_") {
			answer(run, calls)
		} else {
			torch.NoGrad(func() { answer(run, calls) })
		}
	}
}

func answer(run func(), calls int) {
	for range calls {
		start := time.Now()
		run()
		fmt.Print(time.Since(start).Microseconds(), " ")
	}
	fmt.Println()
}
