package torch_test

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
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
	for text, want := range map[string]torch.Device{
		"cpu": torch.Device("cpu"), "cpu:0": torch.Device("cpu"),
		"cpu:1": torch.Device("cpu"), "meta": torch.Device("meta"), "meta:0": torch.Device("meta"),
	} {
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
		"add":      {func() { c.Add(m) }, metaOnCPU},
		"add_":     {func() { c.Clone().Add_(m) }, metaOnCPU},
		"a number": {func() { c.Add(on(torch.Device("meta"))) }, metaOnCPU},
		"mm":       {func() { square(torch.Device("cpu")).Mm(square(torch.Device("meta"))) }, metaOnCPU},
		"linear": {
			func() { nn.NewLinear(2, 2).Forward(square(torch.Device("meta"))) },
			"RuntimeError: Tensor on device cpu is not on the expected device meta!",
		},
		"matmul": {
			func() { square(torch.Device("meta")).Matmul(c) },
			"RuntimeError: Tensor on device cpu is not on the expected device meta!",
		},
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

// TestCpuAndCuda: x.cpu() is x, x.cuda() is refused, and a generator is on the CPU alone.
func TestCpuAndCuda(t *testing.T) {
	const lacking = "AssertionError: Torch not compiled with CUDA enabled"
	x := torch.Ones(2)
	if x.Cpu() != x {
		t.Error("cpu() of a tensor on the CPU is another tensor")
	}
	if d := torch.NewGenerator(1, kw.Device("cpu:0")).Device(); d != torch.Device("cpu") {
		t.Errorf("a generator is on %s", d)
	}
	for name, c := range map[string]struct {
		f    func()
		want string
	}{
		"cuda":     {func() { x.Cuda() }, lacking},
		"cuda(1)":  {func() { x.Cuda(1) }, lacking},
		"cuda(-1)": {func() { x.Cuda(-1) }, "RuntimeError: Invalid device string: 'cuda:-1'"},
		"cpu of meta": {
			func() { torch.Ones(2, kw.Device("meta")).Cpu() },
			"NotImplementedError: Cannot copy out of meta tensor; no data!",
		},
		"generator on cuda": {
			func() { torch.NewGenerator(1, kw.Device("cuda")) },
			"RuntimeError: Cannot get CUDA generator without ATen_cuda library.",
		},
		"generator on xpu": {
			func() { torch.NewGenerator(1, kw.Device(torch.Device("xpu"))) },
			"RuntimeError: Cannot get XPU generator without ATen_xpu library.",
		},
		"generator on meta": {func() { torch.NewGenerator(1, kw.Device("meta")) }, "RuntimeError: META device type not an accelerator."},
		"generator on gpu":  {func() { torch.NewGenerator(1, kw.Device("gpu")) }, "RuntimeError: Expected one of cpu, cuda, "},
		"generator of size": {
			func() { torch.NewGenerator(1, kw.Size(2)) },
			"TypeError: Generator() got an unexpected keyword argument 'size'",
		},
	} {
		if got := raised(c.f); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestMapLocation: a tensor that was on a GPU is loaded only where map_location says to
// put it elsewhere.
func TestMapLocation(t *testing.T) {
	on := func(device string) string { // a file as a machine with that device writes it
		path := t.TempDir() + "/x.pt"
		if err := torch.Save(map[string]any{"a": torch.Arange(6).Reshape(2, 3).T()}, path); err != nil {
			t.Fatal(err)
		}
		return retagged(t, path, device)
	}
	const lacking = "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. " +
		"If you are running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your storages " +
		"to the CPU."
	for _, c := range []struct {
		tag  string
		to   any // map_location
		want string
	}{
		{"cpu", nil, "cpu"},
		{"cpu", "cpu", "cpu"},
		{"cpu", "meta", "meta"},
		{"cpu", torch.Device("meta"), "meta"},
		{"cpu", "cuda", lacking},
		{"cpu", map[string]string{"cpu": "cuda"}, lacking},
		{"cpu", "gpu", "don't know how to restore data location of torch.storage.UntypedStorage (tagged with gpu)"},
		{"cuda:0", nil, lacking},
		{"cuda:0", "cpu", "cpu"},
		{"cuda:0", torch.Device("cpu"), "cpu"},
		{"cuda:0", map[string]string{"cuda:0": "cpu"}, "cpu"},
		{"cuda:0", map[string]string{"cuda:1": "cpu"}, lacking},
		{"cpu", 3, "map_location is a device, a string or a map[string]string, not int"},
	} {
		var opts []torch.Option
		if c.to != nil {
			opts = append(opts, kw.MapLocation(c.to))
		}
		v, err := torch.Load(on(c.tag), opts...)
		if err != nil {
			if !strings.HasSuffix(err.Error(), ": "+c.want) {
				t.Errorf("%s to %v: %v, want %s", c.tag, c.to, err, c.want)
			}
			continue
		}
		x := v.(torch.OrderedDict).Get("a").(*torch.Tensor)
		if got := string(x.Device()); got != c.want || x.Size(0) != 3 || x.Stride()[0] != 1 {
			t.Errorf("%s to %v: a tensor of %v on %s, want it on %s", c.tag, c.to, x.Shape(), got, c.want)
		}
	}
}

// retagged is a copy of a saved file whose storages were on another device than the CPU.
func retagged(t *testing.T, path, device string) string {
	t.Helper()
	text := func(s string) string { return "X" + string([]byte{byte(len(s)), 0, 0, 0}) + s } // as pickle writes it
	from, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = from.Close() }()
	var out bytes.Buffer
	to := zip.NewWriter(&out)
	for _, f := range from.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		w, err := to.Create(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(f.Name, "data.pkl") {
			if !bytes.Contains(b, []byte(text("cpu"))) {
				t.Fatal("the file names no device")
			}
			b = bytes.ReplaceAll(b, []byte(text("cpu")), []byte(text(device)))
		}
		if _, err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	path += "." + strings.ReplaceAll(device, ":", "")
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
