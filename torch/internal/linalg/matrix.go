package linalg

// Matrix is rows by cols numbers, row after row.
type Matrix struct {
	Rows, Cols int
	Data       []float64
}

// New is a matrix of zeros.
func New(rows, cols int) Matrix { return Matrix{rows, cols, make([]float64, rows*cols)} }

// Identity is the identity matrix.
func Identity(n int) Matrix {
	m := New(n, n)
	for i := range n {
		m.Data[i*n+i] = 1
	}
	return m
}

// At is an element.
func (m Matrix) At(i, j int) float64 { return m.Data[i*m.Cols+j] }

// Set stores an element.
func (m Matrix) Set(i, j int, v float64) { m.Data[i*m.Cols+j] = v }

// Row is the memory of a row.
func (m Matrix) Row(i int) []float64 { return m.Data[i*m.Cols : (i+1)*m.Cols] }

// Clone is a copy.
func (m Matrix) Clone() Matrix {
	return Matrix{m.Rows, m.Cols, append([]float64(nil), m.Data...)}
}

// Transposed is the transpose, a copy.
func (m Matrix) Transposed() Matrix {
	t := New(m.Cols, m.Rows)
	for i := range m.Rows {
		for j, v := range m.Row(i) {
			t.Data[j*t.Cols+i] = v
		}
	}
	return t
}

// Times is the product of matrices, by rows, so that memory is read in order.
func (m Matrix) Times(n Matrix) Matrix {
	out := New(m.Rows, n.Cols)
	for i := range m.Rows {
		o := out.Row(i)
		for k, v := range m.Row(i) {
			if v == 0 {
				continue
			}
			for j, w := range n.Row(k) {
				o[j] += v * w
			}
		}
	}
	return out
}
