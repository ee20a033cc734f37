// This program is our side of `make bench-peers`: it compiles each workload and times calls
// of it on request, so that a driver can measure its peers in between. A line
// of standard input is the name of a workload and a number of calls; the answer
// is the time of each call in microseconds. End of input ends it.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"time"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/models"
	"tcdbg/torch/nn"
	F "tcdbg/torch/nn/functional"
	"tcdbg/torch/optim"
)

// Encoder is the part of a BERT after its embeddings.
type Encoder struct{ Layer []*models.BertLayer }

// Forward takes float32[batch, time, hidden] to the same.
func (e *Encoder) Forward(x *torch.Tensor) *torch.Tensor {
	for _, l := range e.Layer {
		x = l.Forward(x, nil)
	}
	return x
}

func silu(x, y *torch.Tensor) *torch.Tensor { return F.Silu(x).Mul(x).Add(y) }

func softmax(x *torch.Tensor) *torch.Tensor { return x.Softmax(-1) }

func layerNorm(x, w, b *torch.Tensor) *torch.Tensor {
	return F.LayerNorm(x, []int{4096}, kw.Weight(w), kw.Bias(b))
}

// eval makes every part of a model behave as in inference.
func eval[M any](m M) M {
	nn.Eval(m)
	return m
}

// workload makes one call of the named workload.
func workload(name string) func() {
	mode := kw.Mode("reduce-overhead")
	unary := func(f func(*torch.Tensor) *torch.Tensor, shape ...any) func() {
		fast, x := torch.Compile(f, mode), torch.Randn(shape...)
		return func() { fast(x) }
	}
	switch name {
	case "encoder":
		bert := eval(models.NewBertModel(models.DefaultBertConfig()))
		return unary((&Encoder{bert.Encoder.Layer}).Forward, 1, 128, 768)
	case "resnet":
		return unary(eval(models.ResNet50()).Forward, 1, 3, 224, 224)
	case "matmul":
		l := nn.NewLinear(1024, 1024, kw.Bias(false))
		return unary(l.Forward, 1024, 1024)
	case "softmax":
		return unary(softmax, 4096, 4096)
	case "layer_norm":
		fast := torch.Compile(layerNorm, mode)
		x, w, b := torch.Randn(4096, 4096), torch.Ones(4096), torch.Zeros(4096)
		return func() { fast(x, w, b) }
	case "silu":
		fast := torch.Compile(silu, mode)
		x, y := torch.Randn(16<<20), torch.Randn(16<<20)
		return func() { fast(x, y) }
	case "train_encoder":
		bert := eval(models.NewBertModel(models.DefaultBertConfig()))
		e := &Encoder{bert.Encoder.Layer[:4]}
		x, y := torch.Randn(4, 128, 768), torch.Randn(4, 128, 768)
		return training(optim.NewAdamW(nn.Parameters(e)), e.Forward, x, func(out *torch.Tensor) *torch.Tensor { return F.MseLoss(out, y) })
	case "train_resnet":
		m := models.ResNet18()
		x, y := torch.Randn(4, 3, 128, 128), torch.Randint(0, 1000, []int{4})
		sgd := optim.NewSGD(nn.Parameters(m), kw.Lr(0.01), kw.Momentum(0.9))
		return training(sgd, m.Forward, x, func(out *torch.Tensor) *torch.Tensor { return F.CrossEntropy(out, y) })
	}
	return nil
}

// training makes a compiled step of training: forward pass, backward pass (at which
// the graph breaks) and the step of the optimizer.
func training(
	opt optim.Optimizer, forward func(*torch.Tensor) *torch.Tensor, x *torch.Tensor,
	loss func(*torch.Tensor) *torch.Tensor,
) func() {
	return torch.Compile(func() {
		opt.ZeroGrad()
		loss(forward(x)).Backward()
		opt.Step()
	})
}

func main() {
	torch.ManualSeed(0)
	made := map[string]func(){}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var name string
		var calls int
		if _, err := fmt.Sscan(in.Text(), &name, &calls); err != nil {
			fmt.Println("error: want a name and a number:", err)
			continue
		}
		if made[name] == nil {
			made[name] = workload(name)
		}
		run := made[name]
		if run == nil {
			fmt.Println("error: no workload", name)
			continue
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
