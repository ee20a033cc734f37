// Package fold makes a report from the records of a trace, one record at a time; a report
// can be taken at any moment and never changes afterwards.
//
// It imports explain, explain/diagnose, logs and tracer/breaks; never what writes or checks
// reports. Open this file first (the table of handlers), then dynamo.go, inductor.go,
// tcdbg.go (our own records) and text.go (logs), and snapshot.go.
package fold

import (
	"slices"
	"strings"
	"sync"
	"time"

	"tcdbg/explain"
	"tcdbg/explain/numerics"
	"tcdbg/logs"
	"tcdbg/logs/fx"
)

// This file is the fold itself: its state and the dispatch of records. What a
// kind of record means is in the fold_*.go files.

// Fold turns records into a Report. Add costs what the record costs; Snapshot
// costs what changed in the report's size, never in the trace's. One goroutine
// adds; any may take snapshots.
type Fold struct {
	mu    sync.Mutex
	store *logs.Store // for times; nil in tests
	title string
	live  bool

	engine     string
	start, end time.Time
	state      logs.State
	session    session
	numerics   *numerics.Report
	compared   map[numericsKey]*numerics.Graph
	called     called

	stepsMissing string // why a process records no steps of traces
	profiles     []*profile
	lowered      *explain.Lowered
	byKind       map[string]int64
	records      int64
	unknown      int64

	frames   map[frameKey]*explain.Frame
	compiles map[compileKey]*compile
	order    []*explain.Frame
	byName   map[nameKey][]*explain.Frame
	compOrd  []*compile
	ranks    map[int]*rankState

	failures  []*explain.Failure
	outputs   []*explain.Kernel // kernels in order
	fusions   []*explain.Fusion
	autotuned []*explain.Autotuned
	passes    []*explain.PassRun
	caches    []explain.CacheEvent
	schedules []explain.RankSchedule
	symbols   []*explain.Symbol
	symIndex  map[symbolKey]*explain.Symbol
	side      []explain.SideNote
	phases    phaseLists // that ended
	// deepPhases counts phases within maxOpen others, which are dropped.
	deepPhases      int64
	instants        []explain.Instant
	instantsLeftOut int64
	sums            map[string]*explain.PhaseSum
	sumOrder        []string
	fusing          map[explain.ID]*explain.Fusion // open text fusion logs
	kernels         map[kernelKey]*explain.Kernel
	parsed          *fx.Graph // the newest captured graph, whose kernels mostly come next
	parsedOf        *explain.Graph
	strings         map[string]string
	backward        float64 // seconds of backward compiles that ran on their own
	textual         bool    // records of converted text were seen
	redacted        bool    // records stand in the place of others
	traced          map[int]bool
	source          *explain.Source
	snap            *explain.Report
	dirty           bool
	interning       int // bytes of strings
	// synthetic numbers the functions of text logs without ids.
	synthetic map[string]int
	pasted    int   // graphs without ids
	guards    int64 // on sizes, those beyond maxShapeGuards included
	held      int64 // bytes, roughly
	maxHeld   int64
	leftOut   int64 // records that came when it was full
	// exporting are the models that are being compiled ahead of time, by source: a
	// process has one.
	exporting map[int]*compile
	// described are the ids under which inputs were described before, or without, a compile,
	// as torch.export does.
	described map[compileKey]bool
	stopped   map[int]bool // by source: the failure of the current export is told
	// calibrated are the sources whose clock is known by an event.
	calibrated map[int]bool
}

type frameKey struct{ rank, epoch, autograd, frame int }

type compileKey struct {
	frameKey
	compile int
}

type symbolKey struct {
	rank, epoch, frame, compile int
	name                        string
}

type kernelKey struct {
	rank, epoch int
	graph, name string
}

// rankState is what is kept for one rank.
type rankState struct {
	rank    int
	caches  []byte
	stacks  map[threadKey]*phaseStack
	records int64
	selfs   map[string]float64 // seconds in phases themselves, by name
}

// threadKey is a thread of one source: processes of two files may have one number.
type threadKey struct{ source, thread int }

// compile is a Compile while it is being folded.
type compile struct {
	explain.Compile
	key       compileKey
	begun     bool // dynamo_start was seen
	metrics   bool
	stages    []explain.Stage
	breaks    map[string]*explain.Break // by place and type, for retries
	errText   string                    // dynamo_error
	errBreak  *explain.BreakText
	errSeq    int64   // its record
	began     int64   // of an exported model, by the clock of its log
	phases    float64 // entire_frame_compile by chromium events
	limit     bool
	wantsGrad bool   // the tensor that was described last requires gradients
	tensor    string // of a rank: the type of that tensor
	typedIn   int    // the attempt of tracing whose inputs are listed
	guarded   bool
	named     bool // the trace is redacted, and names the operators of the graph
	bwd       float64
	kernels   map[string]*explain.Kernel
	maps      *provenance
	logged    *loggedTrace // of a text log
}

// New makes an empty fold. store gives times and the names of sources; it
// may be nil.
func New(store *logs.Store) *Fold {
	if store != nil {
		store.Prefetch(readsText)
	}
	return &Fold{
		store: store, byKind: map[string]int64{}, frames: map[frameKey]*explain.Frame{}, compiles: map[compileKey]*compile{},
		ranks: map[int]*rankState{}, phases: phaseLists{of: map[phaseOwner]*phaseList{}},
		symIndex: map[symbolKey]*explain.Symbol{}, sums: map[string]*explain.PhaseSum{},
		fusing: map[explain.ID]*explain.Fusion{}, kernels: map[kernelKey]*explain.Kernel{}, strings: map[string]string{},
		traced: map[int]bool{}, exporting: map[int]*compile{}, described: map[compileKey]bool{}, stopped: map[int]bool{},
		calibrated: map[int]bool{},
		dirty:      true, maxHeld: maxHeld,
	}
}

// SetTitle names the report.
func (f *Fold) SetTitle(title string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.title, f.dirty = title, true
}

// SetLive says whether records may still come.
func (f *Fold) SetLive(live bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live, f.dirty = live, true
}

// touch says that what the next report is made of has changed.
func (f *Fold) touch() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dirty = true
}

// Add takes the next record. It keeps nothing of r's buffers.
func (f *Fold) Add(r *logs.Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dirty = true
	f.records++
	f.countKind(r.Key())
	if f.full() {
		f.leftOut++
		return
	}
	if rs := f.rank(r); r.Content() != "tcdbg_profile" { // a profile says nothing that ranks are compared by
		rs.records++
	}
	h := handlers[r.Content()]
	if h == nil {
		h = handlerByShape(r)
	}
	if h == nil {
		f.unknown++
		return
	}
	h(f, r)
}

// countKind counts a record by its key; beyond a bound, new names share one.
func (f *Fold) countKind(key string) {
	if _, known := f.byKind[key]; !known && len(f.byKind) >= maxNames {
		key = "(other names)"
	}
	f.byKind[f.intern(key)]++
}

// handler folds one record.
type handler func(f *Fold, r *logs.Record)

// handlers is the table from record to meaning: event keys and artifact names
// are one namespace. A record without a row here (and without a known shape)
// counts as unexplained.
var handlers = map[string]handler{
	"str":                 ignore, // read by the store
	"torch_version":       torchVersion,
	"dynamo_start":        dynamoStart,
	"dynamo_output_graph": outputGraph,
	"dynamo_guards":       guardList,

	"dynamo_cpp_guards_str":     guardTree,
	"dynamo_graph_break_reason": graphBreak,
	"dynamo_error":              dynamoError,
	"dynamo_side_effects":       sideEffects,
	"make_fx_fail_partial":      partialTrace,
	"recompile_reasons":         recompileReasons,
	"compilation_metrics":       compilationMetrics,
	"bwd_compilation_metrics":   backwardMetrics,

	"compilation_metrics_runtime":     runtimeMetrics,
	"bwd_compilation_metrics_runtime": runtimeMetrics,
	"chromium_event":                  chromiumEvent,

	"create_symbol":                                    createSymbol,
	"create_unbacked_symbol":                           createSymbol,
	"symbolic_shape_specialization":                    specialization,
	"guard_added_fast":                                 guardAdded,
	"guard_added":                                      guardAdded,
	"guard_on_data_dependent_error":                    guardAdded,
	"propagate_real_tensors":                           guardAdded,
	"propagate_real_tensors_provenance":                guardAdded,
	"expression_created":                               remark,
	"missing_fake_kernel":                              fakeKernel,
	"mismatched_fake_kernel":                           fakeKernel,
	"describe_storage":                                 describe,
	"describe_tensor":                                  describe,
	"describe_source":                                  describe,
	"link":                                             remark,
	"dump_file":                                        stage,
	"graph_dump":                                       stage,
	"exported_program":                                 stage,
	"export":                                           remark,
	"inductor_input_graph":                             stage,
	"aot_joint_graph":                                  stage,
	"aot_forward_graph":                                stage,
	"aot_backward_graph":                               stage,
	"aot_inference_graph":                              stage,
	"compiled_autograd_graph":                          stage,
	"compiled_autograd_graph_pre_reordering":           stage,
	"optimize_ddp_split_graph":                         stage,
	"optimize_ddp_split_child":                         stage,
	"before_pre_grad_graph":                            stage,
	"after_pre_grad_graph":                             stage,
	"before_joint_graph":                               stage,
	"after_joint_graph":                                stage,
	"before_post_grad_graph":                           stage,
	"inductor_post_grad_graph":                         stage,
	"fx_graph_runnable":                                stage,
	"aot_forward_graph_fw_metadata":                    stage,
	"aot_autograd_runtime_wrappers":                    stage,
	"torch._functorch.config":                          stage,
	"inductor_output_code":                             outputCode,
	"triton_kernel_info":                               tritonInfo,
	"graph_execution":                                  remark,
	"inductor_collective_schedule":                     collectiveSchedule,
	"inductor_runtime_and_tensor_meta":                 tensorMeta,
	"compiled_autograd_compile_reasons":                autogradReasons,
	"compile_worker_status":                            remark,
	"inductor_provenance_tracking_node_mappings":       nodeMappings,
	"inductor_provenance_tracking_kernel_stack_traces": kernelStacks,

	"tcdbg_run": tcdbgRun, "tcdbg_break": tcdbgBreak, "tcdbg_frame": tcdbgFrame,
	"tcdbg_guards": tcdbgGuards, "tcdbg_guard_miss": tcdbgMiss, "tcdbg_trace_step": tcdbgStep,
	"tcdbg_graph_code": tcdbgGraphCode, "tcdbg_graph_inputs": tcdbgGraphInputs, "tcdbg_node_modules": tcdbgNodeModules,
	"tcdbg_pass_step": tcdbgPass, "tcdbg_fusion_step": tcdbgFusion, "tcdbg_together": tcdbgTogether, "tcdbg_schedule": tcdbgSchedule,
	"tcdbg_memory_plan": tcdbgMemory, "tcdbg_saved_values": tcdbgSaved, "tcdbg_provenance": tcdbgProvenance,
	"tcdbg_triton_code": tcdbgTarget, "tcdbg_autotuning": tcdbgAutotuning, "tcdbg_compiler_failure": tcdbgCompilerFailure,
	"tcdbg_hook_failure": tcdbgHookFailure,
	"tcdbg_profile":      tcdbgProfile, "tcdbg_profiled": tcdbgProfiled,
	"tcdbg_aggregate": tcdbgAggregate, "tcdbg_state": tcdbgState,
	"tcdbg_stop": tcdbgStop, "tcdbg_point": tcdbgPoint, "tcdbg_answer": tcdbgAnswer,
	"tcdbg_numerics": tcdbgNumerics, "tcdbg_numerics_capture": tcdbgNumericsCapture,
	"tcdbg_calls": tcdbgCalls, "tcdbg_trace_steps": tcdbgTraceSteps, "tcdbg_lowered": tcdbgLowered,
	"tcdbg_redacted": tcdbgRedacted,

	"torch_log": textLog,
}

func ignore(*Fold, *logs.Record) {}

// handlerByShape covers names that releases make up as they go: dumps of
// bytecode carry the function's name, passes theirs.
func handlerByShape(r *logs.Record) handler {
	name := r.Content()
	switch {
	case strings.HasSuffix(name, "_ORIGINAL_BYTECODE"), strings.HasSuffix(name, "_MODIFIED_BYTECODE"):
		return stage
	case cacheOf(name) != "":
		return (*Fold).cacheEvent
	}
	if r.Kind != "artifact" {
		return nil
	}
	if runtimeWrappers[name] {
		return stage
	}
	for _, p := range stagePrefixes {
		if strings.HasPrefix(name, p) {
			return stage
		}
	}
	for _, s := range stageSuffixes {
		if strings.HasSuffix(name, s) {
			return stage
		}
	}
	if remarks[name] {
		return remark
	}
	return nil
}

var stagePrefixes = []string{
	"before_", "after_", "pre_decomp_comms", "post_decomp_comms", "pre_bucketing_", "optimus_", "cff_", "min_cut_",
	"overlap_scheduling_graph_", "flex_gemm_", "fx_bucketing_passes_", "aot_saved_tensors_hooks_graphs", "invoke_subgraph_backward",
}

var stageSuffixes = []string{"_pre_grad", "_post_grad", "_graph", "_pre_pass", "_post_pass", "_bytecode"}

// runtimeWrappers are the parts of what 2.15 writes as one aot_autograd_runtime_wrappers:
// 2.14 writes an artifact for each.
var runtimeWrappers = map[string]bool{
	"runtime_wrapper_orchestration": true, "output_alias_wrapper": true, "mutation_epilogue": true, "functionalized_rng_wrapper": true,
	"effect_tokens_wrapper": true, "dedup_wrapper": true, "synthetic_base_wrapper": true, "debug_assert_wrapper": true,
	"compiled_fn_wrapper":       true,
	"compiled_function_forward": true, "compiled_function_backward": true, "backward_prologue": true, "backward_epilogue": true,
}

// remarks are artifacts that are kept as a note with their text.
var remarks = map[string]bool{
	"compile_worker_sidecar_death": true, "native_dsl_compile": true, "inductor_autotune_at_compile_time_code": true,
	"compiler_collective": true, "inductor_spmd_graph_mismatch": true, "aot_joint_graph_sync_decision_cross_ranks": true,
	"inductor_overlap_cyclic_extra_deps": true, "inductor_fx_passes_overlap_bucketing": true,
	"fx_compute_nodes_runtime_estimation": true, "fx_collectives_analytical_estimation": true,
	"fx_collectives_node_runtime_estimation": true, "pge_profile_vs_analytical": true,
	"scheduler_nodes_before_comm_overlap": true, "sink_waits_iterative_info": true,
	"reorder_communication_preserving_peak_memory": true, "aot_forward_graph_fw_subclass_metadata": true,
	"eager_compile_backwards_failure": true, "aotautograd_cache_pickle_failure": true, "fx_interpreter_error": true,
	"get_local_code_state": true, "put_local_code_state": true, "get_remote_code_state": true,
	"put_remote_code_state": true, "get_extra_remote_code_state": true, "add_extra_remote_code_state": true,
	"aotautograd_cache_hash": true, "fx_net_acc_splitter_finder_events": true, "dynamo_cache_entries": true,
	"get_pgo_code_state": true, "put_pgo_code_state": true, "compile_stack_trace": true,
}

// rank finds the state of a record's rank.
func (f *Fold) rank(r *logs.Record) *rankState {
	rs := f.ranks[r.Rank]
	if rs == nil {
		f.hold(heldRank)
		rs = &rankState{rank: r.Rank, stacks: map[threadKey]*phaseStack{}}
		f.ranks[r.Rank] = rs
	}
	return rs
}

// id is the report's name of a record's compile.
func (f *Fold) id(r *logs.Record) explain.ID {
	return explain.ID{Rank: r.Rank, Epoch: r.Epoch, CompileID: r.ID}
}

// frameOf finds or makes the frame of a record.
func (f *Fold) frameOf(r *logs.Record) *explain.Frame {
	key := frameKey{r.Rank, r.Epoch, r.Autograd, r.ID.Frame}
	fr := f.frames[key]
	if fr == nil {
		fr = &explain.Frame{
			ID: explain.ID{Rank: r.Rank, Epoch: r.Epoch, CompileID: logs.CompileID{Frame: r.ID.Frame}}, Calls: -1,
			EagerOps: -1, Status: explain.Compiling,
		}
		f.hold(heldFrame)
		f.frames[key] = fr
		f.order = append(f.order, fr)
	}
	return fr
}

// compileOf finds or makes the compile of a record; nil for records outside.
func (f *Fold) compileOf(r *logs.Record) *compile {
	if !r.HasID {
		return nil
	}
	key := compileKey{frameKey{r.Rank, r.Epoch, r.Autograd, r.ID.Frame}, max(r.ID.Compile, 0)}
	c := f.compiles[key]
	if c == nil {
		fr := f.frameOf(r)
		c = &compile{key: key, breaks: map[string]*explain.Break{}}
		c.Compile = explain.Compile{ID: f.id(r), Frame: fr, Status: explain.Compiling, Attempts: 1, Ops: -1}
		c.ID.Attempt = 0
		f.hold(heldCompile)
		f.compiles[key] = c
		f.compOrd = append(f.compOrd, c)
		fr.Compiles = append(fr.Compiles, &c.Compile)
	}
	c.Attempts = max(c.Attempts, r.ID.Attempt+1)
	return c
}

// What is shared is bounded, since hostile input could make every string
// another one; so are the names that are counted.
const (
	maxInterned      = 1 << 17
	maxInternedBytes = 48 << 20
	maxNames         = 1 << 14
)

// intern shares equal strings: names, files and source lines repeat by the
// thousand.
func (f *Fold) intern(s string) string {
	if s == "" {
		return ""
	}
	if have, ok := f.strings[s]; ok {
		return have
	}
	s = strings.Clone(s)
	if len(f.strings) < maxInterned && f.interning+len(s) < maxInternedBytes {
		f.strings[s] = s
		f.interning += len(s)
	} else {
		f.hold(len(s))
	}
	return s
}

// pos interns the strings of a place.
func (f *Fold) pos(p logs.Pos) logs.Pos {
	p.File, p.Func, p.Code = f.intern(p.File), f.intern(p.Func), f.intern(p.Code)
	return p
}

// stack interns the strings of a stack, without the places that are our own.
func (f *Fold) stack(s []logs.Pos) []logs.Pos {
	s = slices.DeleteFunc(s, func(p logs.Pos) bool { return strings.Contains(p.File, hookFiles) })
	for i := range s {
		s[i] = f.pos(s[i])
	}
	return s
}

// hookFiles is in the names of our own Python files, through which a program's calls may go.
const hookFiles = "/tcdbg_hooks/"

// frames turns a trace's stack into places, without our own.
func (f *Fold) framesToPos(s []logs.Frame) []logs.Pos {
	out := make([]logs.Pos, 0, len(s))
	for _, x := range s {
		if !strings.Contains(x.File, hookFiles) {
			out = append(out, f.pos(framePos(x)))
		}
	}
	return out
}

// lastPos is the innermost place of a trace's stack that is not our own; there may be none.
func (f *Fold) lastPos(s []logs.Frame) (logs.Pos, bool) {
	for _, x := range slices.Backward(s) {
		if !strings.Contains(x.File, hookFiles) {
			return f.pos(framePos(x)), true
		}
	}
	return logs.Pos{}, false
}

func framePos(x logs.Frame) logs.Pos {
	return logs.Pos{File: x.File, Line: x.Line, Func: x.Name, Code: x.Loc}
}

// at is the moment of a record.
func (f *Fold) at(r *logs.Record) time.Time {
	if f.store == nil {
		return time.Time{}
	}
	return f.store.Time(r)
}

// This file reads the lines around a place out of the program's own files, for advice that
// the line at fault does not settle: where a number that it reads goes to, whether it is
// within a loop. A file that is not there, or whose line is no longer the recorded one, is
// not asked: such advice then says less.

// SetSource gives the fold the files of the program, by lines. Without it no file is read.
func (f *Fold) SetSource(read func(file string) ([]string, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.source, f.dirty = explain.NewSource(read), true
}
