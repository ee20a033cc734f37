package bundle

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/fold"
	"tcdbg/explain/render"
	"tcdbg/explain/rewrite"
	"tcdbg/internal/test/traces"
)

// secretFar is put behind a program, far from all that its trace names.
const secretFar = "api_secret_of_the_far_end"

// program is a saved trace with the program that left it, behind which a secret stands.
type program struct {
	trace string
	read  func(file string) ([]string, error)
}

// programs are the saved traces whose programs are there.
func programs(t *testing.T) []program {
	t.Helper()
	var out []program
	add := func(trace, source string) {
		base := filepath.Base(source)
		text, err := os.ReadFile(source)
		if err != nil {
			return
		}
		comment := "#"
		if strings.HasSuffix(base, ".go") {
			comment = "//"
		}
		lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
		for range 8 {
			lines = append(lines, "")
		}
		lines = append(lines, comment+" "+secretFar, "")
		out = append(out, program{trace, func(file string) ([]string, error) {
			if filepath.Base(file) != base {
				return nil, errors.New("another file")
			}
			return lines, nil
		}})
	}
	for _, path := range traces.Files(t, "../../../explain/testdata/traces") {
		name := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(path, ".zst"), ".log"), ".txt")
		add(path, name+".py")
		add(path, "../../../fixtures/"+filepath.Base(name)+"/model.go")
	}
	examples, err := filepath.Glob("../../../explain/testdata/advice/*/trace.log.zst")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range examples {
		add(path, filepath.Join(filepath.Dir(path), "before.py"))
	}
	return out
}

// reports are what is said of a trace with the program's files: its reports, and whatever they are.
func reports(t *testing.T, trace string, read func(string) ([]string, error)) (*explain.Report, map[string]string) {
	t.Helper()
	st := traces.Open(t, trace)
	f := fold.New(st)
	f.SetTitle("a run")
	f.SetSource(read)
	if err := st.Read(context.Background(), f.Add); err != nil {
		t.Fatal(err)
	}
	r := f.Snapshot()
	rewrite.AddRewrites(r, read)
	out := map[string]string{}
	for name, write := range map[string]func(io.Writer, *explain.Report) error{
		"text": render.WriteAllText, "json": render.WriteJSON, "html": render.WriteHTML,
		"markdown": func(w io.Writer, r *explain.Report) error { return render.WriteMarkdown(w, r, render.Origin{}) },
	} {
		var b bytes.Buffer
		if err := write(&b, r); err != nil {
			t.Fatal(err)
		}
		out[name] = b.String()
	}
	var fixes strings.Builder
	for _, g := range r.Breaks {
		if g.Rewrite != nil {
			fmt.Fprintf(&fixes, "%+v\n", *g.Rewrite)
		}
	}
	out["rewrites"] = fixes.String()
	return r, out
}

// bundled is a bundle of a report, opened, and what its zip holds beside the trace.
func bundled(t *testing.T, r *explain.Report, p program, whole bool) (b *Bundle, members string) {
	t.Helper()
	files := []string{p.trace}
	if inside, _ := filepath.Glob(filepath.Join(p.trace, "*")); len(inside) > 0 {
		files = inside
	}
	var zipped bytes.Buffer
	err := Write(&zipped, &Content{
		TraceFiles: files, Report: r, Read: p.read, Whole: whole, Markdown: func(io.Writer) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if b, err = unpack(bytes.NewReader(zipped.Bytes()), int64(zipped.Len())); err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(zipped.Bytes()), int64(zipped.Len()))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range z.File {
		if strings.HasPrefix(m.Name, traceFolder) {
			continue
		}
		text, err := readAll(m, maxTotal)
		if err != nil {
			t.Fatal(err)
		}
		members += string(text)
	}
	return b, members
}

// TestPartsTellTheSame: with the lines that a bundle keeps all reports, fixes and advice are what they are with
// the whole files; a line that stands far from what is named is in no member, unless whole files are asked for; and
// of what is kept each line is the program's own, of what is not each says so.
func TestPartsTellTheSame(t *testing.T) {
	defer CleanUp()
	files, kept, all := 0, 0, 0
	for _, p := range programs(t) {
		r, before := reports(t, p.trace, p.read)
		b, members := bundled(t, r, p, false)
		if strings.Contains(members, secretFar) {
			t.Errorf("%s: the secret is in the bundle", p.trace)
		}
		for _, e := range b.Sources {
			want, err := p.read(e.Name)
			if err != nil {
				t.Fatal(err)
			}
			got, _ := b.Lines(e.Name)
			if len(got) != len(want) {
				t.Fatalf("%s: %d lines, were %d", p.trace, len(got), len(want))
			}
			files++
			for i, l := range got {
				all++
				if !explain.LeftOut(l) {
					kept++
				}
				if l != want[i] && !explain.LeftOut(l) {
					t.Errorf("%s:%d: %q, was %q", p.trace, i+1, l, want[i])
				}
			}
		}
		_, after := reports(t, p.trace, func(file string) ([]string, error) {
			if lines, ok := b.Lines(file); ok {
				return lines, nil
			}
			return nil, errors.New("not in the bundle")
		})
		for form, was := range before {
			if now := after[form]; now != was {
				t.Errorf("%s: %s differs: %s", p.trace, form, firstDifference(was, now))
			}
		}
		if _, members := bundled(t, r, p, true); len(b.Sources) > 0 && !strings.Contains(members, secretFar) {
			t.Errorf("%s: the whole file is not in the bundle", p.trace)
		}
	}
	t.Logf("%d files: %d of %d lines are kept", files, kept, all)
	if files < 100 || kept*10 > all*8 {
		t.Errorf("%d files, %d of %d lines are kept", files, kept, all)
	}
}

func firstDifference(a, b string) string {
	was, now := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(was), len(now)) {
		if was[i] != now[i] {
			return explain.ClipText(was[i], 300) + "\nis\n" + explain.ClipText(now[i], 300)
		}
	}
	return "length"
}
