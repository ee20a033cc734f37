package logs

import (
	"slices"
	"strings"
)

// This file is what a comparison of compiled code with eager execution found.

// Numerics is one compiled graph beside eager execution: artifact tcdbg_numerics. It is written
// again as more calls are compared; the last one of a graph counts.
type Numerics struct {
	Compile string `json:"compile"` // 0/1
	Graph   string `json:"graph"`
	Process int    `json:"process,omitempty"`
	Backend string `json:"backend"` // of the program
	Result  string `json:"result"`  // a Numerics constant
	Why     string `json:"why,omitempty"`

	Calls    int64 `json:"calls"`    // of the graph
	Compared int64 `json:"compared"` // of these
	// Values are what was compared, each with its worst difference of all calls.
	Values []NumericsValue `json:"values,omitempty"`
	Fault  *NumericsFault  `json:"fault,omitempty"`
	Born   *NumericsBorn   `json:"born,omitempty"`
	// NaN is where the first NaN comes from, where Born is an Inf.
	NaN *NumericsBorn `json:"nan,omitempty"`
	// NotCompared are parts that were not, each with the reason.
	NotCompared []string `json:"not_compared,omitempty"`
	Repro       string   `json:"repro,omitempty"` // folder of the reproducer
}

// What came out.
const (
	NumericsEqual     = "equal"
	NumericsDiffers   = "differs"
	NumericsUndecided = "undecided" // rounding alone moves eager results as far
	NumericsNone      = "not compared"
)

// ArtifactName gives the name and the version of the layout.
func (Numerics) ArtifactName() (string, int) { return "tcdbg_numerics", 1 }

// NumericsValue is an output, a written input or a gradient, or the result of a node or kernel.
type NumericsValue struct {
	What  string `json:"what"` // output 0, input x, gradient of x, a node or kernel
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
	// Worst is the largest difference in units of what the dtype allows, at most 1e30.
	Worst   float64 `json:"worst"`
	Beyond  int64   `json:"beyond"`            // elements that differ by more
	Excused int64   `json:"excused,omitempty"` // of these: no farther from double precision than eager
	Elems   int64   `json:"elements"`
	// At is the worst element, with both values as text; Exact is the value in double precision.
	At       []int  `json:"at,omitempty"`
	Compiled string `json:"compiled,omitempty"`
	Eager    string `json:"eager,omitempty"`
	Exact    string `json:"exact,omitempty"`
	Note     string `json:"note,omitempty"`
	Pos      *Pos   `json:"pos,omitempty"`
	Ops      string `json:"ops,omitempty"` // of a node or kernel
}

// NumericsFault is where results first differ.
type NumericsFault struct {
	Call  int64  `json:"call"`           // of the graph, from 1
	Stage string `json:"stage"`          // capture, AOT, decomposition, lowering, fusion, code, or the backend
	Part  string `json:"part,omitempty"` // inference, forward, backward
	// Node is the first whose part of the graph differs; Alone says that it does by itself, on
	// the inputs that it had.
	Node   string   `json:"node,omitempty"`
	Op     string   `json:"op,omitempty"`
	Alone  bool     `json:"alone,omitempty"`
	Pos    *Pos     `json:"pos,omitempty"`
	Kernel string   `json:"kernel,omitempty"`
	Ran    []string `json:"ran,omitempty"` // the search: what was run beside eager, and how it came out

	Value NumericsValue   `json:"value"` // what differs
	Nodes []NumericsValue `json:"nodes,omitempty"`
}

// Sources are Born and NaN, as far as there are any.
func (n *Numerics) Sources() []*NumericsBorn {
	return slices.DeleteFunc([]*NumericsBorn{n.Born, n.NaN}, func(b *NumericsBorn) bool { return b == nil })
}

// IsNaN reports whether there is a NaN among what came into being.
func (b *NumericsBorn) IsNaN() bool { return strings.Contains(b.What, "NaN") }

// NumericsBorn is where eager execution of a graph makes its first NaN or Inf: at a node of whose input
// tensors none has a NaN, nor, for an Inf, an Inf.
type NumericsBorn struct {
	Call int64  `json:"call"`
	What string `json:"what"` // 3 NaN
	Node string `json:"node"`
	Op   string `json:"op"`
	Pos  *Pos   `json:"pos,omitempty"`
	// Input says that an input of the graph has it already.
	Input string `json:"input,omitempty"`
	// OfInf says that input tensors of the node have an Inf.
	OfInf bool `json:"of_inf,omitempty"`
}

// NumericsCapture compares what a program computes without a compiler with what it computes when
// its captured graphs run operator by operator, in two runs of it: artifact
// tcdbg_numerics_capture.
type NumericsCapture struct {
	Result string `json:"result"` // a Numerics constant
	Why    string `json:"why,omitempty"`
	Calls  int    `json:"calls"` // outermost calls of compiled functions that were compared
	First  string `json:"first,omitempty"`
	// Fault is the operator where the two part, as far as it was found.
	Fault *CaptureFault `json:"fault,omitempty"`
	// Limits are what was not compared.
	Limits []string `json:"limits,omitempty"`
}

// ArtifactName gives the name and the version of the layout.
func (NumericsCapture) ArtifactName() (string, int) { return "tcdbg_numerics_capture", 1 }

// CaptureFault is the first operator with which captured graphs leave what the program computes without a
// compiler. Operators are texts such as mul(float32[4], 3).
type CaptureFault struct {
	Call int `json:"call"` // outermost call, from 1
	// Captured is what a graph has, "" where it lacks what eager execution calls; Node is its node.
	Captured    string `json:"captured,omitempty"`
	Node        string `json:"node,omitempty"`
	CapturedPos *Pos   `json:"captured_pos,omitempty"`
	// Eager is what eager execution calls there; "" where nothing is left that it calls.
	Eager    string `json:"eager,omitempty"`
	EagerPos *Pos   `json:"eager_pos,omitempty"`
	Note     string `json:"note,omitempty"` // how two operators of the same text differ
	// Agreed is the last operator before it that computes the same in both.
	Agreed    string `json:"agreed,omitempty"`
	AgreedPos *Pos   `json:"agreed_pos,omitempty"`
	Why       string `json:"why,omitempty"` // why no operator is named
	// Given says that no operator is named because the call is given other values.
	Given bool `json:"given,omitempty"`
}

// Found reports whether an operator is named.
func (f *CaptureFault) Found() bool { return f != nil && (f.Captured != "" || f.Eager != "") }
