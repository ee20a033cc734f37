// Package explain is what a trace says: the Report (captured graphs, graph breaks, failed
// guards, fusions, kernels, what all of it cost and what to change), and how the texts that
// PyTorch writes into a trace are read and worded. It is the same for PyTorch's traces and
// for ours.
//
// Around it: fold makes the Report from records, diagnose finds causes and gives advice (by
// the rows of advice), rewrite applies advice to a file, render writes the Report as text,
// JSON, HTML or a Chrome trace, gate compares two and checks one against limits. This
// package knows none of them: it imports logs and tracer/breaks only, never an engine
// package. Open report.go first, then breaktext.go and recompiletext.go (PyTorch's texts).
package explain

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tcdbg/explain/numerics"

	"tcdbg/logs"
	"tcdbg/logs/loops"
)

// ID names one compile in a report. Ids start again after a reset, so the
// epoch belongs to them, and several ranks use the same ones.
type ID struct {
	Rank  int // -1: no rank
	Epoch int
	logs.CompileID
}

// WithoutAttempt names the compile whatever its attempt.
func (id ID) WithoutAttempt() ID {
	id.Attempt = 0
	return id
}

// SameCompile compares ids whatever their attempts: records of one compile may have several.
func (id ID) SameCompile(other ID) bool { return id.WithoutAttempt() == other.WithoutAttempt() }

// Status is how the compile of a frame ended.
type Status string

// The outcomes.
const (
	Compiling Status = "compiling"
	Compiled  Status = "compiled"
	Empty     Status = "empty graph"
	Skipped   Status = "skipped"
	Failed    Status = "error"
	Limit     Status = "limit reached"
)

// Report is a snapshot: it never changes after it was taken and may share
// memory with later ones.
type Report struct {
	Title      string
	Engine     string // "tcdbg" or "PyTorch 2.15.0", "" while unknown
	Start, End time.Time
	Live       bool // records may still come
	State      logs.State
	Session    Session          // with the program, where it was debugged
	Numerics   *numerics.Report // of compiled code beside eager execution, nil: nothing was compared
	Calls      Calls            // what became of each call of a compiled function

	StepsMissing string // why no steps of traces were recorded, "" where nothing is said

	Totals     Totals
	ByKind     map[string]int64
	Frames     []*Frame      // by first appearance
	Breaks     []*BreakGroup // by root cause, costliest first
	Recompiles []*Recompile
	Graphs     []*Graph
	Kernels    []*Kernel
	Fusions    []*Fusion // one for each compiled graph with decisions
	Autotuned  []*Autotuned
	Passes     []*PassRun
	Lowered    *Lowered // how a lowered graph's kernels differ from PyTorch's; nil: it is no such trace
	Failures   []*Failure
	Phases     []*Phase // compile-time flame chart, by start
	// PhasesLeftOut counts phases that are in PhaseSums alone, because there are too many.
	PhasesLeftOut int64
	// DeepPhases counts phases that are nowhere, because they ran within too many others.
	DeepPhases      int64
	Unclosed        []Phase // of a trace that is over: phases whose end was not recorded, by start
	Instants        []Instant
	InstantsLeftOut int64 // those that are not in Instants, because there are too many
	Caches          []CacheEvent
	Symbols         []*Symbol
	Ranks           []*Rank
	RankGroups      []*RankGroup   // the ranks by what they did alike, the largest group first
	Stragglers      []Straggler    // ranks whose compiles took far longer than the usual rank's
	Schedules       []RankSchedule // what the ranks of one job must do in one order
	Divergence      []string       // where each rank first does otherwise than the usual one
	Advice          []Advice       // what to do first, costliest first
	Side            []SideNote     // perf hints, CUDA graph skips and other remarks
	PhaseSums       []PhaseSum     // compile time by phase, costliest first
	Stats           logs.Stats     // what was wrong with the sources
	Sources         []logs.Source
	// UnlistedGuards counts the conditions on sizes that are in no compile's
	// ShapeGuards, because there are too many.
	UnlistedGuards int64
	// LeftOut counts the records of known kinds or not that are in totals and
	// ByKind alone, because the report is full.
	LeftOut int64

	// Exports says that torch.export ran. How its exports ended is not recorded.
	Exports bool

	Textual  bool    // of a text log, whose settings decide what it tells
	Redacted bool    // what is or may be code was taken out of the trace: it tells of no kernels
	Source   *Source // the files of the program

	Profiles []*Profile // steady steps that a profiler recorded, one a process
	Traces   []ChromeTrace
}

// ChromeTrace is a file of spans of any program. They are read when they are looked at.
type ChromeTrace struct {
	Rank int
	File string
}

// SideNote is a remark of the framework that is neither break nor recompile.
type SideNote struct {
	ID   ID
	Kind string // perf_hints, cudagraphs, cache, explain, ...
	Text string
	Pos  logs.Pos
}

// PhaseSum is the time of one phase over the whole run.
type PhaseSum struct {
	Name    string
	Count   int
	Seconds float64 // with the phases inside
	Self    float64 // of each by itself, as Phase has it
}

// Totals are the counts that a person compares.
type Totals struct {
	Records            int64   `json:"records"`
	UnexplainedRecords int64   `json:"unexplained_records"`
	Frames             int     `json:"frames"`
	Compiles           int     `json:"compiles"`
	Graphs             int     `json:"graphs"`
	Breaks             int     `json:"breaks"`          // once per compile
	DistinctBreaks     int     `json:"distinct_breaks"` // places and codes
	Recompiles         int     `json:"recompiles"`
	Kernels            int     `json:"kernels"`
	Failures           int     `json:"failures"`
	Restarts           int     `json:"restarts"`
	CompileSeconds     float64 `json:"compile_seconds"`
	Ops                int     `json:"-"` // operators in captured graphs
}

// Frame is one function (or resume point) that was compiled, with all its
// compiles.
type Frame struct {
	ID     ID // compile fields 0
	Name   string
	Pos    logs.Pos
	Parent *Frame // the function that it resumes, nil
	// From is the compile whose break it follows, where the engine says so.
	From     *logs.CompileID
	Static   bool     // kw.Dynamic(false): each size has an entry of its own
	Captured []string // variables that a function literal captures
	Again    bool     // compiler.Reset took the entries that its function had
	MadeAt   logs.Pos // the first torch.Compile that gave the function
	Made     int64    // how many gave it, 0: unknown
	Resumes  []*Frame
	Compiles []*Compile
	Status   Status // of the last compile
	Calls    int64  // -1: unknown
	Hits     int64
	RunNanos int64
	EagerOps int64 // -1: unknown
	// Finding an entry for a call, of those calls that were timed; none: not measured.
	GuardTimed, GuardNanos int64
	// Calls that left at a break after a hit, and the time until the next graph began or the
	// call returned; none: not measured.
	Left, LeftNanos int64

	// Wraps is the function of PyTorch's own that is compiled for a callable without a
	// frame of its own, such as nn.Sequential; Name and Pos are then its class and the line
	// that calls it. Else nil.
	Wraps *logs.Pos
}

// Compile is one compilation of a frame.
type Compile struct {
	ID        ID
	Frame     *Frame
	Status    Status
	Attempts  int
	Start     time.Time
	Seconds   float64 // 0: unknown
	Stack     []logs.Pos
	Graph     *Graph // nil: none was captured
	Breaks    []*Break
	Recompile *Recompile // why it happened, nil for the first
	Guards    *GuardTree // nil: not recorded
	Failure   *Failure
	Cache     string // hit, miss, bypass, ""
	// LoadMetrics reads the compile's metrics as recorded; nil: none.
	LoadMetrics func() map[string]any
	Ops         int           // operators captured, -1: unknown
	Restarts    []string      // why tracing was restarted
	SideEffects func() string // what is replayed after the graph, nil: none
	Outputs     []*OutputCode
	Memory      *logs.MemoryPlan
	ShapeGuards []ShapeGuard
	Tensors     int         // tensors among the inputs
	InputBytes  int64       // bytes of their storages
	Sources     []string    // where inputs come from: L['x'], ...
	InputTypes  []InputType // of a rank: each input with its type and sizes, without the number of its device
	GradSources []string    // of those that require gradients, where PyTorch's trace tells
	Steps       int64       // recorded single steps
	Trace       *Trace      // its steps as they can be walked through; nil: not recorded
	Served      *Served     // what the calls that it serves cost; nil: not measured

	Wrapped string   // class of the callable that a wrapper of PyTorch's calls, "" when unknown
	Held    []string // what its guards say of that callable, see HeldSizes
	Fresh   bool     // the first for its callable, though its id is a recompile's
}

// Trace is the steps of one trace, which are read when asked for.
type Trace struct {
	Count  int
	Logged bool // by PyTorch's text logs: without what each step added
	Load   func() *logs.TraceSteps
}

// ShapeGuard is a condition on sizes that tracing added.
type ShapeGuard struct {
	Expr    string
	Pos     logs.Pos
	Backend bool // added by the code generator, not by the program
	Attempt int  // of tracing: a graph break starts it over, and the guards of before are dropped
}

// Break is one graph break as one compile met it.
type Break struct {
	Code        string // GB0170; "" where it could not be told
	Type        string
	Explanation string
	Hints       []string
	Context     string // developer debug context
	Fixability  string
	Outcome     string // resumed, partial, skipped, error
	Pos         logs.Pos
	Stack       []logs.Pos
	Value       []logs.Pos // how the value came about
	Before      []string   // operators of the graph that ended here
	After       *Graph     // graph that follows, nil when unknown
	Compile     *Compile
	Chained     []*Break // breaks that happened while this was handled
	During      bool     // it is one of these: it is told, not counted
	Noise       bool     // inside torch or the standard library
	Raw         string   // the message as recorded
	Seq         int64    // of its record, 0: none

	Resumed []*Frame // parts that go on after it
}

// BreakGroup is all breaks of one root cause.
type BreakGroup struct {
	Key      string // stable across runs: code, function and text of the line, numbered where these repeat
	Lead     *Break
	Breaks   []*Break
	CausedBy *BreakGroup // an earlier break that led to it
	Causes   []*BreakGroup
	Chains   [][]logs.Pos // distinct call chains
	Graphs   int          // graphs of the parts that go on after it
	Seconds  float64      // compile time of these parts
	EagerOps int64        // that its functions leave eager, -1: unknown
	Lost     []string     // functions of the program that run eagerly as a whole for it
	// LeftNanos is what a steady call spends outside of graphs after the break, until the next
	// graph begins; -1: not measured, or not of this break alone.
	LeftNanos int64
	Memory    *BreakMemory // what a steady call allocates and copies for it; nil: not measured
	Fix       Fix

	Parts   []*Frame // resumed parts that are counted for it
	Rewrite *Rewrite // what AddRewrites found in the user's source; nil: nothing
}

// Fix is advice at one place. Lines is a diff of the user's source ("-", "+"
// and " " first) where one can be given.
type Fix struct {
	Text    string
	Lines   []string
	Settled bool   // there is nothing left to do: the text says why
	Row     string // the row of the table of advice that it is from; "": of none
	Untried bool   // PyTorch's own hint, which no trial has followed: the text says whose it is
}

// Label is what is put before the text where it is listed: what is not tried is not
// called a fix.
func (f Fix) Label() string {
	if f.Untried {
		return ""
	}
	return "fix: "
}

// Recompile is one compile after the first of a frame.
type Recompile struct {
	Key      string // of its cause, stable across runs: function, guard, rank and epoch
	Compile  *Compile
	Call     int64 // 1-based number of the frame's call, 0: unknown
	Failures []GuardFailure
	Complete bool // Failures has every guard that failed, else the first of each entry
	Older    int  // entries that failed, too, whose guards the trace does not list
	Fix      Fix
	Raw      []string
	Seq      int64 // of the record that tells the reason, 0: none

	Facts *TraceFacts // what the report tells beside it, of which its advice is made
}

// GuardFailure is one guard of one earlier entry that did not hold.
type GuardFailure struct {
	Entry    string // 0/1
	Source   string // L['x']
	Kind     string // size, stride, dtype, value, type, length, ...
	Dim      int    // -1: none
	Expected string
	Actual   string
	Text     string   // as recorded
	Pos      logs.Pos // the line that created the guard
	Argument string   // the user's expression that carries the value, "" when unknown
	Origin   string   // what that begins with, a constant of package logs; "" when unknown
	Nameless bool     // known to be nothing that the user has an expression for
	Single   bool     // the tensor's size in the dimension is 1
	Map      bool     // of a length: it counts the keys of a map
}

// GuardTree is the guards of one entry: a TREE_GUARD_MANAGER, which is read and
// parsed when it is asked for, since guards are a tenth of a large trace.
type GuardTree struct {
	Leaves int
	Noise  int     // leaves about hasattr and dynamic marking
	Micros float64 // cost of one evaluation, 0: unknown
	Load   func() *GuardNode

	Files *FileNames
}

// Told says whether the guards themselves can be read: of a redacted trace they are counted alone.
// False on a nil tree.
func (t *GuardTree) Told() bool { return t != nil && t.Load != nil }

// Root parses the tree; nil where it is not told.
func (t *GuardTree) Root() *GuardNode {
	if !t.Told() {
		return nil
	}
	root := t.Load()
	if t.Files != nil {
		t.Files.tree(root)
	}
	return root
}

// GuardNode is a manager (Kind "") or a leaf.
type GuardNode struct {
	Kind     string // TENSOR_MATCH, ...
	Source   string
	Accessor string
	Type     string
	Text     string // the check
	Code     string // the user's line that asked for it
	Pos      logs.Pos
	Noise    bool
	Children []*GuardNode
}

// Graph is one captured graph with its later forms.
type Graph struct {
	ID     ID
	Name   string
	Ops    []string
	Inputs int
	Stages []Stage           // dynamo, pre-grad, joint, forward, backward, post-grad, ...
	Saved  *logs.SavedValues // for the backward graph; nil: there is none, or not recorded
	Table  string            // as print_tabular, "" when not recorded
	Next   *Graph            // graph after the break that ended this one
	// LoadNodes reads and parses the captured graph's text; nil: not recorded.
	LoadNodes func() []GraphNode
	// LoadInputs reads what it was compiled with, where our own engine recorded that; else nil.
	LoadInputs func() logs.GraphInputs
	// LoadModules reads in which modules its nodes were traced, where tcdbg exec had that written; else nil.
	LoadModules func() logs.NodeModules
	First       logs.Pos // of its first operator, where the trace is redacted and tells no nodes
}

// Named says whether the names of its operators are told: those of its nodes, or in a redacted trace they alone.
// False on a nil graph.
func (g *Graph) Named() bool { return g != nil && (g.LoadNodes != nil || len(g.Ops) > 0) }

// Nodes parses the captured graph.
func (g *Graph) Nodes() []GraphNode {
	if g == nil || g.LoadNodes == nil {
		return nil
	}
	return g.LoadNodes()
}

// Stage is the text of a graph at one stage; Load reads it.
type Stage struct {
	Name string
	Load func() string
	Seq  int64 // record
	// LoadModules is that of Graph, for the nodes of this stage.
	LoadModules func() logs.NodeModules
}

// GraphNode is one node of the captured graph.
type GraphNode struct {
	Name, Op, Target, Type string
	Args                   []string // names of nodes
	Text                   string   // the arguments as they are printed
	Pos                    logs.Pos
	Stack                  []logs.Pos
	Body                   []GraphNode // of a get_attr that names the body of a higher-order operator
}

// Kernel is one generated kernel or extern call.
type Kernel struct {
	ID      ID
	Name    string
	Lang    string // triton, cpp, c, extern
	Reason  string // why it is extern
	Hoisted bool   // runs in the prologue: again only when a parameter changes
	Ops     []string
	Nodes   []string
	Pos     []logs.Pos
	Load    func() string // its source
	From    int           // first line within the output code
	To      int           // last line
	Output  *OutputCode
	Others  []TargetKernel // its forms for other targets, of our own engine's kernels
	Lines   []logs.KernelLine
	Bytes   int64 // -1: unknown
	FLOPs   int64
	Calls   int64 // -1: not measured, although others were
	Timed   int64 // of these, the timed ones
	Nanos   int64 // of the timed calls in all; Timed 0: unknown
	Fused   int   // operators in it
	// CompileMicros is the time that compiling the kernel took, 0: unknown.
	CompileMicros int64
	Tuned         []*logs.Tuning // candidates that were timed for it
}

// Autotuned is what was chosen for a compiled graph by timing candidates.
type Autotuned struct {
	ID ID
	*logs.Autotuning
}

// Changes are the choices that differ from the default, those first that save most of a call; none where the default stays.
func (a *Autotuned) Changes() []*logs.Tuning {
	var out []*logs.Tuning
	for i := range a.Tables {
		if t := &a.Tables[i]; t.Changed() && !a.Kept {
			out = append(out, t)
		}
	}
	slices.SortStableFunc(out, func(x, y *logs.Tuning) int { return cmp.Compare(y.Saved(), x.Saved()) })
	return out
}

// OutputCode is the generated wrapper.
type OutputCode struct {
	ID     ID
	Path   string
	Role   string // forward, backward, inference, "" when not said
	Load   func() string
	Others []TargetCode // the same graph in the languages that did not run
	// Launches are the calls of its kernels whose nodes the trace tells; PyTorch's code only.
	Launches []Launch
}

// Launch is one call of a kernel of PyTorch's.
type Launch struct {
	Kernel string
	Nodes  []string // of the post-grad graph that it computes
}

// TargetCode is a compiled graph in a language that did not run.
type TargetCode struct {
	Language string        // triton
	Ext      string        // of a file's name: .py
	Missing  string        // why it cannot be run; its kernels are there
	Load     func() string // its text
}

// Fusion is the scheduler's decisions for one graph.
type Fusion struct {
	ID            ID
	Graph         string
	Steps         []logs.FusionStep
	Before, After int             // kernels
	Schedule      []func() string // texts of the schedule log
	Seq           int64           // of the record that opens it, 0: none
	Ops           []string        // of op0, op1, ...: the operator; nil: not recorded
	Origins       []NodeOrigin    // of op0, op1, ...: what they compute, of PyTorch's; nil: not recorded
	Loops         *loops.Program  // what the nodes read and write, of PyTorch's; nil: not recorded
	// Start is what the scheduler began with, from which the kernels after any
	// step can be generated; nil: not recorded.
	Start func() (logs.Schedule, bool)

	Round   int
	Refused map[string]int
	Scores  map[string]int64
}

// NodeOrigin is what a scheduler node computes.
type NodeOrigin struct {
	Nodes []string   // of the post-grad graph
	Pos   []logs.Pos // lines of the program; nil: not recorded with the node
}

// Label is a scheduler node's operators: op0_op1 is linear·relu. A name whose operators
// are not recorded stays.
func (f *Fusion) Label(node string) string {
	if len(f.Ops) == 0 {
		return node
	}
	var ops []string
	for _, part := range strings.Split(node, "_") {
		op := "…"
		if part != "to" { // of a long name: what lies between is left out
			n, err := strconv.Atoi(strings.TrimPrefix(part, "op"))
			if err != nil || n < 0 || n >= len(f.Ops) || f.Ops[n] == "" {
				return node
			}
			op = f.Ops[n]
		}
		if len(ops) == 0 || ops[len(ops)-1] != op {
			ops = append(ops, op)
		}
	}
	return strings.Join(ops, "·")
}

// Lowered is what our own Inductor made of a graph of PyTorch's trace, beside PyTorch's kernels.
type Lowered struct {
	ID ID
	logs.Lowered
}

// PassRun is one pass over one graph.
type PassRun struct {
	ID   ID
	Step logs.PassStep
	Seq  int64 // of its record
}

// Failure is an error that ended a compile.
type Failure struct {
	ID     ID
	Type   string
	Code   string // GB code where the reason is one, as under fullgraph
	Reason string
	// Eager says that the program went on: the function runs eagerly, for a break that
	// is listed among the breaks.
	Eager bool
	// Context is the developer debug context of the break that was not allowed.
	Context string
	Hints   []string
	Fix     Fix // what removes it, where no break of the same compile says so
	Pos     logs.Pos
	Stack   []logs.Pos
	Frame   string // function
	Seq     int64  // of the record that tells it, 0: none
}

// Phase is one span of compile time.
type Phase struct {
	Name  string
	ID    ID
	Start time.Time
	Dur   time.Duration
	Self  time.Duration // in which no phase ran that began later on its thread
	Depth int
	Open  bool // it still runs: Dur reaches to the newest event
	// Of which file of the report's Sources, and of which process or thread there.
	Source, Thread int
}

// Instant is an event of a trace that has no length, such as the miss of a cache.
type Instant struct {
	Name string
	ID   ID
	At   time.Time
}

// CacheEvent is one look-up in a compile cache.
type CacheEvent struct {
	ID         ID
	Cache, Hit string // fx_graph, aotautograd; hit, miss, bypass
	Key        string
	Reason     string
}

// Symbol is a dynamic size.
type Symbol struct {
	ID           ID
	Name, Source string
	Hint         string
	Range        string
	Specialized  string // value to which it was fixed, "" when still dynamic
	Reason       string
	Pos          logs.Pos
}

// Rank is one process of a distributed run.
type Rank struct {
	Rank   int
	Path   string
	Totals Totals
	// Diverged lists what this rank did otherwise than others, by function.
	Diverged []string
	Caches   string             // hits and misses in order, as H and M
	Self     map[string]float64 // seconds in phases that ended, without those within, by name
}

// Advice is one entry of "what to do first".
type Advice struct {
	Text  string
	Pos   logs.Pos
	Fix   Fix
	Cost  string
	Break *BreakGroup     // what it is about, nil where it is none
	Cause *RecompileCause // likewise
	Frame *Frame
}

// TargetKernel is a kernel's text within its graph's code for a target that did not run.
type TargetKernel struct {
	Language string // triton
	From, To int    // lines of the module
	Lines    []logs.KernelLine
	Missing  string        // why there is no text
	Load     func() string // nil when Missing says why
}

// In is the kernel in a language that did not run; nil where there is none.
func (k *Kernel) In(language string) *TargetKernel {
	for i := range k.Others {
		if k.Others[i].Language == language {
			return &k.Others[i]
		}
	}
	return nil
}

// OfGo says whether the report is on a Go program under the compiler of this project.
func (r *Report) OfGo() bool { return strings.HasPrefix(r.Engine, "tcdbg") }

// Unlogged says of a count that it is none because nothing of its kind was logged. Of a text
// log nobody knows which logs were on: what it has none of may have been there all the same.
func (r *Report) Unlogged(n int) bool { return n == 0 && r.Textual }

// Untold says the same of any count by what it counts: a redacted trace does not tell of kernels.
func (r *Report) Untold(n int, what string) bool {
	return r.Unlogged(n) || n == 0 && r.Redacted && what == "kernel"
}
