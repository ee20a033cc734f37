// Package onnx writes exported programs as ONNX models: each call of aten becomes operators of ONNX's
// default domain.
//
// It imports torch/export and ops; it knows no tensors: who calls it gives the bytes of weights. The bytes of
// protobuf are written here, since `tcdbg init` unpacks torch for programs that are built without dependencies. Open
// convert.go first, then the rules.
package onnx

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"tcdbg/ops"
)

// This file is ONNX's messages in protobuf: the fields by their numbers in onnx.proto.

// What models say of themselves.
const (
	opset     = 18
	irVersion = 8
	producer  = "tcdbg"
)

// maxModel is the most that a protobuf message holds.
const maxModel = math.MaxInt32

// message is a protobuf message in pieces, so that weights are not copied.
type message struct {
	parts [][]byte
	size  int
}

func (m *message) raw(b []byte) {
	m.parts = append(m.parts, b)
	m.size += len(b)
}

// The ways in which protobuf lays a field out.
const (
	varint  = 0
	lengthy = 2 // a length, and so many bytes
	fixed32 = 5
)

// tag begins a field: its number, and how it is laid out.
func tag(field, layout uint64) []byte { return binary.AppendUvarint(nil, field<<3|layout) }

func (m *message) number(field uint64, v int64) {
	m.raw(binary.AppendUvarint(tag(field, varint), uint64(v)))
}

func (m *message) float(field uint64, v float32) {
	m.raw(binary.LittleEndian.AppendUint32(tag(field, fixed32), math.Float32bits(v)))
}

func (m *message) bytes(field uint64, b []byte) {
	m.raw(binary.AppendUvarint(tag(field, lengthy), uint64(len(b))))
	m.raw(b)
}

func (m *message) text(field uint64, s string) { m.bytes(field, []byte(s)) }

func (m *message) part(field uint64, p *message) {
	m.raw(binary.AppendUvarint(tag(field, lengthy), uint64(p.size)))
	m.parts = append(m.parts, p.parts...)
	m.size += p.size
}

// dataTypes are ONNX's numbers of our dtypes.
var dataTypes = map[ops.DType]int64{
	ops.Float32: 1, ops.Uint8: 2, ops.Int8: 3, ops.Int16: 5, ops.Int32: 6, ops.Int64: 7, ops.Bool: 9, ops.Float16: 10,
	ops.Float64: 11, ops.BFloat16: 16,
}

// tensorProto is a tensor with its bytes, which lie as C has them.
func tensorProto(name string, d ops.DType, shape []int64, data []byte) *message {
	m := &message{}
	for _, n := range shape {
		m.number(1, n)
	}
	m.number(2, dataTypes[d])
	m.text(8, name)
	m.bytes(9, data)
	return m
}

// attrs are the attributes of a node: int, float32, string, []int, a graph.
type attrs map[string]any

func attribute(name string, v any) *message {
	m := &message{}
	m.text(1, name)
	var kind int64
	switch v := v.(type) {
	case float32:
		m.float(2, v)
		kind = 1
	case int:
		m.number(3, int64(v))
		kind = 2
	case string:
		m.text(4, v)
		kind = 3
	case *message: // a graph
		m.part(6, v)
		kind = 5
	case []int:
		for _, n := range v {
			m.number(8, int64(n))
		}
		kind = 7
	default:
		panic(fmt.Sprintf("onnx: an attribute of type %T", v))
	}
	m.number(20, kind)
	return m
}

// valueInfo is the type of an input or output: each dimension is a number or a name.
func valueInfo(name string, d ops.DType, dims []string, sizes []int64) *message {
	shape := &message{}
	for i := range dims {
		dim := &message{}
		if dims[i] != "" {
			dim.text(2, dims[i])
		} else {
			dim.number(1, sizes[i])
		}
		shape.part(1, dim)
	}
	tensor, typ, m := &message{}, &message{}, &message{}
	tensor.number(1, dataTypes[d])
	tensor.part(2, shape)
	typ.part(1, tensor)
	m.text(1, name)
	m.part(2, typ)
	return m
}

// model is the whole: a graph with the operator set.
func model(graph *message) *message {
	m, set := &message{}, &message{}
	m.number(1, irVersion)
	m.text(2, producer)
	m.part(7, graph)
	set.text(1, "")
	set.number(2, opset)
	m.part(8, set)
	return m
}

// writeTo writes the message; one that protobuf cannot hold is refused.
func (m *message) writeTo(w io.Writer) error {
	if m.size > maxModel {
		return fmt.Errorf("the model takes %d bytes, and a file of ONNX holds 2 GB", m.size)
	}
	for _, p := range m.parts {
		if _, err := w.Write(p); err != nil {
			return err
		}
	}
	return nil
}
