// The row of docs/guide.md on a trainer whose arguments switch compilation on.
package main

import (
	"fmt"

	"tcdbg/torch"
	"tcdbg/torch/data"
	"tcdbg/torch/nn"
	"tcdbg/torch/nn/functional"
	"tcdbg/torch/trainer"
)

func trained(args trainer.Arguments) (*trainer.Trainer, trainer.Output) {
	torch.ManualSeed(0)
	x := torch.Randn(64, 4)
	y := x.Select(1, 0).Sub(x.Select(1, 1)).Unsqueeze(1)
	net := nn.NewSequential(nn.NewLinear(4, 16), nn.NewReLU(), nn.NewLinear(16, 1))
	set := data.NewTensorDataset(x, y)
	t := trainer.New(net, args, set, set)
	t.ComputeLoss = func(out, labels *torch.Tensor) *torch.Tensor { return functional.MseLoss(out, labels) }
	return t, t.Train()
}

func main() {
	args := trainer.Arguments{
		NumTrainEpochs: 8, LearningRate: 0.02, PerDeviceTrainBatchSize: 16, PerDeviceEvalBatchSize: 16, LoggingSteps: 16, EvalStrategy: "epoch",
	}
	_, eager := trained(args)
	args.TorchCompile = true
	_, compiled := trained(args)
	args.TorchCompile, args.TorchCompileMode = false, "reduce-overhead"
	t, mode := trained(args)
	near := func(a, b float64) bool { return a-b < 1e-3 && b-a < 1e-3 }
	fmt.Println("row 70:", near(eager.TrainingLoss, compiled.TrainingLoss), near(eager.TrainingLoss, mode.TrainingLoss),
		t.Args.TorchCompile, t.Args.TorchCompileBackend, t.Evaluate()["eval_loss"] < 0.2)
}
