package torch_test

import (
	"strings"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
)

// raised is what f panics with, as Python prints an exception; empty where it does not.
func raised(f func()) (text string) {
	defer func() {
		if e, ok := recover().(*torch.Error); ok {
			text = e.String()
		}
	}()
	f()
	return ""
}

// TestDevices: a device that is not there, or none at all, is refused wherever one is
// taken, in PyTorch's words.
func TestDevices(t *testing.T) {
	const lacking = "AssertionError: Torch not compiled with CUDA enabled"
	refusals := map[any]string{
		"cuda": lacking, "cuda:1": lacking, torch.Device("cuda"): lacking,
		"xpu":     "AssertionError: Torch not compiled with XPU enabled",
		"cuda:x":  "RuntimeError: Invalid device string: 'cuda:x'",
		"cuda:-1": "RuntimeError: Invalid device string: 'cuda:-1'",
		"cpu:":    "RuntimeError: Invalid device string: 'cpu:'",
		"cuda:01": "RuntimeError: Invalid device string: 'cuda:01'",
		"":        "RuntimeError: Device string must not be empty",
		"gpu":     "RuntimeError: Expected one of cpu, cuda, ",
		"CPU":     "RuntimeError: Expected one of cpu, cuda, ",
	}
	x := torch.Ones(2)
	for device, want := range refusals {
		d := kw.Device(device)
		for name, f := range map[string]func(){
			"ones":      func() { torch.Ones(2, d) },
			"zeros":     func() { torch.Zeros(2, d) },
			"empty":     func() { torch.Empty(2, d) },
			"full":      func() { torch.Full([]int{2}, 1, d) },
			"randn":     func() { torch.Randn(2, d) },
			"rand":      func() { torch.Rand(2, d) },
			"randint":   func() { torch.Randint(0, 5, []int{2}, d) },
			"randperm":  func() { torch.Randperm(3, d) },
			"arange":    func() { torch.Arange(3, d) },
			"linspace":  func() { torch.Linspace(0, 1, 3, d) },
			"eye":       func() { torch.Eye(3, d) },
			"tensor":    func() { torch.NewTensor([]int{1}, d) },
			"ones_like": func() { torch.OnesLike(x, d) },
			"to":        func() { x.To(d) },
		} {
			if got := raised(f); !strings.HasPrefix(got, want) || want == "" {
				t.Errorf("%s on %q: %q, want %q", name, device, got, want)
			}
		}
		if s, ok := device.(string); ok && s != "" {
			if got := raised(func() { x.To(s) }); !strings.HasPrefix(got, want) {
				t.Errorf("to(%q): %q, want %q", s, got, want)
			}
		}
	}
	for text, want := range map[string]torch.Device{"cpu": torch.Device("cpu"), "cpu:0": torch.Device("cpu"), "cpu:1": torch.Device("cpu"), "meta": torch.Device("meta"), "meta:0": torch.Device("meta")} {
		if got := torch.Ones(2, kw.Device(text)).Device(); got != want {
			t.Errorf("%s becomes %s", text, got)
		}
		if got := torch.NewTensor(1, kw.Device(text)).Device(); got != want {
			t.Errorf("a number on %s is on %s", text, got)
		}
	}
}

// TestMixedDevices: tensors of different devices do not go together, but for numbers on
// the CPU; a copy of what has no data is refused.
func TestMixedDevices(t *testing.T) {
	on := func(d torch.Device, size ...int) *torch.Tensor { return torch.Ones(size, kw.Device(d)) }
	c, m := on(torch.Device("cpu"), 2), on(torch.Device("meta"), 2)
	square := func(d torch.Device) *torch.Tensor { return on(d, 2, 2) }
	const metaOnCPU = "RuntimeError: Tensor on device meta is not on the expected device cpu!"
	for name, c := range map[string]struct {
		f    func()
		want string
	}{
		"add":        {func() { c.Add(m) }, metaOnCPU},
		"add_":       {func() { c.Clone().Add_(m) }, metaOnCPU},
		"a number":   {func() { c.Add(on(torch.Device("meta"))) }, metaOnCPU},
		"mm":         {func() { square(torch.Device("cpu")).Mm(square(torch.Device("meta"))) }, metaOnCPU},
		"linear":     {func() { nn.NewLinear(2, 2).Forward(square(torch.Device("meta"))) }, "RuntimeError: Tensor on device cpu is not on the expected device meta!"},
		"matmul":     {func() { square(torch.Device("meta")).Matmul(c) }, "RuntimeError: Tensor on device cpu is not on the expected device meta!"},
		"cat":        {func() { torch.Cat([]*torch.Tensor{c, m}) }, metaOnCPU},
		"stack":      {func() { torch.Stack([]*torch.Tensor{c, m}) }, metaOnCPU},
		"where":      {func() { torch.Where(c.Gt(0), c, m) }, metaOnCPU},
		"copy":       {func() { c.Clone().Copy_(m) }, "NotImplementedError: Cannot copy out of meta tensor; no data!"},
		"to":         {func() { m.To(torch.Device("cpu")) }, "NotImplementedError: Cannot copy out of meta tensor; no data!"},
		"cpu number": {func() { m.Add(torch.NewTensor(1.0)) }, ""},
		"to meta":    {func() { c.To(torch.Device("meta")) }, ""},
		"onto meta":  {func() { m.Clone().Copy_(c) }, ""},
	} {
		if got := raised(c.f); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
