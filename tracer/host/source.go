package host

import (
	"archive/zip"
	"bytes"
	"fmt"
	"go/scanner"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unicode"

	"tcdbg/tracer/host/native"

	"golang.org/x/tools/go/gcexportdata"
	"golang.org/x/tools/go/ssa"
)

// This file is where source comes from: the embedded archive, the user's
// module, and the lines and positions that the screen shows.

// archive is the embedded export data and generic source.
type archive struct {
	files map[string]*zip.File
	dirs  map[string][]string // source folders
}

var openArchive = sync.OnceValues(func() (*archive, error) {
	z, err := zip.NewReader(bytes.NewReader(native.Archive), int64(len(native.Archive)))
	if err != nil {
		return nil, fmt.Errorf("export data: %w", err)
	}
	a := &archive{files: map[string]*zip.File{}, dirs: map[string][]string{}}
	for _, f := range z.File {
		a.files[f.Name] = f
		if rest, ok := strings.CutPrefix(f.Name, "source/"); ok {
			dir := rest[:strings.LastIndex(rest, "/")]
			a.dirs[dir] = append(a.dirs[dir], f.Name)
		}
	}
	return a, nil
})

func (a *archive) read(name string) ([]byte, error) {
	r, err := a.files[name].Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

func (a *archive) hasNative(path string) bool {
	return a.files["export/"+path] != nil || path == "unsafe"
}

// native reads the export data of a native package.
func (a *archive) native(path string, imports map[string]*types.Package) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	data, err := a.read("export/" + path)
	if err != nil {
		return nil, err
	}
	return gcexportdata.Read(bytes.NewReader(data), token.NewFileSet(), imports, path)
}

func (a *archive) sourceOf(path string) []sourceFile {
	var out []sourceFile
	for _, name := range a.dirs[path] {
		data, err := a.read(name)
		if err != nil {
			return nil
		}
		out = append(out, sourceFile{name: "$GOROOT/src/" + strings.TrimPrefix(name, "source/"), data: data})
	}
	return out
}

// module is the go.mod above the program.
type module struct {
	root, path, goVersion string
	replace               map[string]string // module path to folder
}

// findModule reads the go.mod of dir or above it; nil without.
func findModule(dir string) *module {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil
	}
	for d := abs; ; d = filepath.Dir(d) {
		if data, err := os.ReadFile(filepath.Join(d, "go.mod")); err == nil {
			return parseModule(relative(dir, abs, d), string(data))
		}
		if filepath.Dir(d) == d {
			return nil
		}
	}
}

// relative spells folder d, at or above abs, from dir as the user wrote it.
func relative(dir, abs, d string) string {
	rel, err := filepath.Rel(abs, d)
	if err != nil {
		return d
	}
	return filepath.Join(dir, rel)
}

// parseModule reads what resolves imports: module, go and replace lines.
func parseModule(root, text string) *module {
	m := &module{root: root, replace: map[string]string{}}
	block := ""
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "//")
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if f[0] == ")" {
			block = ""
			continue
		}
		if len(f) == 2 && f[1] == "(" {
			block = f[0]
			continue
		}
		if block != "" {
			f = append([]string{block}, f...)
		}
		switch {
		case f[0] == "module" && len(f) > 1:
			m.path = strings.Trim(f[1], `"`)
		case f[0] == "go" && len(f) > 1:
			m.goVersion = "go" + f[1]
		case f[0] == "replace":
			m.addReplace(f[1:])
		}
	}
	return m
}

func (m *module) addReplace(f []string) {
	for i, w := range f {
		if w == "=>" && i > 0 && i+1 < len(f) && (strings.HasPrefix(f[i+1], ".") || strings.HasPrefix(f[i+1], "/")) {
			to := f[i+1]
			if !filepath.IsAbs(to) {
				to = filepath.Join(m.root, to)
			}
			m.replace[f[0]] = to
		}
	}
}

// folder returns where a package of the module, or of one that it replaces by
// a folder, lies; empty for others.
func (m *module) folder(path string) string {
	under := func(mod, root string) string {
		if path == mod {
			return root
		}
		if rest, ok := strings.CutPrefix(path, mod+"/"); ok {
			return filepath.Join(root, rest)
		}
		return ""
	}
	best, dir := "", ""
	for mod, root := range m.replace {
		if d := under(mod, root); d != "" && len(mod) > len(best) {
			best, dir = mod, d
		}
	}
	if d := under(m.path, m.root); d != "" && m.path != "" && len(m.path) > len(best) {
		dir = d
	}
	if vendor := filepath.Join(m.root, "vendor", path); dir == "" {
		if st, err := os.Stat(vendor); err == nil && st.IsDir() {
			return vendor
		}
	}
	return dir
}

// splitError turns errors of the parser and checker into positions and texts.
func splitError[L any](err error, line func(token.Position, string) L) []L {
	switch err := err.(type) {
	case placedError:
		return []L{line(err.pos, err.text)}
	case scanner.ErrorList:
		var out []L
		for _, e := range err {
			out = append(out, line(e.Pos, "syntax error: "+e.Msg))
		}
		return out
	case types.Error:
		return []L{line(err.Fset.Position(err.Pos), err.Msg)}
	}
	return []L{line(token.Position{}, err.Error())}
}

// SourceLine returns the text of a line, "" when the file is unknown.
func (p *Program) SourceLine(file string, line int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines, ok := p.texts[file]
	if !ok {
		data := p.files[file]
		if data == nil {
			data, _ = os.ReadFile(file)
		}
		lines = strings.Split(string(data), "\n")
		p.texts[file] = lines
	}
	if line < 1 || line > len(lines) {
		return ""
	}
	return strings.TrimRightFunc(lines[line-1], unicode.IsSpace)
}

// Pos returns where an instruction is: its own position, else that of the
// previous instruction of its block, else the next one's. The head of a range loop
// is at its for, else where its body begins, which is with the element.
func (p *Program) Pos(in ssa.Instruction) token.Position {
	pos := PosOf(in)
	if !pos.IsValid() {
		return token.Position{}
	}
	return p.Fset.Position(pos)
}

// PosOf is [Program.Pos] as the SSA has it.
func PosOf(in ssa.Instruction) token.Pos {
	if in.Pos().IsValid() {
		return in.Pos()
	}
	block := in.Block()
	if block == nil {
		return token.NoPos
	}
	if loop := rangeOf(in); loop != nil {
		return loop.For
	}
	before := token.NoPos
	seen := false
	for _, other := range block.Instrs {
		_, variable := other.(*ssa.Phi) // it is where the variable is declared
		switch {
		case other == in:
			seen = true
		case variable || !other.Pos().IsValid():
		case !seen:
			before = other.Pos()
		case !before.IsValid():
			return other.Pos()
		}
		if seen && before.IsValid() {
			return before
		}
	}
	if strings.HasPrefix(block.Comment, "range") && len(block.Succs) > 0 {
		for _, other := range block.Succs[0].Instrs {
			if other.Pos().IsValid() {
				return other.Pos()
			}
		}
	}
	return in.Parent().Pos()
}
