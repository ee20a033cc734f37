package numerics

import (
	"encoding/json"
	"os"
	"strconv"
	"testing"

	"tcdbg/ops"
	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// TestRule: what counts as equal, as docs/numerics.md has it. internal/pyhook holds its form in
// Python to the same cases.
func TestRule(t *testing.T) {
	text, err := os.ReadFile("testdata/rule.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name, DType             string
		Got, Want, Exact, Noisy []string
		Faulty                  int64
		Undecided               bool
	}
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	types := map[string]ops.DType{
		"float32": ops.Float32, "float64": ops.Float64, "float16": ops.Float16, "bfloat16": ops.BFloat16, "int64": ops.Int64,
	}
	for _, c := range cases {
		of := func(words []string, d ops.DType) *torch.Tensor {
			if words == nil {
				return nil
			}
			xs := make([]float64, len(words))
			for i, w := range words {
				if xs[i], err = strconv.ParseFloat(w, 64); err != nil {
					t.Fatal(err)
				}
			}
			return torch.NewTensor(xs, kw.Dtype(d))
		}
		d := types[c.DType]
		got, want := of(c.Got, d), of(c.Want, d)
		r := compare("output 0", got, want, of(c.Exact, ops.Float64))
		if c.Noisy != nil {
			r.weigh(got, want, []*torch.Tensor{of(c.Noisy, d)})
		}
		if r.faulty != c.Faulty || r.undecided != c.Undecided || r.differs() != (c.Faulty > 0 && !c.Undecided) {
			t.Errorf("%s: %d elements, undecided %v; want %d, %v\n%+v", c.Name, r.faulty, r.undecided, c.Faulty, c.Undecided, r)
		}
	}
	if r := compare("output 0", of64(1), torch.NewTensor([]float64{1}, kw.Dtype(ops.Float32)), nil); r.faulty != 1 {
		t.Errorf("another type: %+v", r)
	}
}

func of64(x float64) *torch.Tensor { return torch.NewTensor([]float64{x}, kw.Dtype(ops.Float64)) }
