package torch_test

import (
	"compress/gzip"
	"encoding/json"
	"math"
	"os"
	"testing"

	"tcdbg/ops"
	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// The texts are PyTorch's repr of tensors of every dtype, scale and size class.
func TestPrintedTensorsAreTheReferences(t *testing.T) {
	f, err := os.Open("testdata/print.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Data  []any
		Shape []int
		DType string
		Grad  bool
		Want  string
	}
	if err := json.NewDecoder(z).Decode(&cases); err != nil {
		t.Fatal(err)
	}
	bad := 0
	for i, c := range cases {
		d, ok := ops.ParseDType(c.DType)
		if !ok {
			t.Fatalf("dtype %s", c.DType)
		}
		data := make([]float64, len(c.Data))
		for j, v := range c.Data {
			switch v := v.(type) {
			case float64:
				data[j] = v
			case string:
				data[j] = map[string]float64{"nan": math.NaN(), "inf": math.Inf(1), "-inf": math.Inf(-1)}[v]
			}
		}
		x := torch.NewTensor(data, kw.Dtype(torch.Float64)).To(d).Reshape(c.Shape...)
		if c.Grad {
			x.RequiresGrad_()
		}
		if got := x.String(); got != c.Want {
			if bad++; bad < 6 {
				t.Errorf("case %d (%s%v):\n%s\nwant\n%s", i, c.DType, c.Shape, got, c.Want)
			}
		}
	}
	if bad > 0 {
		t.Errorf("%d of %d differ", bad, len(cases))
	}
}
