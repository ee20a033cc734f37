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
	MaxLeaves = 256 // tensors, numbers and texts of one call
)

// Line is one line of a process: exactly one field is set.
type Line struct {
	Hello *Hello `json:"hello,omitempty"`
	Call  *Call  `json:"call,omitempty"`
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
	Rank     *int   `json:"rank,omitempty"`
	Function string `json:"fn"`
	Nanos    int64  `json:"ns"`
	Compiled bool   `json:"compiled,omitempty"` // something was compiled in it
	Raised   string `json:"raised,omitempty"`   // how it failed
	Unused   bool   `json:"unused,omitempty"`   // the program takes none of its results
	// Out are its results; nil with Full where they were not written.
	Out  []Leaf `json:"out,omitempty"`
	Full bool   `json:"full,omitempty"` // MaxCalls or MaxValues was reached
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
