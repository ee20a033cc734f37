package trainer

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"tcdbg/torch"
	"tcdbg/torch/data"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
)

// This file is evaluation, and what is logged.

// Evaluate computes the loss of the set for evaluation, with what ComputeMetrics says of all predictions, and logs
// it: eval_loss is the mean over samples.
func (t *Trainer) Evaluate() map[string]float64 {
	if t.EvalDataset == nil {
		refuse("evaluation requires a data set")
	}
	t.prepare()
	nn.Eval(t.model)
	defer nn.Train(t.model)
	start := time.Now()
	loader := data.NewDataLoader(t.EvalDataset, kw.BatchSize(t.Args.PerDeviceEvalBatchSize))
	var sum float64
	var predictions, labels []*torch.Tensor
	samples, steps := 0, 0
	torch.NoGrad(func() {
		for batch := range loader.All() {
			loss, out := t.loss(batch)
			n := batch[0].Size(0)
			sum += loss.Item() * float64(n)
			samples += n
			steps++
			if t.ComputeMetrics != nil && out != nil {
				predictions, labels = append(predictions, out), append(labels, batch[len(batch)-1])
			}
		}
	})
	line := map[string]float64{"eval_loss": sum / float64(max(samples, 1))}
	if len(predictions) > 0 {
		for name, v := range t.ComputeMetrics(torch.Cat(predictions), torch.Cat(labels)) {
			line["eval_"+strings.TrimPrefix(name, "eval_")] = v
		}
	}
	speed(line, "eval", time.Since(start), samples, steps)
	line["epoch"] = t.State.Epoch
	t.log(line)
	return line
}

// speed adds how long something took.
func speed(line map[string]float64, what string, took time.Duration, samples, steps int) {
	s := took.Seconds()
	line[what+"_runtime"] = places(s, 4)
	if s > 0 {
		line[what+"_samples_per_second"] = places(float64(samples)/s, 3)
		line[what+"_steps_per_second"] = places(float64(steps)/s, 3)
	}
}

// logLoss logs the mean loss since the last line.
func (t *Trainer) logLoss(norm, rate float64) {
	line := map[string]float64{
		"loss": t.sum / float64(t.State.GlobalStep-t.logged), "learning_rate": rate, "epoch": t.place(),
	}
	if !math.IsNaN(norm) {
		line["grad_norm"] = norm
	}
	t.logged, t.sum = t.State.GlobalStep, 0
	t.log(line)
}

// place is the epoch that a step ends at, before the loop has noted it.
func (t *Trainer) place() float64 {
	a := &t.Args
	batches := (t.TrainDataset.Len() + a.PerDeviceTrainBatchSize - 1) / a.PerDeviceTrainBatchSize
	if a.DataloaderDropLast {
		batches = t.TrainDataset.Len() / a.PerDeviceTrainBatchSize
	}
	perEpoch := (batches + a.GradientAccumulationSteps - 1) / a.GradientAccumulationSteps
	whole := t.State.GlobalStep / perEpoch
	in := min(t.State.GlobalStep%perEpoch*a.GradientAccumulationSteps, batches)
	return float64(whole) + float64(in)/float64(batches)
}

// finished is what Train returns, which it logs.
func (t *Trainer) finished(took time.Duration, samples int) Output {
	loss := t.total / float64(max(t.State.GlobalStep, 1))
	line := map[string]float64{}
	speed(line, "train", took, samples, t.State.GlobalStep)
	line["train_loss"], line["epoch"] = loss, t.State.Epoch
	t.log(line)
	return Output{GlobalStep: t.State.GlobalStep, TrainingLoss: loss, Metrics: line}
}

// log keeps a line and prints it as transformers does: the loss first, the epoch last, four digits of each figure.
func (t *Trainer) log(line map[string]float64) {
	kept := maps.Clone(line)
	kept["step"] = float64(t.State.GlobalStep)
	t.State.LogHistory = append(t.State.LogHistory, kept)
	names := slices.SortedFunc(maps.Keys(line), func(a, b string) int {
		if x, y := order(a), order(b); x != y {
			return x - y
		}
		return strings.Compare(a, b)
	})
	parts := make([]string, len(names))
	for i, name := range names {
		parts[i] = fmt.Sprintf("'%s': '%.4g'", name, line[name])
	}
	fmt.Println("{" + strings.Join(parts, ", ") + "}")
}

// order is the place of a figure in a line of the log.
func order(name string) int {
	switch name {
	case "loss", "eval_loss":
		return 0
	case "grad_norm":
		return 1
	case "learning_rate":
		return 2
	case "train_loss":
		return 4
	case "epoch":
		return 5
	}
	return 3
}

// places rounds v.
func places(v float64, n int) float64 {
	f := math.Pow(10, float64(n))
	if r := math.Round(v*f) / f; !math.IsInf(r, 0) && !math.IsNaN(r) {
		return r
	}
	return v
}
