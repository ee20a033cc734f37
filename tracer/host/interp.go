package host

import (
	"go/types"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"tcdbg/tracer/host/baton"
	"tcdbg/tracer/host/journal"
	"tcdbg/tracer/host/mapuse"
	"tcdbg/tracer/host/rtype"

	"golang.org/x/tools/go/types/typeutil"
)

// This file is the life of a program: New, Run and the ways in which it ends.

// Config configures an interpreter.
type Config struct {
	Stdout, Stderr io.Writer
	Stdin          io.Reader
	Args           []string // os.Args of the program
	Intrinsics     map[string]Intrinsic
	// Compiled, where set, is called in place of running a closure whose
	// Compiled field is set, after its frame was pushed with the arguments in
	// place. It either leaves the frame to the interpreter (false) or has run
	// the call: the frame is popped and the results stored (true). Calls on
	// threads of NewThread do not reach it.
	Compiled func(th *Thread, f *Frame, c *Closure) bool
	// Counted, where set, names the native functions whose calls Thread.Counted
	// counts.
	Counted func(name string) bool
	// Raised, where set, is called before the frames of a panic that nobody catches are
	// unwound; see [Raised]. It may block.
	Raised func(r Raised)
	// Journal, where set, keeps what would not be the same if the program ran again.
	Journal *journal.Tape
}

// Interp runs one program.
type Interp struct {
	Prog   *Program
	Config Config

	types      typeTable
	intrinsics map[string]Intrinsic
	generics   genericTable
	files      stdFiles
	places     places
	traps      traps

	codes      sync.Map // *ssa.Function to *Code
	nextCode   atomic.Int32
	bound      sync.Map // *ssa.Function to *boundFunc
	funcs      sync.Map // *ssa.Function to the word of its func value
	methods    sync.Map // *types.Func to the *ssa.Function of its method values
	templates  sync.Map // reflect.Type to *makeFunc
	globals    sync.Map // *ssa.Global to unsafe.Pointer
	pkgs       sync.Map // import path to *rt.Pkg, nil when not bound
	slots      *rtype.Slots
	nativeImpl sync.Map // implKey to bool
	interfaces sync.Map // reflect.Type to whether it holds interfaces of the program
	threads    sync.Pool

	main    atomic.Pointer[string] // what the run time calls the goroutine of main
	running sync.Map               // goroutine -> *Thread, see ThreadOf
	live    atomic.Int64           // goroutines that the program has started

	parallel atomic.Bool  // more than one goroutine may run the program
	maps     mapuse.Table // in use

	baton   *baton.Sched // of a run that is kept; nil: goroutines are the run time's
	waiting map[string]baton.Call
	numbers sync.Map // goroutine -> its number in the schedule

	exit chan Exit
	once sync.Once
}

// New prepares an interpreter; nothing runs yet.
func New(p *Program, cfg Config) *Interp {
	if cfg.Stdout == nil {
		cfg.Stdout = os.Stdout
	}
	if cfg.Stderr == nil {
		cfg.Stderr = os.Stderr
	}
	if cfg.Stdin == nil {
		cfg.Stdin = os.Stdin
	}
	in := &Interp{Prog: p, Config: cfg, exit: make(chan Exit, 1)}
	in.types.in = in
	in.types.busy = map[*types.Named]bool{}
	in.types.hasher = typeutil.MakeHasher()
	in.types.byID.SetHasher(in.types.hasher)
	in.types.exacts.SetHasher(in.types.hasher)
	in.intrinsics = standardIntrinsics()
	in.generics = newGenerics()
	in.freeSlots()
	takeTurns(in)
	return in
}

// Exit is how a program ended.
type Exit struct {
	Code  int
	Panic string // text and stack as Go prints them, empty when it did not panic
}

// Run initialises the packages and runs main. It returns when main returns,
// the program exits or panics; other goroutines of the program may still run.
func (in *Interp) Run() Exit {
	main, over := in.newThread(), make(chan struct{})
	if in.baton != nil {
		main.Number = baton.Main
		in.baton.Deadlock = func(left int) { deadlock(in, main, left) }
	}
	go in.runMain(main)
	go watchDeadlock(in, main, over)
	e := <-in.exit
	close(over)
	in.files.close()
	return e
}

func (in *Interp) runMain(th *Thread) {
	id := goroutineID()
	in.main.Store(&id)
	defer in.runs(th)()
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		if p := th.leaving(r); !p.goexit {
			in.die(p)
		}
		// runtime.Goexit in main: the program goes on without it, and the run
		// time finds the deadlock when nothing is left.
		if in.baton != nil {
			in.baton.Exit()
		}
	}()
	for _, name := range []string{"init", "main"} {
		fn := in.Prog.Main.Func(name)
		if fn == nil {
			continue
		}
		if c := in.code(fn); c != nil {
			th.call(c, nil, nil, nil, nil)
		}
	}
	in.end(Exit{})
}

// end makes Run return; only the first end counts.
func (in *Interp) end(e Exit) {
	in.baton.End()
	in.once.Do(func() { in.exit <- e })
}

// die ends the program after an uncaught panic.
func (in *Interp) die(p *panicRec) {
	raisedTooLate(in, p)
	text := p.text(in) + "\n" + stackText(in, p.stack)
	in.once.Do(func() {
		_, _ = io.WriteString(in.Config.Stderr, text)
		in.exit <- Exit{Code: 2, Panic: text}
	})
}

// fatal ends the program with an error that is no panic; who is its goroutine, "" that of main.
func (in *Interp) fatal(who, text string, stack []stackEntry) {
	full := "fatal error: " + text + "\n\n" + stackTextOf(in, who, stack)
	in.once.Do(func() {
		_, _ = io.WriteString(in.Config.Stderr, full)
		in.exit <- Exit{Code: 2, Panic: full}
	})
	select {}
}

// Quit ends the program as os.Exit does; the calling goroutine never returns.
func (in *Interp) Quit(code int) { in.quit(code) }

// quit is os.Exit: the calling goroutine never returns.
func (in *Interp) quit(code int) {
	in.end(Exit{Code: code})
	runtime.Gosched()
	select {}
}
