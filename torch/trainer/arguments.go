// Package trainer is a small Trainer as transformers has one: a loop over batches with
// an optimizer, a schedule of the learning rate, logs and evaluation, which compiles
// what computes the loss where the arguments say so.
//
// It is a source package: the interpreter runs it from source. It imports torch,
// torch/kw, torch/data, torch/nn and torch/optim only. Open this file first, then trainer.go.
package trainer

import (
	"fmt"
	"slices"
	"strings"

	"tcdbg/torch"
)

// Arguments are TrainingArguments, by the same names. A field that is zero has the
// default that stands beside it.
type Arguments struct {
	PerDeviceTrainBatchSize   int     // 8
	PerDeviceEvalBatchSize    int     // 8
	NumTrainEpochs            float64 // 3
	MaxSteps                  int     // steps of the optimizer; 0: as many as the epochs have
	GradientAccumulationSteps int     // 1: batches for one step of the optimizer
	DataloaderDropLast        bool

	LearningRate    float64 // 5e-5
	WeightDecay     float64 // 0; parameters of one dimension and biases have none
	AdamBeta1       float64 // 0.9
	AdamBeta2       float64 // 0.999
	AdamEpsilon     float64 // 1e-8
	MaxGradNorm     float64 // 1; below 0: gradients are not clipped
	LRSchedulerType string  // linear; constant, constant_with_warmup, cosine
	WarmupSteps     int

	LoggingSteps int    // 500: steps between two lines of the log; below 0: none
	EvalStrategy string // no; steps, epoch
	EvalSteps    int    // LoggingSteps
	Seed         int64  // 42

	// TorchCompile compiles the model, which TorchCompileBackend or TorchCompileMode does as well where one is given.
	TorchCompile        bool
	TorchCompileBackend string // inductor
	TorchCompileMode    string
}

// schedules are the names of LRSchedulerType.
var schedules = []string{"linear", "constant", "constant_with_warmup", "cosine"}

// complete fills in defaults and refuses what makes no sense.
func (a *Arguments) complete() {
	whole := func(p *int, def int) {
		if *p == 0 {
			*p = def
		}
	}
	number := func(p *float64, def float64) {
		if *p == 0 {
			*p = def
		}
	}
	whole(&a.PerDeviceTrainBatchSize, 8)
	whole(&a.PerDeviceEvalBatchSize, 8)
	whole(&a.GradientAccumulationSteps, 1)
	whole(&a.LoggingSteps, 500)
	whole(&a.EvalSteps, a.LoggingSteps)
	number(&a.NumTrainEpochs, 3)
	number(&a.LearningRate, 5e-5)
	number(&a.AdamBeta1, 0.9)
	number(&a.AdamBeta2, 0.999)
	number(&a.AdamEpsilon, 1e-8)
	number(&a.MaxGradNorm, 1)
	if a.Seed == 0 {
		a.Seed = 42
	}
	if a.LRSchedulerType == "" {
		a.LRSchedulerType = "linear"
	}
	if a.EvalStrategy == "" {
		a.EvalStrategy = "no"
	}
	if a.TorchCompileBackend != "" || a.TorchCompileMode != "" {
		a.TorchCompile = true
	}
	if a.TorchCompile && a.TorchCompileBackend == "" {
		a.TorchCompileBackend = "inductor"
	}
	a.check()
}

func (a *Arguments) check() {
	for _, c := range []struct {
		name  string
		value int
	}{
		{"PerDeviceTrainBatchSize", a.PerDeviceTrainBatchSize},
		{"PerDeviceEvalBatchSize", a.PerDeviceEvalBatchSize},
		{"GradientAccumulationSteps", a.GradientAccumulationSteps},
	} {
		if c.value < 1 {
			refuse("%s is %d, and must be 1 or more", c.name, c.value)
		}
	}
	if a.MaxSteps < 0 || a.NumTrainEpochs < 0 || a.WarmupSteps < 0 {
		refuse("MaxSteps, NumTrainEpochs and WarmupSteps cannot be below 0")
	}
	if !slices.Contains(schedules, a.LRSchedulerType) {
		refuse("LRSchedulerType %q is not known; there are %s", a.LRSchedulerType, strings.Join(schedules, ", "))
	}
	if !slices.Contains([]string{"no", "steps", "epoch"}, a.EvalStrategy) {
		refuse("EvalStrategy %q is not known; there are no, steps, epoch", a.EvalStrategy)
	}
	if a.EvalStrategy == "steps" && a.EvalSteps < 1 {
		refuse("EvalStrategy steps needs EvalSteps")
	}
}

func refuse(format string, args ...any) {
	panic(&torch.Error{Op: "trainer", Kind: "ValueError", Msg: fmt.Sprintf(format, args...)})
}
