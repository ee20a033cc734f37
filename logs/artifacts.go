package logs

import (
	"bytes"
	"slices"
	"strconv"
)

// This file is the table of artifacts that PyTorch does not have. Writer and
// reader share these structs; a reader that meets an unknown version shows the
// record raw.

// Versioned is one tcdbg_* artifact.
type Versioned interface {
	// ArtifactName gives the name and the version of the layout.
	ArtifactName() (name string, version int)
}

// Pos is a place in the user's program.
type Pos struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Col    int    `json:"col,omitempty"`    // 1-based; 0: unknown
	EndCol int    `json:"endcol,omitempty"` // exclusive; the marked part
	Func   string `json:"func,omitempty"`
	Code   string `json:"code,omitempty"` // the line's text, trimmed at the right only
}

// RunInfo opens every trace of ours.
type RunInfo struct {
	Tcdbg   string   `json:"tcdbg"` // version
	Program string   `json:"program"`
	Args    []string `json:"args"`
	Go      string   `json:"go"`
	CPU     string   `json:"cpu"`
	PID     int      `json:"pid"`
}

func (RunInfo) ArtifactName() (string, int) { return "tcdbg_run", 1 }

// Break is a graph break as our tracer knows it.
type Break struct {
	Code       string   `json:"code"`       // GB0170
	Type       string   `json:"type"`       // Data-dependent branching
	Fixability string   `json:"fixability"` // see tracer/breaks
	Detail     string   `json:"detail"`     // the developer's context: what was there
	Pos        Pos      `json:"pos"`
	Stack      []Pos    `json:"stack"`  // outermost first, ends with Pos
	Value      []Pos    `json:"value"`  // how the offending value came about, each with its operator in Func
	Before     []string `json:"before"` // operators of the graph that ended here
	Frame      string   `json:"frame"`  // compiled function
	Resume     string   `json:"resume"` // name of the resume point, empty when the frame runs eagerly from here
	Fullgraph  bool     `json:"fullgraph,omitempty"`
}

func (Break) ArtifactName() (string, int) { return "tcdbg_break", 1 }

// FrameInfo says what a compile id is: a function or a resume point in one.
type FrameInfo struct {
	Name   string `json:"name"` // bar, torch_dynamo_resume_in_bar_at_12
	Pos    Pos    `json:"pos"`
	Parent int    `json:"parent"` // frame id of the function that it resumes, -1 for none
	// From is the compile whose break the resume point first followed.
	From *CompileID `json:"from,omitempty"`
	// Static: kw.Dynamic(false) asks for an entry of each size.
	Static bool `json:"static,omitempty"`
	// Made is the first call of torch.Compile that gave the function.
	Made *Pos `json:"made,omitempty"`
	// Captured names the variables that a function literal captures.
	Captured []string `json:"captured,omitempty"`
	// Again: compiler.Reset took the entries that it had.
	Again bool `json:"again,omitempty"`
}

func (FrameInfo) ArtifactName() (string, int) { return "tcdbg_frame", 1 }

// Guard is one leaf of the guard tree.
type Guard struct {
	Source   string `json:"source"` // L['x'], G['debug'], L['net'].Weight
	Kind     string `json:"kind"`   // TENSOR_MATCH, EQUALS_MATCH, ...
	Text     string `json:"text"`   // the check as printed
	Expected string `json:"expected"`
	Pos      Pos    `json:"pos"` // the line that asked for it
}

// Guards is the guard set of one entry.
type Guards struct {
	Guards []Guard `json:"guards"`
}

func (Guards) ArtifactName() (string, int) { return "tcdbg_guards", 1 }

// GuardFailure is one guard that did not hold.
type GuardFailure struct {
	Entry    int    `json:"entry"` // compile number of the cache entry
	Guard    Guard  `json:"guard"`
	Actual   string `json:"actual"`
	Message  string `json:"message"`  // tensor 'x' size mismatch at index 0. expected 4, actual 5
	Argument string `json:"argument"` // the user's expression that carries it; empty when unknown
	Origin   string `json:"origin"`   // what that begins with, an Origin constant; empty when unknown
	Dim      int    `json:"dim"`      // the dimension, -1 when not a size
}

// What the expression of a guard begins with.
const (
	OriginArgument = "argument" // of the compiled function
	OriginLocal    = "local"    // a variable of it, which a part after a graph break is given
	OriginCaptured = "captured" // a variable that the function literal captures
	OriginGlobal   = "global"   // a package-level variable
)

// GuardMiss is a call that no entry of a frame could serve.
type GuardMiss struct {
	Call     int64          `json:"call"` // 1-based number of the frame's call
	Failures []GuardFailure `json:"failures"`
	Limit    bool           `json:"limit"` // no further compile: the frame runs eagerly
	// Older is how many entries there were whose failures are not listed: those made
	// before the listed ones.
	Older int `json:"older,omitempty"`
	// Setting names the limit where it is not recompile_limit; At is the limit.
	Setting string `json:"setting,omitempty"`
	At      int    `json:"at,omitempty"`
}

func (GuardMiss) ArtifactName() (string, int) { return "tcdbg_guard_miss", 1 }

// TraceStep is one line of the single-step log.
type TraceStep struct {
	Pos   Pos      `json:"pos"`
	Instr string   `json:"instr"`
	Stack []string `json:"stack"`
}

func (TraceStep) ArtifactName() (string, int) { return "tcdbg_trace_step", 1 }

// GraphCode is the captured graph as Go code and as PyTorch's table.
type GraphCode struct {
	Name  string   `json:"name"`
	Go    string   `json:"go"`
	Table string   `json:"table"`
	Ops   []string `json:"ops"`
}

func (GraphCode) ArtifactName() (string, int) { return "tcdbg_graph_code", 1 }

// PassStep is one pass (or one rewrite within it) that changed something.
type PassStep struct {
	Stage  string `json:"stage"` // aot, inductor
	Pass   string `json:"pass"`
	Index  int    `json:"index"`
	Before string `json:"before"` // FX text, or loop IR
	After  string `json:"after"`
	Micros int64  `json:"us"`
}

func (PassStep) ArtifactName() (string, int) { return "tcdbg_pass_step", 1 }

// Untimed is a record without the time that a pass took: of one that did not run, whose record is written again.
func Untimed(o Out) Out {
	meta, _ := o.Meta.(map[string]string)
	if name, _ := (PassStep{}).ArtifactName(); meta["name"] != name {
		return o
	}
	if at := bytes.LastIndex(o.Payload, []byte(timeKey)); at >= 0 {
		o.Payload = append(slices.Clone(o.Payload[:at]), timeKey+"0}}"...)
	}
	return o
}

// timeKey is before the time of a pass, the last of its fields.
const timeKey = `,"us":`

// appendJSON is what encoding/json makes of the step, in less time and memory: such records are the longest of a trace.
func (p PassStep) appendJSON(b []byte) []byte {
	b = slices.Grow(b, len(p.Before)+len(p.After)+(len(p.Before)+len(p.After))/8+200)
	b = appendJSONString(append(b, `{"stage":`...), p.Stage)
	b = appendJSONString(append(b, `,"pass":`...), p.Pass)
	b = strconv.AppendInt(append(b, `,"index":`...), int64(p.Index), 10)
	b = appendJSONString(append(b, `,"before":`...), p.Before)
	b = appendJSONString(append(b, `,"after":`...), p.After)
	return append(strconv.AppendInt(append(b, timeKey...), p.Micros, 10), '}')
}

// SavedValues is what the forward graph of a compile keeps for its backward graph, inputs and
// outputs of the captured graph apart, which are there in any case.
type SavedValues struct {
	Values int   `json:"values"`
	Bytes  int64 `json:"bytes"`
	Read   int64 `json:"read"`  // bytes if every value that a derivative reads were kept
	Again  int   `json:"again"` // operators that run again in the backward graph
	// Budget is kw.ActivationMemoryBudget and Limit the bytes that it allows; Over says that
	// no choice keeps to it.
	Budget float64 `json:"budget"`
	Limit  int64   `json:"limit,omitempty"`
	Over   bool    `json:"over,omitempty"`
}

func (SavedValues) ArtifactName() (string, int) { return "tcdbg_saved_values", 1 }

// FusionStep is one decision of the scheduler.
type FusionStep struct {
	Round  int    `json:"round"`
	A, B   string // names of the two scheduler nodes
	Kind   string `json:"kind"` // vertical, horizontal, epilogue, prologue
	Fused  bool   `json:"fused"`
	Reason string `json:"reason"` // PyTorch's words where it has them
	Why    string `json:"why"`    // in a sentence, with both ranges
	Score  int64  `json:"score"`  // bytes saved
	Result string `json:"result,omitempty"`
	// Kernels is how many the schedule has after the step; 0: not recorded.
	Kernels int `json:"kernels,omitempty"`
	// Together says of a refused pair that its kernels run together all the same, see Together.
	Together bool `json:"together,omitempty"`
	// Once says that one of them, or both, depends on parameters and constants alone: it runs only
	// when they change, and what fusing moves less is no traffic of a call.
	Once bool `json:"once,omitempty"`
	// Uses are of a refused pair: how each addresses what both use, the largest ones.
	Uses []SharedUse `json:"uses,omitempty"`
}

// SharedUse is how each of two scheduler nodes addresses a buffer that both use.
type SharedUse struct {
	Buffer string `json:"buffer"`
	Bytes  int64  `json:"bytes"` // of the buffer: what fusing would not move again
	A      string `json:"a"`     // "written at [4*i0] over [8, 4] by op1"
	B      string `json:"b"`
}

// Free reports whether it makes no difference to the memory traffic of a call.
func (s *FusionStep) Free() bool { return s.Together || s.Once }

func (FusionStep) ArtifactName() (string, int) { return "tcdbg_fusion_step", 1 }

// Together are decisions, by their number in the graph, that refused pairs whose kernels run as one
// call, a band of rows at a time: what passes between them stays in a cache.
type Together struct {
	Steps []int `json:"steps"`
}

func (Together) ArtifactName() (string, int) { return "tcdbg_together", 1 }

// Schedule is what the scheduler starts from, written before its decisions. With
// it the kernels after any of them can be generated again.
type Schedule struct {
	Graph  string `json:"graph"`
	Code   string `json:"code"`   // FX text of the graph that was lowered
	Params []bool `json:"params"` // placeholders that change rarely
	// Replaces maps outputs to the placeholders that they replace; Trained are placeholders that change after every call all the same.
	Replaces map[int]int      `json:"replaces,omitempty"`
	Trained  []bool           `json:"trained,omitempty"`
	Hints    map[string]int64 `json:"hints,omitempty"`
	Lanes    int              `json:"lanes"`             // of a vector
	Cache    int64            `json:"cache"`             // bytes
	BFloat   int              `json:"bfloat,omitempty"`  // how products of bfloat16 are computed
	Threads  int              `json:"threads,omitempty"` // that run kernels
	Ops      []string         `json:"ops"`               // of op0, op1, ...: the operator
	Nodes    [][]string       `json:"nodes"`             // of op0, op1, ...: the nodes of Code that it computes
	// What kw.Options asked for.
	NoEpilogueFusion bool `json:"no_epilogue_fusion,omitempty"`
	NoLayout         bool `json:"no_layout_optimization,omitempty"`
	NoPatterns       bool `json:"no_pattern_matcher,omitempty"`
	MaxFusion        int  `json:"max_fusion_size,omitempty"`
	// What was chosen by timing; Layout also by force_layout_optimization.
	Layout  string `json:"layout,omitempty"`
	Externs bool   `json:"externs,omitempty"`
}

func (Schedule) ArtifactName() (string, int) { return "tcdbg_schedule", 1 }

// BufferPlan is one buffer of the memory plan.
type BufferPlan struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	Offset int64  `json:"offset"` // in the arena; -1 for inputs and outputs
	From   int    `json:"from"`   // first step that uses it
	To     int    `json:"to"`     // last
	Reuses string `json:"reuses"` // buffer whose place it took
}

// MemoryPlan is the arena of one program.
type MemoryPlan struct {
	ArenaBytes int64        `json:"arena"`
	SumBytes   int64        `json:"sum"`
	Buffers    []BufferPlan `json:"buffers"`
}

func (MemoryPlan) ArtifactName() (string, int) { return "tcdbg_memory_plan", 1 }

// KernelLine ties a line of generated code to nodes and source lines.
type KernelLine struct {
	Line  int      `json:"line"` // 1-based in the output code
	Nodes []string `json:"nodes"`
	Pos   []Pos    `json:"pos"`
}

// Kernel describes one generated kernel or extern call.
type Kernel struct {
	Name    string       `json:"name"` // fused_linear_relu_mul_0
	Graph   string       `json:"graph"`
	Extern  bool         `json:"extern"`
	Reason  string       `json:"reason,omitempty"` // why it is extern
	Hoisted bool         `json:"once,omitempty"`   // runs in the prologue: again only when a parameter changes
	Ops     []string     `json:"ops"`
	Bytes   int64        `json:"bytes"` // read and written a call
	FLOPs   int64        `json:"flops"`
	Lines   []KernelLine `json:"lines"`
	From    int          `json:"from"` // first line in the output code
	To      int          `json:"to"`
}

// Provenance is the kernels of one compiled graph.
type Provenance struct {
	Graph   string   `json:"graph"`
	Kernels []Kernel `json:"kernels"`
}

func (Provenance) ArtifactName() (string, int) { return "tcdbg_provenance", 1 }

// TargetKernel is where one kernel of a graph is in its code for another target.
type TargetKernel struct {
	Name    string       `json:"name"` // the kernel's in Provenance
	From    int          `json:"from,omitempty"`
	To      int          `json:"to,omitempty"`
	Lines   []KernelLine `json:"lines,omitempty"`
	Missing string       `json:"missing,omitempty"` // why there is no text
}

// TargetCode is one compiled graph in a language other than the one that ran. Text ends
// after the kernels when Missing says why the graph cannot run there.
type TargetCode struct {
	Graph    string         `json:"graph"`
	Language string         `json:"language,omitempty"` // "": triton, the first of them
	Ext      string         `json:"ext,omitempty"`      // of a file's name: .py
	Text     string         `json:"text"`
	Kernels  []TargetKernel `json:"kernels"`
	Missing  string         `json:"missing,omitempty"`
}

// ArtifactName is that of the first such language.
func (TargetCode) ArtifactName() (string, int) { return "tcdbg_triton_code", 1 }

// KernelTime is an aggregate of one kernel's runs. Not every run is timed: a
// clock costs as much as a small kernel.
type KernelTime struct {
	Graph  string `json:"graph"`
	Kernel string `json:"kernel"`
	Calls  int64  `json:"calls"`
	Timed  int64  `json:"timed"` // runs that were timed
	Nanos  int64  `json:"ns"`    // of those
}

// FrameCalls is an aggregate of one frame's calls.
type FrameCalls struct {
	Frame    int   `json:"frame"`
	Calls    int64 `json:"calls"`
	Hits     int64 `json:"hits"`
	RunNanos int64 `json:"run_ns"`
	EagerOps int64 `json:"eager_ops"` // operators that ran outside of graphs in one call, at most
	Made     int64 `json:"made"`      // calls of torch.Compile that gave its function, 0: not counted
	// Of hits, some of which are timed, the time in which an entry was found.
	GuardTimed int64 `json:"guard_timed,omitempty"`
	GuardNanos int64 `json:"guard_ns,omitempty"`
	// Calls that left the graph at a break after a hit, and the time until the next graph
	// began or the call returned.
	Left      int64 `json:"left,omitempty"`
	LeftNanos int64 `json:"left_ns,omitempty"`
}

// EntryCalls is an aggregate of the calls that one cache entry served, without the one that it
// was compiled for.
type EntryCalls struct {
	Frame   int   `json:"frame"`
	Compile int   `json:"compile"`
	Inside  Spent `json:"inside"`  // in its code, which is its graph and what makes values of the graph's results
	Outside Spent `json:"outside"` // after its break, until the next graph began or the call returned
}

// Spent is what so many stretches of a call took in all.
type Spent struct {
	Times int64 `json:"times"`
	Nanos int64 `json:"ns"`
	// Of those whose memory was counted: bytes of new tensors, and bytes that compiled code copied
	// without an operator that says so.
	Metered   int64 `json:"metered"`
	Allocated int64 `json:"allocated"`
	Copied    int64 `json:"copied"`
}

// CompilerFailure is a graph whose code the C compiler could not make, or whose code could
// not be loaded: the interpreter runs it.
type CompilerFailure struct {
	Graph string `json:"graph"`
	Error string `json:"error"`
}

func (CompilerFailure) ArtifactName() (string, int) { return "tcdbg_compiler_failure", 1 }

// Aggregate is written at most ten times a second and once at exit.
type Aggregate struct {
	Frames  []FrameCalls `json:"frames"`
	Entries []EntryCalls `json:"entries,omitempty"`
	Kernels []KernelTime `json:"kernels"`
}

func (Aggregate) ArtifactName() (string, int) { return "tcdbg_aggregate", 1 }

// State is written when the engine pauses, goes on or ends.
type State struct {
	State   string `json:"state"`             // running, paused, exited
	Command int    `json:"command,omitempty"` // id of the command that this answers
	Process int    `json:"pid,omitempty"`     // 0: the one that the engine is
	Thread  string `json:"thread,omitempty"`
	Where   *Pos   `json:"where,omitempty"`
	Code    int    `json:"code,omitempty"`
	// Peak is the most bytes that the engine's process had in memory, told when it has exited; 0: not known.
	Peak int64  `json:"peak,omitempty"`
	Text string `json:"text,omitempty"`
}

func (State) ArtifactName() (string, int) { return "tcdbg_state", 1 }

// The rest is what encoding/json makes of the long artifacts that every compile writes, in less time and memory.

func (t TraceSteps) appendJSON(b []byte) []byte {
	b = slices.Grow(b, 200*(len(t.Places)+len(t.Steps))) // most are shorter
	b = appendList(append(b, `{"places":`...), t.Places, Pos.appendJSON)
	b = appendList(append(b, `,"steps":`...), t.Steps, StepOnce.appendJSON)
	if t.Left != 0 {
		b = strconv.AppendInt(append(b, `,"left":`...), int64(t.Left), 10)
	}
	b = appendText(b, `,"end":`, t.End)
	if t.Amid {
		b = append(b, `,"amid":true`...)
	}
	return append(appendText(b, `,"missing":`, t.Missing), '}')
}

func (s StepOnce) appendJSON(b []byte) []byte {
	b = strconv.AppendInt(append(b, `{"at":`...), int64(s.At), 10)
	if s.Depth != 0 {
		b = strconv.AppendInt(append(b, `,"depth":`...), int64(s.Depth), 10)
	}
	b = appendJSONString(append(b, `,"instr":`...), s.Instr)
	b = appendTexts(b, `,"on":`, s.On)
	b = appendText(b, `,"set":`, s.Set)
	b = appendText(b, `,"as":`, s.As)
	b = appendTexts(b, `,"guards":`, s.Guards)
	return append(appendTexts(b, `,"nodes":`, s.Nodes), '}')
}

func (g Guards) appendJSON(b []byte) []byte {
	b = slices.Grow(b, 512*len(g.Guards)) // most are shorter
	return append(appendList(append(b, `{"guards":`...), g.Guards, Guard.appendJSON), '}')
}

func (g Guard) appendJSON(b []byte) []byte {
	b = appendJSONString(append(b, `{"source":`...), g.Source)
	b = appendJSONString(append(b, `,"kind":`...), g.Kind)
	b = appendJSONString(append(b, `,"text":`...), g.Text)
	b = appendJSONString(append(b, `,"expected":`...), g.Expected)
	return append(g.Pos.appendJSON(append(b, `,"pos":`...)), '}')
}

func (g GraphCode) appendJSON(b []byte) []byte {
	b = slices.Grow(b, (len(g.Go)+len(g.Table))/8*9+32*len(g.Ops))
	b = appendJSONString(append(b, `{"name":`...), g.Name)
	b = appendJSONString(append(b, `,"go":`...), g.Go)
	b = appendJSONString(append(b, `,"table":`...), g.Table)
	one := func(s string, b []byte) []byte { return appendJSONString(b, s) }
	return append(appendList(append(b, `,"ops":`...), g.Ops, one), '}')
}

func (p Pos) appendJSON(b []byte) []byte {
	b = appendJSONString(append(b, `{"file":`...), p.File)
	b = strconv.AppendInt(append(b, `,"line":`...), int64(p.Line), 10)
	if p.Col != 0 {
		b = strconv.AppendInt(append(b, `,"col":`...), int64(p.Col), 10)
	}
	if p.EndCol != 0 {
		b = strconv.AppendInt(append(b, `,"endcol":`...), int64(p.EndCol), 10)
	}
	b = appendText(b, `,"func":`, p.Func)
	return append(appendText(b, `,"code":`, p.Code), '}')
}

// appendText writes a field that is left out where it is empty.
func appendText(b []byte, key, s string) []byte {
	if s == "" {
		return b
	}
	return appendJSONString(append(b, key...), s)
}

func appendTexts(b []byte, key string, list []string) []byte {
	if len(list) == 0 {
		return b
	}
	return appendList(append(b, key...), list, func(s string, b []byte) []byte { return appendJSONString(b, s) })
}

func appendList[T any](b []byte, list []T, one func(T, []byte) []byte) []byte {
	if list == nil {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for i, x := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = one(x, b)
	}
	return append(b, ']')
}
