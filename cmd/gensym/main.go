// Command gensym writes the symbol tables with which interpreted programs
// reach compiled packages: functions, variables, types, an adapter for each
// interface, and typed thunks for the signatures that are called often.
//
// Usage: gensym -list packages.txt -o FOLDER
package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"go/token"
	"go/types"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"

	"golang.org/x/tools/go/gcexportdata"
)

func main() {
	list := flag.String("list", "packages.txt", "list of packages")
	out := flag.String("o", ".", "folder to write to")
	flag.Parse()
	log.SetFlags(0)
	log.SetPrefix("gensym: ")
	text, err := os.ReadFile(*list)
	check(err)
	hot := map[string]bool{}
	var paths []string
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) == 0 || strings.HasPrefix(f[0], "#") || f[0] == "unsafe" || slices.Contains(f[1:], "source") {
			continue
		}
		paths = append(paths, f[0])
		hot[f[0]] = slices.Contains(f[1:], "thunk")
	}
	sigs := map[string]*types.Signature{}
	var made []string
	pkgs := load(paths)
	old, _ := filepath.Glob(filepath.Join(*out, "sym_*.go"))
	for _, f := range old {
		check(os.Remove(f))
	}
	for _, pkg := range pkgs {
		write(filepath.Join(*out, fileName(pkg.Path())), table(pkg))
		made = append(made, pkg.Path())
		if hot[pkg.Path()] {
			collect(pkg, sigs)
		}
	}
	write(filepath.Join(*out, "sym_index.go"), index(made))
	write(filepath.Join(*out, "sym_thunks.go"), thunks(sigs))
}

// basicAlias finds the predeclared aliases, so that one signature is one case.
var basicAlias = regexp.MustCompile(`\b(byte|rune|any)\b`)

func fileName(path string) string {
	return "sym_" + mangle(path) + "_pkg.go"
}

func mangle(path string) string {
	return strings.NewReplacer("/", "_", ".", "_", "-", "_").Replace(path)
}

func load(paths []string) []*types.Package {
	cmd := exec.Command("go", append([]string{"list", "-e", "-export", "-f", "{{.ImportPath}} {{if .GoFiles}}{{or .Export `broken`}}{{end}}"}, paths...)...)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	check(err)
	imports := map[string]*types.Package{}
	var pkgs []*types.Package
	for line := range strings.Lines(string(text)) {
		path, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "" {
			log.Printf("%s: not written yet, left out", path)
			continue
		}
		if name == "broken" {
			log.Fatalf("%s does not build", path)
		}
		f, err := os.Open(name)
		check(err)
		r, err := gcexportdata.NewReader(f) //nolint:staticcheck // go list gives archives; Read alone does not open them in this version
		check(err)
		pkg, err := gcexportdata.Read(r, token.NewFileSet(), imports, path)
		check(err)
		f.Close()
		pkgs = append(pkgs, pkg)
	}
	return pkgs
}

// table is the generated file of one package.
func table(pkg *types.Package) []byte {
	w := newWriter()
	w.use("tcdbg/tracer/host/rt")
	w.use("reflect")
	me := w.use(pkg.Path())
	w.printf("func pkg_%s() *rt.Pkg {\nreturn &rt.Pkg{\nPath: %q,\n", mangle(pkg.Path()), pkg.Path())
	var funcs, vars, typs, adapters, decls []string
	scope := pkg.Scope()
	for _, name := range scope.Names() {
		obj := scope.Lookup(name)
		if !obj.Exported() {
			continue
		}
		q := me + "." + name
		switch obj := obj.(type) {
		case *types.Func:
			if obj.Signature().TypeParams().Len() == 0 {
				funcs = append(funcs, fmt.Sprintf("%q: %s,\n", name, q))
			}
		case *types.Var:
			vars = append(vars, fmt.Sprintf("%q: &%s,\n", name, q))
		case *types.TypeName:
			if generic(obj.Type()) {
				continue
			}
			if _, isAlias := obj.Type().(*types.Alias); !isAlias && !obj.IsAlias() {
				typs = append(typs, fmt.Sprintf("%q: reflect.TypeFor[%s](),\n", name, q))
			}
			if decl := adapter(w, pkg, obj); decl != "" {
				decls = append(decls, decl)
				adapters = append(adapters, fmt.Sprintf("{Iface: reflect.TypeFor[%s](), Wrap: func(b rt.Boxed) any { return %s{b} }},\n", q, adapterName(pkg, name)))
			}
		}
	}
	section(w, "Funcs", "map[string]any", funcs)
	section(w, "Vars", "map[string]any", vars)
	section(w, "Types", "map[string]reflect.Type", typs)
	section(w, "Adapters", "[]rt.Adapter", adapters)
	w.printf("}\n}\n")
	for _, d := range decls {
		w.printf("\n%s", d)
	}
	return w.file()
}

func section(w *writer, name, typ string, rows []string) {
	if len(rows) > 0 {
		w.printf("%s: %s{\n%s},\n", name, typ, strings.Join(rows, ""))
	}
}

func generic(t types.Type) bool {
	switch t := t.(type) {
	case *types.Named:
		return t.TypeParams().Len() > 0
	case *types.Alias:
		return t.TypeParams().Len() > 0
	}
	return false
}

func adapterName(pkg *types.Package, name string) string { return mangle(pkg.Path()) + "_" + name }

// adapter declares a type whose methods call the interpreter; empty when obj is
// no interface that a program can implement.
func adapter(w *writer, pkg *types.Package, obj *types.TypeName) string {
	it, ok := obj.Type().Underlying().(*types.Interface)
	if !ok || it.NumMethods() == 0 || !it.IsMethodSet() || obj.IsAlias() {
		return ""
	}
	name := adapterName(pkg, obj.Name())
	var b strings.Builder
	fmt.Fprintf(&b, "type %s struct{ rt.Boxed }\n", name)
	for i := range it.NumMethods() {
		m := it.Method(i)
		if !m.Exported() || m.Name() == "Format" || !nameable(m.Signature()) {
			return ""
		}
		method(w, &b, name, m)
	}
	return b.String()
}

func method(w *writer, b *strings.Builder, name string, m *types.Func) {
	sig := m.Signature()
	var params, addrs, fields, results []string
	for i := range sig.Params().Len() {
		t := w.typ(sig.Params().At(i).Type())
		if sig.Variadic() && i == sig.Params().Len()-1 {
			t = "..." + t[2:]
		}
		params = append(params, fmt.Sprintf("p%d %s", i, t))
		addrs = append(addrs, fmt.Sprintf("unsafe.Pointer(&p%d)", i))
	}
	for i := range sig.Results().Len() {
		t := w.typ(sig.Results().At(i).Type())
		fields = append(fields, fmt.Sprintf("r%d %s", i, t))
		results = append(results, t)
	}
	w.use("unsafe")
	args := "nil"
	if len(addrs) > 0 {
		args = "[]unsafe.Pointer{" + strings.Join(addrs, ", ") + "}"
	}
	fmt.Fprintf(b, "\nfunc (a %s) %s(%s) (%s) {\n", name, m.Name(), strings.Join(params, ", "), strings.Join(results, ", "))
	fmt.Fprintf(b, "var r struct{ %s }\n", strings.Join(fields, "; "))
	fmt.Fprintf(b, "a.T.Owner.CallMethod(a.Boxed, %q, %s, unsafe.Pointer(&r))\n", m.Name(), args)
	if len(fields) > 0 {
		var rs []string
		for i := range fields {
			rs = append(rs, fmt.Sprintf("r.r%d", i))
		}
		fmt.Fprintf(b, "return %s\n", strings.Join(rs, ", "))
	}
	b.WriteString("}\n")
}

// collect gathers the signatures of a package's functions and methods, the
// receiver as first parameter.
func collect(pkg *types.Package, sigs map[string]*types.Signature) {
	add := func(recv types.Type, sig *types.Signature) {
		var params []*types.Var
		if recv != nil {
			params = append(params, types.NewVar(token.NoPos, nil, "", recv))
		}
		for v := range sig.Params().Variables() {
			params = append(params, v)
		}
		s := types.NewSignatureType(nil, nil, nil, unnamed(params), unnamed(slices.Collect(sig.Results().Variables())), sig.Variadic())
		if sig.TypeParams().Len() == 0 && nameable(s) {
			sigs[basicAlias.ReplaceAllStringFunc(types.TypeString(s, nil), func(a string) string {
				return map[string]string{"byte": "uint8", "rune": "int32", "any": "interface{}"}[a]
			})] = s
		}
	}
	scope := pkg.Scope()
	for _, name := range scope.Names() {
		obj := scope.Lookup(name)
		if !obj.Exported() || generic(obj.Type()) {
			continue
		}
		switch obj := obj.(type) {
		case *types.Func:
			add(nil, obj.Signature())
		case *types.TypeName:
			if types.IsInterface(obj.Type()) {
				continue
			}
			for _, t := range []types.Type{obj.Type(), types.NewPointer(obj.Type())} {
				ms := types.NewMethodSet(t)
				for i := range ms.Len() {
					if f := ms.At(i).Obj(); f.Exported() {
						add(t, ms.At(i).Type().(*types.Signature))
					}
				}
			}
		}
	}
}

// unnamed strips the names, which do not belong to a signature's identity.
func unnamed(vars []*types.Var) *types.Tuple {
	out := make([]*types.Var, len(vars))
	for i, v := range vars {
		out[i] = types.NewVar(token.NoPos, nil, "", v.Type())
	}
	return types.NewTuple(out...)
}

// nameable reports whether generated code can write t.
func nameable(t types.Type) bool {
	switch t := t.(type) {
	case *types.Named:
		if t.Obj().Pkg() != nil && (!t.Obj().Exported() || strings.Contains(t.Obj().Pkg().Path(), "internal")) {
			return t.Obj().Pkg().Path() == "tcdbg/internal/ops" && t.Obj().Exported()
		}
		for a := range t.TypeArgs().Types() {
			if !nameable(a) {
				return false
			}
		}
		return true
	case *types.Alias:
		return nameable(types.Unalias(t))
	case *types.Basic:
		return t.Kind() != types.Invalid
	case *types.Pointer:
		return nameable(t.Elem())
	case *types.Slice:
		return nameable(t.Elem())
	case *types.Array:
		return nameable(t.Elem())
	case *types.Map:
		return nameable(t.Key()) && nameable(t.Elem())
	case *types.Chan:
		return nameable(t.Elem())
	case *types.Signature:
		return nameable(t.Params()) && nameable(t.Results())
	case *types.Tuple:
		for v := range t.Variables() {
			if !nameable(v.Type()) {
				return false
			}
		}
		return true
	case *types.Interface:
		return t.NumMethods() == 0 && t.IsMethodSet()
	}
	return false
}

// thunks writes one type switch over all signatures.
func thunks(sigs map[string]*types.Signature) []byte {
	w := newWriter()
	w.use("tcdbg/tracer/host/rt")
	w.use("unsafe")
	var keys []string
	for k := range sigs {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	w.printf("// Thunk returns the typed thunk of a function; nil when its signature is not\n// among those called often.\n")
	w.printf("func Thunk(f any) rt.Thunk {\nswitch f := f.(type) {\n")
	for _, k := range keys {
		thunk(w, sigs[k])
	}
	w.printf("}\nreturn nil\n}\n")
	return w.file()
}

func thunk(w *writer, sig *types.Signature) {
	var args []string
	n := sig.Params().Len()
	for i := range n {
		a := fmt.Sprintf("*(*%s)(a[%d])", w.typ(sig.Params().At(i).Type()), i)
		if sig.Variadic() && i == n-1 {
			a += "..."
		}
		args = append(args, a)
	}
	call := "f(" + strings.Join(args, ", ") + ")"
	w.printf("case %s:\nreturn func(a []unsafe.Pointer, r unsafe.Pointer) {\n", w.typ(sig))
	switch sig.Results().Len() {
	case 0:
		w.printf("%s\n", call)
	case 1:
		w.printf("*(*%s)(r) = %s\n", w.typ(sig.Results().At(0).Type()), call)
	default:
		var fields, left []string
		for i := range sig.Results().Len() {
			fields = append(fields, fmt.Sprintf("r%d %s", i, w.typ(sig.Results().At(i).Type())))
			left = append(left, fmt.Sprintf("t.r%d", i))
		}
		w.printf("t := (*struct{ %s })(r)\n%s = %s\n", strings.Join(fields, "; "), strings.Join(left, ", "), call)
	}
	w.printf("}\n")
}

func index(paths []string) []byte {
	w := newWriter()
	w.use("tcdbg/tracer/host/rt")
	w.printf("// Package returns the table of a native package, nil when it is not bound.\n")
	w.printf("func Package(path string) *rt.Pkg {\nswitch path {\n")
	for _, p := range paths {
		w.printf("case %q:\nreturn pkg_%s()\n", p, mangle(p))
	}
	w.printf("}\nreturn nil\n}\n")
	return w.file()
}

// writer builds a Go file and the imports that it needs.
type writer struct {
	body    bytes.Buffer
	imports map[string]string // path to local name
}

func newWriter() *writer { return &writer{imports: map[string]string{}} }

func (w *writer) printf(format string, args ...any) { fmt.Fprintf(&w.body, format, args...) }

// use imports a package and returns its local name: rt, reflect and unsafe
// under their own, the others mangled, so that names never collide.
func (w *writer) use(path string) string {
	name, ok := w.imports[path]
	if !ok {
		switch path {
		case "tcdbg/tracer/host/rt":
			name = "rt"
		case "reflect", "unsafe":
			name = path
		default:
			name = "p_" + mangle(path)
		}
		w.imports[path] = name
	}
	return name
}

func (w *writer) typ(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string { return w.use(p.Path()) })
}

func (w *writer) file() []byte {
	var b bytes.Buffer
	b.WriteString("// Code generated by cmd/gensym. DO NOT EDIT.\n\npackage native\n\n")
	var paths []string
	for p, name := range w.imports {
		// A name may have been asked for by text that was not kept.
		if bytes.Contains(w.body.Bytes(), []byte(name+".")) {
			paths = append(paths, p)
		}
	}
	sort.Strings(paths)
	b.WriteString("import (\n")
	for _, p := range paths {
		fmt.Fprintf(&b, "%s %q\n", w.imports[p], p)
	}
	b.WriteString(")\n\n")
	b.Write(w.body.Bytes())
	out, err := format.Source(b.Bytes())
	if err != nil {
		_, _ = os.Stderr.Write(b.Bytes())
		log.Fatal(err)
	}
	return out
}

func write(name string, data []byte) { check(os.WriteFile(name, data, 0o666)) }

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
