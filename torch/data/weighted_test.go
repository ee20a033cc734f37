package data_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/data"
	"tcdbg/torch/kw"
)

// TestWeightedSamplerAsPyTorch has the samples that PyTorch 2.15 draws.
func TestWeightedSamplerAsPyTorch(t *testing.T) {
	w := []float64{0.1, 0, 3, 0.5, 1, 2}
	torch.ManualSeed(5)
	own := data.NewWeightedRandomSampler(w, 4, kw.Generator(torch.NewGenerator(7)))
	got := fmt.Sprint(
		data.NewWeightedRandomSampler(w, 9).Order(), data.NewWeightedRandomSampler(w, 5, kw.Replacement(false)).Order(),
		data.NewWeightedRandomSampler(w, 1).Order(), own.Order(), own.Order(), torch.Rand(2).Float32s(), own.Len(),
	)
	if want := "[4 2 2 2 2 5 4 5 5] [5 2 4 3 0] [2] [2 2 5 4] [5 5 2 4] [0.049695134 0.73267215] 4"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestDistributedSamplerAsPyTorch has the shares that PyTorch 2.15 gives.
func TestDistributedSamplerAsPyTorch(t *testing.T) {
	for want, opts := range map[string][]torch.Option{
		"[[5 0 7] [6 8 4] [1 9 5] [2 3 6]]": nil,
		"[[0 4 8] [1 5 9] [2 6 0] [3 7 1]]": {kw.Shuffle(false)},
		"[[5 0] [6 8] [1 9] [2 3]]":         {kw.DropLast(true)},
		"[[0 7 1] [4 3 5] [9 2 0] [6 8 4]]": {kw.Seed(3)},
	} {
		var got [][]int
		for rank := range 4 {
			s := data.NewDistributedSampler(numbers(), 4, rank, opts...)
			s.SetEpoch(1)
			if got = append(got, s.Order()); s.Len() != len(got[rank]) {
				t.Errorf("a share of %d samples has length %d", len(got[rank]), s.Len())
			}
		}
		if s := fmt.Sprint(got); s != want {
			t.Errorf("got  %s\nwant %s", s, want)
		}
	}
	few := data.NewTensorDataset(torch.Arange(2))
	if s := fmt.Sprint(data.NewDistributedSampler(few, 5, 4, kw.Shuffle(false)).Order()); s != "[0]" {
		t.Error(s)
	}
}

func TestStackDataset(t *testing.T) {
	s := data.NewStackDataset(numbers(), data.NewTensorDataset(torch.Arange(20, 30)))
	if got := fmt.Sprint(column(data.NewDataLoader(s, kw.BatchSize(4)), 2)); got != "[[20 21 22 23] [24 25 26 27] [28 29]]" ||
		s.Len() != 10 || len(s.Get(0)) != 3 {
		t.Error(got)
	}
}

func TestFurtherRefusals(t *testing.T) {
	for want, f := range map[string]func(){
		"num_samples should be a positive integer value, but got num_samples=0": func() { data.NewWeightedRandomSampler([]float64{1}, 0) },
		"weights must be finite and not negative, but one is NaN": func() {
			data.NewWeightedRandomSampler([]float64{math.NaN()}, 1)
		},
		"the weights are all zero": func() { data.NewWeightedRandomSampler([]float64{0}, 1) },
		"2 samples cannot be taken without replacement: 1 have": func() {
			data.NewWeightedRandomSampler([]float64{0, 1}, 2, kw.Replacement(false))
		},
		"Invalid rank 2, rank should be in the interval [0, 1]": func() { data.NewDistributedSampler(numbers(), 2, 2) },
		"__init__() got an unexpected keyword argument 'replacement'": func() {
			data.NewDistributedSampler(numbers(), 2, 0, kw.Replacement(true))
		},
		"Size mismatch between datasets": func() {
			data.NewStackDataset(numbers(), data.NewTensorDataset(torch.Arange(3)))
		},
		"WeightedRandomSampler.__init__() got an unexpected keyword ar": func() {
			data.NewWeightedRandomSampler([]float64{1}, 1, kw.Lr(1))
		},
	} {
		func() {
			defer func() {
				if e, ok := recover().(*torch.Error); !ok || !strings.Contains(e.Msg, want) {
					t.Errorf("got %v, want %s", e, want)
				}
			}()
			f()
		}()
	}
}
