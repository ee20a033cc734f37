package nn_test

import (
	"path/filepath"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
)

// TestLoadStateDict takes a state as StateDict gives it, as a file holds it and as
// a map, and names what does not fit, in order.
func TestLoadStateDict(t *testing.T) {
	torch.ManualSeed(3)
	from := nn.NewSequential(nn.NewLinear(2, 3), nn.NewBatchNorm1d(3))
	path := filepath.Join(t.TempDir(), "state.pt")
	if err := nn.Save(from, path); err != nil {
		t.Fatal(err)
	}
	file, err := torch.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range []any{nn.StateDict(from), file, file.(torch.OrderedDict).Tensors()} {
		to := nn.NewSequential(nn.NewLinear(2, 3), nn.NewBatchNorm1d(3))
		if err := nn.LoadStateDict(to, state); err != nil {
			t.Errorf("%T: %v", state, err)
		}
		for i, n := range nn.StateDict(to) {
			if !torch.Equal(n.Tensor, nn.StateDict(from)[i].Tensor).Bool() {
				t.Errorf("%T: %s differs", state, n.Name)
			}
		}
	}
	bias := map[string]*torch.Tensor{"bias": torch.Ones(3), "z": torch.Ones(1), "a": torch.Ones(1)}
	l := nn.NewLinear(2, 3)
	for _, c := range []struct {
		err  error
		want string
	}{
		{nn.LoadStateDict(l, bias), `error(s) in loading state_dict: Missing key(s) in state_dict: "weight". Unexpected key(s) in ` +
			`state_dict: "a", "z".`},
		{nn.LoadStateDict(l, bias, true), `error(s) in loading state_dict: Missing key(s) in state_dict: "weight". Unexpected ` +
			`key(s) in state_dict: "a", "z".`},
		{
			nn.LoadStateDict(l, map[string]*torch.Tensor{"bias": torch.Ones(2)}, false),
			"error(s) in loading state_dict: size mismatch for bias: copying a param with shape [2] from checkpoint, the shape in " +
				"current model is [3].",
		},
		{nn.LoadStateDict(l, from), "expected state_dict to be dict-like, got *nn.Sequential"},
	} {
		if c.err == nil || c.err.Error() != c.want {
			t.Errorf("%v, want %s", c.err, c.want)
		}
	}
	if err := nn.LoadStateDict(l, bias, false); err != nil || l.Bias.Sum().Item() != 3 {
		t.Errorf("not strict: %v, %v", err, l.Bias)
	}
}

// TestLoadAssigned: a module without memory takes the memory of a state, also of tied weights, and
// computes what the module does that the state is of.
func TestLoadAssigned(t *testing.T) {
	torch.ManualSeed(4)
	from := nn.NewSequential(nn.NewLinear(3, 4), nn.NewBatchNorm1d(4), nn.NewLinear(4, 2))
	for _, name := range []string{"state.pt", "state.safetensors"} {
		path := filepath.Join(t.TempDir(), name)
		if err := nn.Save(from, path); err != nil {
			t.Fatal(err)
		}
		to := nn.NewSequential(
			nn.NewLinear(3, 4, kw.Device("meta")), nn.NewBatchNorm1d(4, kw.Device("meta")), nn.NewLinear(4, 2, kw.Device("meta")),
		)
		if err := nn.Load(to, path, kw.Assign(true)); err != nil {
			t.Fatal(err)
		}
		x := torch.Randn(5, 3)
		y := to.Forward(x)
		if !torch.Equal(y, from.Forward(x)).Bool() {
			t.Errorf("%s: the module computes other numbers", name)
		}
		y.Sum().Backward()
		if w := nn.Parameters(to)[0]; !w.RequiresGrad() || w.Grad() == nil || w.Device() != "cpu" {
			t.Errorf("%s: the weight is %v with gradient %v", name, w, w.Grad())
		}
	}
	state := map[string]*torch.Tensor{"weight": torch.Ones(2, 2, kw.Dtype(torch.Float64))}
	l := nn.NewLinear(2, 2, kw.Bias(false))
	if err := nn.LoadStateDict(l, state, kw.Assign(true)); err != nil {
		t.Fatal(err)
	}
	if state["weight"].Fill_(3); l.Weight.Sum().Item() != 12 || l.Weight.DType() != torch.Float64 {
		t.Errorf("the weight is not the state's: %v", l.Weight)
	}
	defer func() {
		want := "TypeError: Module.load_state_dict() got an unexpected keyword argument 'dim'"
		if e, ok := recover().(*torch.Error); !ok || e.Kind+": "+e.Msg != want {
			t.Errorf("%v", e)
		}
	}()
	_ = nn.LoadStateDict(l, state, kw.Dim(1))
}
