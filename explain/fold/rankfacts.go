package fold

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"tcdbg/explain"
	"tcdbg/logs"
)

// This file keeps what the ranks of one job must have alike: the tensors that a compile was
// given, the collectives in their order, the tensors that kernels write. Equal texts of a
// thousand ranks are one.

// maxInputTypes bounds the inputs of a compile that are compared.
const maxInputTypes = 4096

// inputType notes the type of the tensor that is described.
func inputType(c *compile, r *logs.Record) {
	c.tensor = ""
	if r.Rank < 0 {
		return
	}
	if c.typedIn != r.ID.Attempt { // tracing began again, and describes all of them again
		c.typedIn, c.InputTypes = r.ID.Attempt, nil
	}
	var dtype, size, stride, device string
	r.EachField(func(k, v []byte) bool {
		switch string(k) {
		case "dtype":
			dtype = strings.TrimPrefix(logs.JSONString(v), "torch.")
		case "size":
			size = string(bytes.TrimSpace(v))
		case "stride":
			stride = string(bytes.TrimSpace(v))
		case "device":
			device = deviceKind(logs.JSONString(v))
		}
		return true
	})
	c.tensor = dtype + size
	if stride != "" && stride != contiguous(size) {
		c.tensor += " strides " + stride
	}
	if device != "" {
		c.tensor += " " + device
	}
	if c.wantsGrad {
		c.tensor += " requires_grad"
	}
}

// inputSource lists the tensor that was described last under its source.
func inputSource(f *Fold, c *compile, r *logs.Record) {
	if c.tensor == "" || len(c.InputTypes) >= maxInputTypes {
		return
	}
	f.hold(2 * heldName)
	c.InputTypes = append(c.InputTypes, explain.InputType{
		Source: f.intern(logs.JSONString(r.Field("source"))), Type: f.intern(c.tensor),
	})
}

// deviceKind is the kind of a device as PyTorch's repr has it: device(type='cuda', index=3).
// Which of its kind it is differs from rank to rank.
func deviceKind(repr string) string {
	_, rest, ok := strings.Cut(repr, "type='")
	if !ok {
		kind, _, _ := strings.Cut(repr, ":")
		return kind
	}
	kind, _, _ := strings.Cut(rest, "'")
	return kind
}

// contiguous is the strides that a tensor of such a size has in row-major order; "" where the
// size is no list of numbers.
func contiguous(size string) string {
	var sizes []int64
	if json.Unmarshal([]byte(size), &sizes) != nil {
		return ""
	}
	out, step := make([]string, len(sizes)), int64(1)
	for i := len(sizes) - 1; i >= 0; i-- {
		out[i] = strconv.FormatInt(step, 10)
		step *= max(sizes[i], 1)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// schedule keeps a list that ranks are compared by, and the text as a remark.
func schedule(f *Fold, r *logs.Record, collective bool, text string) {
	if r.Rank < 0 || text == "" {
		return
	}
	f.hold(heldEvent)
	f.schedules = append(f.schedules, explain.RankSchedule{ID: f.id(r), Collective: collective, Text: f.intern(text)})
}

// collectiveSchedule reads the collectives of a compiled graph, in their order.
func collectiveSchedule(f *Fold, r *logs.Record) {
	remark(f, r)
	schedule(f, r, true, strings.Join(logs.JSONStrings(r.Payload()), "\n"))
}

// tensorMeta reads what each node that is scheduled writes: shapes, strides and types. How long it is thought to
// take is an estimate, in which devices may differ.
func tensorMeta(f *Fold, r *logs.Record) {
	remark(f, r)
	var v struct {
		Ops []struct {
			Name    string
			Outputs []struct {
				Shape, Stride []json.Number
				Dtype         string
			}
		}
	}
	if r.Rank < 0 || json.Unmarshal(r.Payload(), &v) != nil {
		return
	}
	numbers := func(list []json.Number) string {
		out := make([]string, len(list))
		for i, n := range list {
			out[i] = n.String()
		}
		return "[" + strings.Join(out, ", ") + "]"
	}
	var b strings.Builder
	for i, op := range v.Ops {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(strings.ReplaceAll(op.Name, "\n", " "))
		for _, o := range op.Outputs {
			size, stride := numbers(o.Shape), numbers(o.Stride)
			b.WriteString(" " + o.Dtype + size)
			if stride != contiguous(size) {
				b.WriteString(" strides " + stride)
			}
		}
	}
	schedule(f, r, false, b.String())
}
