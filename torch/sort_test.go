package torch_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// rowsOfAllKinds calls f with matrices of every real dtype, of rows below and above the size that is sorted
// by digits, with ties, both zeros, NaN and infinities, densely stored and not.
func rowsOfAllKinds(t *testing.T, f func(t *testing.T, x *torch.Tensor)) {
	r := rand.New(rand.NewSource(7))
	for _, d := range []torch.DType{
		torch.Float32, torch.Float64, torch.Float16, torch.Bfloat16,
		torch.Int64, torch.Int32, torch.Int16, torch.Int8, torch.Uint8, torch.Bool,
	} {
		for _, n := range []int{1, 2, 37, 700} {
			data := make([]float64, 3*n)
			for i := range data {
				switch k := r.Intn(40); {
				case !d.IsFloat():
					data[i] = float64(r.Intn(256))
					if d != torch.Uint8 && d != torch.Bool {
						data[i] -= 128
					}
					if d == torch.Int64 {
						data[i] *= 1 << 40
					}
				case k == 0:
					data[i] = math.NaN()
				case k == 1:
					data[i] = math.Inf(1 - 2*r.Intn(2))
				case k == 2:
					data[i] = math.Copysign(0, -1)
				case k < 20:
					data[i] = float64(r.Intn(7) - 3)
				default:
					data[i] = r.NormFloat64()
				}
			}
			x := torch.NewTensor(data, kw.Dtype(torch.Float64)).To(d).Reshape(3, n)
			t.Run(fmt.Sprint(d, n), func(t *testing.T) {
				f(t, x)
				f(t, x.T().Contiguous().T())
				f(t, torch.Stack([]*torch.Tensor{x, x}, kw.Dim(2)).Select(2, 1))
			})
		}
	}
}

// numberOrder has NaN above all.
func numberOrder(a, b float64) int {
	switch {
	case a != a && b != b:
		return 0
	case a != a:
		return 1
	case b != b:
		return -1
	}
	return cmp.Compare(a, b)
}

// byComparing is the stable order of a row.
func byComparing(row []float64, descending bool) []int64 {
	at := make([]int64, len(row))
	for i := range at {
		at[i] = int64(i)
	}
	slices.SortStableFunc(at, func(a, b int64) int {
		if descending {
			a, b = b, a
		}
		return numberOrder(row[a], row[b])
	})
	return at
}

// sameNumbers compares bit by bit, but for what kind of NaN it is.
func sameNumbers(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(a, b float64) bool {
		return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b
	})
}

func taken(row []float64, at []int64) []float64 {
	out := make([]float64, len(at))
	for i, p := range at {
		out[i] = row[p]
	}
	return out
}

// TestSortIsStable: what Sort gives along both dimensions is what comparing gives.
func TestSortIsStable(t *testing.T) {
	rowsOfAllKinds(t, func(t *testing.T, x *torch.Tensor) {
		rows := slices.Collect(slices.Chunk(x.Float64s(), x.Size(1)))
		for _, descending := range []bool{false, true} {
			v, i := x.Sort(kw.Descending(descending))
			turned, turnedAt := x.T().Sort(kw.Dim(0), kw.Descending(descending))
			var values []float64
			var at []int64
			for _, row := range rows {
				p := byComparing(row, descending)
				values, at = append(values, taken(row, p)...), append(at, p...)
			}
			if !slices.Equal(i.Int64s(), at) || !sameNumbers(v.Float64s(), values) {
				t.Fatalf("descending %v: %v, want %v", descending, i.Int64s(), at)
			}
			if !slices.Equal(turnedAt.T().Int64s(), at) || !sameNumbers(turned.T().Float64s(), values) {
				t.Fatalf("descending %v along the first dimension: %v, want %v", descending, turnedAt.T().Int64s(), at)
			}
		}
	})
}

// TestWholeNumbersAreSortedWhole: numbers that float64 cannot tell apart are.
func TestWholeNumbersAreSortedWhole(t *testing.T) {
	x := torch.NewTensor([]int64{1<<62 + 1, 1 << 62, math.MaxInt64, math.MinInt64, math.MaxInt64 - 1})
	v, _ := x.Sort()
	want := []int64{math.MinInt64, 1 << 62, 1<<62 + 1, math.MaxInt64 - 1, math.MaxInt64}
	if !slices.Equal(v.Int64s(), want) || !slices.Equal(x.Unique()[0].Int64s(), want) {
		t.Errorf("%v and %v, want %v", v, x.Unique()[0], want)
	}
	if m, i := x.MedianDim(0); m.Int64s()[0] != 1<<62+1 || i.ItemInt() != 0 { // the greatest number is not NaN
		t.Errorf("the median is %v at %v", m, i)
	}
}

// TestChosenOfRows: what selects of a row agrees with the sorted row.
func TestChosenOfRows(t *testing.T) {
	rowsOfAllKinds(t, func(t *testing.T, x *torch.Tensor) {
		n := x.Size(1)
		rows := slices.Collect(slices.Chunk(x.Float64s(), n))
		for _, k := range []int{1, max(1, n/64), n/2 + 1, n} {
			high, highAt := x.Topk(k)
			low, lowAt := x.Topk(k, kw.Largest(false))
			nth, nthAt := x.Kthvalue(k)
			for i, row := range rows {
				for _, c := range []struct {
					name    string
					got, at *torch.Tensor
					want    []int64
				}{
					{"greatest", high, highAt, byComparing(row, true)[:k]},
					{"least", low, lowAt, byComparing(row, false)[:k]},
					{"k-th", nth.Unsqueeze(1), nthAt.Unsqueeze(1), byComparing(row, false)[k-1 : k]},
				} {
					at := c.at.Select(0, i).Int64s()
					got := c.got.Select(0, i).Float64s()
					if slices.CompareFunc(got, taken(row, c.want), numberOrder) != 0 || !sameNumbers(got, taken(row, at)) {
						t.Fatalf("the %d %s of row %d are %v at %v", k, c.name, i, got, at)
					}
					if slices.Sort(at); len(slices.Compact(at)) != len(c.want) {
						t.Fatalf("the %d %s of row %d come from one place twice: %v", k, c.name, i, at)
					}
				}
			}
		}
		m, at := x.MedianDim(1)
		for i, row := range rows {
			want := byComparing(row, false)[(n-1)/2]
			if nan := slices.IndexFunc(row, math.IsNaN); nan >= 0 {
				want = int64(nan)
			}
			if at.Int64s()[i] != want || !sameNumbers(m.Float64s()[i:i+1], row[want:want+1]) {
				t.Fatalf("the median of row %d is at %d, want %d", i, at.Int64s()[i], want)
			}
		}
	})
}

// TestLatestExtremum: cummax and cummin choose the latest of equal ones, and NaN before all.
func TestLatestExtremum(t *testing.T) {
	rowsOfAllKinds(t, func(t *testing.T, x *torch.Tensor) {
		_, high := x.Cummax(1)
		_, low := x.Cummin(1)
		n := x.Size(1)
		for o, row := range slices.Collect(slices.Chunk(x.Float64s(), n)) {
			h, l := 0, 0
			for i, v := range row {
				if v != v || row[h] == row[h] && v >= row[h] {
					h = i
				}
				if v != v || row[l] == row[l] && v <= row[l] {
					l = i
				}
				if got := high.Int64s()[o*n+i]; got != int64(h) {
					t.Fatalf("cummax of row %d at %d is from %d, want %d", o, i, got, h)
				}
				if got := low.Int64s()[o*n+i]; got != int64(l) {
					t.Fatalf("cummin of row %d at %d is from %d, want %d", o, i, got, l)
				}
			}
		}
	})
}

// TestUniqueByComparing: each value once, the first of equal ones, with its group and its count; NaN is equal to none.
func TestUniqueByComparing(t *testing.T) {
	rowsOfAllKinds(t, func(t *testing.T, x *torch.Tensor) {
		all := x.Float64s()
		order := byComparing(all, false)
		got := x.Unique(kw.ReturnInverse(true), kw.ReturnCounts(true))
		checkGroups(t, "unique", all, order, got)
		for i := range order {
			order[i] = int64(i)
		}
		checkGroups(t, "unique_consecutive", all, order, x.UniqueConsecutive(kw.ReturnInverse(true), kw.ReturnCounts(true)))
	})
}

func checkGroups(t *testing.T, name string, all []float64, order []int64, got []*torch.Tensor) {
	t.Helper()
	var values []float64
	var counts []int64
	inverse := make([]int64, len(all))
	for n, i := range order {
		if n == 0 || all[order[n-1]] != all[i] {
			values, counts = append(values, all[i]), append(counts, 0)
		}
		counts[len(counts)-1]++
		inverse[i] = int64(len(values) - 1)
	}
	if !sameNumbers(got[0].Float64s(), values) || !slices.Equal(got[1].Int64s(), inverse) || !slices.Equal(got[2].Int64s(), counts) {
		t.Fatalf("%s: %v %v %v, want %v %v %v", name, got[0], got[1], got[2], values, inverse, counts)
	}
}

// TestUniqueSlabs: rows are compared number by number.
func TestUniqueSlabs(t *testing.T) {
	x := torch.NewTensor([][]float64{{2, 1}, {1, 2}, {2, 1}, {1, -1}, {math.NaN(), 0}, {math.NaN(), 0}})
	got := x.Unique(kw.Dim(0), kw.ReturnInverse(true), kw.ReturnCounts(true))
	nan := math.NaN()
	if !sameNumbers(got[0].Float64s(), []float64{1, -1, 1, 2, 2, 1, nan, 0, nan, 0}) ||
		!slices.Equal(got[1].Int64s(), []int64{2, 1, 2, 0, 3, 4}) || !slices.Equal(got[2].Int64s(), []int64{1, 1, 2, 1, 1}) {
		t.Error(got)
	}
}
