package tracer

import (
	"fmt"
	"go/types"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"

	"tcdbg/logs"
	"tcdbg/torch"
	"tcdbg/torch/compiler/modes"
	"tcdbg/tracer/eval"
	"tcdbg/tracer/host"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file is what torch.Compile and the functions of torch/compiler do under the tracer:
// most of them return a function of the same type whose calls come to Tracer.onCall.

// compileIntrinsic is torch.Compile under the tracer: it returns a function of
// the same type whose calls come to onCall. Of a module it compiles Forward, in place.
func (t *Tracer) compileIntrinsic(_ *host.Thread, call *host.Frame, args []unsafe.Pointer, result unsafe.Pointer) {
	typ := resultType(call, "torch.Compile")
	opts, err := t.parseOptions(*(*[]torch.Option)(args[1]))
	t.cfg.Override.apply(&opts)
	if err == nil && !opts.disable {
		opts.mode, err = t.checkBackend(opts)
	}
	if err != nil {
		panic(&torch.Error{Op: "torch.Compile", Msg: err.Error()})
	}
	sig, isFunc := typ.Underlying().(*types.Signature)
	if !isFunc {
		t.compileModule(typ, args[0], opts)
		if result != nil {
			t.in.Copy(typ, result, args[0])
		}
		return
	}
	cl := t.in.ClosureOf(args[0])
	if cl == nil {
		cl = t.in.WrapperOf(args[0])
	}
	switch {
	case cl != nil:
	case *(*unsafe.Pointer)(args[0]) == nil:
		panic(&torch.Error{Op: "torch.Compile", Msg: "the argument is nil"})
	case opts.fullgraph:
		panic(&torch.Error{Op: "torch.Compile", Msg: noProgram})
	default:
		t.cfg.note("torch.Compile: " + noProgram)
		t.in.Copy(typ, result, args[0])
		return
	}
	if opts.disable {
		t.in.MakeFunc(result, sig, cl)
		return
	}
	t.in.MakeFunc(result, sig, &host.Closure{Fn: cl.Fn, Free: cl.Free, Compiled: t.compiledOf(cl, opts, eval.CallerPos(t.prog, call))})
}

// noProgram is said of torch.Compile(torch.Relu).
const noProgram = "the argument is a function of torch itself, which runs as it is: to capture it, compile a function that calls it"

// compiledOf is what an earlier Compile of the same function with the same options has
// made, so that Compile in a loop compiles once, as in PyTorch; else a new one. Results
// under reduce-overhead belong to what Compile returned.
func (t *Tracer) compiledOf(cl *host.Closure, opts options, at logs.Pos) *Compiled {
	key, ok := t.compileKey(cl, opts)
	if !ok {
		c := t.newCompiled(cl.Fn, opts)
		made, _ := t.alone.LoadOrStore(t.aloneKey(cl, opts, at), new(atomic.Int64))
		c.made, c.madeAt = made.(*atomic.Int64), at
		c.made.Add(1)
		return c
	}
	if c, there := t.same.Load(key); there {
		c := c.(*Compiled)
		c.made.Add(1)
		return c
	}
	c := t.newCompiled(cl.Fn, opts)
	c.made, c.madeAt = new(atomic.Int64), at
	c.made.Store(1)
	t.same.Store(key, c)
	return c
}

// compileKey identifies a function and options; false where two cannot be compared. A
// function literal is one function whatever it captures: guards compare that, as PyTorch's
// entries belong to a code object. A method value goes with its receiver.
func (t *Tracer) compileKey(cl *host.Closure, opts options) (string, bool) {
	common, ok := sharedKey(cl.Fn, opts)
	if !ok {
		return "", false
	}
	var sb strings.Builder
	sb.WriteString(common)
	if cl.Fn.Parent() != nil {
		return sb.String(), true
	}
	for i, v := range cl.Fn.FreeVars {
		if _, ptr := v.Type().Underlying().(*types.Pointer); !ptr {
			return "", false
		}
		fmt.Fprintf(&sb, " %p", *(*unsafe.Pointer)(cl.Free[i]))
	}
	return sb.String(), true
}

// sharedKey identifies the code of a function and options; false where what a call of Compile
// makes is for itself.
func sharedKey(fn *ssa.Function, opts options) (string, bool) {
	return fmt.Sprintf("%p %+v", fn, opts), opts.backend == nil && opts.mode == modes.Default
}

// aloneKey identifies a function that a line gives to Compile, where each call compiles it
// apart. Numbers that a literal captures may differ, as they do in a loop; what it captures
// else is compared, so that the models of a constructor are not taken for one.
func (t *Tracer) aloneKey(cl *host.Closure, opts options, at logs.Pos) string {
	var sb strings.Builder
	fmt.Fprintf(&sb, "%p %s:%d %s", cl.Fn, at.File, at.Line, opts.mode)
	for i, v := range cl.Fn.FreeVars {
		cell, ok := v.Type().Underlying().(*types.Pointer)
		if !ok {
			fmt.Fprintf(&sb, " %p", cl.Free[i])
			continue
		}
		at := *(*unsafe.Pointer)(cl.Free[i])
		if cl.Fn.Parent() != nil { // a literal: the variable, whose cell is new in each round
			switch cell.Elem().Underlying().(type) {
			case *types.Basic:
				continue
			case *types.Pointer:
				at = *(*unsafe.Pointer)(at)
			}
		}
		fmt.Fprintf(&sb, " %p", at)
	}
	return sb.String()
}

func (t *Tracer) newCompiled(fn *ssa.Function, opts options) *Compiled {
	c := &Compiled{t: t, fn: fn, opts: opts, made: new(atomic.Int64), cache: map[string]*frameCache{}, alike: t.familyOf(fn, opts)}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.compiled = append(t.compiled, c)
	return c
}

// compileModule compiles the method Forward of the module at p, for this one object.
func (t *Tracer) compileModule(typ types.Type, p unsafe.Pointer, opts options) {
	refuse := func(why string) {
		panic(&torch.Error{Op: "torch.Compile", Msg: why})
	}
	if types.IsInterface(typ) {
		typ, p = t.in.Dynamic(typ, p)
	}
	if typ == nil {
		refuse("the argument is nil")
	}
	sel := types.NewMethodSet(typ).Lookup(nil, "Forward")
	if sel == nil {
		refuse(fmt.Sprintf("the argument is of type %s, which is not a function and has no method Forward", value.TypeName(typ)))
	}
	path := sel.Index()
	for _, i := range path[:len(path)-1] { // Forward of what is embedded
		if ptr, ok := typ.Underlying().(*types.Pointer); ok {
			if p, typ = *(*unsafe.Pointer)(p), ptr.Elem(); p == nil {
				refuse("the argument embeds a module that is nil")
			}
		}
		st, ok := typ.Underlying().(*types.Struct)
		if !ok {
			break
		}
		p, typ = unsafe.Add(p, t.in.Rep(typ).Field(i).Offset), st.Field(i).Type()
		if types.IsInterface(typ) {
			t.compileModule(typ, p, opts)
			return
		}
	}
	recv := p
	if _, ok := typ.Underlying().(*types.Pointer); ok {
		recv = *(*unsafe.Pointer)(p)
	} else if len(path) == 1 {
		refuse(fmt.Sprintf("%s is not a pointer: a copy of it has no code of its own; pass net.Forward", value.TypeName(typ)))
	}
	fn := t.prog.FuncValue(sel.Obj().(*types.Func))
	switch {
	case recv == nil:
		refuse("the argument is nil")
	case fn == nil || fn.Signature.Recv() == nil || !eval.IsPointer(fn.Signature.Recv().Type()):
		refuse(fmt.Sprintf("%s has no Forward with a pointer receiver; pass net.Forward", value.TypeName(typ)))
	case opts.disable:
	case !t.in.CompileMethod(fn, recv, t.newCompiled(fn, opts)):
		refuse(fmt.Sprintf("Forward of %s has no source here", value.TypeName(typ)))
	}
}

// disableIntrinsic is compiler.Disable: calls of what it returns run eagerly.
func (t *Tracer) disableIntrinsic(th *host.Thread, call *host.Frame, args []unsafe.Pointer, result unsafe.Pointer) {
	cl, sig := t.functionArgument(call, args[0], "compiler.Disable")
	c := &Compiled{t: t, fn: cl.Fn, disabled: true}
	for _, o := range *(*[]torch.Option)(args[1]) {
		switch v, isBool := o.Value.(bool); {
		case o.Name == "recursive" && isBool:
			c.nested = !v
		case o.Name == "reason":
		default:
			panic(&torch.Error{Op: "compiler.Disable", Msg: fmt.Sprintf("unexpected option %q", o.Name)})
		}
	}
	t.in.MakeFunc(result, sig, &host.Closure{Fn: cl.Fn, Free: cl.Free, Compiled: c})
}

// assumeConstantIntrinsic is compiler.AssumeConstantResult.
func (t *Tracer) assumeConstantIntrinsic(th *host.Thread, call *host.Frame, args []unsafe.Pointer, result unsafe.Pointer) {
	cl, sig := t.functionArgument(call, args[0], "compiler.AssumeConstantResult")
	t.in.MakeFunc(result, sig, &host.Closure{Fn: cl.Fn, Free: cl.Free, Compiled: &Compiled{t: t, fn: cl.Fn, constant: true}})
}

// resetIntrinsic is compiler.Reset: it forgets all entries.
func (t *Tracer) resetIntrinsic(*host.Thread, *host.Frame, []unsafe.Pointer, unsafe.Pointer) {
	t.mu.Lock()
	all := slices.Clone(t.compiled)
	t.mu.Unlock()
	t.resets.Add(1)
	t.alike.Range(func(_, v any) bool {
		v.(*family).forget()
		return true
	})
	for _, c := range all {
		c.forget()
	}
}

// forget drops all entries.
func (c *Compiled) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, fc := range c.cache {
		if c.taken == nil {
			c.taken = map[string]bool{}
		}
		c.taken[key] = true
		fc.mu.Lock()
		fc.total.Add(-int64(len(fc.entries.List())))
		fc.entries.Clear()
		fc.mu.Unlock()
		fc.reset.Store(true)
	}
	c.cache = map[string]*frameCache{}
	c.entry.Store(nil)
}

// resultType is the type F of a call of a generic marker F -> F.
func resultType(call *host.Frame, who string) types.Type {
	if call == nil {
		panic(&torch.Error{Op: who, Msg: "it cannot be called through native code"})
	}
	in := call.Code.Instrs[call.PC-1].(ssa.CallInstruction) // a waiting frame is after its call
	return in.Common().Signature().Results().At(0).Type()
}

// functionArgument reads a func value handed to a generic marker F -> F.
func (t *Tracer) functionArgument(call *host.Frame, arg unsafe.Pointer, who string) (*host.Closure, *types.Signature) {
	t0 := resultType(call, who)
	sig, ok := t0.Underlying().(*types.Signature)
	if !ok {
		panic(&torch.Error{
			Op:  who,
			Msg: fmt.Sprintf("the argument is not a function but of type %s; pass net.Forward", value.TypeName(t0)),
		})
	}
	cl := t.in.ClosureOf(arg)
	if cl == nil {
		panic(&torch.Error{Op: who, Msg: "the argument is nil or a native function"})
	}
	return cl, sig
}
