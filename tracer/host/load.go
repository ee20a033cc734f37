// Package host loads Go source to SSA and runs it: tcdbg's "CPython". Values
// have Go's own memory layout, a frame is one typed object, the frame stack is
// data, and one closure runs one SSA instruction, so that frames can be
// captured, rebuilt and resumed at any instruction.
//
// It imports its own subpackages, and torch through them; never tracer or a
// compiler package. Open load.go first, then interp.go, code.go and run.go.
package host

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"

	"golang.org/x/tools/go/ssa"
)

// LoadConfig says what to load.
type LoadConfig struct {
	// Paths is a .go file, several files of one package, or a folder with or
	// without a go.mod.
	Paths []string
	// Source holds packages that are interpreted from source rather than
	// bound natively, keyed by import path below the root: "tcdbg/torch/nn"
	// is the folder torch/nn.
	Source fs.FS
	// Overlay holds the texts of files that are loaded instead of what is in them, by
	// absolute path.
	Overlay map[string][]byte
}

// Program is a loaded program.
type Program struct {
	Fset *token.FileSet
	SSA  *ssa.Program
	Main *ssa.Package

	source   map[string]bool                 // packages that are interpreted
	imported map[string]bool                 // what those import
	embedded map[string]bool                 // those that are in the binary
	pkgs     map[string]*types.Package       // all packages by path
	wrappers map[*ssa.Function]*ssa.Function // of functions of torch, see wrapper.go
	ssaMu    sync.RWMutex                    // of SSA, once the program runs
	mu       sync.Mutex
	texts    map[string][]string // lines by file
	files    map[string][]byte   // sources that are in no folder
}

// Load parses, type-checks and builds SSA. Its error is a list of lines
// FILE:LINE:COL: message, as the Go compiler prints them.
func Load(cfg LoadConfig) (*Program, error) {
	fset := token.NewFileSet()
	l := &loader{fset: fset, cfg: cfg, pkgs: map[string]*types.Package{"unsafe": types.Unsafe}, units: map[string]*unit{}}
	names, dir, err := mainFiles(cfg.Paths)
	if err != nil {
		return nil, err
	}
	l.mod = findModule(dir)
	l.archive, err = openArchive()
	if err != nil {
		return nil, err
	}
	main := l.unit("main", dir, osFiles(names))
	if len(l.errs) > 0 {
		return nil, l.failure()
	}
	if main.pkg.Name() != "main" {
		return nil, fmt.Errorf("package %s is not a main package", main.pkg.Name())
	}
	if obj, ok := main.pkg.Scope().Lookup("main").(*types.Func); !ok || obj == nil {
		return nil, errors.New("runtime.main_main·f: function main is undeclared in the main package")
	}
	p := l.program(main)
	l.wrap(p)
	if l.errs = p.refusals(); len(l.errs) > 0 {
		return nil, l.failure()
	}
	return p, nil
}

// mainFiles lists the files of the main package and its folder.
func mainFiles(paths []string) (names []string, dir string, err error) {
	if len(paths) == 0 {
		return nil, "", errors.New("no Go files to run")
	}
	for _, p := range paths {
		st, err := os.Stat(p)
		if err != nil {
			return nil, "", err
		}
		if !st.IsDir() {
			names, dir = append(names, p), filepath.Dir(p)
			continue
		}
		bp, err := importDir(p)
		if err != nil {
			return nil, "", err
		}
		dir = p
		names = append(names, goFiles(bp, p)...)
	}
	return names, dir, nil
}

// importDir chooses the files of a folder as go build does. Where cgo is off, a folder
// that has files with cgo alone is not empty: they are chosen.
func importDir(folder string) (*build.Package, error) {
	bp, err := build.Default.ImportDir(folder, 0)
	var none *build.NoGoError
	if errors.As(err, &none) && !build.Default.CgoEnabled {
		c := build.Default
		c.CgoEnabled = true
		return c.ImportDir(folder, 0)
	}
	return bp, err
}

// goFiles lists the files of a package in a folder, those that import "C" too:
// their import then fails at its line.
func goFiles(bp *build.Package, folder string) []string {
	var names []string
	for _, f := range slices.Concat(bp.GoFiles, bp.CgoFiles) {
		names = append(names, filepath.Join(folder, f))
	}
	return names
}

// sourceFile is one file to parse.
type sourceFile struct {
	name string // as positions show it
	data []byte // nil: read name
}

func osFiles(names []string) []sourceFile {
	var out []sourceFile
	for _, n := range names {
		out = append(out, sourceFile{name: n})
	}
	return out
}

// unit is a package that is loaded from source.
type unit struct {
	path  string
	pkg   *types.Package
	files []*ast.File
	info  *types.Info
}

type loader struct {
	fset    *token.FileSet
	cfg     LoadConfig
	archive *archive
	mod     *module
	pkgs    map[string]*types.Package
	units   map[string]*unit
	order   []*unit
	busy    []string
	errs    []error
	texts   map[string][]byte
}

// unit parses and checks one package.
func (l *loader) unit(path, dir string, files []sourceFile) *unit {
	u := &unit{path: path}
	l.units[path] = u
	broken := len(l.errs)
	for _, f := range files {
		var src any
		if f.data == nil {
			f.data = l.overlaid(f.name)
		}
		if f.data != nil {
			src = f.data
			if l.texts == nil {
				l.texts = map[string][]byte{}
			}
			l.texts[f.name] = f.data
		}
		af, err := parser.ParseFile(l.fset, f.name, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			l.errs = append(l.errs, err)
		}
		if af != nil {
			u.files = append(u.files, af)
		}
	}
	if len(l.errs) > broken {
		return u
	}
	u.info = NewInfo()
	conf := types.Config{
		Importer:  importFunc(func(p string) (*types.Package, error) { return l.importFrom(p, dir) }),
		Sizes:     types.SizesFor("gc", runtime.GOARCH),
		Error:     func(err error) { l.errs = append(l.errs, err) },
		GoVersion: l.goVersion(path),
	}
	u.pkg, _ = conf.Check(path, l.fset, u.files, u.info)
	l.pkgs[path] = u.pkg
	l.order = append(l.order, u)
	return u
}

// overlaid is the text that a file has in the overlay; nil: it has none.
func (l *loader) overlaid(name string) []byte {
	if len(l.cfg.Overlay) == 0 {
		return nil
	}
	path, err := filepath.Abs(name)
	if err != nil {
		return nil
	}
	return l.cfg.Overlay[path]
}

// goVersion is the language version of a package: the module's for the
// program, the newest for what is embedded.
func (l *loader) goVersion(path string) string {
	if l.mod != nil && (path == "main" || strings.HasPrefix(path, l.mod.path)) {
		return l.mod.goVersion
	}
	return ""
}

type importFunc func(path string) (*types.Package, error)

func (f importFunc) Import(path string) (*types.Package, error) { return f(path) }

// importFrom resolves an import: the user's module, embedded source, native
// packages, in the order in which they may shadow each other.
func (l *loader) importFrom(path, dir string) (*types.Package, error) {
	if p := l.pkgs[path]; p != nil && (p.Complete() || p == types.Unsafe) {
		return p, nil
	}
	for i, b := range l.busy {
		if b == path {
			return nil, fmt.Errorf("import cycle not allowed: %s", strings.Join(append(l.busy[i:], path), " -> "))
		}
	}
	files, sub, err := l.find(path, dir)
	if err != nil {
		return nil, err
	}
	if files == nil {
		return l.archive.native(path, l.pkgs)
	}
	l.busy = append(l.busy, path)
	u := l.unit(path, sub, files)
	l.busy = l.busy[:len(l.busy)-1]
	if u.pkg == nil {
		return nil, fmt.Errorf("could not load %s", path)
	}
	return u.pkg, nil
}

// find returns the files of a package that is loaded from source, none for a
// native one.
func (l *loader) find(path, dir string) ([]sourceFile, string, error) {
	// Source may hold all of torch (tcdbg init unpacks it from there); what is
	// bound natively stays native.
	if sub, ok := strings.CutPrefix(path, "tcdbg/"); ok && l.cfg.Source != nil && !l.archive.hasNative(path) {
		if files, err := fsFiles(l.cfg.Source, sub, path); err != nil || files != nil {
			return files, "", err
		}
	}
	if files := l.archive.sourceOf(path); files != nil {
		return files, "", nil
	}
	if l.archive.hasNative(path) {
		return nil, "", nil
	}
	var folder string
	switch {
	case strings.HasPrefix(path, "./") || strings.HasPrefix(path, "../"):
		folder = filepath.Join(dir, path)
	case l.mod != nil:
		folder = l.mod.folder(path)
	}
	if folder == "" {
		return nil, "", fmt.Errorf("package %s is not available to interpreted programs", path)
	}
	bp, err := importDir(folder)
	if err != nil {
		return nil, "", err
	}
	return osFiles(goFiles(bp, folder)), folder, nil
}

// fsFiles reads a package from an fs.FS; nil when there is none.
func fsFiles(fsys fs.FS, dir, path string) ([]sourceFile, error) {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil, nil
	}
	var out []sourceFile
	for _, e := range entries {
		n := e.Name()
		if e.IsDir() || !strings.HasSuffix(n, ".go") || strings.HasSuffix(n, "_test.go") {
			continue
		}
		data, err := fs.ReadFile(fsys, dir+"/"+n)
		if err != nil {
			return nil, err
		}
		out = append(out, sourceFile{name: path + "/" + n, data: data})
	}
	return out, nil
}

// failure is the list of errors as the Go compiler prints it: sorted, at most
// ten.
func (l *loader) failure() error {
	type line struct {
		pos  token.Position
		text string
	}
	var lines []line
	for _, err := range l.errs {
		lines = append(lines, splitError(err, func(pos token.Position, text string) line { return line{pos, text} })...)
	}
	sort.SliceStable(lines, func(i, j int) bool {
		a, b := lines[i].pos, lines[j].pos
		if a.Filename != b.Filename {
			return a.Filename < b.Filename
		}
		return a.Line < b.Line || a.Line == b.Line && a.Column < b.Column
	})
	var out []string
	seen := map[string]bool{}
	for _, ln := range lines {
		key := fmt.Sprintf("%s:%d", ln.pos.Filename, ln.pos.Line)
		if seen[key+ln.text] {
			continue
		}
		seen[key+ln.text] = true
		if len(out) == 10 {
			out = append(out, "too many errors")
			break
		}
		if ln.pos.IsValid() {
			out = append(out, fmt.Sprintf("%s: %s", ln.pos, ln.text))
		} else {
			out = append(out, ln.text)
		}
	}
	return errors.New(strings.Join(out, "\n"))
}

// program builds the SSA of everything that is interpreted.
func (l *loader) program(main *unit) *Program {
	prog := ssa.NewProgram(l.fset, ssa.InstantiateGenerics|ssa.GlobalDebug)
	p := &Program{
		Fset: l.fset, SSA: prog, source: map[string]bool{}, imported: map[string]bool{}, embedded: map[string]bool{},
		pkgs: l.pkgs, texts: map[string][]string{}, files: l.texts,
	}
	made := map[*types.Package]bool{}
	var create func(pkgs []*types.Package)
	create = func(pkgs []*types.Package) {
		for _, q := range pkgs {
			if made[q] || l.units[q.Path()] != nil && l.units[q.Path()].pkg == q {
				continue
			}
			made[q] = true
			prog.CreatePackage(q, nil, nil, true)
			create(q.Imports())
		}
	}
	var all []*types.Package
	for _, q := range l.pkgs {
		all = append(all, q)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Path() < all[j].Path() })
	create(all)
	var built []*ssa.Package
	for _, u := range l.order {
		p.source[u.path], p.embedded[u.path] = true, l.archive.sourceOf(u.path) != nil
		for _, q := range u.pkg.Imports() {
			p.imported[q.Path()] = true
		}
		built = append(built, prog.CreatePackage(u.pkg, u.files, u.info, true))
	}
	for _, q := range built {
		q.Build()
	}
	p.Main = prog.Package(main.pkg)
	return p
}

// interpreted reports whether the package of that path is loaded from source.
func (p *Program) interpreted(path string) bool { return p.source[path] }

func (p *Program) typesPackage(path string) *types.Package { return p.pkgs[path] }

// inlined are the packages of the standard library that a tracer steps into: small
// generic code. The others are run from source so that places and types are the
// program's, and are as native to it as compiled ones.
var inlined = map[string]bool{"cmp": true, "iter": true, "maps": true, "slices": true, "unique": true}

// StandardLibrary reports whether fn belongs to the standard library's code that is
// run from source and that no graph follows.
func (p *Program) StandardLibrary(fn *ssa.Function) bool {
	if o := fn.Origin(); o != nil {
		fn = o
	}
	for fn.Parent() != nil {
		fn = fn.Parent()
	}
	return fn.Pkg != nil && p.embedded[fn.Pkg.Pkg.Path()] && !inlined[fn.Pkg.Pkg.Path()]
}

// NewInfo is room for what the checker finds out and SSA needs.
func NewInfo() *types.Info {
	return &types.Info{
		Types:        map[ast.Expr]types.TypeAndValue{},
		Defs:         map[*ast.Ident]types.Object{},
		Uses:         map[*ast.Ident]types.Object{},
		Implicits:    map[ast.Node]types.Object{},
		Instances:    map[*ast.Ident]types.Instance{},
		Scopes:       map[ast.Node]*types.Scope{},
		Selections:   map[*ast.SelectorExpr]*types.Selection{},
		FileVersions: map[*ast.File]string{},
	}
}

// WithSSA calls f while nobody else changes p.SSA or reads what may change of it: packages
// that are made while the program runs.
func (p *Program) WithSSA(f func(*ssa.Program)) {
	p.ssaMu.Lock()
	defer p.ssaMu.Unlock()
	f(p.SSA)
}

// FromSource reports whether the package of that path is run from source.
func (p *Program) FromSource(path string) bool { return p.source[path] }

// FuncValue is the function of a declared function or method, nil where it is unknown.
func (p *Program) FuncValue(fn *types.Func) *ssa.Function {
	p.ssaMu.RLock()
	defer p.ssaMu.RUnlock()
	return p.SSA.FuncValue(fn)
}
