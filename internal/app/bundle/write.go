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
	Whole      bool                                // source files as they are, not the lines alone that are named
	Markdown   func(w io.Writer) error             // the report
}

// Write writes a bundle.
func Write(w io.Writer, c *Content) error {
	z := zip.NewWriter(w)
	m := c.Manifest
	m.V, m.Traces, m.Sources = version, nil, []Member{}
	m.Python = pythonOf(c.Report)
	for i, path := range c.TraceFiles {
		e := Member{Name: filepath.Base(path), File: memberName(traceFolder, i, path)}
		m.Traces = append(m.Traces, e)
		if err := addTrace(z, e.File, path, m.Redacted); err != nil {
			return err
		}
	}
	if !m.Redacted {
		for i, s := range namedSources(c) {
			e := Member{Name: s.name, File: memberName(sourceFolder, i, s.name), Kept: s.kept}
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
	if err == nil && len(text) >= maxManifest {
		err = fmt.Errorf("its list of files would be larger than %d MB, which is not opened again", maxManifest>>20)
	}
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

// namedSource is a file of the program, or a part of it.
type namedSource struct {
	name, text string
	kept       [][2]int // lines; nil: all
}

// namedSources are the files of the program that a trace names. A trace may be a stranger's,
// and name any file of this machine: one is taken only where a line of it is the one that the
// trace has recorded there.
func namedSources(c *Content) []namedSource {
	var out []namedSource
	files, total := map[string]*candidate{}, 0
	eachPlace(c.Report, func(p logs.Pos) {
		f := files[p.File]
		if f == nil {
			f = &candidate{named: map[int]bool{}}
			files[p.File] = f
			if sourceName(p.File) && len(files) < maxMembers/2 {
				f.lines, _ = c.Read(p.File) // a file that is not here is left out
			}
		}
		f.named[p.Line] = true
		f.seen = f.seen || explain.TellsFile(p) && explain.SameLine(f.lines, p)
	})
	for name, f := range files {
		if !f.seen || sizeOf(f.lines) > maxSource {
			continue
		}
		if c.Whole {
			out = append(out, namedSource{name: name, text: strings.Join(f.lines, "\n")})
			continue
		}
		p := partOf(c.Report, name, f.lines, f.named)
		out = append(out, namedSource{name, p.text(), p.ranges()})
	}
	slices.SortFunc(out, func(a, b namedSource) int { return strings.Compare(a.name, b.name) })
	for i := range out {
		if total += len(out[i].text); total > maxSources {
			return out[:i]
		}
	}
	return out
}

func sizeOf(lines []string) int {
	n := len(lines)
	for _, l := range lines {
		n += len(l)
	}
	return n
}

// candidate is a file that a trace names.
type candidate struct {
	lines []string
	named map[int]bool
	seen  bool // one of its lines is in the trace
}

// sourceName says whether a file's name is that of source of the program.
func sourceName(file string) bool {
	ext := filepath.Ext(file)
	return (ext == ".py" || ext == ".go") && !explain.FrameworkFile(file)
}
