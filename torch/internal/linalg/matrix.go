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
		o, row, k := out.Row(i), m.Row(i), 0
		for ; k+4 <= len(row); k += 4 {
			if a, b, c, d := row[k], row[k+1], row[k+2], row[k+3]; a != 0 && b != 0 && c != 0 && d != 0 {
				addRows(o, n.Row(k), n.Row(k+1), n.Row(k+2), n.Row(k+3), a, b, c, d)
				continue
			}
			for j := k; j < k+4; j++ {
				addRow(o, n.Row(j), row[j])
			}
		}
		for ; k < len(row); k++ {
			addRow(o, n.Row(k), row[k])
		}
	}
	return out
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
