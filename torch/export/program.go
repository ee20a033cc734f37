// Package export reads what torch.export.save writes: the graph in PyTorch's export
// schema, its signature, the ranges of its sizes, and where its weights lie. It makes
// calls of our operators of the graph's calls, which its user computes or writes into a
// graph.
//
// What it reads comes from strangers: names are keys and never paths, sizes and depths are bounded.
// It imports ops and its subpackages, and knows neither tensors with data nor archives: package
// torch opens the file (LoadExported). Open this file first, then read.go and walk.go.
package export

import (
	"strings"

	"tcdbg/ops"
)

// Folders of the archive, in which weights lie.
const (
	weightsFolder   = "weights/"
	constantsFolder = "constants/"
)

// Program is an exported program without its weights.
type Program struct {
	Torch   string // the PyTorch that wrote it: 2.15.0
	Symbols []Symbol
	Inputs  []Input
	Nodes   []Node
	Outputs []Output
	// In and Out are the trees of what the program takes and returns. In has two children:
	// positional arguments and keyword arguments.
	In, Out *Tree
	// Names are the parameters of forward, as far as the file tells.
	Names []string
	// Weights are parameters, buffers and constants by name.
	Weights map[string]Weight

	values map[string]*Tensor // tensors that the graph names
	sizes  map[string]string  // numbers that it names, as expressions
	hints  map[string]int64
	depth  int // of a graph in graphs
}

// Symbol is a size that may differ from call to call.
type Symbol struct {
	Name     string
	Min, Max int64
	Hint     int64 // its value when the program was exported
}

// Tensor is what a graph says of a tensor. Sizes are numbers or expressions of symbols.
type Tensor struct {
	DType   ops.DType
	Shape   []Size
	Stride  []Size
	Offset  Size
	Grad    bool
	Device  string
	Strided bool
}

// Size is a number, or where Expr is set an expression.
type Size struct {
	Value int64
	Expr  string
}

// InputKind is where an input of the graph comes from.
type InputKind uint8

// The kinds.
const (
	User      InputKind = iota
	Parameter           // Target names it
	Buffer
	Constant
	Fixed // a number, string or nothing that the program was exported with
)

// Input is one input of the graph.
type Input struct {
	Kind   InputKind
	Name   string // of the value in the graph
	Target string // of what is stored: l.weight
	Tensor *Tensor
	Value  any // of a Fixed one
}

// OutputKind is what becomes of an output of the graph.
type OutputKind uint8

// The kinds.
const (
	Result         OutputKind = iota // the caller gets it
	BufferMutation                   // it becomes the content of what Target names
	InputMutation                    // it becomes the content of the user's input Target
)

// Output is one output of the graph.
type Output struct {
	Kind   OutputKind
	Value  Arg
	Target string
}

// Node is one call.
type Node struct {
	Target string // torch.ops.aten.linear.default
	Name   string
	Args   []NamedArg
	Outs   []Out
	// Results is how many values a call gives that the text of a graph names by Name; 0: Outs names them.
	Results int
	Stack   []Frame // outermost first
	Modules string  // of the module that it is in: features.0
}

// NamedArg is an argument of a call.
type NamedArg struct {
	Name    string
	Keyword bool
	Value   Arg
}

// Out is one result of a call: a tensor or a number with a name, or a list of tensors.
type Out struct {
	Name string // "" for a result that is not there
	List []string
	Many bool // it is the list
}

// Frame is one line of a stack trace.
type Frame struct {
	File string
	Line int
	Func string
	Code string
}

// Weight is a stored tensor.
type Weight struct {
	Path   string // the name of its storage
	Param  bool
	Tensor *Tensor
}

// Kept reports whether the weight is part of the state: a buffer that is not persistent is none.
func (w Weight) Kept() bool { return strings.HasPrefix(w.Path, weightsFolder) }

// Arg is an argument as the file has it: Ref, []Arg, int64, float64, bool, string,
// ops.DType, Layout, MemoryFormat, ops.Device, *Sub, Unread, or nil.
type Arg any

// Ref names a value of the graph.
type Ref string

// Unread is an argument of a kind that is not read, an object: its operator is
// one that is not supported.
type Unread string

// Layout and MemoryFormat are PyTorch's enumerations.
type (
	Layout       int
	MemoryFormat int
)

// strided is PyTorch's torch.strided.
const stridedLayout Layout = 7
