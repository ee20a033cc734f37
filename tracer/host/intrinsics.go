package host

import (
	"flag"
	"fmt"
	"go/ast"
	"go/token"
	"io"
	"os"
	"reflect"
	"sync/atomic"
	"unsafe"
)

// This file is the functions of the standard library that cannot run natively
// on values of the program, or that mean the program and not the host.

func arg[T any](a []unsafe.Pointer, i int) T { return *(*T)(a[i]) }

func put[T any](r unsafe.Pointer, v T) {
	if r != nil {
		*(*T)(r) = v
	}
}

// standardIntrinsics is the table of intrinsics by full name.
func standardIntrinsics() map[string]Intrinsic {
	m := map[string]Intrinsic{
		"os.Exit": func(th *Thread, _ *Frame, a []unsafe.Pointer, _ unsafe.Pointer) { th.In.quit(arg[int](a, 0)) },
		"runtime.Goexit": func(*Thread, *Frame, []unsafe.Pointer, unsafe.Pointer) {
			panic(goexitPanic{})
		},
		"runtime/debug.Stack": func(th *Thread, _ *Frame, _ []unsafe.Pointer, r unsafe.Pointer) {
			put(r, []byte(stackText(th.In, th.stack())))
		},
		"runtime/debug.PrintStack": func(th *Thread, _ *Frame, _ []unsafe.Pointer, _ unsafe.Pointer) {
			_, _ = io.WriteString(th.In.Config.Stderr, stackText(th.In, th.stack()))
		},
		"errors.As":  errorsAs,
		"maps.clone": mapsClone,
	}
	addFmt(m)
	addAST(m)
	addStarted(m)
	addAtomicPointer(m)
	addSort(m)
	addRuntime(m)
	addLog(m)
	addReflect(m)
	addEncoding(m)
	m["tcdbg/torch.Fields"] = torchFields
	m["tcdbg/torch.Compile"] = sameFunc("torch.Compile")
	m["tcdbg/torch/compiler.Disable"] = sameFunc("compiler.Disable")
	m["tcdbg/torch/compiler.AllowInGraph"] = sameFunc("compiler.AllowInGraph")
	m["tcdbg/torch/compiler.AssumeConstantResult"] = sameFunc("compiler.AssumeConstantResult")
	m["flag.Parse"] = func(th *Thread, _ *Frame, _ []unsafe.Pointer, _ unsafe.Pointer) {
		args := th.In.Config.Args
		_ = flag.CommandLine.Parse(args[min(1, len(args)):])
	}
	return m
}

// sameFunc is what the generic functions of torch that take a function (or a module)
// do without a tracer: they return it.
func sameFunc(name string) Intrinsic {
	return func(th *Thread, call *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		ti := th.In.info(call.CallSite().Common().Signature().Results().At(0).Type())
		if ti.R.Kind() != reflect.Func && name != "torch.Compile" {
			panic(name + ": argument is not a function")
		}
		if r != nil {
			ti.store(r, a[0])
		}
	}
}

func mapsClone(th *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
	m := reflect.ValueOf(arg[any](a, 0))
	if !m.IsNil() {
		defer rangesMap(th.In, m.UnsafePointer(), unsafe.Pointer(th)).End()
	}
	out := reflect.MakeMapWithSize(m.Type(), m.Len())
	for it := m.MapRange(); it.Next(); {
		out.SetMapIndex(it.Key(), it.Value())
	}
	put(r, out.Interface())
}

// addAtomicPointer binds the generic atomic.Pointer: its representation ends in
// the pointer word.
func addAtomicPointer(m map[string]Intrinsic) {
	const name = "(*sync/atomic.Pointer[T])."
	m[name+"Load"] = func(_ *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		put(r, atomic.LoadPointer(arg[*unsafe.Pointer](a, 0)))
	}
	m[name+"Store"] = func(_ *Thread, _ *Frame, a []unsafe.Pointer, _ unsafe.Pointer) {
		atomic.StorePointer(arg[*unsafe.Pointer](a, 0), arg[unsafe.Pointer](a, 1))
	}
	m[name+"Swap"] = func(_ *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		put(r, atomic.SwapPointer(arg[*unsafe.Pointer](a, 0), arg[unsafe.Pointer](a, 1)))
	}
	m[name+"CompareAndSwap"] = func(_ *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		put(r, atomic.CompareAndSwapPointer(arg[*unsafe.Pointer](a, 0), arg[unsafe.Pointer](a, 1), arg[unsafe.Pointer](a, 2)))
	}
}

// addFmt replaces the functions of fmt that print to standard output.
func addFmt(m map[string]Intrinsic) {
	m["fmt.Print"] = toStdout(func(w io.Writer, a []unsafe.Pointer) (int, error) {
		return fmt.Fprint(w, arg[[]any](a, 0)...)
	})
	m["fmt.Println"] = toStdout(func(w io.Writer, a []unsafe.Pointer) (int, error) {
		return fmt.Fprintln(w, arg[[]any](a, 0)...)
	})
	m["fmt.Printf"] = toStdout(func(w io.Writer, a []unsafe.Pointer) (int, error) {
		return fmt.Fprintf(w, arg[string](a, 0), arg[[]any](a, 1)...)
	})
}

// addAST replaces the function of go/ast that prints to standard output.
func addAST(m map[string]Intrinsic) {
	m["go/ast.Print"] = func(th *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		put(r, ast.Fprint(th.In.stdout(), arg[*token.FileSet](a, 0), arg[any](a, 1), ast.NotNilFilter))
	}
}

// countErr is the layout of (int, error).
type countErr struct {
	n   int
	err error
}

func toStdout(f func(w io.Writer, a []unsafe.Pointer) (int, error)) Intrinsic {
	return func(th *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		w := th.In.stdout()
		if j := th.In.Config.Journal; j != nil && !th.limited {
			w = printed{w, j}
		}
		n, err := f(w, a)
		put(r, countErr{n, err})
	}
}

// stdout is where the program's standard output goes: its variable os.Stdout,
// once it has one, so that all output keeps its order, or Config.Stdout.
func (in *Interp) stdout() io.Writer {
	if p := in.files.out.Load(); p != nil {
		return *p
	}
	return in.Config.Stdout
}

// stdFiles is the program's os.Stdin, os.Stdout and os.Stderr where Config
// gives something else than files.
type stdFiles struct {
	out   atomic.Pointer[*os.File] // the program's variable os.Stdout
	pipes []*os.File
	done  []chan struct{}
}

// stdVar returns the memory of the variables of package os that mean the
// program, nil for all others.
func (in *Interp) stdVar(path, name string) unsafe.Pointer {
	if path != "os" {
		return nil
	}
	switch name {
	case "Args":
		args := in.Config.Args
		return unsafe.Pointer(&args)
	case "Stdout":
		f := in.files.writer(in.Config.Stdout)
		p := &f
		in.files.out.Store(p)
		return unsafe.Pointer(p)
	case "Stderr":
		f := in.files.writer(in.Config.Stderr)
		return unsafe.Pointer(&f)
	case "Stdin":
		if j := in.Config.Journal; j != nil && j.KeepsStdin(in.Config.Stdin) {
			f := in.files.reader(j.Stdin(in.Config.Stdin))
			return unsafe.Pointer(&f)
		}
		f, ok := in.Config.Stdin.(*os.File)
		if !ok {
			f = in.files.reader(in.Config.Stdin)
		}
		return unsafe.Pointer(&f)
	}
	return nil
}

// writer makes a file whose content goes to w.
func (s *stdFiles) writer(w io.Writer) *os.File {
	if f, ok := w.(*os.File); ok {
		return f
	}
	r, f, err := os.Pipe()
	if err != nil {
		return os.Stdout
	}
	done := make(chan struct{})
	go func() {
		_, _ = io.Copy(w, r)
		close(done)
	}()
	s.pipes, s.done = append(s.pipes, f), append(s.done, done)
	return f
}

func (s *stdFiles) reader(r io.Reader) *os.File {
	f, w, err := os.Pipe()
	if err != nil {
		return os.Stdin
	}
	go func() {
		_, _ = io.Copy(w, r)
		w.Close()
	}()
	return f
}

// close waits until what was written to pipes has arrived.
func (s *stdFiles) close() {
	for i, f := range s.pipes {
		f.Close()
		<-s.done[i]
	}
}
