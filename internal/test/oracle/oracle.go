// Package oracle runs operators on cases whose answers PyTorch computed:
// results, gradients and refusals, on any backend.
//
// It imports torch and ops, and the backends it compares. Open this
// file first, then adapt.go (how a case's call becomes ours).
package oracle

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"tcdbg/ops"
	"tcdbg/torch"
)

// Case is one call and what PyTorch made of it.
type Case struct {
	Name    string         `json:"case"`
	Op      string         `json:"op"`
	Variant string         `json:"variant"`
	DType   string         `json:"dtype"`
	Args    []any          `json:"args"`
	Kwargs  map[string]any `json:"kwargs"`
	Strides [][]int        `json:"strides"`
	Outs    []any          `json:"outs"`
	Grads   []*string      `json:"grads"`
	Error   string         `json:"error"`
	// Exact cases ran on tensors with the strides that are written; others on
	// dense copies, which keep only the order of the dimensions.
	Exact bool `json:"exact"`
	// NoGrad cases ran on tensors that want no gradient.
	NoGrad bool `json:"nograd"`
}

// Suite is a folder of cases.
type Suite struct {
	Name  string
	Hash  string // of the text of the cases: tells folders of one name apart
	Cases []*Case
	data  *archive
}

// Load reads ops.json and ops.safetensors of a folder, plain or with .gz.
func Load(name, dir string) (*Suite, error) {
	text, err := readFile(filepath.Join(dir, "ops.json"))
	if err != nil {
		return nil, err
	}
	var doc struct{ Cases []*Case }
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&doc); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	raw, err := readFile(filepath.Join(dir, "ops.safetensors"))
	if err != nil {
		return nil, err
	}
	data, err := parseArchive(raw)
	if err != nil {
		return nil, err
	}
	return &Suite{Name: name, Hash: fmt.Sprintf("%x", sha256.Sum256(text))[:16], Cases: doc.Cases, data: data}, nil
}

func readFile(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err == nil {
		return b, nil
	}
	z, zerr := os.ReadFile(path + ".gz")
	if zerr != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(z))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// Backend runs one operator call: torch.Call, or a graph of the call compiled.
type Backend struct {
	Name string
	Call func(op *ops.Op, args []ops.Arg) []torch.Value
	// Refuses is set for backends that see a call's errors only as eager's.
	EagerErrors bool
}

// Eager is torch itself.
func Eager() Backend {
	return Backend{Name: "eager", Call: func(op *ops.Op, args []ops.Arg) []torch.Value { return torch.Call(op.ID, args) }}
}

// Run runs one case. A nil error means that everything agreed.
func (s *Suite) Run(c *Case, b Backend) (err error) {
	r := &runner{suite: s, c: c, backend: b}
	defer func() {
		if p := recover(); p != nil {
			err = r.panicked(p)
		}
	}()
	return r.run()
}
