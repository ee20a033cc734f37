package modeltest

import (
	"compress/gzip"
	"encoding/json"
	"os"

	"tcdbg/torch/nn"
)

// Record is what PyTorch answers for one model.
type Record struct {
	Model  string
	Inputs [][]int
	State  []Entry
	// The output in evaluation mode.
	OutShape       []int              `json:"out_shape"`
	OutSum         float64            `json:"out_sum"`
	OutAbsSum      float64            `json:"out_abs_sum"`
	OutFirst       []float64          `json:"out_first"`
	OutLast        []float64          `json:"out_last"`
	TrainLoss      float64            `json:"train_loss"`
	GradNorms      map[string]float64 `json:"grad_norms"`
	LossAfterAdamW float64            `json:"loss_after_adamw_step"`
}

// Entry is one tensor of a state.
type Entry struct {
	Name  string
	Shape []int
	DType string
}

// UnmarshalJSON reads [name, shape, dtype].
func (e *Entry) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&e.Name, &e.Shape, &e.DType})
}

// Records reads a file of PyTorch's answers.
func Records(path string) ([]Record, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	var out struct{ Models []Record }
	return out.Models, json.NewDecoder(z).Decode(&out)
}

// FillState gives a model the weights of the formula and returns its state.
func FillState(m any) []nn.Named {
	state := nn.StateDict(m)
	for k, n := range state {
		Fill(k, n.Name, n.Tensor)
	}
	return state
}

// eval puts a model in evaluation mode.
func eval(m any) { nn.Eval(m) }
