// Package host loads Go source to SSA and runs it: tcdbg's "CPython". Values
// have Go's own memory layout, a frame is one typed object, the frame stack is
// data, and one closure runs one SSA instruction, so that frames can be
// captured, rebuilt and resumed at any instruction.
//
// It imports torch and logs of ours; never tracer or a compiler package. Open
// load.go first, then interp.go.
package host

import (
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"reflect"
	"unsafe"

	"golang.org/x/tools/go/ssa"
)

// LoadConfig says what to load.
type LoadConfig struct {
	// Path is a .go file, several files of one package, or a folder with or
	// without a go.mod.
	Paths []string
	// Source holds packages that are interpreted from source rather than
	// bound natively, keyed by import path below the root: "tcdbg/torch/nn"
	// is the folder torch/nn.
	Source fs.FS
}

// Program is a loaded program.
type Program struct {
	Fset *token.FileSet
	SSA  *ssa.Program
	Main *ssa.Package
}

// Load parses, type-checks and builds SSA. Its error is a list of lines
// FILE:LINE:COL: message, as the Go compiler prints them.
func Load(cfg LoadConfig) (*Program, error) { panic("contract") }

// SourceLine returns the text of a line, "" when the file is unknown.
func (p *Program) SourceLine(file string, line int) string { panic("contract") }

// Pos returns where an instruction stands: its own position, else that of the
// previous instruction of its block, else the next one's.
func (p *Program) Pos(in ssa.Instruction) token.Position { panic("contract") }

// Intrinsic replaces a function, found by its full name (generic origins
// included). args are the addresses of the arguments (receiver first), result
// the address where the results go (several results are laid out as a struct
// of the tuple's types; ResultOffset gives the places).
type Intrinsic func(th *Thread, call *Frame, args []unsafe.Pointer, result unsafe.Pointer)

// Config configures an interpreter.
type Config struct {
	Stdout, Stderr io.Writer
	Stdin          io.Reader
	Args           []string // os.Args of the program
	Intrinsics     map[string]Intrinsic
	// Compiled, where set, is called in place of running a closure whose
	// Compiled field is set, after its frame was pushed with the arguments in
	// place. It either leaves the frame to the interpreter (false) or has run
	// the call: the frame is popped and the results stored (true).
	Compiled func(th *Thread, f *Frame, c *Closure) bool
}

// Interp runs one program.
type Interp struct {
	Prog   *Program
	Config Config
}

// New prepares an interpreter; nothing runs yet.
func New(p *Program, cfg Config) *Interp { panic("contract") }

// Exit is how a program ended.
type Exit struct {
	Code  int
	Panic string // text and stack as Go prints them, empty when it did not panic
}

// Run initialises the packages and runs main.
func (in *Interp) Run() Exit { panic("contract") }

// Code is one compiled function: op i runs Instrs[i], blocks in order.
type Code struct {
	Fn     *ssa.Function
	Instrs []ssa.Instruction
}

// Code returns (compiling it on first use) the code of fn; nil when fn is
// native (has no body in the program).
func (in *Interp) Code(fn *ssa.Function) *Code { panic("contract") }

// PC returns the index of an instruction, and BlockPC that of a block's first.
func (c *Code) PC(i ssa.Instruction) int { panic("contract") }

// BlockPC returns the pc at which block b starts.
func (c *Code) BlockPC(b *ssa.BasicBlock) int { panic("contract") }

// Frame is one activation.
type Frame struct {
	Code   *Code
	PC     int
	Caller *Frame
}

// Instr is the instruction that runs next.
func (f *Frame) Instr() ssa.Instruction { return f.Code.Instrs[f.PC] }

// Addr returns the address of v's value as seen from f: a register, parameter
// or free variable of f, or the memory of a constant, a function value or a
// global's address. The memory is of the representation type of v.Type().
func (f *Frame) Addr(v ssa.Value) unsafe.Pointer { panic("contract") }

// Pred is the index of the predecessor block by which the current block was
// entered (for Phi), -1 at the entry.
func (f *Frame) SetPred(b *ssa.BasicBlock) { panic("contract") }

// Thread is one goroutine of the program: a stack of frames.
type Thread struct {
	In *Interp
}

// NewThread returns a thread without frames: the tracer's scratch thread.
func (in *Interp) NewThread() *Thread { panic("contract") }

// Top is the running frame, nil when the thread is empty.
func (th *Thread) Top() *Frame { panic("contract") }

// Depth is the number of frames.
func (th *Thread) Depth() int { panic("contract") }

// Push starts a call of fn with zeroed registers. free are the values of the
// closure's free variables (addresses), nil for none. Results of the call go
// to the register of call in the pushing frame, or nowhere when call is nil.
func (th *Thread) Push(fn *ssa.Function, free []unsafe.Pointer, call ssa.CallInstruction) *Frame {
	panic("contract")
}

// Pop ends the top frame without storing results.
func (th *Thread) Pop() { panic("contract") }

// Return ends the top frame as if it had returned the results at the given
// addresses, storing them in the caller's register.
func (th *Thread) Return(results []unsafe.Pointer) { panic("contract") }

// Clone copies f (its registers, not its callers) for a scratch thread.
func (f *Frame) Clone() *Frame { panic("contract") }

// PushFrame puts a prepared frame (of Clone) on top of th.
func (th *Thread) PushFrame(f *Frame) { panic("contract") }

// Step runs exactly one instruction of the top frame. A call of an interpreted
// function pushes its frame; a return pops one. A Go panic of the instruction
// (nil map, index, an explicit panic) is returned as p and changes nothing.
func (th *Thread) Step() (p any) { panic("contract") }

// StepOver runs one instruction with everything that it calls. It reports
// false when the frame is gone afterwards (returned or unwound by a panic).
func (th *Thread) StepOver() bool { panic("contract") }

// Closure is an interpreted (or bound) function value.
type Closure struct {
	Fn   *ssa.Function
	Free []unsafe.Pointer // addresses of the bound values
	// Compiled, where set, routes calls to Config.Compiled.
	Compiled any
}

// ClosureOf finds the closure behind the func value at p; nil for native
// functions (Go code of the binary) and nil func values.
func (in *Interp) ClosureOf(p unsafe.Pointer) *Closure { panic("contract") }

// MakeFunc stores at dst a func value of type t that calls c.
func (in *Interp) MakeFunc(dst unsafe.Pointer, t *types.Signature, c *Closure) { panic("contract") }

// NativeName returns the full name of the native function that instruction
// call would call ("(*tcdbg/torch.Tensor).Add"), "" when the callee is
// interpreted. It resolves func values and interface methods by the operands.
func (f *Frame) NativeName(call *ssa.CallCommon) string { panic("contract") }

// Callee resolves the interpreted function (and its free variables) that call
// would run now; nil when it is native or a builtin.
func (f *Frame) Callee(call *ssa.CallCommon) (*ssa.Function, []unsafe.Pointer) { panic("contract") }

// Rep returns the representation type of t: the memory layout of its values.
func (in *Interp) Rep(t types.Type) reflect.Type { panic("contract") }

// Copy copies a value of type t with the write barriers that it needs.
func (in *Interp) Copy(t types.Type, dst, src unsafe.Pointer) { panic("contract") }

// New allocates a zero value of type t.
func (in *Interp) New(t types.Type) unsafe.Pointer { panic("contract") }

// Equal is Go's == on two values of type t; it panics as Go does on
// uncomparable dynamic types.
func (in *Interp) Equal(t types.Type, a, b unsafe.Pointer) bool { panic("contract") }

// Dynamic returns the dynamic type of the interface value of static type t at
// p and the address of (a copy of) its value; nil, nil for a nil interface.
func (in *Interp) Dynamic(t types.Type, p unsafe.Pointer) (types.Type, unsafe.Pointer) {
	panic("contract")
}

// MakeInterface stores at dst (of interface type t) the value of dynamic type
// d at src.
func (in *Interp) MakeInterface(dst unsafe.Pointer, t, d types.Type, src unsafe.Pointer) {
	panic("contract")
}

// GlobalAddr returns where a package-level variable lives.
func (in *Interp) GlobalAddr(g *ssa.Global) unsafe.Pointer { panic("contract") }

// TupleOffsets returns where each result of a call lies in its tuple register.
func (in *Interp) TupleOffsets(t *types.Tuple) []uintptr { panic("contract") }
