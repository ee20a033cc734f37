package host

import (
	"fmt"
	"log"
	"path/filepath"
	"sync"
	"unsafe"
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
				_ = th.In.logOutput(log.Default(), call, 1, s)
				end(th, s)
			}
			m["(*log.Logger)."+name+verb] = func(th *Thread, call *Frame, a []unsafe.Pointer, _ unsafe.Pointer) {
				s := text(a, 1)
				_ = th.In.logOutput(arg[*log.Logger](a, 0), call, 1, s)
				end(th, s)
			}
		}
	}
	m["log.Output"] = func(th *Thread, call *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		put(r, th.In.logOutput(log.Default(), call, arg[int](a, 0), arg[string](a, 1)))
	}
	m["(*log.Logger).Output"] = func(th *Thread, call *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		put(r, th.In.logOutput(arg[*log.Logger](a, 0), call, arg[int](a, 1), arg[string](a, 2)))
	}
}

var logLock sync.Mutex // lines with places do not mix

// logOutput writes one record. depth counts the program's frames from call, which
// is 1.
func (in *Interp) logOutput(l *log.Logger, call *Frame, depth int, s string) error {
	const place = log.Lshortfile | log.Llongfile
	flags := l.Flags()
	if flags&place == 0 {
		return l.Output(1, s)
	}
	file, line := "???", 0
	visibleFrames(call, func(e stackEntry) bool {
		if depth--; depth > 0 {
			return true
		}
		pos := in.position(e)
		file, line = pos.Filename, pos.Line
		return false
	})
	if flags&log.Lshortfile != 0 {
		file = filepath.Base(file)
	}
	before, after := l.Prefix(), ""
	if flags&log.Lmsgprefix != 0 {
		before, after = "", l.Prefix()
	}
	logLock.Lock()
	defer logLock.Unlock()
	return log.New(l.Writer(), before, flags&^(place|log.Lmsgprefix)).Output(1, fmt.Sprintf("%s:%d: %s%s", file, line, after, s))
}
