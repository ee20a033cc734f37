package torch

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"tcdbg/ops"
)

// This file writes safetensors files, byte for byte as the Python package does.

// safeTypes are the dtypes in the order in which a file stores tensors: the
// widest first.
var safeTypes = []struct {
	name string
	d    DType
}{
	{"I64", ops.Int64},
	{"F64", ops.Float64},
	{"C64", ops.Complex64},
	{"F32", ops.Float32},
	{"I32", ops.Int32},
	{"BF16", ops.BFloat16},
	{"F16", ops.Float16},
	{"I16", ops.Int16},
	{"I8", ops.Int8},
	{"U8", ops.Uint8},
	{"BOOL", ops.Bool},
}

// safeEntry is one tensor of the header, as it is written.
type safeEntry struct {
	DType   string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets [2]int `json:"data_offsets"`
}

// SaveSafetensors writes tensors to a safetensors file. Option:
// Option{"metadata", map[string]string}.
func SaveSafetensors(tensors map[string]*Tensor, path string, opts ...Option) error {
	var meta map[string]string
	for _, o := range opts {
		m, ok := o.Value.(map[string]string)
		if o.Name != "metadata" || !ok {
			return fmt.Errorf("safetensors: got an unexpected keyword argument '%s'", o.Name)
		}
		meta = m
	}
	data, err := formatSafetensors(tensors, meta)
	if err != nil {
		return fmt.Errorf("safetensors: %w", err)
	}
	err = saveFile(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return fmt.Errorf("safetensors: %w", err)
	}
	return nil
}

func formatSafetensors(tensors map[string]*Tensor, meta map[string]string) ([]byte, error) {
	rank := map[DType]int{}
	for i, s := range safeTypes {
		rank[s.d] = i
	}
	names := make([]string, 0, len(tensors))
	for name, t := range tensors {
		if _, ok := rank[t.array.DType]; !ok || t.array.Device == ops.Meta {
			return nil, fmt.Errorf("%s: a tensor of %s on %s cannot be saved", name, t.array.DType, t.array.Device)
		}
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := rank[tensors[a].array.DType] - rank[tensors[b].array.DType]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	header, err := safeHeader(names, tensors, rank, meta)
	if err != nil {
		return nil, err
	}
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	out = append(out, header...)
	for _, name := range names {
		t := denseTensor(tensors[name], tensors[name].array.DType)
		from := t.array.Offset * t.array.DType.Size()
		out = append(out, t.array.Storage.Bytes()[from:from+t.Numel()*t.array.DType.Size()]...)
		runtime.KeepAlive(t)
	}
	return out, nil
}

// safeHeader is the JSON of the header, padded to eight bytes.
func safeHeader(names []string, tensors map[string]*Tensor, rank map[DType]int, meta map[string]string) (string, error) {
	var sb strings.Builder
	field := func(key string, value any) error {
		if sb.Len() > 1 {
			sb.WriteByte(',')
		}
		text, err := plainJSON(value)
		if err != nil {
			return err
		}
		name, err := plainJSON(key)
		sb.WriteString(name + ":" + text)
		return err
	}
	sb.WriteByte('{')
	if meta != nil {
		if err := field("__metadata__", meta); err != nil {
			return "", err
		}
	}
	at := 0
	for _, name := range names {
		t := tensors[name]
		n := t.Numel() * t.array.DType.Size()
		if err := field(name, safeEntry{
			safeTypes[rank[t.array.DType]].name, append([]int{}, t.array.Shape...),
			[2]int{at, at + n},
		}); err != nil {
			return "", err
		}
		at += n
	}
	sb.WriteByte('}')
	for sb.Len()%8 != 0 {
		sb.WriteByte(' ')
	}
	return sb.String(), nil
}

// plainJSON is JSON without Go's escapes for HTML.
func plainJSON(v any) (string, error) {
	var sb strings.Builder
	e := json.NewEncoder(&sb)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSuffix(sb.String(), "\n"), err
}
