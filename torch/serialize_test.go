package torch_test

import (
	"bytes"
	"encoding/binary"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tcdbg/torch"
)

// testdata/serialize holds files that PyTorch 2.15 and Python's safetensors
// wrote of one set of tensors.

// saved says what the tensors of those files print as.
var saved = map[string]string{
	"b.weight": "tensor([[ 0.,  1.,  2.,  3.],\n        [ 4.,  5.,  6.,  7.],\n        [ 8.,  9., 10., 11.]])",
	"a.bias":   "tensor([ 1.5000, -2.0000], dtype=torch.float64)",
	"n":        "tensor(7)",
	"h":        "tensor([1., 2., 3.], dtype=torch.float16)",
	"bf":       "tensor([[1., 2.]], dtype=torch.bfloat16)",
	"mask":     "tensor([ True, False,  True])",
	"i8":       "tensor([-1,  5], dtype=torch.int8)",
	"u8":       "tensor([255,   0,   3], dtype=torch.uint8)",
	"i32":      "tensor([[1],\n        [2]], dtype=torch.int32)",
	"i16":      "tensor([-300], dtype=torch.int16)",
	"empty":    "tensor([], size=(0, 3))",
}

func checkSaved(t *testing.T, got map[string]*torch.Tensor) {
	t.Helper()
	if c := got["c"]; c == nil || c.DType() != torch.Complex64 || c.Numel() != 1 {
		t.Errorf("c is %v", c)
	}
	for name, want := range saved {
		if got[name] == nil {
			t.Errorf("%s is missing", name)
		} else if s := got[name].String(); s != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, s, want)
		}
	}
}

func TestSafetensorsAreByteCompatible(t *testing.T) {
	for file, meta := range map[string]map[string]string{"s": nil, "m": {"format": "pt"}} {
		path := "testdata/serialize/" + file + ".safetensors"
		tensors, err := torch.LoadSafetensors(path)
		if err != nil {
			t.Fatal(err)
		}
		checkSaved(t, tensors)
		got, err := torch.SafetensorsMetadata(path)
		if err != nil || !reflect.DeepEqual(got, meta) {
			t.Errorf("metadata %v, %v, want %v", got, err, meta)
		}
		var opts []torch.Option
		if meta != nil {
			opts = append(opts, torch.Option{Name: "metadata", Value: meta})
		}
		again := filepath.Join(t.TempDir(), "again")
		if err := torch.SaveSafetensors(tensors, again, opts...); err != nil {
			t.Fatal(err)
		}
		a, _ := os.ReadFile(path)
		b, _ := os.ReadFile(again)
		if !bytes.Equal(a, b) {
			t.Errorf("%s.safetensors: written again it differs:\n%q\nwant\n%q", file, b, a)
		}
	}
}

func TestSafetensorsRefusals(t *testing.T) {
	file := func(header, body string) string {
		return string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header + body
	}
	entry := func(dtype, shape, offsets string) string {
		return `{"x":{"dtype":"` + dtype + `","shape":` + shape + `,"data_offsets":` + offsets + `}}`
	}
	for want, data := range map[string]string{
		"the header is too small":                               "abc",
		"a header of 65535 bytes does not fit":                  "\xff\xff\x00\x00\x00\x00\x00\x00{}",
		"no JSON":                                               file("[}", ""),
		`dtype "F7" is not supported`:                           file(entry("F7", "[]", "[0,0]"), ""),
		"data_offsets [0 2] do not fit shape [1]":               file(entry("F32", "[1]", "[0,2]"), "ab"),
		"the tensors cover 4 bytes of data, and the file has 2": file(entry("F32", "[1]", "[0,4]"), "ab"),
		"data_offsets [4 0] do not fit shape [1]":               file(entry("F32", "[1]", "[4,0]"), "abcd"),
		"shape [4294967296 4294967296] does not f":              file(entry("F32", "[4294967296,4294967296]", "[0,0]"), ""),
		"is no list of whole numbers from 0":                    file(entry("F32", "[-1]", "[0,4]"), "abcd"),
	} {
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := torch.LoadSafetensors(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestLoadWhatPyTorchSaved(t *testing.T) {
	v, err := torch.Load("testdata/serialize/o.pt")
	if err != nil {
		t.Fatal(err)
	}
	state := v.(torch.OrderedDict)
	got := state.Tensors()
	checkSaved(t, got)
	if state[0].Key != "b.weight" || state[1].Key != "a.bias" {
		t.Errorf("the order is lost: %v, %v", state[0].Key, state[1].Key)
	}
	if s := got["t"].Stride(); !reflect.DeepEqual(s, []int{1, 4}) || got["t"].Storage() != got["b.weight"].Storage() {
		t.Errorf("a transposed view has strides %v and shares memory: %v", s, got["t"].Storage() == got["b.weight"].Storage())
	}
	if p := got["param"]; !p.RequiresGrad() {
		t.Error("a parameter does not require grad")
	}
	checkCheckpoint(t, "testdata/serialize/d.pt")
}

// checkCheckpoint reads a dict of plain data.
func checkCheckpoint(t *testing.T, path string) {
	t.Helper()
	v, err := torch.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	d := v.(torch.OrderedDict)
	for key, want := range map[string]any{
		"epoch": 3, "lr": 0.5, "name": "x", "ok": true, "none": nil, "big": 1 << 40,
		"list": []any{1, 2.5, "z"}, "tup": []any{1, 2},
	} {
		if got := d.Get(key); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %#v, want %#v", key, got, want)
		}
	}
	step := d.Get("state").(torch.OrderedDict).Get(0).(torch.OrderedDict).Get("step").(*torch.Tensor)
	if step.Item() != 3 {
		t.Errorf("step is %v", step)
	}
}

func checkpoint() map[string]any {
	w := torch.Arange(12.0).Reshape(3, 4)
	return map[string]any{
		"epoch": 3, "lr": 0.5, "name": "x", "ok": true, "none": nil, "big": 1 << 40, "list": []any{1, 2.5, "z"}, "tup": [2]int{1, 2},
		"state": map[int]map[string]any{0: {"step": torch.NewTensor(3.0)}}, "w": w, "t": w.T(), "param": torch.Ones(2).RequiresGrad_(),
	}
}

func TestSaveComesBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.pt")
	if err := torch.Save(checkpoint(), path); err != nil {
		t.Fatal(err)
	}
	checkCheckpoint(t, path)
	v, _ := torch.Load(path)
	got := v.(torch.OrderedDict).Tensors()
	if got["t"].Storage() != got["w"].Storage() || got["t"].At(1, 2).Item() != 9 || !got["param"].RequiresGrad() {
		t.Errorf("views or parameters came back wrong: %v", got)
	}
}

// TestPyTorchLoadsWhatWeSave needs Python with PyTorch.
func TestPyTorchLoadsWhatWeSave(t *testing.T) {
	python := os.Getenv("TCDBG_PYTHON")
	if python == "" {
		python = "python3"
	}
	if err := exec.Command(python, "-c", "import torch").Run(); err != nil {
		t.Skipf("no PyTorch: %s -c 'import torch': %v (set TCDBG_PYTHON)", python, err)
	}
	path := filepath.Join(t.TempDir(), "model.pt")
	if err := torch.Save(checkpoint(), path); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(python, "-c", `
import sys, torch
for mmap in (False, True):
    d = torch.load(sys.argv[1], weights_only=True, mmap=mmap)
    print(d["epoch"], d["lr"], d["tup"], d["list"], d["state"][0]["step"].item(), d["w"].sum().item(), d["t"].stride(), d["t"].data_ptr() == d["w"].data_ptr(), d["param"].requires_grad)
`, path).CombinedOutput()
	line := "3 0.5 (1, 2) [1, 2.5, 'z'] 3.0 66.0 (1, 4) True True\n"
	if err != nil || string(out) != line+line {
		t.Errorf("%v\n%s\nwant\n%s", err, out, line+line)
	}
}

// TestLoadRunsNothing refuses a pickle that calls a function.
func TestLoadRunsNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bad.pt")
	writeZip(t, path, map[string]string{"bad/data.pkl": "\x80\x02cos\nsystem\n(X\x02\x00\x00\x00idtR."})
	if _, err := torch.Load(path); err == nil || !strings.Contains(err.Error(), "os.system is not allowed") {
		t.Errorf("got %v", err)
	}
	writeZip(t, path, map[string]string{"bad/data.pkl": "\x80\x02]q\x00h\x00a."})
	if _, err := torch.Load(path); err == nil || !strings.Contains(err.Error(), "holds itself") {
		t.Errorf("got %v", err)
	}
	deep := "\x80\x02)" + strings.Repeat("\x85", 1<<20) + "."
	writeZip(t, path, map[string]string{"bad/data.pkl": deep})
	if _, err := torch.Load(path); err == nil || !strings.Contains(err.Error(), "more than 1000 deep") {
		t.Errorf("a million tuples in each other: %v", err)
	}
	outside := "\x80\x02)" + strings.Repeat("q\x00h\x00\x86", 60) + "Q."
	writeZip(t, path, map[string]string{"bad/data.pkl": outside}) // as text it would fill any memory
	if _, err := torch.Load(path); err == nil || !strings.Contains(err.Error(), "is no storage") {
		t.Errorf("got %v", err)
	}
	doubled := "\x80\x02]" + strings.Repeat("q\x00h\x00\x86", 60) + "."
	writeZip(t, path, map[string]string{"bad/data.pkl": doubled})
	if _, err := torch.Load(path); err != nil {
		t.Errorf("sixty pairs of pairs: %v", err)
	}
	loop := []any{nil}
	loop[0] = loop
	if err := torch.Save(loop, path); err == nil || !strings.Contains(err.Error(), "more than 1000 deep") {
		t.Errorf("a list that holds itself: %v", err)
	}
	if err := torch.Save(map[string]any{"f": func() {}}, path); err == nil || !strings.Contains(err.Error(), "func() cannot be saved") {
		t.Errorf("got %v", err)
	}
}

// TestLoadChecksBounds asks for tensors outside of their storage of one float.
func TestLoadChecksBounds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.pt")
	for view, good := range map[string]bool{
		"K\x00K\x01\x85K\x01\x85":                                    true,  // offset 0, size 1
		"K\x00K\x05\x85K\x00\x85":                                    true,  // five times the same element
		"K\x00K\x02\x85K\x01\x85":                                    false, // size 2
		"K\x01K\x01\x85K\x01\x85":                                    false, // offset 1
		"K\x00J\xff\xff\xff\xff\x85K\x01\x85":                        false, // size -1
		"K\x00K\x02\x85J\xff\xff\xff\xff\x85":                        false, // stride -1
		"K\x00\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x40\x85K\x04\x85": false, // size 2^62, stride 4
	} {
		text := "\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((" +
			"X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x01tQ" + view + "\x89}tR."
		writeZip(t, path, map[string]string{"x/data.pkl": text, "x/data/0": "\x00\x00\x80\x3f"})
		v, err := torch.Load(path)
		if good && (err != nil || v.(*torch.Tensor).Float64s()[0] != 1) {
			t.Errorf("%q: got %v, %v", view, v, err)
		}
		if !good && (err == nil || !strings.Contains(err.Error(), "outside of its storage")) {
			t.Errorf("%q: got %v, %v", view, v, err)
		}
	}
}

// TestLoadSurvivesDamage changes bytes of good files: whatever comes of it is
// an error or tensors that can be read.
func TestLoadSurvivesDamage(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	path := filepath.Join(t.TempDir(), "x.pt")
	for _, name := range []string{"o.pt", "d.pt"} {
		good, err := os.ReadFile("testdata/serialize/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for range 1000 {
			data := bytes.Clone(good)
			for range 1 + r.Intn(4) {
				data[r.Intn(len(data))] = byte(r.Intn(256))
			}
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
			v, err := torch.Load(path)
			if d, ok := v.(torch.OrderedDict); ok && err == nil {
				for _, x := range d.Tensors() {
					if x.Numel() < 1<<12 {
						_ = x.String()
					}
				}
			}
		}
	}
}
