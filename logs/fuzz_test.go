package logs

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// seeds reads real logs of the neighbouring package's testdata.
func seeds(f *testing.F, names ...string) [][]byte {
	f.Helper()
	var out [][]byte
	for _, n := range names {
		b, err := os.ReadFile("../explain/testdata/traces/" + n + ".zst")
		if err != nil {
			f.Fatal(err)
		}
		d, err := zstd.NewReader(nil)
		if err != nil {
			f.Fatal(err)
		}
		text, err := d.DecodeAll(b, nil)
		if err != nil {
			f.Fatal(err)
		}
		d.Close()
		out = append(out, text)
	}
	return out
}

// FuzzTrace: any bytes are cut into records whose places are true: reading
// them again on demand gives the same.
func FuzzTrace(f *testing.F) {
	for _, b := range seeds(f, "pytorch-2.11/trace_0rccpu.log", "pytorch-2.11/trace_3fucpu.log") {
		f.Add(b[:min(len(b), 6000)])
		f.Add(b[len(b)/2 : min(len(b), len(b)/2+6000)])
	}
	f.Add([]byte(prefix + `{"a": {}}` + "\n\tx\n\n\ty\n" + prefix + "{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		st, err := Open([]string{"-"}, Options{Stdin: bytes.NewReader(data), SpoolMemory: 1 << 30})
		if err != nil {
			return
		}
		defer st.Close()
		var recs []*Record
		if err := st.Read(context.Background(), func(r *Record) { recs = append(recs, r.Keep()) }); err != nil {
			return
		}
		for i, r := range recs {
			again, err := st.Record(i)
			if err != nil {
				t.Fatal(err)
			}
			if again.Key() != r.Key() || again.Text() != r.Text() || again.ID != r.ID || again.Place() != r.Place() {
				t.Errorf("record %d: %+v read again is %+v", i, r, again)
			}
			sameFields(t, r)
			sameFields(t, again)
			r.Stack("stack")
			r.Stack("")
		}
	})
}

// FuzzTextLine: the lexer of prefixes takes any line.
func FuzzTextLine(f *testing.F) {
	for _, b := range seeds(f, "pytorch-2.15/loops.txt", "pytorch-2.11/logs_4cgcuda.txt") {
		for i, line := range bytes.Split(b, []byte("\n")) {
			if i < 60 {
				f.Add(line)
			}
		}
	}
	f.Add([]byte("[W 250221 12:16:33 id:2] x"))
	f.Add([]byte("I0221 120624.445 file.py:282] x"))
	f.Add([]byte("[2024-01-04 13:26:12,345] [0/0] torch.x.__graph_breaks: [DEBUG] x"))
	f.Fuzz(func(t *testing.T, line []byte) {
		l := lexLine(line)
		if l.hasID && l.autograd < 0 && l.id.Frame < 0 {
			t.Errorf("an id without a frame: %+v", l)
		}
	})
}

// FuzzText: any text becomes a sound trace.
func FuzzText(f *testing.F) {
	for _, b := range seeds(f, "pytorch-2.11/logs_02_ex_cpu.txt", "pytorch-2.11/logs_03_fg_cpu.txt",
		"pytorch-2.11/logs_1rccpu.txt", "pytorch-2.15/ddp_train.txt") {
		f.Add(b[:min(len(b), 4000)])
	}
	f.Add([]byte(table))
	f.Fuzz(func(t *testing.T, data []byte) {
		if isBinary(data) || looksLikeTrace(data) {
			return
		}
		st, err := Open([]string{"-"}, Options{Stdin: bytes.NewReader(data)})
		if err != nil {
			return
		}
		defer st.Close()
		if err := st.Read(context.Background(), func(r *Record) { r.Payload() }); err != nil {
			return
		}
		if s := st.Stats(); s.BadJSON+s.MD5Mismatch+s.Stray != 0 {
			t.Errorf("converted text is a damaged trace: %+v", s)
		}
	})
}

// FuzzJSON: what encoding/json accepts as an object, the scanner walks over
// whole, with the same keys.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"a": [1, {"b": "\"}"}], "c": null, "d": -1.5e3, "a": ""}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var want map[string]json.RawMessage
		n := 0
		ok := EachField(data, func(k, v []byte) bool {
			n++
			JSONString(v)
			JSONStrings(v)
			JSONInt(v)
			return true
		})
		if json.Unmarshal(data, &want) == nil && want != nil && (!ok || n < len(want)) {
			t.Errorf("scanned %d of %d fields, ok %v", n, len(want), ok)
		}
	})
}

// FuzzArchive: any bytes as a file, archives and what is left of them included,
// give records or an error; what is read stays within bounds.
func FuzzArchive(f *testing.F) {
	for _, b := range seeds(f, "pytorch-2.11/trace_3fucpu.log", "pytorch-2.15/loops.txt") {
		b = b[:min(len(b), 3000)]
		var gz, zst bytes.Buffer
		w := gzip.NewWriter(&gz)
		if _, err := w.Write(b); err != nil {
			f.Fatal(err)
		}
		if err := w.Close(); err != nil {
			f.Fatal(err)
		}
		z, err := zstd.NewWriter(&zst)
		if err != nil {
			f.Fatal(err)
		}
		if _, err := z.Write(b); err != nil {
			f.Fatal(err)
		}
		if err := z.Close(); err != nil {
			f.Fatal(err)
		}
		f.Add(gz.Bytes())
		f.Add(zst.Bytes())
		f.Add(gz.Bytes()[:gz.Len()/2])
		f.Add(zst.Bytes()[:zst.Len()/2])
		f.Add(b)
	}
	f.Add([]byte("\x1f\x8b\x08"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "dedicated_log_torch_trace_x.log")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		st, err := Open([]string{path}, Options{SpoolMemory: 1 << 20})
		if err != nil {
			return
		}
		defer st.Close()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		n := 0
		err = st.Read(ctx, func(r *Record) {
			if n++; n == 1000 { // a bomb is not unpacked to its end
				cancel()
			}
			r.Text()
		})
		if err != nil && n == 0 && err.Error() == "" {
			t.Error("an error without words")
		}
	})
}

// FuzzCompressed compresses any text and cuts the archive off anywhere: its records are
// those of the text, or the first of them.
func FuzzCompressed(f *testing.F) {
	for _, b := range seeds(f, "pytorch-2.11/trace_3fucpu.log", "pytorch-2.11/trace_0rccpu.log") {
		f.Add(b[:min(len(b), 4000)], uint16(0), false)
		f.Add(b[:min(len(b), 4000)], uint16(700), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, cut uint16, gz bool) {
		if !looksLikeTrace(data) || isBinary(data) { // text is converted, and other files are refused
			return
		}
		var b bytes.Buffer
		var w io.WriteCloser = gzip.NewWriter(&b)
		name := "a.log.gz"
		if !gz {
			name = "a.log.zst"
			var err error
			if w, err = zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		archive := b.Bytes()[:b.Len()-int(cut)%b.Len()]
		if !looksLikeTrace(unpacked(archive, gz)) { // what is left of it is text
			return
		}
		got, want := recordsOf(t, name, archive), recordsOf(t, "a.log", data)
		switch whole := len(archive) == b.Len(); {
		case len(got) > len(want), whole && len(got) != len(want):
			t.Fatalf("%d records of %d", len(got), len(want))
		case !whole && len(got) > 0:
			got = got[:len(got)-1] // it may be cut off as well
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("record %d is %q, want %q", i, got[i], want[i])
			}
		}
	})
}

// unpacked is as much of an archive as can be read.
func unpacked(archive []byte, gz bool) []byte {
	var r io.Reader
	var err error
	if gz {
		r, err = gzip.NewReader(bytes.NewReader(archive))
	} else {
		r, err = zstd.NewReader(bytes.NewReader(archive), zstd.WithDecoderConcurrency(1))
	}
	if err != nil {
		return nil
	}
	out, _ := io.ReadAll(r)
	return out
}

// recordsOf reads a file of this name as a command does.
func recordsOf(t *testing.T, name string, data []byte) (out []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	st, err := Open([]string{path}, Options{})
	if err != nil {
		return nil
	}
	defer st.Close()
	err = st.Read(context.Background(), func(r *Record) { out = append(out, r.Key()+" "+string(r.Meta())+" "+r.Text()) })
	if err != nil && err.Error() == "" {
		t.Error("an error without words")
	}
	return out
}

// FuzzLogNames: a setting is refused with the name that is wrong, or says what
// it switches on.
func FuzzLogNames(f *testing.F) {
	for _, s := range []string{"+dynamo", "graph_breaks,recompiles", "-inductor", "all", "help", "+a.b.c,graph", ","} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, setting string) {
		if _, err := ParseLogs(setting); err != nil && err.Error() == "" {
			t.Error("an error without words")
		}
	})
}
