package trainer

import (
	"fmt"
	"math"
	"strings"
	"time"

	"tcdbg/torch"
	"tcdbg/torch/data"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
	"tcdbg/torch/nn/utils"
	"tcdbg/torch/optim"
)

// Model computes the loss of a batch itself, as the models of transformers do where they
// are given labels. It returns what it predicts, too; nil where it predicts nothing.
type Model interface {
	Loss(batch []*torch.Tensor) (loss, predictions *torch.Tensor)
}

// LossFunc computes the loss of a module's output for the labels, the last tensor of a batch.
type LossFunc func(output, labels *torch.Tensor) *torch.Tensor

// Trainer trains a model.
type Trainer struct {
	Args Arguments
	// TrainDataset and EvalDataset are what it is trained on and evaluated with; the second may be nil.
	TrainDataset, EvalDataset data.Dataset
	// ComputeLoss is the loss of a model that is an nn.Module; of a Model it is nil.
	ComputeLoss LossFunc
	// ComputeMetrics are further figures of an evaluation, of all predictions and labels; may be nil.
	ComputeMetrics func(predictions, labels *torch.Tensor) map[string]float64
	// Optimizer is AdamW where it is nil when Train is called.
	Optimizer optim.Optimizer
	// State is how far it has come.
	State State

	model     any
	params    []*torch.Tensor
	loss      func(batch []*torch.Tensor) (*torch.Tensor, *torch.Tensor)
	scheduler *optim.Scheduler
	logged    int     // the step of the last line
	sum       float64 // of the losses since
	total     float64 // of all losses
}

// State is how far a Trainer has come.
type State struct {
	GlobalStep int
	MaxSteps   int
	Epoch      float64
	// LogHistory are the lines that were logged.
	LogHistory []map[string]float64
}

// Output is what Train returns.
type Output struct {
	GlobalStep   int
	TrainingLoss float64
	Metrics      map[string]float64
}

// New makes a trainer of a Model, or of an nn.Module whose loss ComputeLoss is set to. data are the
// training set and, where there is one, the set for evaluation.
func New(model any, args Arguments, sets ...data.Dataset) *Trainer {
	args.complete()
	if len(sets) == 0 || len(sets) > 2 {
		refuse("it needs a data set for training, and takes one for evaluation; got %d", len(sets))
	}
	t := &Trainer{Args: args, TrainDataset: sets[0], model: model, params: nn.Parameters(model)}
	if len(sets) == 2 {
		t.EvalDataset = sets[1]
	}
	if args.EvalStrategy != "no" && t.EvalDataset == nil {
		refuse("EvalStrategy %q needs a data set for evaluation", args.EvalStrategy)
	}
	torch.ManualSeed(args.Seed)
	return t
}

// compileOptions are those of torch.Compile.
func (t *Trainer) compileOptions() []torch.Option {
	opts := []torch.Option{kw.Name(fmt.Sprintf("%T", t.model)), kw.Backend(t.Args.TorchCompileBackend)}
	if t.Args.TorchCompileMode != "" {
		opts = append(opts, kw.Mode(t.Args.TorchCompileMode))
	}
	return opts
}

// prepare makes the function that computes losses, compiled where that is asked for.
func (t *Trainer) prepare() {
	if t.loss != nil {
		return
	}
	switch m := t.model.(type) {
	case Model:
		if t.ComputeLoss != nil {
			refuse("%T computes its loss itself, and ComputeLoss is set", t.model)
		}
		t.loss = m.Loss
	case nn.Module:
		if t.ComputeLoss == nil {
			refuse("%T has no method Loss, and ComputeLoss is not set", t.model)
		}
		compute := t.ComputeLoss
		t.loss = func(batch []*torch.Tensor) (*torch.Tensor, *torch.Tensor) {
			out := m.Forward(batch[0])
			return compute(out, batch[len(batch)-1]), out
		}
	default:
		refuse("%T is neither a Model nor an nn.Module", t.model)
	}
	if t.Args.TorchCompile {
		t.loss = torch.Compile(t.loss, t.compileOptions()...)
	}
}

// createOptimizer makes AdamW, with weight decay for those parameters that are to have it.
func (t *Trainer) createOptimizer() optim.Optimizer {
	a := &t.Args
	var decaying, rest optim.Group
	decaying.WeightDecay = a.WeightDecay
	for i, spared := range t.spared() {
		g := &decaying
		if spared {
			g = &rest
		}
		g.Params = append(g.Params, t.params[i])
	}
	var params any = []optim.Group{decaying, rest}
	switch {
	case a.WeightDecay == 0 || len(decaying.Params) == 0:
		params = t.params
	case len(rest.Params) == 0:
		params = []optim.Group{decaying}
	}
	return optim.NewAdamW(params, kw.Lr(a.LearningRate), kw.Betas([2]float64{a.AdamBeta1, a.AdamBeta2}), kw.Eps(a.AdamEpsilon),
		kw.WeightDecay(0.0))
}

// spared says which parameters have no weight decay: biases, and those of normalisations, by their names.
func (t *Trainer) spared() []bool {
	norms := map[string]bool{}
	nn.Walk(t.model, func(name string, part any) {
		if _, is := part.(*nn.LayerNorm); is {
			norms[name] = true
		}
	})
	var out []bool
	for _, p := range nn.NamedParameters(t.model) {
		name := strings.ToLower(p.Name)
		at := max(strings.LastIndexByte(p.Name, '.'), 0)
		spared := norms[p.Name[:at]] || strings.Contains(name, "bias") || strings.Contains(name, "layernorm") ||
			strings.Contains(name, "rmsnorm")
		for part := range strings.SplitSeq(name, ".") {
			spared = spared || part == "norm" || strings.HasSuffix(part, "_norm")
		}
		out = append(out, spared)
	}
	return out
}

// factor is the learning rate of a step, of the first.
func (t *Trainer) factor(step int) float64 {
	warm, total := t.Args.WarmupSteps, t.State.MaxSteps
	kind := t.Args.LRSchedulerType
	if kind == "constant" {
		return 1
	}
	if step < warm {
		return float64(step) / float64(max(1, warm))
	}
	done := float64(step-warm) / float64(max(1, total-warm))
	switch kind {
	case "linear":
		return max(0, 1-done)
	case "cosine":
		return max(0, 0.5*(1+math.Cos(math.Pi*done)))
	}
	return 1
}

// Train trains, and returns when all steps are made.
func (t *Trainer) Train() Output {
	t.prepare()
	a := &t.Args
	loader := data.NewDataLoader(t.TrainDataset, kw.BatchSize(a.PerDeviceTrainBatchSize), kw.Shuffle(true),
		kw.DropLast(a.DataloaderDropLast))
	perEpoch := loader.Len() / a.GradientAccumulationSteps
	if loader.Len()%a.GradientAccumulationSteps > 0 {
		perEpoch++
	}
	if perEpoch == 0 {
		refuse("the data set for training has no batch of %d", a.PerDeviceTrainBatchSize)
	}
	t.State = State{MaxSteps: a.MaxSteps}
	if t.State.MaxSteps == 0 {
		t.State.MaxSteps = int(math.Ceil(a.NumTrainEpochs * float64(perEpoch)))
	}
	if t.Optimizer == nil {
		t.Optimizer = t.createOptimizer()
	}
	t.scheduler = optim.NewLambdaLR(t.Optimizer, t.factor)
	t.logged, t.sum, t.total = 0, 0, 0
	nn.Train(t.model)
	start := time.Now()
	samples := 0
	for epoch := 0; t.State.GlobalStep < t.State.MaxSteps; epoch++ {
		samples += t.epoch(epoch, perEpoch, loader)
		if a.EvalStrategy == "epoch" {
			t.Evaluate()
		}
	}
	return t.finished(time.Since(start), samples)
}

// epoch goes through the data set once, or until all steps are made, and returns how many samples it took.
func (t *Trainer) epoch(epoch, perEpoch int, loader *data.DataLoader) int {
	a := &t.Args
	batches, waiting, samples := 0, 0, 0
	rest := loader.Len()
	var group int // batches of this step of the optimizer
	for batch := range loader.All() {
		if waiting == 0 {
			group = min(a.GradientAccumulationSteps, rest)
		}
		samples += batch[0].Size(0)
		t.backward(batch, group)
		batches++
		waiting++
		rest--
		if waiting < group {
			continue
		}
		waiting = 0
		t.step()
		t.State.Epoch = float64(epoch) + float64(batches)/float64(loader.Len())
		t.afterStep()
		if t.State.GlobalStep >= t.State.MaxSteps {
			break
		}
	}
	return samples
}

// backward adds the gradients of a batch, one of so many of a step.
func (t *Trainer) backward(batch []*torch.Tensor, of int) {
	loss, _ := t.loss(batch)
	if of > 1 {
		loss = loss.Div(of)
	}
	loss.Backward()
	v := loss.Detach().Item()
	t.sum += v
	t.total += v
}

// step changes the parameters.
func (t *Trainer) step() {
	norm := math.NaN()
	if t.Args.MaxGradNorm > 0 {
		norm = utils.ClipGradNorm_(t.params, t.Args.MaxGradNorm).Item()
	}
	rate := t.scheduler.GetLastLr()[0]
	t.Optimizer.Step()
	t.scheduler.Step()
	t.Optimizer.ZeroGrad()
	t.State.GlobalStep++
	if n := t.Args.LoggingSteps; n > 0 && t.State.GlobalStep%n == 0 {
		t.logLoss(norm, rate)
	}
}

// afterStep evaluates where that is due.
func (t *Trainer) afterStep() {
	if t.Args.EvalStrategy == "steps" && t.State.GlobalStep%t.Args.EvalSteps == 0 {
		t.Evaluate()
	}
}
