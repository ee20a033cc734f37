package nn_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
)

// What PyTorch answers is compared in internal/test/modeltest; here is what is ours.

func TestHooksOfModules(t *testing.T) {
	torch.ManualSeed(0)
	inner := nn.NewLinear(2, 2)
	h := nn.NewHooked(inner)
	net := nn.NewSequential(h, nn.NewIdentity())
	var names []string
	for _, n := range nn.StateDict(net) {
		names = append(names, n.Name)
	}
	if got := strings.Join(names, " "); got != "0.weight 0.bias" {
		t.Errorf("the state is %s", got)
	}
	x := torch.NewTensor([][]float64{{1, 2}}).RequiresGrad_()
	plain := inner.Forward(x.Mul(3)).Mul(10).Detach()
	var seen []string
	offPre := h.RegisterForwardPreHook(func(m nn.Module, x *torch.Tensor) *torch.Tensor {
		seen = append(seen, fmt.Sprintf("pre %T", m))
		return x.Mul(3)
	})
	offForward := h.RegisterForwardHook(func(_ nn.Module, _, y *torch.Tensor) *torch.Tensor {
		seen = append(seen, "forward")
		return y.Mul(10)
	})
	h.RegisterForwardHook(func(nn.Module, *torch.Tensor, *torch.Tensor) *torch.Tensor { return nil })
	if y := net.Forward(x); y.Sub(plain).Abs().Max().Item() > 1e-5 {
		t.Errorf("got %v, want %v", y, plain)
	}
	if got := strings.Join(seen, ", "); got != "pre *nn.Linear, forward" {
		t.Errorf("hooks ran: %s", got)
	}
	offPre()
	offForward()
	if net.Forward(x); len(seen) != 2 {
		t.Errorf("removed hooks ran: %v", seen)
	}
}

func TestBackwardHooksOfModules(t *testing.T) {
	w := nn.NewLinear(1, 1, kw.Bias(false))
	nn.Constant_(w.Weight, 4)
	h := nn.NewHooked(w)
	x := torch.NewTensor([][]float64{{2}}).RequiresGrad_()
	var in, out float64
	off := h.RegisterFullBackwardHook(func(_ nn.Module, gradInput, gradOutput *torch.Tensor) *torch.Tensor {
		in, out = gradInput.Item(), gradOutput.Item()
		return gradInput.Mul(0.5)
	})
	h.Forward(x).Mul(3).Add(x).Sum().Backward() // the use of x beside the module is not the hook's
	if in != 12 || out != 3 || x.Grad().Item() != 7 || w.Weight.Grad().Item() != 6 {
		t.Errorf("hook saw %v and %v; gradients are %v and %v", in, out, x.Grad(), w.Weight.Grad())
	}
	off()
	in = 0
	if h.Forward(x).Sum().Backward(); in != 0 {
		t.Error("a removed hook ran")
	}
}

func TestFeatureDropout(t *testing.T) {
	torch.ManualSeed(0)
	d := nn.NewDropout2d(0.25)
	y := d.Forward(torch.Ones(40, 50, 2, 3))
	sums := y.Sum(kw.Dim([]int{2, 3})).Float64s()
	kept := 0
	for _, s := range sums {
		switch {
		case math.Abs(s-8) < 1e-4: // six ones over 0.75
			kept++
		case s != 0:
			t.Fatalf("a channel is dropped in part: %v", s)
		}
	}
	if share := float64(kept) / float64(len(sums)); math.Abs(share-0.75) > 0.03 {
		t.Errorf("%v of the channels are kept", share)
	}
	nn.Eval(d)
	if d.Forward(y) != y {
		t.Error("drops in evaluation mode")
	}
}

func TestRecurrentDropoutIsOfTraining(t *testing.T) {
	torch.ManualSeed(0)
	m := nn.NewGRU(3, 4, kw.NumLayers(2), kw.Dropout(0.5))
	x := torch.Randn(5, 2, 3)
	run := func() []float64 {
		y, _ := m.Forward(x)
		return y.Float64s()
	}
	if a, b := run(), run(); slices.Equal(a, b) {
		t.Error("nothing is dropped in training")
	}
	nn.Eval(m)
	if a, b := run(), run(); !slices.Equal(a, b) {
		t.Error("drops in evaluation mode")
	}
}

// TestToKeepsTheTensors converts a module whose weights are tied and have
// gradients.
func TestToKeepsTheTensors(t *testing.T) {
	net := nn.NewSequential(nn.NewLinear(3, 3), nn.NewBatchNorm1d(3))
	lin := net.Modules[0].(*nn.Linear)
	tied := nn.NewLinear(3, 3)
	tied.Weight = lin.Weight
	net.Append(tied)
	before := lin.Weight
	net.Forward(torch.Ones(2, 3)).Sum().Backward()
	grad := before.Grad().Float64s()
	nn.Double(net)
	if lin.Weight != before || tied.Weight != before || before.DType() != torch.Float64 || !before.RequiresGrad() || !before.IsLeaf() {
		t.Errorf("the weight is another one: %v", lin.Weight)
	}
	if g := before.Grad(); g.DType() != torch.Float64 || !slices.Equal(g.Float64s(), grad) {
		t.Errorf("the gradient is %v", g)
	}
	norm := net.Modules[1].(*nn.BatchNorm1d)
	if norm.RunningMean.DType() != torch.Float64 || norm.NumBatchesTracked.DType() != torch.Int64 {
		t.Errorf("buffers are %v and %v", norm.RunningMean.DType(), norm.NumBatchesTracked.DType())
	}
	if y := net.Forward(torch.Ones(2, 3, kw.Dtype(torch.Float64))); y.DType() != torch.Float64 {
		t.Errorf("the output is %v", y.DType())
	}
	nn.Half(net)
	if before.DType() != torch.Float16 {
		t.Errorf("the weight is %v", before.DType())
	}
}

func TestLazyModulesFollowTheirMode(t *testing.T) {
	l := nn.NewLazyBatchNorm1d()
	if n := len(nn.StateDict(l)); n != 0 || l.Made() {
		t.Errorf("a module that has seen nothing has %d entries", n)
	}
	nn.Eval(l)
	l.Forward(torch.Ones(2, 3))
	if !l.Made() || l.Module.IsTraining() || len(nn.Parameters(l)) != 2 {
		t.Error("the module was not made in evaluation mode")
	}
}

func TestOrthogonalAndSparse(t *testing.T) {
	torch.ManualSeed(0)
	for _, shape := range [][]int{{3, 5}, {5, 3}, {4, 2, 3}} {
		w := nn.Orthogonal_(torch.Empty(shape), 2)
		m := w.Reshape(shape[0], -1)
		if m.Size(0) > m.Size(1) {
			m = m.T()
		}
		off := m.Matmul(m.T()).Sub(torch.Eye(m.Size(0)).Mul(4)).Abs().Max().Item()
		if off > 1e-5 {
			t.Errorf("%v: rows are orthogonal up to %v", shape, off)
		}
	}
	s := nn.Sparse_(torch.Empty(10, 4), 0.25, 0.01)
	for _, zeros := range s.Eq(0).Sum(kw.Dim(0)).Ints() {
		if zeros != 3 {
			t.Errorf("a column has %d zeros, want 3", zeros)
		}
	}
}

func TestInit(t *testing.T) {
	torch.ManualSeed(0)
	w := torch.Empty(200, 100)
	nn.KaimingNormal_(w, kw.Mode("fan_out"), kw.Nonlinearity("relu"))
	if std := w.Std().Item(); math.Abs(std-0.1) > 0.002 {
		t.Errorf("kaiming_normal_ has a deviation of %v", std)
	}
	nn.TruncNormal_(w, 1, 2, 0.5, 1.5)
	if low, high := w.Min().Item(), w.Max().Item(); low < 0.5 || high > 1.5 || high-low < 0.9 {
		t.Errorf("trunc_normal_ goes from %v to %v", low, high)
	}
	if got := fmt.Sprint(nn.Eye_(torch.Empty(2, 3)).Float64s()); got != "[1 0 0 0 1 0]" {
		t.Errorf("eye_ gives %s", got)
	}
	d := nn.Dirac_(torch.Empty(4, 2, 3), 2)
	if x := torch.Randn(1, 4, 5); torch.Op("conv1d", x, d, kw.Padding([]int{1}),
		kw.Groups(2))[0].(*torch.Tensor).Sub(x).Abs().Max().Item() != 0 {
		t.Error("a dirac_ convolution changes its input")
	}
}

func TestRefusals(t *testing.T) {
	for want, f := range map[string]func(){
		"embed_dim must be divisible by num_heads": func() { nn.NewMultiheadAttention(5, 2) },
		"Need attn_mask if specifying the is_causal hint.": func() {
			m := nn.NewMultiheadAttention(4, 2)
			x := torch.Ones(2, 1, 4)
			m.Attend(x, x, x, kw.IsCausal(true))
		},
		"proj_size has to be smaller than hidden_size": func() {
			nn.NewLSTM(3, 4, kw.ProjSize(4))
		},
		"input.size(-1) must be equal to input_size. Expected 3, got 2": func() {
			nn.NewGRU(3, 4).Forward(torch.Ones(2, 2, 2))
		},
		"GRU.__init__() got an unexpected keyword argument 'proj_size'": func() {
			nn.NewGRU(3, 4, kw.ProjSize(2))
		},
		"padding='same' is not supported for strided convolutions": func() {
			nn.NewConv1d(1, 1, 3, kw.Padding("same"), kw.Stride(2))
		},
		"Unknown nonlinearity 'gelu'. Select from 'tanh' or 'relu'.": func() {
			nn.NewRNN(1, 1, kw.Nonlinearity("gelu"))
		},
		"FractionalMaxPool2d requires specifying either an output size, or a pooling ratio, and not both": func() {
			nn.NewFractionalMaxPool2d(2)
		},
		"num_channels (5) must be divisible by num_groups (2)": func() { nn.NewGroupNorm(2, 5) },
		"Embedding: sparse gradients are not supported":        func() { nn.NewEmbedding(2, 2, kw.Sparse(true)) },
		"Given output_size=(5, 5), kernel_size=(2, 2), dilation=(1, 1), padding=(0, 0), stride=(1, 1), expected size of input's " +
			"dimension 2 to match the calculated number of sliding blocks 4 * 4 = 16, but got input.size(2)=12.": func() {
			nn.NewFold(5, 2).Forward(torch.Ones(1, 4, 12))
		},
		"dropout probability has to be between 0 and 1, but got 1.5": func() { nn.NewDropout2d(1.5) },
		"pack_sequence() got an unexpected keyword argument 'batch_first'": func() {
			nn.PackSequence([]*torch.Tensor{torch.Ones(2)}, kw.BatchFirst(true))
		},
		"Expected hidden size [1 2 4], got [1 3 4]": func() { nn.NewGRU(3, 4).Forward(torch.Ones(5, 2, 3), torch.Ones(1, 3, 4)) },
		"The shape of the 2D attn_mask is [2 2], but should be [3 3].": func() {
			m := nn.NewMultiheadAttention(4, 2)
			x := torch.Ones(3, 1, 4)
			m.Attend(x, x, x, kw.AttnMask(torch.Ones(2, 2)))
		},
	} {
		func() {
			defer func() {
				if e, ok := recover().(*torch.Error); !ok || e.Msg != want {
					t.Errorf("got %v, want %q", e, want)
				}
			}()
			f()
			t.Errorf("was not refused: %s", want)
		}()
	}
}

// TestModulesMove: Module.to takes devices, dtypes or both; a device that is not there is
// refused, even for a module without tensors.
func TestModulesMove(t *testing.T) {
	net := func() *nn.Sequential { return nn.NewSequential(nn.NewLinear(2, 3), nn.NewBatchNorm1d(3)) }
	for _, c := range []struct {
		to   []any
		want string // of the first weight, and of the count of batches
	}{
		{[]any{"meta"}, "meta f32, meta i64"},
		{[]any{torch.Device("cpu")}, "cpu f32, cpu i64"},
		{[]any{torch.Float64}, "cpu f64, cpu i64"},
		{[]any{"meta", torch.Float64}, "meta f64, meta i64"},
		{[]any{kw.Device("meta"), kw.Dtype(torch.Bfloat16)}, "meta bf16, meta i64"},
	} {
		m := net()
		w := nn.Parameters(m)[0]
		nn.To(m, c.to...)
		state := nn.StateDict(m)
		count := state[len(state)-1].Tensor
		if got := fmt.Sprintf("%s %s, %s %s", w.Device(), w.DType().Short(), count.Device(), count.DType().Short()); got != c.want {
			t.Errorf("to(%v): %s, want %s", c.to, got, c.want)
		}
		if nn.Parameters(m)[0] != w || !w.RequiresGrad() {
			t.Errorf("to(%v): the weight is another tensor", c.to)
		}
	}
	nn.Cpu(net())
	for want, f := range map[string]func(){
		"AssertionError: Torch not compiled with CUDA enabled": func() {
			nn.Cuda(net())
		},
		"AssertionError: Torch not compiled with XPU enabled": func() {
			nn.To(nn.NewReLU(), "xpu")
		},
		"RuntimeError: Invalid device string: 'cuda:x'": func() {
			nn.To(net(), kw.Device("cuda:x"))
		},
		"TypeError: nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=torch.int64": func() {
			nn.To(net(), torch.Int64)
		},
		"TypeError: Embedding.from_pretrained() got an unexpected keyword argument 'device'": func() {
			nn.NewEmbeddingFromPretrained(torch.Ones(2, 2), true, kw.Device("cpu"))
		},
		"TypeError: LazyLinear.__init__() got an unexpected keyword argument 'stride'": func() { nn.NewLazyLinear(2, kw.Stride(1)) },
	} {
		func() {
			defer func() {
				if e, ok := recover().(*torch.Error); !ok || e.String() != want {
					t.Errorf("%v, want %s", e, want)
				}
			}()
			f()
		}()
	}
}
