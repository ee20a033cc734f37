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

// TestSamplersAsPyTorch has the batches that PyTorch 2.15 gives for these seeds.
func TestSamplersAsPyTorch(t *testing.T) {
	for _, workers := range []int{0, 3} {
		d, w := numbers(), kw.NumWorkers(workers)
		torch.ManualSeed(5)
		four := kw.BatchSize(4)
		c := data.NewConcatDataset(d, data.NewTensorDataset(torch.Arange(20, 23), torch.Arange(3)))
		got := []any{
			column(data.NewDataLoader(d, four, kw.Sampler(data.NewRandomSampler(d, kw.Replacement(true), kw.NumSamples(11))), w), 0),
			column(data.NewDataLoader(d, four, kw.Sampler(data.NewRandomSampler(d, kw.NumSamples(13))), w), 0),
			column(data.NewDataLoader(d, kw.BatchSize(2), kw.Sampler(data.NewSubsetRandomSampler([]int{1, 3, 5, 7, 9}, nil)), w), 0),
			column(data.NewDataLoader(d, kw.BatchSampler(data.NewBatchSampler(data.NewRandomSampler(d,
				kw.Generator(torch.NewGenerator(7))), 3, true)), w), 0),
			torch.Rand(2).Float32s(),
			column(data.NewDataLoader(c, kw.BatchSize(5), kw.Shuffle(true), w), 0),
		}
		want := strings.Join([]string{
			"[[8 2 4 9] [7 5 8 0] [7 6 9]]",
			"[[5 8 9 7] [2 0 4 1] [3 6 1 6] [3]]",
			"[[9 7] [1 3] [5]]",
			"[[5 0 3] [4 1 7] [9 6 8]]",
			"[0.98092693 0.65015864]",
			"[[8 7 22 1 9] [2 0 6 3 20] [5 21 4]]",
		}, " ")
		if s := fmt.Sprint(got...); s != want {
			t.Errorf("%d workers:\ngot  %s\nwant %s", workers, s, want)
		}
		if c.Get(-1)[0].ItemInt() != 22 || c.Get(10)[0].ItemInt() != 20 || c.Len() != 13 {
			t.Errorf("joined sets: %v, %v", c.Get(-1), c.Get(10))
		}
	}
	parts := data.RandomSplitFrom(torch.NewGenerator(3), numbers(), 6, 4)
	if s := fmt.Sprint(parts[0].Indices, parts[1].Indices); s != "[6 0 3 7 8 5] [1 9 2 4]" {
		t.Error(s)
	}
}

func TestCollateFn(t *testing.T) {
	sums := func(samples [][]*torch.Tensor) []*torch.Tensor {
		total := 0
		for _, s := range samples {
			total += s[0].ItemInt()
		}
		return []*torch.Tensor{torch.NewTensor([]int{total})}
	}
	l := data.NewDataLoader(numbers(), kw.BatchSize(4), kw.CollateFn(sums), kw.DropLast(true))
	if s := fmt.Sprint(column(l, 0)); s != "[[6] [22]]" || l.Len() != 2 {
		t.Errorf("%s of %d", s, l.Len())
	}
}

func TestLoaderRefusals(t *testing.T) {
	d := numbers()
	s := data.NewSequentialSampler(d)
	for want, f := range map[string]func(){
		"sampler option is mutually exclusive with shuffle": func() { data.NewDataLoader(d, kw.Sampler(s), kw.Shuffle(true)) },
		"batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last": func() {
			data.NewDataLoader(d, kw.BatchSampler(data.NewBatchSampler(s, 2, false)), kw.DropLast(true))
		},
		"batch_size should be a positive integer value, but got batch_size=0":   func() { data.NewDataLoader(d, kw.BatchSize(0)) },
		"num_samples should be a positive integer value, but got num_samples=0": func() { data.NewRandomSampler(d, kw.NumSamples(0)) },
		"keyword sampler cannot be a int":                                       func() { data.NewDataLoader(d, kw.Sampler(3)) },
		"DataLoader.__init__() got an unexpected keyword argument 'lr'":         func() { data.NewDataLoader(d, kw.Lr(1)) },
	} {
		func() {
			defer func() {
				if e, ok := recover().(*torch.Error); !ok || e.Msg != want {
					t.Errorf("got %v, want %q", e, want)
				}
			}()
			f()
			t.Errorf("was not refused: %s", want)
		}()
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
