package torch

// This file holds what a user says about the sizes of a tensor.

// DimMark is a user's word on one dimension.
type DimMark uint8

// The marks.
const (
	DimUnmarked DimMark = iota
	DimDynamic          // varies from call to call, and the code must not make it a constant
	DimMaybe            // varies, where the code leaves it open
	DimStatic           // to be compiled as a constant
	DimUnbacked         // varies, and nothing may be decided by it
)

// SetDynamic marks dimensions of t (compiler.MarkDynamic, MarkStatic).
func (t *Tensor) SetDynamic(m DimMark, dims ...int) {
	if t.marks == nil {
		t.marks = make([]DimMark, len(t.array.Shape))
	}
	for _, d := range dims {
		if d < 0 {
			d += len(t.array.Shape)
		}
		t.marks[d] = m
	}
}

// Unbacked is what else a user says of a dimension whose size is unbacked (compiler.MarkUnbackedWith).
type Unbacked struct {
	// Min and Max bound the size; a call with another size panics. Max 0: no bound.
	Min, Max int
	// ShapeID names a size: dimensions with one name have one symbol, and a call in which they differ panics.
	ShapeID string
	// Strict has code that makes the size a constant be an error, in place of a break of the graph.
	Strict bool
}

// SetUnbacked is SetDynamic(DimUnbacked) with what else is said.
func (t *Tensor) SetUnbacked(u Unbacked, dims ...int) {
	t.SetDynamic(DimUnbacked, dims...)
	if t.unbacked == nil {
		t.unbacked = map[int]*Unbacked{}
	}
	for _, d := range dims {
		if d < 0 {
			d += len(t.array.Shape)
		}
		t.unbacked[d] = &u
	}
}

// UnbackedOf is what else was said of dimension d of t, nil for nothing. It is for the compiler.
func UnbackedOf(t *Tensor, d int) *Unbacked { return t.unbacked[d] }

// DimMark returns what was said about dimension d.
func (t *Tensor) DimMark(d int) DimMark {
	if d >= len(t.marks) {
		return DimUnmarked
	}
	return t.marks[d]
}

// SetDims says which dimensions of t Export is told of; nil ends that. It is for the compiler.
func (t *Tensor) SetDims(dims map[int]*Dim) { t.dims = dims }

// DimOf is what Export is told of dimension d, nil for nothing.
func (t *Tensor) DimOf(d int) *Dim { return t.dims[d] }
