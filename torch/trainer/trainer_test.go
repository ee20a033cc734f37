package trainer

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/data"
	"tcdbg/torch/nn"
	"tcdbg/torch/nn/functional"
)

// line is y = 2a - b + 1, and a model that begins elsewhere.
func line() (*nn.Linear, *data.TensorDataset) {
	var xs, ys []float32
	for i := range 6 {
		a, b := float32(i)*0.5-1, 1-float32(i)*0.25
		xs, ys = append(xs, a, b), append(ys, 2*a-b+1)
	}
	m := nn.NewLinear(2, 1)
	torch.NoGrad(func() {
		m.Weight.Copy_(torch.NewTensor([][]float32{{0.5, -0.25}}))
		m.Bias.Copy_(torch.NewTensor([]float32{0.1}))
	})
	return m, data.NewTensorDataset(torch.NewTensor(xs).View(6, 2), torch.NewTensor(ys).View(6, 1))
}

func squares(out, labels *torch.Tensor) *torch.Tensor { return functional.MseLoss(out, labels) }

// TestAsTransformers: losses, norms of gradients, rates and weights are those of transformers' Trainer on the same data.
func TestAsTransformers(t *testing.T) {
	for _, c := range []struct {
		name   string
		args   Arguments
		want   [][4]float64 // loss, grad_norm (-1: none), learning_rate, epoch
		evals  []float64
		weight [2]float64
	}{
		{
			"warm-up, linear, weight decay",
			Arguments{MaxSteps: 4, LearningRate: 0.1, WeightDecay: 0.1, WarmupSteps: 1, EvalStrategy: "steps", EvalSteps: 2},
			[][4]float64{
				{3.551016, 3.844198, 0, 1},
				{3.551016, 3.844198, 0.1, 2},
				{3.007334, 3.534866, 0.0666667, 3},
				{2.672202, 3.329903, 0.0333333, 4},
			},
			[]float64{3.007333, 2.512784},
			[2]float64{0.688853, -0.4439},
		},
		{
			"cosine, not clipped",
			Arguments{MaxSteps: 4, LearningRate: 0.1, LRSchedulerType: "cosine", MaxGradNorm: -1},
			[][4]float64{{3.551016, -1, 0.1, 1}, {2.991015, -1, 0.0853553, 2}, {2.55243, -1, 0.05, 3}, {2.312836, -1, 0.0146447, 4}},
			nil,
			[2]float64{0.74916, -0.499308},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, set := line()
			c.args.PerDeviceTrainBatchSize, c.args.PerDeviceEvalBatchSize, c.args.LoggingSteps = 6, 4, 1
			tr := New(m, c.args, set, set)
			tr.ComputeLoss = squares
			out := tr.Train()
			var evals []float64
			n := 0
			for _, l := range tr.State.LogHistory {
				if v, ok := l["eval_loss"]; ok {
					evals = append(evals, v)
				}
				if _, ok := l["loss"]; !ok {
					continue
				}
				want := c.want[n]
				n++
				norm, ok := l["grad_norm"]
				if !ok {
					norm = -1
				}
				for i, got := range []float64{l["loss"], norm, l["learning_rate"], l["epoch"]} {
					near(t, fmt.Sprintf("step %d, figure %d", n, i), got, want[i])
				}
			}
			if n != 4 || out.GlobalStep != 4 || len(evals) != len(c.evals) {
				t.Errorf("%d lines, %d evaluations of %d steps", n, len(evals), out.GlobalStep)
			}
			for i, v := range c.evals {
				near(t, "eval_loss", evals[i], v)
			}
			for i, v := range c.weight {
				near(t, "weight", m.Weight.Select(0, 0).Select(0, i).Detach().Item(), v)
			}
		})
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-4*max(1, math.Abs(want)) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// TestAccumulation: two batches of three with their losses halved are one batch of six, also where an epoch has a batch left.
func TestAccumulation(t *testing.T) {
	m, set := line()
	one := New(m, Arguments{PerDeviceTrainBatchSize: 6, NumTrainEpochs: 3, LearningRate: 0.1}, set)
	one.ComputeLoss = squares
	one.Train()
	n, _ := line()
	two := New(n, Arguments{PerDeviceTrainBatchSize: 3, GradientAccumulationSteps: 2, NumTrainEpochs: 3, LearningRate: 0.1}, set)
	two.ComputeLoss = squares
	out := two.Train()
	if !m.Weight.Sub(n.Weight).Abs().Max().Lt(1e-5).Bool() || out.GlobalStep != 3 {
		t.Errorf("%v and %v after %d steps", m.Weight, n.Weight, out.GlobalStep)
	}
	k, _ := line()
	odd := New(k, Arguments{PerDeviceTrainBatchSize: 2, GradientAccumulationSteps: 2, NumTrainEpochs: 2, LoggingSteps: 1}, set)
	odd.ComputeLoss = squares
	out = odd.Train()
	var epochs []float64
	for _, l := range odd.State.LogHistory {
		if _, ok := l["loss"]; ok {
			epochs = append(epochs, l["epoch"])
		}
	}
	if fmt.Sprintf("%.3f", epochs) != "[0.667 1.000 1.667 2.000]" || out.GlobalStep != 4 {
		t.Errorf("epochs %v, %d steps", epochs, out.GlobalStep)
	}
}

// own computes its loss itself.
type own struct{ Net *nn.Linear }

func (m *own) Loss(batch []*torch.Tensor) (loss, predictions *torch.Tensor) {
	out := m.Net.Forward(batch[0])
	return functional.MseLoss(out, batch[1]), out
}

// TestModelWithLoss trains a model that computes its loss itself, and evaluates it with figures of its own.
func TestModelWithLoss(t *testing.T) {
	net, set := line()
	tr := New(&own{net}, Arguments{NumTrainEpochs: 60, LearningRate: 0.1, LoggingSteps: -1}, set, set)
	tr.ComputeMetrics = func(predictions, labels *torch.Tensor) map[string]float64 {
		return map[string]float64{"worst": predictions.Sub(labels).Abs().Max().Item()}
	}
	before := tr.Evaluate()
	tr.Train()
	after := tr.Evaluate()
	if after["eval_loss"] > before["eval_loss"]/10 || after["eval_worst"] > before["eval_worst"]/2 {
		t.Errorf("%v, then %v", before, after)
	}
}

// TestRefusals: arguments that make no sense are refused by name.
func TestRefusals(t *testing.T) {
	m, set := line()
	for want, f := range map[string]func(){
		"LRSchedulerType \"exp\" is not known":           func() { New(m, Arguments{LRSchedulerType: "exp"}, set) },
		"EvalStrategy \"steps\" needs a data set":        func() { New(m, Arguments{EvalStrategy: "steps"}, set) },
		"PerDeviceTrainBatchSize is -1":                  func() { New(m, Arguments{PerDeviceTrainBatchSize: -1}, set) },
		"it needs a data set for training":               func() { New(m, Arguments{}) },
		"has no method Loss, and ComputeLoss is not set": func() { New(m, Arguments{}, set).Train() },
		"is neither a Model nor an nn.Module":            func() { New(&struct{ W *nn.Linear }{m}, Arguments{}, set).Train() },
		"backend \"quick\" is not known":                 func() { compiled(m, set, Arguments{TorchCompileBackend: "quick"}) },
		"mode \"quick\" is not supported":                func() { compiled(m, set, Arguments{TorchCompileMode: "quick"}) },
		"the data set for training has no batch of 8":    func() { compiled(m, set, Arguments{DataloaderDropLast: true}) },
	} {
		said := func() (said string) {
			defer func() { said = fmt.Sprint(recover()) }()
			f()
			return ""
		}()
		if !strings.Contains(said, want) {
			t.Errorf("%q, want %q", said, want)
		}
	}
}

func compiled(m *nn.Linear, set data.Dataset, args Arguments) {
	tr := New(m, args, set)
	tr.ComputeLoss = squares
	tr.Train()
}

// TestSwitches: a backend or a mode switches compilation on, with inductor where no backend is named.
func TestSwitches(t *testing.T) {
	m, set := line()
	for _, c := range []struct {
		args Arguments
		on   bool
		want string
	}{
		{Arguments{}, false, ""},
		{Arguments{TorchCompile: true}, true, "inductor"},
		{Arguments{TorchCompileBackend: "aot_eager"}, true, "aot_eager"},
		{Arguments{TorchCompileMode: "reduce-overhead"}, true, "inductor"},
	} {
		if a := New(m, c.args, set).Args; a.TorchCompile != c.on || a.TorchCompileBackend != c.want {
			t.Errorf("%+v: compile %t by %q", c.args, a.TorchCompile, a.TorchCompileBackend)
		}
	}
}
