package host

import (
	"fmt"
	"io"
	"log"
	"path/filepath"
	"reflect"
	"runtime"
	"sync"
	"unsafe"
	"weak"
)

// This file is package log where it means the program: the place of a call, which
// is no frame of ours, and the end of the program.

func addLog(m map[string]Intrinsic) {
	texts := map[string]func(a []unsafe.Pointer, i int) string{
		"":   func(a []unsafe.Pointer, i int) string { return fmt.Sprint(arg[[]any](a, i)...) },
		"f":  func(a []unsafe.Pointer, i int) string { return fmt.Sprintf(arg[string](a, i), arg[[]any](a, i+1)...) },
		"ln": func(a []unsafe.Pointer, i int) string { return fmt.Sprintln(arg[[]any](a, i)...) },
	}
	ends := map[string]func(th *Thread, s string){
		"Print": func(*Thread, string) {},
		"Fatal": func(th *Thread, _ string) { th.In.quit(1) },
		"Panic": func(_ *Thread, s string) { panic(userPanic{s}) },
	}
	for verb, text := range texts {
		for name, end := range ends {
			m["log."+name+verb] = func(th *Thread, call *Frame, a []unsafe.Pointer, _ unsafe.Pointer) {
				s := text(a, 0)
				_ = th.logOutput(log.Default(), call, 1, s)
				end(th, s)
			}
			m["(*log.Logger)."+name+verb] = func(th *Thread, call *Frame, a []unsafe.Pointer, _ unsafe.Pointer) {
				s := text(a, 1)
				_ = th.logOutput(arg[*log.Logger](a, 0), call, 1, s)
				end(th, s)
			}
		}
	}
	m["log.Output"] = func(th *Thread, call *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		put(r, th.logOutput(log.Default(), call, arg[int](a, 0), arg[string](a, 1)))
	}
	m["log/internal.output"] = func(th *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		pc, data := arg[uintptr](a, 0), arg[[]byte](a, 1)
		e, ok := placeOf(th.In, pc)
		put(r, th.logAt(log.Default(), string(data), func() (string, int) {
			if !ok {
				return "???", 0
			}
			pos := th.In.position(e)
			return pos.Filename, pos.Line
		}))
	}
	m["(*log.Logger).Output"] = func(th *Thread, call *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		put(r, th.logOutput(arg[*log.Logger](a, 0), call, arg[int](a, 1), arg[string](a, 2)))
	}
}

var logLocks sync.Map // weak.Pointer[log.Logger] to *sync.Mutex

// logLock is the lock under which the lines that l writes with places do not mix. A
// logger may write to another one.
func logLock(l *log.Logger) *sync.Mutex {
	key := weak.Make(l)
	lock, there := logLocks.LoadOrStore(key, new(sync.Mutex))
	if !there {
		runtime.AddCleanup(l, func(key weak.Pointer[log.Logger]) { logLocks.Delete(key) }, key)
	}
	return lock.(*sync.Mutex)
}

// logOutput writes one record. depth counts the program's frames from call, which
// is 1.
func (th *Thread) logOutput(l *log.Logger, call *Frame, depth int, s string) error {
	return th.logAt(l, s, func() (file string, line int) {
		file = "???"
		visibleFrames(call, func(e stackEntry) bool {
			if depth--; depth > 0 {
				return true
			}
			pos := th.In.position(e)
			file, line = pos.Filename, pos.Line
			return false
		})
		return file, line
	})
}

// logAt writes one record, with its place where l shows places.
func (th *Thread) logAt(l *log.Logger, s string, at func() (file string, line int)) error {
	const place = log.Lshortfile | log.Llongfile
	flags, before, w := l.Flags(), l.Prefix(), l.Writer()
	toSlog := th.slogWriter(w)
	switch {
	case toSlog != nil:
		w = toSlog
	case flags&place == 0:
		return l.Output(1, s)
	}
	if flags&place != 0 {
		file, line := at()
		if flags&log.Lshortfile != 0 {
			file = filepath.Base(file)
		}
		after := ""
		if flags&log.Lmsgprefix != 0 {
			before, after = "", before
		}
		flags, s = flags&^(place|log.Lmsgprefix), fmt.Sprintf("%s:%d: %s%s", file, line, after, s)
	}
	lock := logLock(l)
	lock.Lock()
	defer lock.Unlock()
	return log.New(w, before, flags).Output(1, s)
}

// slogWriteName is the method by which package slog takes over what package log
// writes. It looks for the caller of package log on the stack.
const slogWriteName = "(*log/slog.handlerWriter).Write"

// slogNativeFrames is the frames that it leaves out there and that compiled code has
// here: log.Print and (*log.Logger).output.
const slogNativeFrames = 2

// slogWriter is w where that is package slog's; nil for all others.
func (th *Thread) slogWriter(w io.Writer) io.Writer {
	if w == nil || reflect.TypeOf(w).String() != "*slog.handlerWriter" {
		return nil
	}
	any := any(w)
	ti := th.In.dynamicInfo(any)
	m := th.In.methodOf(ti, "Write", nil)
	if m == nil || m.b.code == nil || m.b.name != slogWriteName {
		return nil
	}
	return writerFunc(func(p []byte) (int, error) {
		var r countErr
		th.call(m.b.code, nil, nil, []unsafe.Pointer{content(&any, ti), unsafe.Pointer(&p)}, unsafe.Pointer(&r))
		return r.n, r.err
	})
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
