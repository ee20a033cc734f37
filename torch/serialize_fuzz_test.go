package torch

import (
	"archive/zip"
	"bytes"
	"os"
	"testing"
)

// This file feeds the readers of saved tensors with damaged files: each ends in
// an error, or in values that can be looked at.

// look touches every number of what was loaded.
func look(t *testing.T, v any) {
	switch v := v.(type) {
	case *Tensor:
		if v.Numel() < 1<<12 {
			_ = v.String()
		}
	case OrderedDict:
		for _, it := range v {
			look(t, it.Value)
		}
	case []any:
		for _, x := range v {
			if _, nested := x.([]any); !nested { // lists may share parts many times over
				look(t, x)
			}
		}
	case nil, bool, int, float64, string, DType:
	default:
		t.Errorf("a value of type %T was loaded", v)
	}
}

func FuzzLoad(f *testing.F) {
	for _, name := range []string{"o.pt", "d.pt", "nested.pt"} {
		data, err := os.ReadFile("testdata/serialize/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if v, err := loadArchive(bytes.NewReader(data), int64(len(data)), restored); err == nil {
			look(t, v)
		}
	})
}

// FuzzLoadPickle changes the pickle of an archive whose frame is sound.
func FuzzLoadPickle(f *testing.F) {
	for _, name := range []string{"o.pt", "d.pt"} {
		f.Add(pickleOf(f, "testdata/serialize/"+name))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for name, text := range map[string]string{"x/data.pkl": string(data), "x/data/0": "0123456789abcdef", "x/data/1": "01234567"} {
			e, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := e.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if v, err := loadArchive(bytes.NewReader(b.Bytes()), int64(b.Len()), restored); err == nil {
			look(t, v)
		}
	})
}

func pickleOf(f *testing.F, path string) []byte {
	r, err := os.Open(path)
	if err != nil {
		f.Fatal(err)
	}
	defer r.Close()
	info, err := r.Stat()
	if err != nil {
		f.Fatal(err)
	}
	z, err := zip.NewReader(r, info.Size())
	if err != nil {
		f.Fatal(err)
	}
	l := &loader{files: map[string]*zip.File{"data.pkl": z.File[0]}, left: info.Size()}
	data, err := l.read("data.pkl")
	if err != nil {
		f.Fatal(err)
	}
	return data
}

func FuzzSafetensors(f *testing.F) {
	for _, name := range []string{"s", "m"} {
		data, err := os.ReadFile("testdata/serialize/" + name + ".safetensors")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tensors, meta, err := parseSafetensors(bytes.NewReader(data), int64(len(data)), true)
		if err != nil {
			return
		}
		for _, x := range tensors {
			look(t, x)
		}
		again, err := formatSafetensors(tensors, meta)
		if err != nil {
			t.Fatalf("what was read does not write: %v", err)
		}
		if _, _, err := parseSafetensors(bytes.NewReader(again), int64(len(again)), true); err != nil {
			t.Fatalf("what was written does not read: %v", err)
		}
	})
}
