package oracle

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"tcdbg/ops"
	"tcdbg/torch"
)

// archive is the contents of a safetensors file.
type archive struct {
	entries map[string]tensorEntry
	data    []byte
}

type tensorEntry struct {
	DType   string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets [2]int `json:"data_offsets"`
}

var safeTypes = map[string]ops.DType{
	"F64": ops.Float64, "F32": ops.Float32, "F16": ops.Float16, "BF16": ops.BFloat16, "C64": ops.Complex64,
	"I64": ops.Int64, "I32": ops.Int32, "I16": ops.Int16, "I8": ops.Int8, "U8": ops.Uint8, "BOOL": ops.Bool,
}

// parseArchive reads the header: its length, JSON, then the data.
func parseArchive(b []byte) (*archive, error) {
	if len(b) < 8 {
		return nil, fmt.Errorf("safetensors: %d bytes", len(b))
	}
	n := binary.LittleEndian.Uint64(b)
	if n > uint64(len(b)-8) {
		return nil, fmt.Errorf("safetensors: header of %d bytes in a file of %d", n, len(b))
	}
	raw := map[string]json.RawMessage{}
	if err := json.Unmarshal(b[8:8+n], &raw); err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	a := &archive{entries: map[string]tensorEntry{}, data: b[8+n:]}
	for name, text := range raw {
		if name == "__metadata__" {
			continue
		}
		var e tensorEntry
		if err := json.Unmarshal(text, &e); err != nil {
			return nil, fmt.Errorf("safetensors: %s: %w", name, err)
		}
		if e.Offsets[0] < 0 || e.Offsets[1] < e.Offsets[0] || e.Offsets[1] > len(a.data) {
			return nil, fmt.Errorf("safetensors: %s lies outside of the file", name)
		}
		a.entries[name] = e
	}
	return a, nil
}

// tensor returns a fresh tensor with the contents of an entry.
func (a *archive) tensor(name string) (*torch.Tensor, error) {
	e, ok := a.entries[name]
	if !ok {
		return nil, fmt.Errorf("safetensors: no tensor %s", name)
	}
	d, ok := safeTypes[e.DType]
	if !ok {
		return nil, fmt.Errorf("safetensors: %s has dtype %s", name, e.DType)
	}
	n := d.Size()
	stride := make([]int, len(e.Shape))
	step := 1
	for i := len(e.Shape) - 1; i >= 0; i-- {
		stride[i] = step
		step *= max(e.Shape[i], 1)
		n *= e.Shape[i]
	}
	if n != e.Offsets[1]-e.Offsets[0] {
		return nil, fmt.Errorf("safetensors: %s holds %d bytes, not %d", name, e.Offsets[1]-e.Offsets[0], n)
	}
	st := torch.NewStorage(n)
	copy(st.Bytes(), a.data[e.Offsets[0]:e.Offsets[1]])
	return torch.FromStorage(st, d, append([]int{}, e.Shape...), stride, 0), nil
}
