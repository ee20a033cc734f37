package logs

// Redacted is artifact tcdbg_redacted: it stands in a redacted trace in the place of a record
// whose payload is or may be code, and has what a report counts and tells apart by it.
type Redacted struct {
	Of string `json:"of"` // what it stands for, one of those below

	Guards int     `json:"guards,omitempty"` // of an entry
	Noise  int     `json:"noise,omitempty"`  // of these, those that every entry has
	Micros float64 `json:"micros,omitempty"` // of one evaluation
	// Class and Held tell the modules of PyTorch's own apart that one function is compiled for.
	Class string   `json:"class,omitempty"`
	Held  []string `json:"held,omitempty"`

	Operators []string `json:"operators,omitempty"` // of a captured graph: their names
	Inputs    int      `json:"inputs,omitempty"`

	Last string `json:"last,omitempty"` // the operator at which tracing stopped
	At   *Pos   `json:"at,omitempty"`   // where that, or the first operator of a graph, is; without its line of source
}

func (Redacted) ArtifactName() (string, int) { return "tcdbg_redacted", 1 }

// The records that a Redacted stands for.
const (
	GuardsRecord       = "dynamo_cpp_guards_str"
	GoGuardsRecord     = "tcdbg_guards"
	PartialTraceRecord = "make_fx_fail_partial"
	GraphRecord        = "dynamo_output_graph" // which stands beside it, without its graph
	ExportRecord       = "aot_inference_graph" // likewise, of an exported model
)
