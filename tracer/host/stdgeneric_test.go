package host

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/gcexportdata"
	"golang.org/x/tools/go/ssa"
)

// compiledPackages are the packages that are bound as compiled code, by the export
// data that programs are checked against.
func compiledPackages(t *testing.T) []*types.Package {
	t.Helper()
	a, err := openArchive()
	if err != nil {
		t.Fatal(err)
	}
	var out []*types.Package
	for name := range a.files {
		path, ok := strings.CutPrefix(name, "export/")
		if !ok || a.sourceOf(path) != nil {
			continue
		}
		data, err := a.read(name)
		if err != nil {
			t.Fatal(err)
		}
		pkg, err := gcexportdata.Read(bytes.NewReader(data), token.NewFileSet(), map[string]*types.Package{}, path)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, pkg)
	}
	return out
}

// TestGenericFunctions looks at every generic function of a compiled package, and
// every method of its generic types: there must be an intrinsic for it, since a
// program that uses one without is refused.
func TestGenericFunctions(t *testing.T) {
	in := New(&Program{}, Config{})
	have := func(name string) bool { return in.intrinsics[name] != nil || in.generics[name] != nil }
	found := 0
	for _, pkg := range compiledPackages(t) {
		for _, name := range pkg.Scope().Names() {
			obj := pkg.Scope().Lookup(name)
			if !obj.Exported() {
				continue
			}
			switch obj := obj.(type) {
			case *types.Func:
				if obj.Signature().TypeParams().Len() > 0 {
					found++
					if !have(pkg.Path() + "." + name) {
						t.Errorf("%s.%s has no intrinsic: programs that call it are refused", pkg.Path(), name)
					}
				}
			case *types.TypeName:
				n, ok := obj.Type().(*types.Named)
				if !ok || n.TypeParams().Len() == 0 {
					continue
				}
				for m := range n.Methods() {
					if full := m.FullName(); m.Exported() {
						found++
						if !have(full) {
							t.Errorf("%s has no intrinsic: programs that call it are refused", full)
						}
					}
				}
			}
		}
	}
	if found < 15 {
		t.Errorf("%d generic functions found", found)
	}
}

// TestRefusedFunction: a function without binding is refused by name wherever the
// program names it, and not where code that is never built does.
func TestRefusedFunction(t *testing.T) {
	old := newGenerics
	defer func() { newGenerics = old }()
	newGenerics = func() genericTable {
		m := old()
		delete(m, "sync.OnceValue")
		return m
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "main.go")
	text := `package main

import "sync"

type T struct{}

func (T) M() func() int { return sync.OnceValue(func() int { return 1 }) }

func use[V any](v V) func() V {
	return sync.OnceValue(func() V { return v })
}

func main() {
	f := use[string]
	println(f("x")(), sync.OnceFunc != nil)
	func() { _ = sync.OnceValue[bool] }()
}
`
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := Load(LoadConfig{Paths: []string{file}})
	if err == nil {
		t.Fatal("loaded")
	}
	const why = "sync.OnceValue cannot be used under tcdbg: it is generic, and tcdbg has no code for it; write out what it does, " +
		"or use go run"
	want := fmt.Sprintf("%[1]s:7:34: %[2]s\n%[1]s:10:9: %[2]s\n%[1]s:16:15: %[2]s", file, why)
	if err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

// TestSourceFunctions: what packages that are interpreted from source declare
// without a body has an intrinsic.
func TestSourceFunctions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "main.go")
	text := "package main\nimport (_ \"slices\"; _ \"maps\"; _ \"iter\"; _ \"cmp\"; _ \"unique\")\nfunc main() {}\n"
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	p, err := Load(LoadConfig{Paths: []string{file}})
	if err != nil {
		t.Fatal(err)
	}
	in, found := New(p, Config{}), 0
	for _, pkg := range p.SSA.AllPackages() {
		if !p.embedded[pkg.Pkg.Path()] {
			continue
		}
		for name, m := range pkg.Members {
			fn, ok := m.(*ssa.Function)
			if !ok {
				continue
			}
			found++
			if _, hasBody := fn.Syntax().(*ast.FuncDecl); hasBody && fn.Syntax().(*ast.FuncDecl).Body == nil &&
				in.intrinsics[fullName(fn)] == nil {
				t.Errorf("%s.%s has neither body nor intrinsic", pkg.Pkg.Path(), name)
			}
		}
	}
	if found < 50 {
		t.Errorf("%d functions found", found)
	}
}

// TestOpenFunctions: what takes any type of the program is tried by one of the programs
// that are compared with go run, or testdata/untried.txt names it.
func TestOpenFunctions(t *testing.T) {
	files, err := filepath.Glob("testdata/programs/*.go")
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{}
	for _, file := range files {
		p, err := Load(LoadConfig{Paths: []string{file}})
		if err != nil {
			t.Fatal(err)
		}
		for _, pkg := range p.SSA.AllPackages() {
			if p.own(pkg.Pkg) {
				for _, m := range pkg.Members {
					usesOf(m, tried)
				}
			}
		}
	}
	const list = "testdata/untried.txt"
	open, untried := openFunctions(t), []string{}
	for _, name := range open {
		if !tried[name] {
			untried = append(untried, name)
		}
	}
	text := "# Functions of the standard library that take any type, and that no program of\n# testdata/programs calls: what they " +
		"do with types of the program is not known.\n" + strings.Join(untried, "\n") + "\n"
	if *update {
		if err := os.WriteFile(list, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != text {
		t.Errorf("try what is new in a program; %s has changed: %s", list, firstDifference(text, string(want)))
	}
	if len(open) < 200 || len(untried)*2 > len(open) {
		t.Errorf("%d of %d functions are not tried", len(untried), len(open))
	}
}

// usesOf adds the functions and methods that a member of a package calls or names.
func usesOf(m ssa.Member, tried map[string]bool) {
	var visit func(fn *ssa.Function)
	visit = func(fn *ssa.Function) {
		for _, block := range fn.Blocks {
			for _, in := range block.Instrs {
				if c, ok := in.(ssa.CallInstruction); ok && c.Common().IsInvoke() {
					tried[c.Common().Method.FullName()] = true
				}
				for _, v := range in.Operands(nil) {
					if f, ok := (*v).(*ssa.Function); ok {
						if obj, ok := f.Object().(*types.Func); ok {
							tried[obj.Origin().FullName()] = true
						}
					}
				}
			}
		}
		for _, a := range fn.AnonFuncs {
			visit(a)
		}
	}
	if fn, ok := m.(*ssa.Function); ok {
		visit(fn)
	}
}

// openFunctions lists the functions and methods of the standard library's bound
// packages through whose arguments compiled code sees types of the program: any,
// reflect's values and types, and type parameters.
func openFunctions(t *testing.T) []string {
	var out []string
	add := func(fn *types.Func) {
		if fn.Exported() && opensTypes(fn.Signature()) {
			out = append(out, fn.FullName())
		}
	}
	for _, pkg := range compiledPackages(t) {
		if strings.HasPrefix(pkg.Path(), "tcdbg/") {
			continue
		}
		for _, name := range pkg.Scope().Names() {
			switch obj := pkg.Scope().Lookup(name).(type) {
			case *types.Func:
				add(obj)
			case *types.TypeName:
				if n, ok := obj.Type().(*types.Named); ok && obj.Exported() {
					set := types.NewMethodSet(types.NewPointer(n))
					if types.IsInterface(n) {
						set = types.NewMethodSet(n)
					}
					for m := range set.Methods() {
						if fn := m.Obj().(*types.Func); fn.Pkg() == pkg && len(m.Index()) == 1 {
							add(fn)
						}
					}
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// opensTypes reports whether a parameter or the receiver of sig takes any type.
func opensTypes(sig *types.Signature) bool {
	if sig.TypeParams().Len()+sig.RecvTypeParams().Len() > 0 {
		return true
	}
	if sig.Recv() != nil && isReflection(sig.Recv().Type()) {
		return true
	}
	for p := range sig.Params().Variables() {
		typ := p.Type()
		if s, ok := typ.(*types.Slice); ok {
			typ = s.Elem()
		}
		if i, ok := typ.Underlying().(*types.Interface); ok && i.NumMethods() == 0 || isReflection(typ) {
			return true
		}
	}
	return false
}

func isReflection(t types.Type) bool {
	s := strings.TrimPrefix(t.String(), "*")
	return strings.HasPrefix(s, "reflect.") && (s == "reflect.Value" || s == "reflect.Type" || s == "reflect.MapIter" ||
		s == "reflect.SelectCase")
}
