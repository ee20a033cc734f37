// Package results is what a trial's program writes of its calls, and how two programs'
// results are compared: one line of JSON for each outermost call of a compiled function,
// and beside it the values of the tensors that it returned. Both engines write it: ours by
// Writer, a Python program by internal/pyhook's trial module.
//
// It imports explain/remedy for what a trial measures; it knows no engine. Open this file
// first (the format), then compare.go (what counts as equal) and measure.go (what is
// measured).
package results

// Names in the folder of a trial's results. A process writes a pair of files of its own.
const (
	linesPrefix  = "calls-"  // and the process id; a Line a line
	valuesPrefix = "values-" // and the process id
)

// MaxCalls and MaxValues bound what a process writes of its results: of so many calls, and
// so many bytes. What comes after is counted and timed, and not compared.
const (
	MaxCalls  = 64
	MaxValues = 64 << 20
	MaxLeaves = 256      // tensors, numbers and texts of one call
	MaxState  = 1024     // tensors that a call may write, and tensors of one backward pass
	MaxBytes  = 64 << 20 // of what calls write and of gradients
	// MaxSmall is how many numbers a tensor may have that is written down although the call leaves it
	// alone: the other run may not.
	MaxSmall = 1024
)

// Line is one line of a process: exactly one field is set.
type Line struct {
	Hello *Hello `json:"hello,omitempty"`
	Call  *Call  `json:"call,omitempty"`
	Grads *Grads `json:"grads,omitempty"`
	End   *End   `json:"end,omitempty"`
}

// Hello is the first line.
type Hello struct {
	PID     int    `json:"pid"`
	Engine  string `json:"engine"`  // PyTorch 2.15.0
	Started int64  `json:"started"` // when the process did, in nanoseconds since 1970
}

// Call is one outermost call of a compiled function.
type Call struct {
	Thread   int    `json:"thread,omitempty"` // goroutine or thread, numbered as they come
	Rank     *int   `json:"rank,omitempty"`
	Function string `json:"fn"`
	Nanos    int64  `json:"ns"`
	Compiled bool   `json:"compiled,omitempty"` // something was compiled in it
	Raised   string `json:"raised,omitempty"`   // how it failed
	Unused   bool   `json:"unused,omitempty"`   // the program takes none of its results
	// Out are its results; nil with Full where they were not written.
	Out  []Leaf `json:"out,omitempty"`
	Full bool   `json:"full,omitempty"` // MaxCalls or MaxValues was reached
	// State are the tensors that the call can reach: arguments, parameters and buffers, variables that
	// its function captures, and their gradients. Hidden counts those that cannot be told to be written.
	State     []Leaf `json:"state,omitempty"`
	StateFull bool   `json:"state_full,omitempty"` // MaxState or MaxBytes was reached
	Hidden    int    `json:"hidden,omitempty"`

	number int // from 1, as it was made
}

// Grads are the gradients of leaves after a backward pass.
type Grads struct {
	After   int    `json:"after"` // calls that came before
	Leaves  []Leaf `json:"leaves"`
	Unnamed int    `json:"unnamed,omitempty"` // leaves to which no name of the program leads
	Full    bool   `json:"full,omitempty"`    // bounds were reached
}

// Leaf is one tensor, number, text or flag within the results of a call.
type Leaf struct {
	Path  string `json:"path"`
	Dtype string `json:"dtype,omitempty"` // float32; "" of what is no tensor
	Shape []int  `json:"shape,omitempty"`
	At    int64  `json:"at,omitempty"`  // where its values begin in the file of values
	N     int64  `json:"n,omitempty"`   // how many numbers; of complex ones two each
	Int   bool   `json:"int,omitempty"` // they are int64, else float64, little endian
	Text  string `json:"text,omitempty"`
	// Opaque says that it is a value which cannot be compared.
	Opaque bool `json:"opaque,omitempty"`
	// Wrote says that the call wrote it; Bare, that its numbers are not in the file.
	Wrote bool `json:"wrote,omitempty"`
	Bare  bool `json:"bare,omitempty"`
	// Param says that it collects gradients; Grad, that it is the gradient of the one before.
	Param bool `json:"param,omitempty"`
	Grad  bool `json:"grad,omitempty"`
}

// End is the last line of a process that ended by itself.
type End struct {
	PeakRSS  int64    `json:"rss,omitempty"`  // bytes, 0: not measured
	PeakCUDA int64    `json:"cuda,omitempty"` // bytes, 0: not measured
	Cut      bool     `json:"cut,omitempty"`  // ended after as many calls as were asked for
	Calls    int      `json:"calls"`
	Applied  []string `json:"applied,omitempty"` // switches that took effect
	Problems []string `json:"problems,omitempty"`
}
