package export

import (
	"bytes"
	"encoding/json"
)

// This file is the part of PyTorch's export schema that is read, as JSON has it.

type fileProgram struct {
	GraphModule struct {
		Graph     fileGraph `json:"graph"`
		Signature struct {
			Inputs  []map[string]json.RawMessage `json:"input_specs"`
			Outputs []map[string]json.RawMessage `json:"output_specs"`
		} `json:"signature"`
		Calls []fileModuleCall `json:"module_call_graph"`
	} `json:"graph_module"`
	Ranges  map[string]fileRange `json:"range_constraints"`
	Version struct {
		Major int `json:"major"`
		Minor int `json:"minor"`
	} `json:"schema_version"`
	Torch string `json:"torch_version"`
}

type fileModuleCall struct {
	FQN       string `json:"fqn"`
	Signature *struct {
		In    string   `json:"in_spec"`
		Out   string   `json:"out_spec"`
		Names []string `json:"forward_arg_names"`
	} `json:"signature"`
}

type fileRange struct {
	Min *int64 `json:"min_val"`
	Max *int64 `json:"max_val"`
}

type fileGraph struct {
	Nodes   []fileNode            `json:"nodes"`
	Tensors map[string]fileTensor `json:"tensor_values"`
	Ints    map[string]fileSymInt `json:"sym_int_values"`
	Custom  map[string]any        `json:"custom_obj_values"`
}

type fileNode struct {
	Target string `json:"target"`
	Inputs []struct {
		Name string          `json:"name"`
		Arg  json.RawMessage `json:"arg"`
		Kind int             `json:"kind"`
	} `json:"inputs"`
	Outputs  []json.RawMessage `json:"outputs"`
	Metadata map[string]string `json:"metadata"`
	Name     string            `json:"name"`
}

type fileTensor struct {
	DType   int          `json:"dtype"`
	Sizes   []fileSymInt `json:"sizes"`
	Grad    bool         `json:"requires_grad"`
	Device  fileDevice   `json:"device"`
	Strides []fileSymInt `json:"strides"`
	Offset  fileSymInt   `json:"storage_offset"`
	Layout  int          `json:"layout"`
}

type fileDevice struct {
	Type  string `json:"type"`
	Index *int   `json:"index"`
}

type fileSymInt struct {
	Int  *int64 `json:"as_int"`
	Expr *struct {
		Text string `json:"expr_str"`
		Hint *struct {
			Int *int64 `json:"as_int"`
		} `json:"hint"`
	} `json:"as_expr"`
}

type fileName struct {
	Name string `json:"name"`
}

type fileWeights struct {
	Config map[string]struct {
		Path   string      `json:"path_name"`
		Param  bool        `json:"is_param"`
		Pickle bool        `json:"use_pickle"`
		Tensor *fileTensor `json:"tensor_meta"`
	} `json:"config"`
}

// union reads a value of which JSON names the one kind that it has.
func union(raw json.RawMessage) (kind string, value json.RawMessage, ok bool) {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil || len(m) != 1 {
		return "", nil, false
	}
	for k, v := range m {
		return k, v, true
	}
	return "", nil, false
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || bytes.Equal(raw, []byte("null")) }
