// Package advice is the one table of what to change in a program: each row is a cause that
// can be read from a trace, what has to be true for the advice to hold, its text, and how
// far it helps. Every row has an example program (explain/testdata/advice/<id>), and
// cmd/advice applies the row's text to it on a real PyTorch: only rows that passed this
// trial, the list of which is proven.tsv, are ever shown. No advice is better than advice
// that does harm.
//
// The package knows nothing of reports: package explain reads a Finding from the trace and
// asks For. Open this file first, then the rows, by family: calls.go (breaks at a call),
// branches.go (breaks at a tensor's value), inputs.go (recompiles for sizes, layouts and
// other properties of tensors), values.go (recompiles for numbers, flags, containers and
// objects).
package advice

import (
	"cmp"
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// Kind is what a finding is.
type Kind int

// The kinds.
const (
	Break Kind = iota
	Recompile
	Failure
)

// Number says what became of a number (or a size) that changed: the compile after the
// change tells.
type Number int

// What may have become of it.
const (
	Unknown  Number = iota // the trace does not tell
	Input                  // an input of the graph, of which no line asks anything
	Branched               // an input of which a line asks something: an entry for each answer
	Constant               // a line needs its value: an entry for each value
)

// Finding is what a trace tells of one break, recompile or failure.
type Finding struct {
	Kind  Kind
	Go    bool   // of a Go program, run by tcdbg itself
	Line  string // the source line at fault
	Place string // where it is, file.py:12
	In    string // the function of the line

	// Of breaks and failures.
	Code        string   // GB0170
	Context     string   // PyTorch's developer debug context
	Explanation string   // PyTorch's explanation, or the error's text
	Hints       []string // as PyTorch recorded them
	Raw         string   // the whole message
	Callee      string   // what the line calls, as the line spells it
	Builtin     string   // the built-in that it calls
	Reason      string   // for which the program disables what it calls
	FromRandom  bool     // the value at fault was drawn by Python's random
	OfNumPy     string   // the argument, a number of NumPy's, that the condition at fault is computed of
	Packed      bool     // the function packs sequences (pack_padded_sequence)
	Wraps       bool     // what wraps a model breaks before anything of the model is compiled
	InLoop      bool     // the break is within a loop, which leaves the whole function eager
	Expr        string   // the part of the line at fault, "" where only the line is known
	// the lines of the function that the line is in, nil where unread; of recompiles, those for a string or a key alone
	Body    []string
	At      int    // which of them is the line at fault
	Resumed bool   // the line at fault is where the function goes on after another break
	Inner   string // where the break is within torch or the standard library, "" elsewhere

	Marked    string // of a failure, the tensor (or the named dimension) that was marked dynamic
	MarkedDim string // and the dimension

	// Of recompiles.
	Guard            string // the kind of guard that failed, as package breaks names them
	Name             string // the user's expression that the guard is about
	Function         string // the function that was compiled again
	Expected, Actual string
	Dim              int
	Text             string // the guard as recorded
	Number           Number
	NumberPlace      string   // the line that asks for the number
	NumberLine       string   // and its text
	FirstUse         bool     // it is only the first line that has the number: which one asks is not recorded
	Changed          []string // sizes that changed and stayed open: "x, 0"
	Uneven           bool     // some of these changed in another entry than the others: not every call passes all of the tensors
	Reachable        bool     // the caller has the name: it is not made within the function
	// the program calls the function by what torch.compile gave: no other of its functions is left
	// to eager execution, which could call this one
	Direct        bool
	Relaid        bool   // the layout changed with the size
	CutBy         string // the break across which what changed is handed, of a value that no caller has
	SetBy         string // the break whose line gives the name its value
	Given         bool   // what changed is what the call at the break gives
	Operand       bool   // what changed is what the line of the break had before it came to that call
	Keywords      string // how the call's keywords differ from those of the entry
	Within        bool   // the function was called by a compiled one that runs eagerly there
	OfArgument    string // what changed after a graph break: an argument of the whole function, or what one holds
	MayBeArgument string // the same, where it may be an argument: the function cannot be read
	Hidden        bool   // another size changed with this one, of a tensor that is no argument
	StrideOpen    bool   // the compile after the change has the stride that changed as an input
	CalledWithin  bool   // the same, of whatever guard
	Nested        bool   // a lambda or a comprehension, called by a compiled function that runs eagerly there
	LibraryFrame  bool   // what was compiled is of PyTorch's own modules or of the standard library, and the program did not compile it
	Known         bool   // the trace records what became of numbers and sizes
	Partial       bool   // which sizes changed with this one is not recorded
	AlsoChanged   string // a number, text or flag that the failed entry has as a constant and that changed with a size
	BoundAt       string // the line for which the new entry holds for a range of the size that the old one is not in
	Filled        string // a dict that has more elements with the new entry than with the failed one
	FilledLine    string // and the line that fills it, as far as the guard names it
	OwnArgument   string // the argument that changed, for which the function asks after a graph break alone
	Held          bool   // a number that is neither 0 nor 1 changed, and the new entry has its next value as a constant, too
	Baked         bool   // another entry holds a value that is neither 0 nor 1 as a constant
	// the lines of the file that the guard's line is in, of an int that a setting makes an input, of what a container holds
	// and of its length; nil where it cannot be read
	File       []string
	Kept       bool   // every call has the same object: it is a global or of a closure, no argument
	ManyValues bool   // entries were left for three values of it, or more
	Often      bool   // at least three recompiles of the function are due to it
	Grows      bool   // the number goes up by one with every recompile
	Limit      bool   // no entry could be made: the function has as many as it may have
	Failed     bool   // the compile after the change failed
	Static     bool   // the compile after the change left no size open
	NeededAt   string // the line of the program that needs a size of the new value as a number
	Recompiled bool   // the function was compiled again for another cause than a size, too
	NoEntry    string // the break at which the compile after the change left the function to eager execution, "" where it made an entry
	NoOperator bool   // the compile after the change met no operator, for which PyTorch skips the function from then on
	Rest       bool   // what was compiled again is the part of a function that follows a graph break
	Compiles   int    // how often this cause made the function compile again

	// Where the limit is reached: what most of the function's recompiles before are due to, how many
	// those are, and how many there were in all; "" where no other cause has that many.
	FilledBy            string
	FilledTimes, Before int
}

// named is the user's expression, or a generic term where the trace has no name that the user would know.
func (f *Finding) named(otherwise string) string { return cmp.Or(f.Name, otherwise) }

// Effect is how far an advice helps, which its trial checks.
type Effect string

// The effects.
const (
	Removes Effect = "removes it"        // the finding is gone, and nothing came for it
	Accept  Effect = "nothing to change" // more calls bring no more of it
)

// Row is one row of the table.
type Row struct {
	ID      string // names the example's folder
	Kind    Kind
	Go      bool   // a row for Go programs
	Pattern string // the cause in words, for docs/advice.md
	Effect  Effect
	Follows bool                  // the finding goes with another one, which the text names
	When    func(f *Finding) bool // the cause and the preconditions
	Text    func(f *Finding) string
}

// Rows is the table; the first row whose pattern fits is the one that is shown.
func Rows() []Row { return table() }

var table = sync.OnceValue(func() []Row {
	var out []Row
	for _, family := range [][]Row{branches, calls, failures, inputs, values, {limitFilled}} {
		out = append(out, family...)
	}
	return out
})

// For gives the row that a finding fits, proven or not; ok is false where none does.
func For(f *Finding) (Row, bool) {
	for _, r := range table() {
		if r.Kind == f.Kind && r.Go == f.Go && r.When(f) {
			if !f.Go && limitFilled.When(f) && IsNormal(r.Text(f)) {
				return limitFilled, true
			}
			return r, true
		}
	}
	return Row{}, false
}

// Follows reports whether the row with an id sends the reader to another finding.
func Follows(id string) bool {
	i := slices.IndexFunc(table(), func(r Row) bool { return r.ID == id })
	return i >= 0 && table()[i].Follows
}

// Advise gives the text of the row that a finding fits and the row's id; both are "" where
// no row fits or the one that does is not proven.
func Advise(f *Finding) (text, id string, settled bool) {
	r, ok := For(f)
	if !ok || !Shown(r.ID) {
		return "", "", false
	}
	if text = r.Text(f); f.Limit && IsNormal(text) {
		return "", "", false
	}
	return text, r.ID, r.Effect == Accept
}

// IsNormal says whether a text calls a finding normal, which none is that fills a function's
// entries: every further call pays.
func IsNormal(text string) bool { return has(text, "is normal", "are normal", "nothing to change") }

//go:embed proven.tsv
var provenText string

// Outcome is the result of a row's trial.
type Outcome struct {
	ID, Result, PyTorch string
}

// Passed is the result of a trial in which all went as the row says.
const Passed = "passed"

var proven = sync.OnceValue(func() map[string]Outcome {
	out := map[string]Outcome{}
	for line := range strings.Lines(provenText) {
		cols := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(cols) == 3 {
			out[cols[0]] = Outcome{cols[0], cols[1], cols[2]}
		}
	}
	return out
})

// Proven gives the outcome of a row's trial.
func Proven(id string) (Outcome, bool) {
	o, ok := proven()[id]
	return o, ok
}

// ShowAll makes rows be shown whatever their trial said: the trial itself needs that.
var ShowAll bool

// Shown reports whether a row passed its trial.
func Shown(id string) bool {
	o, ok := Proven(id)
	return ShowAll || ok && o.Result == Passed
}

// say is the text of a row that names nothing of the user's.
func say(text string) func(*Finding) string { return func(*Finding) string { return text } }

// has reports whether a text has one of some words.
func has(s string, words ...string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// opens reports whether a line of code begins with one of some words.
func opens(line string, words ...string) bool {
	line = strings.TrimSpace(line)
	for _, w := range words {
		if strings.HasPrefix(line, w+" ") || strings.HasPrefix(line, w+"(") {
			return true
		}
	}
	return false
}
