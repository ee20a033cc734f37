package torch

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tcdbg/ops"
)

// This file tests what LoadExported and Call refuse; what they compute is compared with PyTorch in
// package backends.

const exportedFolder = "testdata/exported/"

func TestExportedRefusals(t *testing.T) {
	for file, want := range map[string]string{
		"missing.pt2":    "2 operators are not supported: aten.fractional_max_pool2d.default (2), aten.linalg_ldl_factor.default (1)",
		"linear_relu.pt": "the archive has no models/model.json: save the program with torch.export.save of PyTorch 2.9 to 2.15",
		"make.py":        "it is no archive of torch.export.save: zip: not a valid zip file",
	} {
		_, err := LoadExported(exportedFolder + file)
		if err == nil || err.Error() != "torch.LoadExported: "+exportedFolder+file+": "+want {
			t.Errorf("%s: %v\nwant %s", file, err, want)
		}
	}
}

func TestExportedDamage(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`"major": 8`, `"major": 9`, "version 9.20 of PyTorch's export schema, and version 8 is read"},
		{"aten.linear.default", "aten.nosuch.default", "1 operator is not supported: aten.nosuch.default (1)"},
		{"aten.relu.default", "aten.any.default", "aten.any.default: it gives torch.bool[], and the file says torch.float32[s77, 3] (1)"},
		{
			`"as_tensor": {"name": "linear"}`, `"as_graph": {"name": "linear"}`,
			"aten.linear.default: a value of kind as_graph (1), aten.relu.default: a value of kind as_graph (1)",
		},
		{`"type": "cpu"`, `"type": "xpu"`, "a tensor is on the device xpu: export the model on the CPU"},
		{`"dtype": 7, "sizes": [{"as_expr"`, `"dtype": 29, "sizes": [{"as_expr"`, "dtype torch.float8_e4m3fn is not supported"},
		{`\"type\": \"builtins.tuple\"`, `\"type\": \"my.Class\"`, "a my.Class is not supported: tuples, lists and dicts are"},
		{`"min_val": 1, "max_val": 64`, `"min_val": 65, "max_val": 64`, "has the range [65, 64], which holds nothing"},
		{"Symbol('s77', positive=True, integer=True)", "Foo(Integer(1))", "Foo of 1 numbers is not supported"},
		{`"weight_0", "is_param"`, `"weight\u0010\n", "is_param"`, "the archive has no data/weights/weight  "},
		{`"weight_0", "is_param"`, `"../../secret", "is_param"`, "the archive has no data/weights/../../secret"},
	} {
		_, err := changed(t, "linear_relu.pt2", c.old, c.new)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.ContainsFunc(err.Error(), isControl) {
			t.Errorf("%s: %v\nwant %s", c.new, err, c.want)
		}
	}
}

// changed reads an archive whose texts have new in the place of old.
func changed(t *testing.T, file, old, new string) (*ExportedProgram, error) {
	t.Helper()
	z, err := zip.OpenReader(exportedFolder + file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = z.Close() }()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	hits := 0
	for _, f := range z.File {
		data := contents(t, f)
		if strings.HasSuffix(f.Name, ".json") {
			hits += bytes.Count(data, []byte(old))
			data = bytes.ReplaceAll(data, []byte(old), []byte(new))
		}
		e, err := w.Create(f.Name)
		if err == nil {
			_, err = e.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if hits == 0 {
		t.Fatalf("%s has no %s", file, old)
	}
	return readExported(bytes.NewReader(b.Bytes()), int64(b.Len()))
}

func contents(t testing.TB, f *zip.File) []byte {
	t.Helper()
	data := make([]byte, f.UncompressedSize64)
	if err := unpackInto(f, data); err != nil {
		t.Fatal(err)
	}
	return data
}

func TestExportedCalls(t *testing.T) {
	load := func(name string) *ExportedProgram {
		p, err := LoadExported(exportedFolder + name)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	linear, trees := load("linear_relu.pt2"), load("trees.pt2")
	example, ok := trees.ExampleInputs()
	if !ok || strings.Join(trees.InputNames(), " ") != "pair[0] pair[1][0] items['b'] items['a'] scale" {
		t.Errorf("%v %v", example, trees.InputNames())
	}
	for want, call := range map[string]func(){
		"Guard failed: x.size()[0] <= 64, and it is 65":                     func() { linear.Call(Ones(65, 4)) },
		"Guard failed: x.size()[0] >= 1, and it is 0":                       func() { linear.Call(Ones(0, 4)) },
		"Guard failed: x.size()[1] == 4, and it is 5":                       func() { linear.Call(Ones(2, 5)) },
		"Guard failed: len(x.size()) == 2, and it is 1":                     func() { linear.Call(Ones(4)) },
		"Guard failed: x.dtype == torch.float32, and it is torch.float64":   func() { linear.Call(Ones(2, 4).To(ops.Float64)) },
		"x is a tensor, and int is given":                                   func() { linear.Call(3) },
		"exported with 1 values there, (*,), and is called with 0":          func() { linear.Call() },
		`kwargs: the program takes {}, and no "mask"`:                       func() { linear.Call(Ones(2, 4), Option{"mask", nil}) },
		`kwargs: the program takes {'scale': *}, which has no "scale" here`: func() { trees.Call(example[0], example[1]) },
		"items: the program was exported with a dict there, and is called with int": func() {
			trees.Call(example[0], 1, example[2])
		},
	} {
		if msg := refusalOf(call); !strings.Contains(msg, want) {
			t.Errorf("%q\nwant %s", msg, want)
		}
	}
	byName := linear.Call(Option{"x", Ones(2, 4)})[0].(*Tensor)
	if got := linear.Call(Ones(2, 4))[0].(*Tensor); !got.Sub(byName).Eq(0).All().Bool() {
		t.Errorf("%v by name, %v by position", byName, got)
	}
}

func isControl(r rune) bool { return r < ' ' }

func refusalOf(f func()) (msg string) {
	defer func() {
		if err, ok := recover().(error); ok {
			msg = err.Error()
		}
	}()
	f()
	return ""
}

// TestExportedTies: what shares storage in the archive shares it here.
func TestExportedTies(t *testing.T) {
	p, err := LoadExported(exportedFolder + "tied.pt2")
	if err != nil {
		t.Fatal(err)
	}
	d := p.StateDict()
	if d["row"].Storage() != d["whole"].Storage() || d["row"].StorageOffset() != 6 {
		t.Errorf("row begins at %d of another storage", d["row"].StorageOffset())
	}
	for name, w := range d {
		if w.RequiresGrad() != strings.Contains(name, "weight") {
			t.Errorf("%s requires a gradient: %v", name, w.RequiresGrad())
		}
	}
}

// FuzzLoadExported damages archives; FuzzReadExported in package export their texts.
func FuzzLoadExported(f *testing.F) {
	files, err := filepath.Glob(exportedFolder + "*.pt2")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, err := readExported(bytes.NewReader(data), int64(len(data))); err == nil {
			_, _ = p.InputNames(), p.OutputNames()
			if strings.ContainsFunc(p.String(), func(r rune) bool { return r != '\n' && isControl(r) }) {
				t.Errorf("control characters: %q", p)
			}
			_ = p.writeArchive(io.Discard)
			_ = p.writeONNX(io.Discard)
		} else if strings.ContainsFunc(err.Error(), isControl) {
			t.Errorf("an error of several lines: %q", err)
		}
	})
}
