package modeltest

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"tcdbg/internal/test"
	"tcdbg/internal/test/modeltest/zoo"
	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/models"
	"tcdbg/torch/nn"
	"tcdbg/torch/optim"
)

// TestModelsAgreeWithPyTorch runs every model eagerly: names and shapes of the
// state, the output, the gradients and one step of AdamW.
func TestModelsAgreeWithPyTorch(t *testing.T) { agree(t, "testdata/models.json.gz", zoo.Builds()) }

// TestVariantsAgreeWithPyTorch does so for other sizes and settings.
func TestVariantsAgreeWithPyTorch(t *testing.T) {
	agree(t, "testdata/variants.json.gz", zoo.Variants())
}

// TestStretchedPositionsAgreeWithPyTorch does so for LLaMAs with scaled rotary
// positions, on a text longer than they were made for.
func TestStretchedPositionsAgreeWithPyTorch(t *testing.T) {
	agree(t, "testdata/rope.json.gz", zoo.Scaled())
	defer func() {
		if e, ok := recover().(*torch.Error); !ok || !strings.Contains(e.Msg, "'yarn' is not supported") {
			t.Errorf("got %v", e)
		}
	}()
	c := models.DefaultLlamaConfig()
	c.RopeScaling = models.RopeScaling{Type: "yarn", Factor: 2}
	models.NewLlamaForCausalLM(c, kw.Device("meta"))
}

// TestNoiseIsOfFloat32 shows where the tolerances above 1e-3 come from: the same
// models and weights in float64 agree with PyTorch's float64 to 1e-6, so it is the
// rounding of float32 that their gradients amplify.
func TestNoiseIsOfFloat32(t *testing.T) {
	test.Long(t, "training steps in float64")
	records, err := Records("testdata/double.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	noisy := 0
	for _, group := range []string{"models", "variants"} {
		for name, b := range zoo.Group(group) {
			if b.Noise == 0 {
				continue
			}
			noisy++
			t.Run(name, func(t *testing.T) {
				i := slices.IndexFunc(records, func(r Record) bool { return r.Model == name })
				if i < 0 {
					t.Fatal("a tolerance without proof")
				}
				checkExactly(t, records[i], b)
			})
		}
	}
	if noisy == 0 || noisy != len(records) {
		t.Errorf("%d models have a tolerance, %d have records", noisy, len(records))
	}
}

// checkExactly is check in float64, to 1e-6.
func checkExactly(t *testing.T, r Record, b zoo.Build) {
	torch.ManualSeed(0)
	m := b.Make()
	FillState(m)
	nn.Double(m)
	x := Input(0, r.Inputs[0], b.Vocab).To(torch.Float64)
	nn.Eval(m)
	torch.NoGrad(func() { relative(t, "the output's magnitude", m.Forward(x).Abs().Sum().Item(), r.OutAbsSum, 1e-6) })
	zoo.Recorded(m)
	loss := zoo.Loss(m.Forward(x))
	relative(t, "loss in training mode", loss.Item(), r.TrainLoss, 1e-6)
	loss.Backward()
	checkGradients(t, r, gradientNorms(m), 1e-6)
	optim.NewAdamW(nn.Parameters(m)).Step()
	torch.NoGrad(func() { loss = zoo.Loss(m.Forward(x)) })
	relative(t, "loss after a step of AdamW", loss.Item(), r.LossAfterAdamW, 1e-6)
}

// TestFullModelsAgreeWithPyTorch does so for models of the size that people use.
func TestFullModelsAgreeWithPyTorch(t *testing.T) {
	test.Long(t, "models of 86 to 124 million parameters")
	if free := freeMemory(); free < 6<<30 {
		t.Skipf("a training step of GPT-2 needs 6 GB of memory; %d MB are free", free>>20)
	}
	agree(t, "testdata/full.json.gz", zoo.Full())
}

// freeMemory is what the system can give; all there is where it does not say.
func freeMemory() int {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return math.MaxInt
	}
	for line := range strings.Lines(string(text)) {
		var kb int
		if _, err := fmt.Sscanf(line, "MemAvailable: %d kB", &kb); err == nil {
			return kb << 10
		}
	}
	return math.MaxInt
}

// agree holds the models that builds make against the records of a file.
func agree(t *testing.T, file string, builds map[string]zoo.Build) {
	records, err := Records(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(records) != len(builds) {
		t.Errorf("%d records, %d models", len(records), len(builds))
	}
	for _, r := range test.Some(t, (len(records)+1)/2, records) {
		t.Run(r.Model, func(t *testing.T) {
			b, ok := builds[r.Model]
			if !ok {
				t.Fatal("no such model here")
			}
			if b.Slow {
				test.Long(t, "a model of full size")
			}
			check(t, r, b)
		})
	}
}

func check(t *testing.T, r Record, b zoo.Build) {
	torch.ManualSeed(0)
	m := b.Make()
	checkState(t, r.State, FillState(m))
	if t.Failed() {
		return
	}
	x := Input(0, r.Inputs[0], b.Vocab)
	nn.Eval(m)
	var y *torch.Tensor
	torch.NoGrad(func() { y = m.Forward(x) })
	checkOutput(t, r, y)

	zoo.Recorded(m)
	loss := zoo.Loss(m.Forward(x))
	relative(t, "loss in training mode", loss.Item(), r.TrainLoss, 1e-3)
	tol := max(b.Noise, 1e-3)
	loss.Backward()
	checkGradients(t, r, gradientNorms(m), tol)
	optim.NewAdamW(nn.Parameters(m)).Step()
	torch.NoGrad(func() { loss = zoo.Loss(m.Forward(x)) })
	relative(t, "loss after a step of AdamW", loss.Item(), r.LossAfterAdamW, tol)
}

// checkState compares names, order, shapes and dtypes.
func checkState(t *testing.T, want []Entry, got []nn.Named) {
	t.Helper()
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(want):
			t.Fatalf("entry %d: %s is too many", i, got[i].Name)
		case i >= len(got):
			t.Fatalf("entry %d: %s is missing", i, want[i].Name)
		}
		w, g := want[i], got[i]
		if w.Name != g.Name || !slices.Equal(w.Shape, g.Tensor.Shape()) ||
			!strings.EqualFold(w.DType, g.Tensor.DType().String()) && "torch."+w.DType != g.Tensor.DType().String() {
			t.Fatalf("entry %d: %s %v %v, want %s %v %s", i, g.Name, g.Tensor.Shape(), g.Tensor.DType(), w.Name, w.Shape, w.DType)
		}
	}
}

func checkOutput(t *testing.T, r Record, y *torch.Tensor) {
	t.Helper()
	if !slices.Equal(y.Shape(), r.OutShape) {
		t.Fatalf("output is %v, want %v", y.Shape(), r.OutShape)
	}
	v := y.Float64s()
	var sum, abs float64
	for _, x := range v {
		sum += x
		abs += math.Abs(x)
	}
	if d := math.Abs(sum - r.OutSum); !(d <= 1e-4*r.OutAbsSum) {
		t.Errorf("sum of the output is %v, want %v", sum, r.OutSum)
	}
	relative(t, "sum of the output's magnitudes", abs, r.OutAbsSum, 1e-4)
	elements(t, "first", v[:len(r.OutFirst)], r.OutFirst)
	elements(t, "last", v[len(v)-len(r.OutLast):], r.OutLast)
}

func elements(t *testing.T, where string, got, want []float64) {
	t.Helper()
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= 1e-3*(1+math.Abs(want[i]))) {
			t.Errorf("%s elements: %v, want %v", where, got, want)
			return
		}
	}
}

// gradientNorms are the norms of the gradients of a model's parameters.
func gradientNorms(m any) map[string]float64 {
	out := map[string]float64{}
	for _, p := range nn.NamedParameters(m) {
		if g := p.Tensor.Grad(); g != nil {
			out[p.Name] = *norm(g)
		}
	}
	return out
}

func checkGradients(t *testing.T, r Record, norms map[string]float64, tol float64) {
	t.Helper()
	for name, got := range norms {
		want, ok := r.GradNorms[name]
		if !ok {
			t.Errorf("%s has a gradient", name)
			continue
		}
		// A gradient that is zero but for rounding has no relative error.
		if !(math.Abs(got-want) <= tol*want+1e-6) {
			t.Errorf("gradient of %s has norm %v, want %v", name, got, want)
		}
	}
	for name := range r.GradNorms {
		if _, ok := norms[name]; !ok {
			t.Errorf("%s has no gradient", name)
		}
	}
}

func relative(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol*math.Abs(want)) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}
