package logs

// This file is the steps of one trace: what the tracer looked at, one instruction after the
// other, with what each added.

// TraceSteps is artifact tcdbg_trace_steps: one for each trace, written at its end, and in a
// Python program also where it stands still amid the trace.
type TraceSteps struct {
	Places []Pos      `json:"places"`
	Steps  []StepOnce `json:"steps"`
	// Left counts instructions that are in no step: beyond the bound, or repeated without
	// adding anything.
	Left int `json:"left,omitempty"`
	// End is why the trace ended: a break's code and detail; "" where the function returned.
	End string `json:"end,omitempty"`
	// Amid says that the program stands still within the trace: these are its steps so far.
	Amid bool `json:"amid,omitempty"`
	// Missing is why no trace of the process is recorded; such a record is of no compile.
	Missing string `json:"missing,omitempty"`
}

// ArtifactName is that of a trace's steps.
func (TraceSteps) ArtifactName() (string, int) { return "tcdbg_trace_steps", 1 }

// StepOnce is one instruction as it was traced.
type StepOnce struct {
	At    int      `json:"at"`              // of Places
	Depth int      `json:"depth,omitempty"` // of inlined calls
	Instr string   `json:"instr"`           // BinOp +, Call
	On    []string `json:"on,omitempty"`    // operands, or the symbolic stack
	// Set is the variable or value that the instruction gave, "" for the top of the stack, and As
	// what the trace knows of it.
	Set    string   `json:"set,omitempty"`
	As     string   `json:"as,omitempty"`
	Guards []string `json:"guards,omitempty"` // that it added
	Nodes  []string `json:"nodes,omitempty"`  // of the graph, that it added
}

// Place is where a step was.
func (t *TraceSteps) Place(i int) Pos {
	if i < 0 || i >= len(t.Steps) || t.Steps[i].At < 0 || t.Steps[i].At >= len(t.Places) {
		return Pos{}
	}
	return t.Places[t.Steps[i].At]
}
