// Package chrome reads the Chrome traces that torch.profiler writes and adds up what they say
// of compiled code: how long a step takes, and how much of that is in graphs, in their kernels,
// in looking for an entry, in operators that run eagerly after a break; what a GPU waited for; how
// much memory was allocated at most.
//
// It joins by the names that PyTorch gives its events (compile ids, kernels), never by time between
// files. It imports nothing of ours. Open this file first, then events.go (what is read) and
// sums.go (what is added up).
package chrome

// Profile is what a Chrome trace says of the steps in it. Times are nanoseconds, added up over
// all steps.
type Profile struct {
	// Steps are how long each step took, in order. Where none is marked the trace is one step,
	// and Marked is "".
	Steps   []int64 `json:"steps"`
	Marked  string  `json:"marked,omitempty"`  // what marks the steps
	Stacked bool    `json:"stacked,omitempty"` // recorded with Python stacks: too slow to be believed
	Device  bool    `json:"device,omitempty"`  // a GPU's work was recorded
	// Foreign says that no event is one of torch.profiler's: there is nothing to add up.
	Foreign bool `json:"foreign,omitempty"`

	Parts   Parts     `json:"parts"`
	Regions []*Region `json:"regions,omitempty"`
	Graphs  []*Graph  `json:"graphs,omitempty"`
	Kernels []*Kernel `json:"kernels,omitempty"`
	Eager   []*Op     `json:"eager,omitempty"`
	GPUs    []*GPU    `json:"gpus,omitempty"`
	Peaks   []*Peak   `json:"peaks,omitempty"`

	// Rank is that of the process in its job, nil where the trace does not tell.
	Rank *int `json:"-"`
	// Problems are what the trace does not say, as sentences.
	Problems []string `json:"problems,omitempty"`
	// Rest are operators that have no row for lack of room.
	Rest Sum `json:"rest"`
}

// ArtifactName is that of the record that a trace becomes.
func (Profile) ArtifactName() (string, int) { return "tcdbg_profile", 1 }

// Sum is a number of calls and how long they took.
type Sum struct {
	Calls int64 `json:"calls"`
	Nanos int64 `json:"ns"`
}

func (s *Sum) add(ns int64) { s.Calls, s.Nanos = s.Calls+1, s.Nanos+ns }

// Parts divide the steps on the threads that made them: they add up to the steps.
type Parts struct {
	Graphs  int64 `json:"graphs_ns"`  // in compiled graphs, forward and backward
	Lookups int64 `json:"lookups_ns"` // testing guards to find an entry
	Eager   int64 `json:"eager_ns"`   // in operators outside of graphs
	Rest    int64 `json:"rest_ns"`    // Python, waiting, and what is between
}

// Region is the calls of one entry of a compiled function.
type Region struct {
	Compile string `json:"compile"` // 0/1
	// Unmarked says that PyTorch marked no call of the graph, so that its operators cannot be
	// told from eager ones: Left and Idle are not known, and Eager has none of its calls.
	Unmarked bool `json:"unmarked,omitempty"`
	Sum
	// Lookup is how long finding the entry took, of the calls before which it was recorded.
	Lookup Sum `json:"lookup"`
	// Left is the time of the calls neither in the entry's graph, nor before it, nor in other
	// regions or compiled backward graphs of its thread: what a break after the graph costs.
	Left int64 `json:"left_ns"`
	// Device is how long a GPU worked for it; Idle, how long it then had nothing to do.
	Device int64 `json:"device_ns,omitempty"`
	Idle   int64 `json:"idle_ns,omitempty"`
}

// Graph is the calls of one compiled graph.
type Graph struct {
	Compile  string `json:"compile,omitempty"` // "": not known
	Backward bool   `json:"backward,omitempty"`
	Key      string `json:"key,omitempty"` // of the FX graph cache
	Sum
	Device int64 `json:"device_ns,omitempty"`
}

// Kernel is the calls of one kernel, or of one operator that a graph calls.
type Kernel struct {
	Graph  int    `json:"graph"` // index of Graphs
	Name   string `json:"name"`
	Extern bool   `json:"extern,omitempty"`
	Sum
	Device int64 `json:"device_ns,omitempty"`
}

// Op is the calls of one operator outside of graphs.
type Op struct {
	Name     string `json:"name"`
	Compile  string `json:"compile,omitempty"`  // within the calls of this entry; "": outside of compiled functions
	Under    string `json:"under,omitempty"`    // the innermost annotation
	Backward bool   `json:"backward,omitempty"` // in the backward pass
	// Of a trace with stacks, the innermost function of Python that is not PyTorch's. Which of
	// its lines it was the profiler does not record.
	File string `json:"file,omitempty"`
	Func string `json:"func,omitempty"`
	Sum
	Device int64 `json:"device_ns,omitempty"`
}

// GPU is what one device did in the steps.
type GPU struct {
	Device int   `json:"device"`
	Busy   int64 `json:"busy_ns"` // at least one stream worked
	Idle   int64 `json:"idle_ns"` // none did, between the first kernel and the last
}

// Peak is the most memory that was allocated at one moment of the steps.
type Peak struct {
	Device   string `json:"device"` // cpu, cuda:0
	Bytes    int64  `json:"bytes"`
	Compile  string `json:"compile,omitempty"` // within the calls of this entry
	Backward bool   `json:"backward,omitempty"`
	Under    string `json:"under,omitempty"`
}
