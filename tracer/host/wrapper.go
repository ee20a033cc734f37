package host

import (
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/tools/go/ssa"
)

// This file gives functions of torch that the program uses as values, as in
// torch.Compile(torch.Relu), a function of the program that calls them: what has no
// code here cannot be traced.

// wrapperPackage is the package of these functions.
const wrapperPackage = "tcdbg/torch/values"

// wrap makes the wrappers of p's program. What cannot be written down has none.
func (l *loader) wrap(p *Program) {
	used := p.torchValues()
	if len(used) == 0 {
		return
	}
	w := wrapperText{imports: map[string]string{}}
	var body strings.Builder
	var fns []*ssa.Function
	for _, u := range used {
		if text, ok := w.function(u.fn, u.pos); ok {
			body.WriteString(text)
			fns = append(fns, u.fn)
		}
	}
	var text strings.Builder
	text.WriteString("package values\n")
	for _, path := range slices.Sorted(maps.Keys(w.imports)) {
		fmt.Fprintf(&text, "import %s %q\n", w.imports[path], path)
	}
	text.WriteString(body.String())
	errs := len(l.errs)
	u := l.unit(wrapperPackage, "", []sourceFile{{name: "(functions of torch)", data: []byte(text.String())}})
	if len(l.errs) > errs {
		l.errs = l.errs[:errs]
		return
	}
	p.source[wrapperPackage] = true
	pkg := p.SSA.CreatePackage(u.pkg, u.files, u.info, true)
	pkg.Build()
	p.wrappers = map[*ssa.Function]*ssa.Function{}
	for _, fn := range fns {
		p.wrappers[fn] = pkg.Func(fn.Name())
	}
}

// torchValue is a function of torch that is used as a value, and where.
type torchValue struct {
	fn       *ssa.Function
	pos      token.Position
	compiled bool // is given to torch.Compile there
}

// torchValues lists the functions of torch that the program's own code uses as values,
// by the places where it does so.
func (p *Program) torchValues() []torchValue {
	first := map[*ssa.Function]torchValue{}
	seen := map[*ssa.Function]bool{}
	var visit func(fn *ssa.Function)
	visit = func(fn *ssa.Function) {
		if fn == nil || seen[fn] {
			return
		}
		seen[fn] = true
		for _, a := range fn.AnonFuncs {
			visit(a)
		}
		for _, block := range fn.Blocks {
			for _, in := range block.Instrs {
				for _, f := range functionValues(in) {
					if f.Blocks == nil && f.Pkg != nil && f.Pkg.Pkg.Path() == "tcdbg/torch" && f.Signature.TypeParams() == nil &&
						f.Signature.Recv() == nil {
						u := torchValue{f, p.Pos(in), compiles(in)}
						if old, ok := first[f]; !ok || u.before(old) {
							first[f] = u
						}
					} else if f.Pkg == nil || p.own(f.Pkg.Pkg) { // an instance, a wrapper
						visit(f)
					}
				}
			}
		}
	}
	for _, pkg := range p.SSA.AllPackages() {
		if p.own(pkg.Pkg) {
			for _, m := range pkg.Members {
				switch m := m.(type) {
				case *ssa.Function:
					visit(m)
				case *ssa.Type:
					n, ok := types.Unalias(m.Type()).(*types.Named)
					for i := 0; ok && n.TypeParams() == nil && i < n.NumMethods(); i++ {
						visit(p.SSA.FuncValue(n.Method(i)))
					}
				}
			}
		}
	}
	var out []torchValue
	for _, u := range first {
		out = append(out, u)
	}
	slices.SortFunc(out, func(a, b torchValue) int { return strings.Compare(a.fn.Name(), b.fn.Name()) })
	return out
}

// before reports whether u is a better place for a frame than v: where the function is
// given to torch.Compile, else the first.
func (u torchValue) before(v torchValue) bool {
	if u.compiled != v.compiled {
		return u.compiled
	}
	return u.pos.Filename < v.pos.Filename || u.pos.Filename == v.pos.Filename && u.pos.Offset < v.pos.Offset
}

func compiles(in ssa.Instruction) bool {
	c, ok := in.(ssa.CallInstruction)
	return ok && c.Common().StaticCallee() != nil && fullName(c.Common().StaticCallee()) == "tcdbg/torch.Compile"
}

// functionValues are the functions that in uses, the one that it calls left out unless
// it belongs to the program.
func functionValues(in ssa.Instruction) []*ssa.Function {
	var out []*ssa.Function
	var callee ssa.Value
	if c, ok := in.(ssa.CallInstruction); ok {
		callee = c.Common().Value
	}
	for _, v := range in.Operands(nil) {
		if fn, ok := (*v).(*ssa.Function); ok && (fn != callee || fn.Blocks != nil) {
			out = append(out, fn)
		}
	}
	if fn, ok := callee.(*ssa.Function); ok && fn.Blocks == nil { // as an argument of itself
		for _, a := range in.(ssa.CallInstruction).Common().Args {
			if a == callee {
				out = append(out, fn)
			}
		}
	}
	return out
}

// wrapperText writes the wrappers' source.
type wrapperText struct{ imports map[string]string }

func (w *wrapperText) function(fn *ssa.Function, at token.Position) (string, bool) {
	ok := true
	typ := func(t types.Type) string {
		return types.TypeString(t, func(p *types.Package) string {
			ok = ok && !strings.Contains(p.Path(), "internal")
			if w.imports[p.Path()] == "" {
				w.imports[p.Path()] = fmt.Sprintf("p%d", len(w.imports))
			}
			return w.imports[p.Path()]
		})
	}
	sig := fn.Signature
	var params, args, results []string
	for i := range sig.Params().Len() {
		name, t := fmt.Sprintf("a%d", i), sig.Params().At(i).Type()
		if n := sig.Params().At(i).Name(); n != "" && n != "_" && token.IsIdentifier(n) {
			name = n
		}
		if sig.Variadic() && i == sig.Params().Len()-1 {
			params = append(params, name+" ..."+typ(t.(*types.Slice).Elem()))
			args = append(args, name+"...")
			continue
		}
		params, args = append(params, name+" "+typ(t)), append(args, name)
	}
	for r := range sig.Results().Variables() {
		results = append(results, typ(r.Type()))
	}
	give := ""
	if len(results) > 0 {
		give = "return "
	}
	text := fmt.Sprintf(
		"//line %s:%d\nfunc %s(%s) (%s) { %s%s.%s(%s) }\n", at.Filename, at.Line, fn.Name(), strings.Join(params, ", "),
		strings.Join(results, ", "), give, w.imports[fn.Pkg.Pkg.Path()], fn.Name(), strings.Join(args, ", "),
	)
	return text, ok && at.IsValid() && w.imports[fn.Pkg.Pkg.Path()] != ""
}

// WrapperOf is the closure that calls the function of torch whose value is at p, nil
// where the program does not use one as a value.
func (in *Interp) WrapperOf(p unsafe.Pointer) *Closure {
	word := *(*unsafe.Pointer)(p)
	for fn, wrapper := range in.Prog.wrappers {
		if in.funcValue(fn) == word {
			return &Closure{Fn: wrapper, in: in}
		}
	}
	return nil
}
