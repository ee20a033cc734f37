package bundle

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/logs/regular"
)

// This file writes a bundle.

// Content is what goes into a bundle.
type Content struct {
	Manifest
	TraceFiles []string // paths
	Report     *explain.Report
	Read       func(file string) ([]string, error) // a source file of the program
	Markdown   func(w io.Writer) error             // the report
}

// Write writes a bundle.
func Write(w io.Writer, c *Content) error {
	z := zip.NewWriter(w)
	m := c.Manifest
	m.V, m.Traces, m.Sources = version, nil, []Member{}
	m.Python = pythonOf(c.Report)
	for i, path := range c.TraceFiles {
		e := Member{filepath.Base(path), memberName(traceFolder, i, path)}
		m.Traces = append(m.Traces, e)
		if err := addTrace(z, e.File, path, m.Redacted); err != nil {
			return err
		}
	}
	if !m.Redacted {
		for i, s := range namedSources(c.Report, c.Read) {
			e := Member{s.name, memberName(sourceFolder, i, s.name)}
			m.Sources = append(m.Sources, e)
			if err := add(z, e.File, strings.NewReader(s.text)); err != nil {
				return err
			}
		}
	}
	out, err := create(z, reportName)
	if err == nil {
		err = c.Markdown(out)
	}
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(&m, "", "  ")
	if err == nil {
		err = add(z, manifestName, strings.NewReader(string(text)+"\n"))
	}
	if err != nil {
		return err
	}
	return z.Close()
}

func create(z *zip.Writer, name string) (io.Writer, error) {
	return z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Now()})
}

func add(z *zip.Writer, name string, in io.Reader) error {
	out, err := create(z, name)
	if err == nil {
		_, err = io.Copy(out, in)
	}
	return err
}

func addTrace(z *zip.Writer, name, path string, redacted bool) (err error) {
	f, err := regular.OpenNamed(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if !redacted {
		return add(z, name, f)
	}
	out, err := create(z, name)
	if err != nil {
		return err
	}
	if err := Redact(out, f); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return nil
}

// pythonOf is the version of Python that a trace tells.
func pythonOf(r *explain.Report) string {
	for _, fr := range r.Frames {
		for _, c := range fr.Compiles {
			if c.LoadMetrics == nil {
				continue
			}
			v, _ := c.LoadMetrics()["python_version"].(string)
			return explain.ClipText(v, 100)
		}
	}
	return ""
}

// namedSource is a file of the program.
type namedSource struct{ name, text string }

// namedSources are the files of the program that a trace names. A trace may be a stranger's,
// and name any file of this machine: one is taken only where a line of it is the one that the
// trace has recorded there.
func namedSources(r *explain.Report, read func(string) ([]string, error)) []namedSource {
	var out []namedSource
	files, total := map[string]*candidate{}, 0
	eachPlace(r, func(p logs.Pos) {
		c := files[p.File]
		if c == nil {
			c = &candidate{}
			files[p.File] = c
			if sourceName(p.File) && len(files) < maxMembers/2 {
				c.lines, _ = read(p.File) // a file that is not here is left out
			}
		}
		c.seen = c.seen || explain.TellsFile(p) && explain.SameLine(c.lines, p)
	})
	for name, c := range files {
		if text := strings.Join(c.lines, "\n"); c.seen && len(text) <= maxSource {
			out = append(out, namedSource{name, text})
		}
	}
	slices.SortFunc(out, func(a, b namedSource) int { return strings.Compare(a.name, b.name) })
	for i := range out {
		if total += len(out[i].text); total > maxSources {
			return out[:i]
		}
	}
	return out
}

// candidate is a file that a trace names.
type candidate struct {
	lines []string
	seen  bool // one of its lines is in the trace
}

// sourceName says whether a file's name is that of source of the program.
func sourceName(file string) bool {
	ext := filepath.Ext(file)
	return (ext == ".py" || ext == ".go") && !explain.FrameworkFile(file)
}

// eachPlace calls f with the places that a report tells.
func eachPlace(r *explain.Report, f func(logs.Pos)) {
	all := func(list []logs.Pos) {
		for i := range list {
			f(list[i])
		}
	}
	for _, fr := range r.Frames {
		f(fr.Pos)
		for _, c := range fr.Compiles {
			all(c.Stack)
			for _, b := range c.Breaks {
				f(b.Pos)
				all(b.Stack)
				all(b.Value)
			}
			if c.Recompile != nil {
				for i := range c.Recompile.Failures {
					f(c.Recompile.Failures[i].Pos)
				}
			}
		}
	}
	for _, fl := range r.Failures {
		f(fl.Pos)
		all(fl.Stack)
	}
	for _, k := range r.Kernels {
		all(k.Pos)
	}
	for _, a := range r.Advice {
		f(a.Pos)
	}
}
