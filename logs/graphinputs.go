package logs

// This file is what is written beside a captured graph: its inputs, and the modules of its nodes.

// GraphInput is what an input of a captured graph was when it was compiled, besides what the
// graph's text says.
type GraphInput struct {
	Name   string `json:"name"`   // of the placeholder
	Source string `json:"source"` // L['x']
	Grad   bool   `json:"grad,omitempty"`
	Leaf   bool   `json:"leaf,omitempty"` // of the tape
	// Range is the smallest and the largest element of a tensor of integers or booleans, and twice
	// the value of an int; nil: not known, or there is none.
	Range []int64 `json:"range,omitempty"`
	// Positive: no element of a tensor of floats is below 0, nor NaN; told of small ones.
	Positive bool `json:"positive,omitempty"`
	// Shares is the input before it whose memory it uses, too.
	Shares string `json:"shares,omitempty"`
}

// GraphInputs is what a captured graph was compiled with, from which it can be compiled again.
type GraphInputs struct {
	Graph  string           `json:"graph"`
	Inputs []GraphInput     `json:"inputs"`
	Hints  map[string]int64 `json:"hints,omitempty"` // of symbols
	// NoGrad: no gradients were recorded where the graph was compiled; Ungraded are the nodes of other
	// graphs whose calls were made under torch.NoGrad.
	NoGrad   bool           `json:"no_grad,omitempty"`
	Ungraded []string       `json:"ungraded,omitempty"`
	Backend  string         `json:"backend"` // custom: of the program's own
	Mode     string         `json:"mode,omitempty"`
	Options  map[string]any `json:"options,omitempty"`
	Budget   float64        `json:"budget"` // kw.ActivationMemoryBudget
	// Untaped: the graph has a backward pass in it, and no gradient leaves it.
	Untaped bool `json:"untaped,omitempty"`
	// Trace: the option trace.enabled was.
	Trace bool `json:"trace,omitempty"`
}

func (GraphInputs) ArtifactName() (string, int) { return "tcdbg_graph_inputs", 1 }

// NodeModules is artifact tcdbg_node_modules, which tcdbg exec has a PyTorch program write after each captured
// graph, and after later stages of it: by the source of a module, L['self'].layers[0], the nodes that were traced in it.
type NodeModules struct {
	Stage   string              `json:"stage,omitempty"` // forward, backward, inference; "": captured
	Modules map[string][]string `json:"modules"`
}

func (NodeModules) ArtifactName() (string, int) { return "tcdbg_node_modules", 1 }
