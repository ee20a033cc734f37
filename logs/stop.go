package logs

// This file is what a stopped program shows. Both engines write it: ours, and
// the module that runs inside a Python program. Values are bounded where they are
// written: a text has at most 400 characters, a container 50 items, four levels
// deep; what was left out is counted.

// StopKind is why a program stopped.
type StopKind string

// The kinds of stops. A program stops only at those that it was asked for.
const (
	StopPause     StopKind = "pause"     // asked for: the next safe point after the command
	StopStart     StopKind = "start"     // before the program's first line
	StopFrame     StopKind = "frame"     // before a frame is compiled
	StopBreak     StopKind = "break"     // a graph break, before the frame is cut
	StopRecompile StopKind = "recompile" // a guard miss, before the recompile
	StopCall      StopKind = "call"      // a call of a compiled function
	StopKernel    StopKind = "kernel"    // before a generated kernel runs
	StopLine      StopKind = "line"      // a line of the program
	StopNaN       StopKind = "nan"       // the first NaN or Inf in a result
	StopDiffers   StopKind = "differs"   // a result that differs from eager
	StopRaised    StopKind = "raised"    // an error that nobody catches
)

// Stop is a program that stands still: artifact tcdbg_stop. A State with "running"
// of the same process and thread ends it.
type Stop struct {
	ID      int      `json:"id"`                // counts the stops of a process from 1
	Command int      `json:"command,omitempty"` // id of the command that this answers
	Process int      `json:"pid"`
	Rank    *int     `json:"rank,omitempty"`
	Thread  string   `json:"thread,omitempty"` // "" is the main one
	Kind    StopKind `json:"kind"`
	// Why is one sentence: "breakpoint model.go:12: x.sum() > 3".
	Why   string `json:"why"`
	Point int    `json:"point,omitempty"` // id of the breakpoint that was hit
	Where *Pos   `json:"where,omitempty"`
	// Compiled is the function that is traced or called, "" outside of one; Compile is its
	// compile id as the trace spells it, "1/0".
	Compiled string `json:"compiled,omitempty"`
	Compile  string `json:"compile,omitempty"`
	// Reason is what PyTorch or the tracer says: a break's, a miss's.
	Reason string `json:"reason,omitempty"`

	Stack    []StackFrame `json:"stack"`              // innermost first
	Deciding *Value       `json:"deciding,omitempty"` // what a break asks for; the tensor with NaN or Inf
	Guards   []GuardState `json:"guards,omitempty"`   // of the entries that were tried
	Nodes    []string     `json:"nodes,omitempty"`    // of the graph captured so far, a line each
	Symbolic []Value      `json:"symbolic,omitempty"` // locals of the trace, with fake and real values
	Watches  []Answer     `json:"watches,omitempty"`
	// Missing says in words what this engine or release cannot show here.
	Missing []string `json:"missing,omitempty"`

	// Moment counts what the program has done so far, where its run is kept: its lines,
	// operators and compiled calls. 0: it is not kept.
	Moment int64 `json:"moment,omitempty"`
	// Past is set where the program was run again to this moment: the moment at which the
	// program itself stands.
	Past int64 `json:"past,omitempty"`
	// NoBack says why the program cannot be run again to an earlier moment, "" where it can.
	NoBack string `json:"no_back,omitempty"`
	// Note is what else there is to say of how it came here.
	Note string `json:"note,omitempty"`
}

func (Stop) ArtifactName() (string, int) { return "tcdbg_stop", 1 }

// StackFrame is one level of the user's stack.
type StackFrame struct {
	Pos
	Locals []Value `json:"locals,omitempty"` // arguments first
}

// Value is one value of the program.
type Value struct {
	Name   string       `json:"name,omitempty"` // of the variable, field, key or index
	Arg    bool         `json:"arg,omitempty"`  // an argument of its function
	Type   string       `json:"type,omitempty"`
	Text   string       `json:"text,omitempty"` // as the language prints it, one line
	Tensor *TensorValue `json:"tensor,omitempty"`
	Items  []Value      `json:"items,omitempty"` // of a container or a struct
	More   int          `json:"more,omitempty"`  // items that were left out
	// Fake is what the tracer knows of a symbolic value: its shape may hold symbols.
	Fake *TensorValue `json:"fake,omitempty"`
	// Unknown says why there is no value: not computed yet, optimised away.
	Unknown string `json:"unknown,omitempty"`
}

// TensorValue is a tensor: what it is, and for a real one what is in it. Numbers are
// texts, as %g prints them, because JSON has no NaN; "" is unknown.
type TensorValue struct {
	Dtype        string   `json:"dtype"` // float32
	Shape        []string `json:"shape"` // numbers, or symbols of fake ones
	Stride       []string `json:"stride,omitempty"`
	Device       string   `json:"device,omitempty"`
	RequiresGrad bool     `json:"requires_grad,omitempty"`
	Min          string   `json:"min,omitempty"` // of what is neither NaN nor Inf
	Max          string   `json:"max,omitempty"`
	Mean         string   `json:"mean,omitempty"`
	NaN          int64    `json:"nan,omitempty"` // how many elements
	Inf          int64    `json:"inf,omitempty"`
	First        []string `json:"first,omitempty"` // the first elements in memory order of the shape, at most 8
	// Histogram counts the finite elements in 16 equal ranges from Min to Max.
	Histogram []int64 `json:"histogram,omitempty"`
	// Sampled: numbers are of the first so many elements, 0: of all.
	Sampled int64 `json:"sampled,omitempty"`
}

// GuardState is one guard at a miss.
type GuardState struct {
	Entry    int    `json:"entry"` // 0 is the newest
	Text     string `json:"text"`
	Source   string `json:"source,omitempty"`
	Expected string `json:"expected,omitempty"`
	Actual   string `json:"actual,omitempty"`
	// Result is "failed" for the guard that decided, "would fail" for others that do not
	// hold, "holds", or "unknown".
	Result string `json:"result"`
}

// Point is a breakpoint as an engine keeps it: artifact tcdbg_point, once when it is set
// or refused, and again when it is cleared.
type Point struct {
	ID      int    `json:"id"` // given by the viewer
	Command int    `json:"command,omitempty"`
	Process int    `json:"pid"`
	Spec    string `json:"spec"` // see ctl.Break
	// Places counts the places of the program where it can stop; 0 is said in Error where it
	// is known never to.
	Places  int    `json:"places,omitempty"`
	Error   string `json:"error,omitempty"`
	Note    string `json:"note,omitempty"` // what it does not do, in a program that it can stop
	Cleared bool   `json:"cleared,omitempty"`
}

func (Point) ArtifactName() (string, int) { return "tcdbg_point", 1 }

// Answer is an expression's value at a stop: artifact tcdbg_answer, and a Stop's watches.
type Answer struct {
	Command int    `json:"command,omitempty"`
	Process int    `json:"pid,omitempty"`
	Expr    string `json:"expr"`
	Level   int    `json:"level"` // of the stack, 0 is the innermost
	Value   Value  `json:"value"`
	Error   string `json:"error,omitempty"`
}

func (Answer) ArtifactName() (string, int) { return "tcdbg_answer", 1 }

// HookFailure is an error of the code that tcdbg put into a Python program: artifact
// tcdbg_hook_failure, once for each place. The program went on without it.
type HookFailure struct {
	Process int    `json:"pid"`
	Where   string `json:"where"`
	Error   string `json:"error"` // with its traceback
}

func (HookFailure) ArtifactName() (string, int) { return "tcdbg_hook_failure", 1 }
