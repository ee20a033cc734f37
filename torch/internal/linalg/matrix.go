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
		row := m.Row(i)
		for k := 0; k < len(row); k += 4 {
			n.addRowsTo(out.Row(i), 0, k, row[k:min(k+4, len(row))])
		}
	}
	return out
}

// addRowsTo adds to o, from column on, the rows of m from first on, up to four, times these numbers, one after
// the other in each element; a row times zero does not count.
func (m Matrix) addRowsTo(o []float64, column, first int, times []float64) {
	o = o[column:]
	if len(times) == 4 && times[0] != 0 && times[1] != 0 && times[2] != 0 && times[3] != 0 {
		row := func(i int) []float64 { return m.Row(first + i)[column:] }
		addRows(o, row(0), row(1), row(2), row(3), times[0], times[1], times[2], times[3])
		return
	}
	for i, a := range times {
		addRow(o, m.Row(first + i)[column:], a)
	}
}

// addRow adds a row times a number, which may be zero.
func addRow(o, x []float64, a float64) {
	if a == 0 {
		return
	}
	o = o[:len(x)]
	for j, v := range x {
		o[j] += a * v
	}
}

// addRows is addRow for four rows, one after the other in each element, which is read and written once.
func addRows(o, x, y, z, w []float64, a, b, c, d float64) {
	n := len(o)
	x, y, z, w = x[:n], y[:n], z[:n], w[:n]
	for j, v := range o {
		v += a * x[j]
		v += b * y[j]
		v += c * z[j]
		v += d * w[j]
		o[j] = v
	}
}
