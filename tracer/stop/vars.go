package stop

import (
	"go/ast"
	"go/token"
	"go/types"
	"unsafe"

	"tcdbg/tracer/host"
	"tcdbg/tracer/ssainfo"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file finds the variables of a frame. SSA keeps most of them in registers, one for
// each value that they were given; its debug references say which register is which
// variable's. What reaches an instruction on every way there is its value.

// home is where a variable is: in a register, or at an address that a register holds.
// The zero home is none: the ways to the instruction differ.
type home struct {
	reg   ssa.Value
	place bool
}

type homes map[*types.Var]home

// reaching is where the variables of a function are at the beginning of each block.
type reaching struct {
	in     map[*ssa.BasicBlock]homes
	placed map[*types.Var]bool // those that have an address
}

func reachingOf(fn *ssa.Function) *reaching { return value.Fact(fn, computeReaching) }

func computeReaching(fn *ssa.Function) *reaching {
	r := &reaching{in: map[*ssa.BasicBlock]homes{}, placed: map[*types.Var]bool{}}
	if len(fn.Blocks) == 0 {
		return r
	}
	r.findPlaced(fn)
	r.in[fn.Blocks[0]] = r.entry(fn)
	for changed := true; changed; {
		changed = false
		for _, b := range fn.Blocks {
			if b.Index > 0 {
				if in := r.merge(b); in != nil && !same(in, r.in[b]) {
					r.in[b], changed = in, true
				}
			}
		}
	}
	return r
}

func same(a, b homes) bool {
	if b == nil || len(a) != len(b) {
		return false
	}
	for v, h := range a {
		if o, ok := b[v]; !ok || o != h {
			return false
		}
	}
	return true
}

// findPlaced finds the variables that an Alloc or the capturing function holds.
func (r *reaching) findPlaced(fn *ssa.Function) {
	at := map[token.Pos]bool{}
	for _, b := range fn.Blocks {
		for _, in := range b.Instrs {
			if a, ok := in.(*ssa.Alloc); ok && a.Comment != "" {
				at[a.Pos()] = true
			}
		}
	}
	for _, v := range variablesOf(fn) {
		r.placed[v] = at[v.Pos()]
	}
}

// variablesOf lists the variables that the debug references of fn name, its parameters
// and its named results.
func variablesOf(fn *ssa.Function) []*types.Var {
	var out []*types.Var
	for _, p := range fn.Params {
		if v, ok := p.Object().(*types.Var); ok {
			out = append(out, v)
		}
	}
	out = append(out, namedResults(fn)...)
	for _, b := range fn.Blocks {
		for _, in := range b.Instrs {
			if ref, ok := in.(*ssa.DebugRef); ok {
				if v := variable(ref); v != nil {
					out = append(out, v)
				}
			}
		}
	}
	return out
}

// variable is the local variable that a reference is to, nil for other expressions.
func variable(ref *ssa.DebugRef) *types.Var {
	if _, ok := ref.Expr.(*ast.Ident); !ok {
		return nil
	}
	v, ok := ref.Object().(*types.Var)
	if !ok || v.IsField() || v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
		return nil
	}
	return v
}

func namedResults(fn *ssa.Function) []*types.Var {
	sig := fn.Signature
	if o := fn.Origin(); o != nil {
		sig = o.Signature
	}
	var out []*types.Var
	for v := range sig.Results().Variables() {
		if v.Name() != "" && v.Name() != "_" {
			out = append(out, v)
		}
	}
	return out
}

// entry is where variables are when fn begins.
func (r *reaching) entry(fn *ssa.Function) homes {
	out := homes{}
	for i, v := range namedResults(fn) {
		if !r.placed[v] && i < fn.Signature.Results().Len() {
			out[v] = home{reg: ssa.NewConst(nil, fn.Signature.Results().At(i).Type())}
		}
	}
	for _, p := range fn.Params {
		if v, ok := p.Object().(*types.Var); ok {
			out[v] = home{reg: p}
		}
	}
	return out
}

// merge is where variables are at the beginning of b; nil before any way to it is known.
func (r *reaching) merge(b *ssa.BasicBlock) homes {
	var out homes
	for _, p := range b.Preds {
		in := r.in[p]
		if in == nil {
			continue
		}
		from := r.after(p, len(p.Instrs), in)
		if out == nil {
			out = from
			continue
		}
		for v, h := range from {
			if o, ok := out[v]; ok && o != h {
				out[v] = home{}
			} else if !ok {
				out[v] = home{} // not assigned on the other way
			}
		}
		for v := range out {
			if _, ok := from[v]; !ok {
				out[v] = home{}
			}
		}
	}
	if out == nil {
		return nil
	}
	for v := range out {
		if phi := phiOf(b, v); phi != nil && !r.placed[v] {
			out[v] = home{reg: phi}
		}
	}
	return out
}

// phiOf is the phi of b that is variable v, nil for none or several: SSA gives it the
// place of the variable.
func phiOf(b *ssa.BasicBlock, v *types.Var) *ssa.Phi {
	var out *ssa.Phi
	for _, in := range b.Instrs {
		phi, ok := in.(*ssa.Phi)
		if !ok || phi.Pos() != v.Pos() || phi.Comment != v.Name() {
			continue
		}
		if out != nil {
			return nil
		}
		out = phi
	}
	return out
}

// after is where variables are before instruction n of b, from where they are at its
// beginning.
func (r *reaching) after(b *ssa.BasicBlock, n int, in homes) homes {
	out := homes{}
	for v, h := range in {
		out[v] = h
	}
	for _, in := range b.Instrs[:n] {
		switch in := in.(type) {
		case *ssa.DebugRef:
			if v := variable(in); v != nil && !r.placed[v] && !in.IsAddr {
				out[v] = home{reg: in.X}
			}
		case *ssa.Alloc:
			if v := r.variableAt(b.Parent(), in); v != nil && !isParam(b.Parent(), v) {
				out[v] = home{reg: in, place: true}
			}
		case *ssa.Store: // a parameter is moved to its place
			if a, ok := in.Addr.(*ssa.Alloc); ok {
				if v := r.variableAt(b.Parent(), a); v != nil {
					out[v] = home{reg: a, place: true}
				}
			}
		}
	}
	return out
}

// variableAt is the variable whose memory an Alloc is, nil where it is none.
func (r *reaching) variableAt(fn *ssa.Function, a *ssa.Alloc) *types.Var {
	if a.Comment == "" {
		return nil
	}
	for v, placed := range r.placed {
		if placed && v.Pos() == a.Pos() && v.Name() == a.Comment {
			return v
		}
	}
	return nil
}

func isParam(fn *ssa.Function, v *types.Var) bool {
	for _, p := range fn.Params {
		if p.Object() == v {
			return true
		}
	}
	return false
}

// local is one variable of a level.
type local struct {
	obj     *types.Var
	typ     types.Type
	arg     bool
	addr    unsafe.Pointer // of the value; nil where it is unknown
	place   bool           // addr is the variable itself
	unknown string
}

// Why a variable has no value.
const (
	notAssigned  = "not assigned yet"
	notKept      = "not needed any more: the compiler does not keep it"
	notRestored  = "not needed any more: compiled code does not keep it"
	severalNamed = "the compiler keeps several values of it"
)

// locals lists the variables of a level, arguments first.
func (l *level) locals(prog *host.Program) []local {
	in := l.instr()
	if in == nil {
		return nil
	}
	fn := in.Parent()
	pos := l.pos()
	r := reachingOf(fn)
	at := homes{}
	if known := r.in[in.Block()]; known != nil {
		at = r.after(in.Block(), l.index(), known)
	}
	var args, rest []local
	for _, v := range visible(fn, pos) {
		if v.Name() == "_" {
			continue
		}
		loc, ok := l.find(r, fn, v, at)
		switch {
		case !ok:
		case loc.arg:
			args = append(args, loc)
		default:
			rest = append(rest, loc)
		}
	}
	return append(args, rest...)
}

// find is variable v of the level; ok is false for one of an outer function that this
// one does not capture.
func (l *level) find(r *reaching, fn *ssa.Function, v *types.Var, at homes) (loc local, ok bool) {
	loc = local{obj: v, typ: v.Type(), arg: isParam(fn, v)}
	for _, fv := range fn.FreeVars {
		if fv.Name() == v.Name() && fv.Pos() == v.Pos() {
			return l.freeVar(loc, fv), true
		}
	}
	if !declaredIn(fn, v) {
		return loc, false
	}
	h, known := at[v]
	switch {
	case !known:
		loc.unknown = notAssigned
		return loc, true
	case h.reg == nil:
		loc.unknown = notKept
		if r.placed[v] {
			loc.unknown = severalNamed
		}
		return loc, true
	}
	if why := l.missing(h.reg); why != "" {
		loc.unknown = why
		return loc, true
	}
	loc.place = h.place
	loc.addr = l.frame.Addr(h.reg)
	loc.typ = h.reg.Type()
	if h.place {
		loc.typ = loc.typ.Underlying().(*types.Pointer).Elem()
		if loc.addr = *(*unsafe.Pointer)(loc.addr); loc.addr == nil {
			loc.unknown = notAssigned
		}
	}
	return loc, true
}

func (l *level) freeVar(loc local, fv *ssa.FreeVar) local {
	p, ok := fv.Type().Underlying().(*types.Pointer)
	if !ok {
		loc.typ, loc.addr = fv.Type(), l.frame.Addr(fv)
		return loc
	}
	loc.typ, loc.place, loc.addr = p.Elem(), true, *(*unsafe.Pointer)(l.frame.Addr(fv))
	if loc.addr == nil {
		loc.unknown = notAssigned
	}
	return loc
}

// missing says why a register of the frame may not hold what the program has stored.
func (l *level) missing(v ssa.Value) string {
	switch v.(type) {
	case *ssa.Const, *ssa.Global, *ssa.Function, *ssa.Builtin, *ssa.FreeVar:
		return ""
	case *ssa.Parameter:
		if l.frame.Rebuilt() == host.RebuiltHere {
			return ""
		}
	}
	if l.frame.Rebuilt() != 0 && !ssainfo.IsLive(l.instr(), v) {
		return notRestored
	}
	return ""
}

// declaredIn reports whether v is declared in fn itself.
func declaredIn(fn *ssa.Function, v *types.Var) bool {
	if isParam(fn, v) {
		return true
	}
	s := fn.Syntax()
	if s == nil {
		return false
	}
	if v.Pos() < s.Pos() || v.Pos() >= s.End() {
		return false
	}
	inner := true
	ast.Inspect(s, func(n ast.Node) bool {
		if lit, ok := n.(*ast.FuncLit); ok && n != s {
			if lit.Pos() <= v.Pos() && v.Pos() < lit.End() {
				inner = false
			}
			return false
		}
		return true
	})
	return inner
}
