package logs

// This file is what the record of a lowered graph says: the text of a graph in PyTorch's trace, compiled by our own
// Inductor, and how its kernels differ from PyTorch's.

// Lowered is written once in the trace of a lowered graph.
type Lowered struct {
	Of     string `json:"of"`               // [0/0] post-grad
	Device string `json:"device"`           // that the text names: cuda:0
	Ours   int    `json:"kernels"`          // kernels and extern calls
	Theirs int    `json:"pytorch"`          // calls whose nodes the trace tells
	Silent string `json:"silent,omitempty"` // why nothing is compared
	// Apart are PyTorch's kernels of which we put the nodes into several, Joined our kernels of
	// which PyTorch put the nodes into several.
	Apart  []Regrouped `json:"apart,omitempty"`
	Joined []Regrouped `json:"joined,omitempty"`
}

// Regrouped is a kernel of one compiler whose nodes the other one put into several.
type Regrouped struct {
	Kernel string        `json:"kernel"`
	Parts  []LoweredPart `json:"parts"`
}

// LoweredPart is those of its nodes that the other compiler put into one kernel.
type LoweredPart struct {
	Kernel string   `json:"kernel"`
	Nodes  []string `json:"nodes"`
	Pos    []Pos    `json:"pos,omitempty"` // lines of the program
}

// ArtifactName is that of the record.
func (Lowered) ArtifactName() (string, int) { return "tcdbg_lowered", 1 }
