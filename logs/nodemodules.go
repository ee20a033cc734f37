package logs

// NodeModules is artifact tcdbg_node_modules, which tcdbg exec has a PyTorch program write after each captured
// graph, and after later stages of it: by the source of a module, L['self'].layers[0], the nodes that were traced in it.
type NodeModules struct {
	Stage   string              `json:"stage,omitempty"` // forward, backward, inference; "": captured
	Modules map[string][]string `json:"modules"`
}

func (NodeModules) ArtifactName() (string, int) { return "tcdbg_node_modules", 1 }
