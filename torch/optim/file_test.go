package optim_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/optim"
)

// testdata/halfway.pt is what PyTorch 2.15 saved of every optimizer after half
// of the steps.

// ends is where PyTorch's optimizers end.
func ends(t *testing.T) map[string]struct{ W []float64 } {
	text, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]struct{ W []float64 }
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	return want
}

// TestGoesOnFromPyTorchsFile takes the second half of the steps here.
func TestGoesOnFromPyTorchsFile(t *testing.T) {
	want := ends(t)
	v, err := torch.Load("testdata/halfway.pt")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, it := range v.(torch.OrderedDict) {
		name, half := it.Key.(string), it.Value.(torch.OrderedDict)
		w := half.Get("w").(*torch.Tensor).RequiresGrad_()
		// The settings come with the state: the optimizer is made with others.
		o := problems[name].make([]*torch.Tensor{w})
		for _, g := range o.ParamGroups() {
			g.Lr, g.WeightDecay, g.Beta1, g.Momentum, g.Eps2, g.NsSteps = 99, 99, 0.99, 0.99, 99, 9
		}
		if err := o.LoadStateDict(optim.StateOf(half.Get("optimizer").(torch.OrderedDict))); err != nil {
			t.Fatal(name, err)
		}
		minimise(o, nil, w, 10)
		near(t, name, w.Float64s(), want[name].W, 2e-6)
		seen++
	}
	if seen < 20 {
		t.Errorf("the file has %d optimizers", seen)
	}
}

// TestPyTorchGoesOnFromOurFile needs Python with PyTorch.
func TestPyTorchGoesOnFromOurFile(t *testing.T) {
	python := os.Getenv("TCDBG_PYTHON")
	if python == "" {
		python = "python3"
	}
	if err := exec.Command(python, "-c", "import torch").Run(); err != nil {
		t.Skipf("no PyTorch: %s -c 'import torch': %v (set TCDBG_PYTHON)", python, err)
	}
	var all torch.OrderedDict
	for name, p := range problems {
		if p.schedule != nil {
			continue
		}
		w := start(name)
		o := p.make([]*torch.Tensor{w})
		minimise(o, nil, w, 10)
		all = append(all, torch.DictItem{Key: name, Value: map[string]any{"w": w.Detach(), "optimizer": o.StateDict()}})
	}
	path := filepath.Join(t.TempDir(), "halfway.pt")
	if err := torch.Save(all, path); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(python, "testdata/optim.py", path).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, err.(*exec.ExitError).Stderr)
	}
	var got map[string][]float64
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	want := ends(t)
	for _, it := range all {
		name := it.Key.(string)
		near(t, name, got[name], want[name].W, 2e-6)
	}
}

// TestSchedulersGoThroughFiles saves each kind of scheduler halfway.
func TestSchedulersGoThroughFiles(t *testing.T) {
	for name, p := range problems {
		if p.schedule == nil {
			continue
		}
		whole, w := start(name), start(name)
		o := p.make([]*torch.Tensor{whole})
		s := p.schedule(o)
		want := minimise(o, s, whole, 12)[6:]
		first := p.make([]*torch.Tensor{w})
		sched := p.schedule(first)
		minimise(first, sched, w, 6)
		dir := t.TempDir()
		if err := optim.Save(first, dir+"/o.pt"); err != nil {
			t.Fatal(err)
		}
		if err := optim.Save(sched.(optim.Stateful), dir+"/s.pt"); err != nil {
			t.Fatal(name, err)
		}
		second := p.make([]*torch.Tensor{w})
		again := p.schedule(second)
		if err := optim.Load(second, dir+"/o.pt"); err != nil {
			t.Fatal(err)
		}
		if err := optim.Load(again.(optim.Stateful), dir+"/s.pt"); err != nil {
			t.Fatal(name, err)
		}
		if pl, ok := again.(*plateau); ok {
			pl.at = 6
		}
		near(t, name+": lr", minimise(second, again, w, 6), want, 1e-15)
		near(t, name+": w", w.Float64s(), whole.Float64s(), 0)
	}
}
