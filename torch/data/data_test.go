package data_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"tcdbg/torch"
	"tcdbg/torch/data"
	"tcdbg/torch/kw"
)

func numbers() *data.TensorDataset {
	return data.NewTensorDataset(torch.Arange(10), torch.Arange(10).Mul(2))
}

// column lists one tensor of each batch of a pass.
func column(l *data.DataLoader, k int) [][]int {
	var out [][]int
	for batch := range l.All() {
		out = append(out, batch[k].Ints())
	}
	return out
}

// TestShufflesAsPyTorch has the batches that PyTorch 2.15 gives for these seeds.
func TestShufflesAsPyTorch(t *testing.T) {
	for _, workers := range []int{0, 3} {
		d := numbers()
		torch.ManualSeed(5)
		w := kw.NumWorkers(workers)
		own := data.NewDataLoader(d, kw.BatchSize(5), kw.Shuffle(true), kw.Generator(torch.NewGenerator(7)), w)
		got := []any{
			column(data.NewDataLoader(d, kw.BatchSize(4), kw.Shuffle(true), w), 0),
			column(data.NewDataLoader(d, kw.BatchSize(4), kw.Shuffle(true), kw.DropLast(true), w), 0),
			column(own, 1), column(own, 1),
			column(data.NewDataLoader(d, kw.BatchSize(3), w), 0),
		}
		want := strings.Join([]string{
			"[[8 3 0 5] [9 1 6 2] [4 7]]",
			"[[5 8 9 7] [2 0 4 1]]",
			"[[2 6 10 14 18] [8 12 4 16 0]]", "[[10 2 12 0 18] [14 16 8 6 4]]",
			"[[0 1 2] [3 4 5] [6 7 8] [9]]",
		}, " ")
		if s := fmt.Sprint(got...); s != want {
			t.Errorf("%d workers:\ngot  %s\nwant %s", workers, s, want)
		}
		if r := torch.Rand(2).Float32s(); r[0] != 0.6064285635948181 || r[1] != 0.5645712614059448 {
			t.Errorf("%d workers: the generator is elsewhere: %v", workers, r)
		}
	}
}

func TestRandomSplit(t *testing.T) {
	torch.ManualSeed(1)
	parts := data.RandomSplit(numbers(), 7, 3)
	if s := fmt.Sprint(parts[0].Indices, parts[1].Indices); s != "[5 6 1 2 0 8 9] [3 7 4]" {
		t.Error(s)
	}
	if v := parts[1].Get(2)[1].ItemInt(); v != 8 {
		t.Errorf("the last sample is %d", v)
	}
}

func TestLeavingTheLoopEndsTheWorkers(t *testing.T) {
	before := runtime.NumGoroutine()
	for range data.NewDataLoader(numbers(), kw.NumWorkers(4)).All() {
		break
	}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if runtime.NumGoroutine() <= before {
			return
		}
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

// broken is a data set one sample of which cannot be read.
type broken struct{}

func (broken) Len() int { return 5 }

func (broken) Get(i int) []*torch.Tensor {
	if i == 3 {
		panic("sample 3 is broken")
	}
	return []*torch.Tensor{torch.NewTensor(i)}
}

func TestPanicsOfWorkersReachTheProgram(t *testing.T) {
	seen := 0
	defer func() {
		if e := recover(); e != "sample 3 is broken" || seen != 3 {
			t.Errorf("recovered %v after %d batches", e, seen)
		}
	}()
	for range data.NewDataLoader(broken{}, kw.NumWorkers(2)).All() {
		seen++
	}
}
