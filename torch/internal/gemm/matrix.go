package gemm

// Matrix is one operand of a product: element (i, j) is at i*RS + j*CS.
type Matrix[T any] struct {
	Data   []T
	RS, CS int
}

// Func computes c = a@b on so many threads.
type Func[T any] func(c []T, ldc int, a, b Matrix[T], m, n, k, threads int)

// RowMajor is a matrix of rows that follow each other.
func RowMajor[T any](data []T, cols int) Matrix[T] { return Matrix[T]{Data: data, RS: cols, CS: 1} }

// Transposed is m with rows and columns exchanged.
func Transposed[T any](m Matrix[T]) Matrix[T] { return Matrix[T]{Data: m.Data, RS: m.CS, CS: m.RS} }
