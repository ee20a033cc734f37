package nn

import (
	"fmt"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// This file is torch.nn.utils.rnn: sequences of different lengths, padded or
// packed.

// PackedSequence is sequences of different lengths without padding: Data has
// the first element of each, then the second of those that have one, and so on,
// longest sequence first; BatchSizes says how many there are of each.
type PackedSequence struct {
	Data       *torch.Tensor
	BatchSizes []int
	// SortedIndices orders the sequences by falling length, UnsortedIndices
	// undoes that; nil where they came in that order.
	SortedIndices, UnsortedIndices *torch.Tensor
}

// PackPaddedSequence packs float32[time, batch, ...], of whose sequences lengths
// gives the true ones. Options: kw.BatchFirst(false), kw.EnforceSorted(true).
func PackPaddedSequence(x *torch.Tensor, lengths []int, opts ...torch.Option) *PackedSequence {
	known("pack_padded_sequence", opts, "batch_first", "enforce_sorted")
	if option(opts, "batch_first", false) {
		x = x.Transpose(0, 1)
	}
	if len(lengths) != x.Size(1) {
		refusePacking(
			"RuntimeError", "Expected `len(lengths)` to be equal to batch_size, but got %d (batch_size=%d)",
			len(lengths), x.Size(1),
		)
	}
	p := &PackedSequence{}
	if !option(opts, "enforce_sorted", true) {
		order := byLength(lengths)
		back := make([]int, len(order))
		sorted := make([]int, len(order))
		for i, j := range order {
			back[j], sorted[i] = i, lengths[j]
		}
		p.SortedIndices, p.UnsortedIndices = torch.NewTensor(order), torch.NewTensor(back)
		x, lengths = x.IndexSelect(1, p.SortedIndices), sorted
	}
	p.BatchSizes = batchSizes(lengths)
	var parts []*torch.Tensor
	for t, n := range p.BatchSizes {
		parts = append(parts, x.Select(0, t).Narrow(0, 0, n))
	}
	p.Data = torch.Cat(parts)
	return p
}

func refusePacking(kind, format string, args ...any) {
	panic(&torch.Error{Op: "pack_padded_sequence", Kind: kind, Msg: fmt.Sprintf(format, args...)})
}

// byLength is the order of falling lengths; equal ones stay as they are.
func byLength(lengths []int) []int {
	longest := 0
	for _, n := range lengths {
		longest = max(longest, n)
	}
	at := make([][]int, longest+1) // sequences by length
	for i, n := range lengths {
		at[max(n, 0)] = append(at[max(n, 0)], i)
	}
	var out []int
	for n := longest; n >= 0; n-- {
		out = append(out, at[n]...)
	}
	return out
}

// batchSizes counts the sequences that have each position.
func batchSizes(lengths []int) []int {
	for i, n := range lengths {
		if n <= 0 {
			refusePacking("RuntimeError", "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0")
		}
		if i > 0 && n > lengths[i-1] {
			refusePacking(
				"RuntimeError",
				"`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "+
					"`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not "+
					"need ONNX exportability.",
			)
		}
	}
	out := make([]int, lengths[0])
	active := len(lengths)
	for t := range out {
		for lengths[active-1] <= t {
			active--
		}
		out[t] = active
	}
	return out
}

// PadPackedSequence undoes PackPaddedSequence and returns the lengths. Options:
// kw.BatchFirst(false), kw.PaddingValue(0.0), kw.TotalLength(n).
func PadPackedSequence(p *PackedSequence, opts ...torch.Option) (*torch.Tensor, []int) {
	known("pad_packed_sequence", opts, "batch_first", "padding_value", "total_length")
	time, batch := len(p.BatchSizes), p.BatchSizes[0]
	total := option(opts, "total_length", time)
	if total < time {
		panic(&torch.Error{
			Op: "pad_packed_sequence", Kind: "ValueError",
			Msg: fmt.Sprintf(
				"Expected total_length to be at least the length of the longest sequence in input, but got total_length=%d and max "+
					"sequence length being %d",
				total, time,
			),
		})
	}
	lengths := make([]int, batch)
	rows := make([]*torch.Tensor, 0, total)
	width := p.Data.Shape()[1:]
	pad := option(opts, "padding_value", 0.0)
	for t, part := range p.Data.Split(p.BatchSizes) {
		n := p.BatchSizes[t]
		for i := range n {
			lengths[i] = t + 1
		}
		if n < batch {
			part = torch.Cat([]*torch.Tensor{part, torch.Full(append([]int{batch - n}, width...), pad, kw.Dtype(part.DType()))})
		}
		rows = append(rows, part)
	}
	for range total - time {
		rows = append(rows, torch.Full(append([]int{batch}, width...), pad, kw.Dtype(p.Data.DType())))
	}
	x := torch.Stack(rows)
	if p.UnsortedIndices != nil {
		x = x.IndexSelect(1, p.UnsortedIndices)
		sorted := lengths
		lengths = make([]int, batch)
		for i, j := range p.UnsortedIndices.Ints() {
			lengths[i] = sorted[j]
		}
	}
	if option(opts, "batch_first", false) {
		x = x.Transpose(0, 1)
	}
	return x, lengths
}

// PadSequence pads sequences, [time, ...], to the longest:
// [time, batch, ...]. Options: kw.BatchFirst(false), kw.PaddingValue(0.0).
func PadSequence(sequences []*torch.Tensor, opts ...torch.Option) *torch.Tensor {
	known("pad_sequence", opts, "batch_first", "padding_value")
	longest := 0
	for _, s := range sequences {
		longest = max(longest, s.Size(0))
	}
	dim := 1
	if option(opts, "batch_first", false) {
		dim = 0
	}
	pad := option(opts, "padding_value", 0.0)
	var out []*torch.Tensor
	for _, s := range sequences {
		if missing := longest - s.Size(0); missing > 0 {
			rest := torch.Full(append([]int{missing}, s.Shape()[1:]...), pad, kw.Dtype(s.DType()))
			s = torch.Cat([]*torch.Tensor{s, rest})
		}
		out = append(out, s)
	}
	return torch.Stack(out, kw.Dim(dim))
}

// PackSequence packs sequences, [time, ...], longest first unless
// kw.EnforceSorted(false).
func PackSequence(sequences []*torch.Tensor, opts ...torch.Option) *PackedSequence {
	known("pack_sequence", opts, "enforce_sorted")
	return PackPaddedSequence(PadSequence(sequences), lengthsOf(sequences), opts...)
}

func lengthsOf(sequences []*torch.Tensor) []int {
	out := make([]int, len(sequences))
	for i, s := range sequences {
		out[i] = s.Size(0)
	}
	return out
}

// UnpadSequence cuts padded sequences, [time, batch, ...], to their lengths.
// Option: kw.BatchFirst(false).
func UnpadSequence(padded *torch.Tensor, lengths []int, opts ...torch.Option) []*torch.Tensor {
	known("unpad_sequence", opts, "batch_first")
	if !option(opts, "batch_first", false) {
		padded = padded.Transpose(0, 1)
	}
	out := make([]*torch.Tensor, len(lengths))
	for i, n := range lengths {
		out[i] = padded.Select(0, i).Narrow(0, 0, n)
	}
	return out
}

// UnpackSequence undoes PackSequence.
func UnpackSequence(p *PackedSequence) []*torch.Tensor {
	padded, lengths := PadPackedSequence(p, kw.BatchFirst(true))
	return UnpadSequence(padded, lengths, kw.BatchFirst(true))
}
