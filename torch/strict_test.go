package torch_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"tcdbg/torch"
)

// safetensorsFile writes a header and data.
func safetensorsFile(t *testing.T, header, data string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.safetensors")
	text := string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header + data
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestSafetensorsAreStrict: what the Python package refuses is refused, and a key that is
// there twice, of which it takes one.
func TestSafetensorsAreStrict(t *testing.T) {
	const a, b = `"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}`, `"b":{"dtype":"F32","shape":[1],"data_offsets":`
	for name, c := range map[string]struct {
		header, data string
		want         string // of the error; "" where it is read
	}{
		"good":    {"{" + a + "}", "abcd", ""},
		"padded":  {"{" + a + "}     ", "abcd", ""},
		"two":     {"{" + b + "[4,8]}," + a + "}", "abcdefgh", ""},
		"nothing": {"{}", "", ""},
		"empty tensors": {`{` + a + `,"z":{"dtype":"F32","shape":[0,7],"data_offsets":[4,4]},` +
			`"y":{"dtype":"I8","shape":[0],"data_offsets":[0,0]}}`, "abcd", ""},
		"no metadata":       {`{"__metadata__":null,` + a + "}", "abcd", ""},
		"more fields":       {`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"note":{}}}`, "abcd", ""},
		"trailing bytes":    {"{" + a + "}", "abcde", "cover 4 bytes"},
		"only data":         {"{}", "a", "cover 0 bytes"},
		"a hole":            {"{" + a + "," + b + "[8,12]}}", "abcdefghijkl", "begin where"},
		"a hole in front":   {"{" + b + "[4,8]}}", "abcdefgh", "begin where"},
		"an overlap":        {"{" + a + "," + b + "[2,6]}}", "abcdef", "begin where"},
		"the same bytes":    {"{" + a + "," + b + "[0,4]}}", "abcd", "begin where"},
		"cut short":         {"{" + a + "}", "abc", "cover 4 bytes"},
		"a name twice":      {"{" + a + "," + a + "}", "abcd", `"a" is there twice`},
		"a field twice":     {`{"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, "abcd", `"dtype" is there twice`},
		"metadata twice":    {`{"__metadata__":{},"__metadata__":{}}`, "", "is there twice"},
		"a text twice":      {`{"__metadata__":{"x":"1","x":"2"}}`, "", `"x" is there twice`},
		"metadata number":   {`{"__metadata__":{"x":1}}`, "", "is no text"},
		"another case":      {`{"a":{"DType":"F32","shape":[1],"data_offsets":[0,4]}}`, "abcd", "lacks its dtype"},
		"no offsets":        {`{"a":{"dtype":"F32","shape":[1]}}`, "abcd", "lacks its"},
		"no shape":          {`{"a":{"dtype":"F32","data_offsets":[0,4]}}`, "abcd", "lacks its"},
		"three offsets":     {`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}}`, "abcd", "lacks its"},
		"other shape":       {`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`, "abcd", "do not fit shape"},
		"negative":          {`{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}`, "abcd", "whole numbers"},
		"a fraction":        {`{"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}}`, "abcd", "whole numbers"},
		"a null":            {`{"a":{"dtype":"F32","shape":[null],"data_offsets":[0,4]}}`, "abcd", "whole numbers"},
		"overflow":          {`{"a":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0]}}`, "", "does not fit"},
		"overflow and zero": {`{"a":{"dtype":"F32","shape":[4294967296,4294967296,0],"data_offsets":[0,0]}}`, "", "does not fit"},
		"junk after JSON":   {"{}  x", "", "follows the JSON"},
		"zeros after JSON":  {"{}\x00\x00", "", "follows the JSON"},
		"no object":         {"[]", "", "no JSON object"},
		"null":              {"null", "", "no JSON object"},
		"no UTF-8":          {"{\"\xff\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}", "", "no UTF-8"},
	} {
		got, err := torch.LoadSafetensors(safetensorsFile(t, c.header, c.data))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %d tensors, %v, want %q", name, len(got), err, c.want)
		}
	}
}

// TestSafetensorsHeaderIsBounded: a header that says it is larger than the file, or than any
// may be, costs nothing.
func TestSafetensorsHeaderIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.safetensors")
	for _, n := range []uint64{17, 100_000_001, 1 << 40, 1<<64 - 1} {
		if err := os.WriteFile(path, append(binary.LittleEndian.AppendUint64(nil, n), make([]byte, 16)...), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := torch.LoadSafetensors(path); err == nil || !strings.Contains(err.Error(), "does not fit") {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	// Data of a terabyte of which nothing is there take no memory.
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Skip("no sparse files here:", err)
	}
	if _, err := torch.LoadSafetensors(path); err == nil {
		t.Error("it was read")
	}
}

// TestLoadIsBounded: a file of one megabyte whose storages unpack to a gigabyte is refused before
// that is done.
func TestLoadIsBounded(t *testing.T) {
	const size = 1 << 28
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range []string{"x/data.pkl", "x/data/0"} {
		e, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		block := []byte("\x80\x02" + storageOf("0", size/4) + ".")
		if name == "x/data/0" {
			block = make([]byte, 1<<20)
		}
		for n := 0; n == 0 || name == "x/data/0" && n < size; n += len(block) {
			if _, err := e.Write(block); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.pt")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := torch.Load(path)
	runtime.ReadMemStats(&after)
	if err == nil || !strings.Contains(err.Error(), "more than 8 times its size") {
		t.Errorf("%v", err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
		t.Errorf("%d MB were taken for a file of %d KB", took>>20, b.Len()>>10)
	}
}

// TestLoadIsStrict: two files of a name, and storages that are not as large as the pickle says.
func TestLoadIsStrict(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.pt")
	one := "\x80\x02" + storageOf("0", 1) + "."
	for want, files := range map[string][]string{
		"":                      {"x/data.pkl", one, "x/data/0", "abcd"},
		"two files data/0":      {"x/data.pkl", one, "x/data/0", "abcd", "x/data/0", "efgh"},
		"two files data.pkl":    {"x/data.pkl", one, "y/data.pkl", one, "x/data/0", "abcd"},
		"storage 0 has 8 bytes": {"x/data.pkl", one, "x/data/0", "abcdefgh"},
		"storage 0 has 2 bytes": {"x/data.pkl", one, "x/data/0", "ab"},
	} {
		writeStored(t, path, files)
		_, err := torch.Load(path)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestSavedFilesAreRegular: a pipe is refused at once, and a device.
func TestSavedFilesAreRegular(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip("no named pipes here:", err)
	}
	for _, path := range []string{pipe, "/dev/zero", t.TempDir()} {
		_, err1 := torch.Load(path)
		_, err2 := torch.LoadSafetensors(path)
		_, err3 := torch.SafetensorsMetadata(path)
		for _, err := range []error{err1, err2, err3} {
			if err == nil || !strings.Contains(err.Error(), "is not a regular file") {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}
