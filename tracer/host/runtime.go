package host

import (
	"fmt"
	"go/token"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/tools/go/ssa"
)

// This file is package runtime as the program sees it: its own functions and
// lines, and finalizers on its own objects.

// pcBase is where the made-up code addresses of the program begin; each place
// that the program asked for has pcStep of them, so that pc-1 finds it too.
const (
	pcBase = 1 << 46
	pcStep = 16
)

// places are the code addresses handed out.
type places struct {
	mu    sync.Mutex
	list  []stackEntry
	index map[ssa.Instruction]int
	funcs map[*ssa.Function]*runtimeFunc
}

// runtimeFunc is what is behind a *runtime.Func of the program.
type runtimeFunc struct {
	entry  stackEntry
	native *runtime.Func // of compiled code; entry is empty
}

// runtimeFrames is what is behind a *runtime.Frames of the program.
type runtimeFrames struct{ pcs []uintptr }

func pcOf(in *Interp, e stackEntry) uintptr {
	p := &in.places
	p.mu.Lock()
	defer p.mu.Unlock()
	i, ok := p.index[e.in]
	if !ok {
		if p.index == nil {
			p.index = map[ssa.Instruction]int{}
		}
		i = len(p.list)
		p.index[e.in] = i
		p.list = append(p.list, e)
	}
	return pcBase + uintptr(i)*pcStep + 1
}

// placeOf finds the place of a pc of the program.
func placeOf(in *Interp, pc uintptr) (stackEntry, bool) {
	p := &in.places
	p.mu.Lock()
	defer p.mu.Unlock()
	if pc < pcBase || pc-pcBase >= uintptr(len(p.list))*pcStep {
		return stackEntry{}, false
	}
	return p.list[(pc-pcBase)/pcStep], true
}

// userVisible reports whether a function is shown in traces: wrappers do not.
func userVisible(fn *ssa.Function) bool {
	return fn.Synthetic == "" || fn.Name() == "init" || strings.HasPrefix(fn.Synthetic, "instance of") ||
		strings.HasPrefix(fn.Synthetic, "range-over-func")
}

// goName is the name of a function as the Go run time writes it:
// main.(*T).M, main.f.func1.
func goName(fn *ssa.Function) string {
	if parent := fn.Parent(); parent != nil {
		name := strings.TrimPrefix(fn.Name(), parent.Name()+"$")
		return goName(parent) + ".func" + strings.ReplaceAll(name, "$", ".")
	}
	pkg := ""
	if fn.Pkg != nil {
		pkg = fn.Pkg.Pkg.Path()
	} else if o := fn.Origin(); o != nil && o.Pkg != nil {
		pkg = o.Pkg.Pkg.Path()
	}
	name := fn.Name()
	if i := strings.IndexByte(name, '['); i >= 0 {
		name = name[:i] + "[...]"
	}
	recv := fn.Signature.Recv()
	if recv == nil {
		if pkg == "" {
			return fn.String()
		}
		return pkg + "." + name
	}
	t := recv.Type().String()
	star := strings.HasPrefix(t, "*")
	t = strings.TrimPrefix(t, "*")
	if i := strings.IndexByte(t, '['); i >= 0 {
		t = t[:i] + "[...]"
	}
	t = t[strings.LastIndexByte(t, '.')+1:]
	if star {
		t = "(*" + t + ")"
	}
	return pkg + "." + t + "." + name
}

func absolute(file string) string {
	if abs, err := filepath.Abs(file); err == nil && !strings.HasPrefix(file, "$") && file != "" && !strings.HasPrefix(file, "tcdbg/") {
		return abs
	}
	return file
}

func (in *Interp) position(e stackEntry) token.Position {
	pos := in.Prog.Pos(e.in)
	pos.Filename = absolute(pos.Filename)
	return pos
}

// visibleFrames calls f for each frame of the program from call outwards until
// it returns false.
func visibleFrames(call *Frame, f func(stackEntry) bool) {
	for ; call != nil; call = call.Caller {
		if userVisible(call.Code.Fn) && !f(stackEntry{call.Code.Fn, call.at()}) {
			return
		}
	}
}

func addRuntime(m map[string]Intrinsic) {
	m["runtime.Caller"] = runtimeCaller
	m["runtime.Callers"] = runtimeCallers
	m["runtime.CallersFrames"] = func(_ *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		put(r, &runtimeFrames{arg[[]uintptr](a, 0)})
	}
	m["(*runtime.Frames).Next"] = runtimeNext
	m["runtime.FuncForPC"] = runtimeFuncForPC
	m["(*runtime.Func).Name"] = func(_ *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		put(r, arg[*runtimeFunc](a, 0).name())
	}
	m["(*runtime.Func).Entry"] = func(th *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		if f := arg[*runtimeFunc](a, 0); f.native != nil {
			put(r, f.native.Entry())
		} else {
			put(r, pcOf(th.In, f.entry))
		}
	}
	m["(*runtime.Func).FileLine"] = runtimeFileLine
	m["runtime.SetFinalizer"] = setFinalizer
	m["runtime.AddCleanup"] = addCleanup
}

func (f *runtimeFunc) name() string {
	switch {
	case f == nil:
		return ""
	case f.native != nil:
		return f.native.Name()
	}
	return goName(f.entry.fn)
}

func runtimeCaller(th *Thread, call *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
	if r == nil {
		return
	}
	out := (*struct {
		pc   uintptr
		file string
		line int
		ok   bool
	})(r)
	out.pc, out.file, out.line, out.ok = 0, "", 0, false
	skip := arg[int](a, 0)
	visibleFrames(call, func(e stackEntry) bool {
		if skip--; skip >= 0 {
			return true
		}
		pos := th.In.position(e)
		out.pc, out.file, out.line, out.ok = pcOf(th.In, e), pos.Filename, pos.Line, true
		return false
	})
}

func runtimeCallers(th *Thread, call *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
	skip, pcs, n := arg[int](a, 0)-1, arg[[]uintptr](a, 1), 0
	if fullName(call.Code.Fn) == slogWriteName {
		skip -= slogNativeFrames
	}
	visibleFrames(call, func(e stackEntry) bool {
		if skip--; skip < 0 {
			if n == len(pcs) {
				return false
			}
			pcs[n] = pcOf(th.In, e)
			n++
		}
		return true
	})
	put(r, n)
}

func runtimeNext(th *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
	fs := arg[*runtimeFrames](a, 0)
	var out struct {
		frame runtime.Frame
		more  bool
	}
	if len(fs.pcs) > 0 {
		pc := fs.pcs[0]
		fs.pcs = fs.pcs[1:]
		if e, ok := placeOf(th.In, pc); ok {
			pos := th.In.position(e)
			out.frame = runtime.Frame{PC: pc, Function: goName(e.fn), File: pos.Filename, Line: pos.Line}
			*(*unsafe.Pointer)(unsafe.Pointer(&out.frame.Func)) = th.In.runtimeFunc(e)
		}
		out.more = len(fs.pcs) > 0
	}
	put(r, out)
}

// runtimeFunc is the one *runtime.Func of a function of the program.
func (in *Interp) runtimeFunc(e stackEntry) unsafe.Pointer {
	p := &in.places
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.funcs[e.fn]
	if f == nil {
		if p.funcs == nil {
			p.funcs = map[*ssa.Function]*runtimeFunc{}
		}
		f = &runtimeFunc{entry: e}
		p.funcs[e.fn] = f
	}
	return unsafe.Pointer(f)
}

func runtimeFuncForPC(th *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
	if e, ok := placeOf(th.In, arg[uintptr](a, 0)); ok {
		put(r, th.In.runtimeFunc(e))
		return
	}
	if f := runtime.FuncForPC(arg[uintptr](a, 0)); f != nil {
		put(r, &runtimeFunc{native: f})
		return
	}
	put[unsafe.Pointer](r, nil)
}

func runtimeFileLine(th *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
	e, ok := placeOf(th.In, arg[uintptr](a, 1))
	if f := arg[*runtimeFunc](a, 0); !ok && f.native != nil {
		file, line := f.native.FileLine(arg[uintptr](a, 1))
		put(r, struct {
			file string
			line int
		}{file, line})
		return
	} else if !ok {
		e = f.entry
	}
	pos := th.In.position(e)
	put(r, struct {
		file string
		line int
	}{pos.Filename, pos.Line})
}

// setFinalizer checks what the run time would end the whole process for.
func setFinalizer(_ *Thread, _ *Frame, a []unsafe.Pointer, _ unsafe.Pointer) {
	obj, fn := arg[any](a, 0), arg[any](a, 1)
	p := reflect.TypeOf(obj)
	if p == nil || p.Kind() != reflect.Pointer {
		panic(plainError(fmt.Sprintf("runtime.SetFinalizer: first argument is %T, not pointer", obj)))
	}
	if f := reflect.TypeOf(fn); fn != nil && (f.Kind() != reflect.Func || f.NumIn() != 1 || !p.AssignableTo(f.In(0))) {
		panic(plainError(fmt.Sprintf("runtime.SetFinalizer: cannot pass %T to finalizer %T", obj, fn)))
	}
	runtime.SetFinalizer(obj, fn)
}

// addCleanup runs the program's function when the object is gone. args are the
// pointer, the function and its argument.
func addCleanup(th *Thread, call *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
	ptr := arg[*byte](a, 0)
	fn := *(*unsafe.Pointer)(a[1])
	ti := th.In.info(call.CallSite().Common().Args[2].Type())
	value := ti.alloc()
	ti.store(value, a[2])
	cl, in := closureAt(fn), th.In
	if cl == nil {
		panic(unsupported("host: runtime.AddCleanup with a native function"))
	}
	c := runtime.AddCleanup(ptr, func(value unsafe.Pointer) {
		in.nativeCall(in.bindClosure(cl), cl, cl.Free, []unsafe.Pointer{value}, nil)
	}, value)
	put(r, c)
}
