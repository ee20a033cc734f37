package torch_test

import (
	"math"
	"runtime"
	"testing"

	"tcdbg/internal/test"
	"tcdbg/torch"
	"tcdbg/torch/nn"
	F "tcdbg/torch/nn/functional"
	"tcdbg/torch/optim"
)

// TestTrainingDoesNotGrow trains for 1,000 steps: what the allocator holds and
// what Go's heap holds stay what they were after the first two hundred.
func TestTrainingDoesNotGrow(t *testing.T) {
	test.Long(t, "1,200 steps")
	net := nn.NewSequential(nn.NewLinear(64, 128), nn.NewReLU(), nn.NewLinear(128, 32))
	opt := optim.NewAdamW(nn.Parameters(net))
	x, y := torch.Randn(256, 64), torch.Randn(256, 32)
	step := func() {
		opt.ZeroGrad()
		F.MseLoss(net.Forward(x), y).Backward()
		opt.Step()
	}
	// rest is Go's heap without the blocks that lie in it.
	rest := func() int {
		runtime.GC()
		runtime.GC() // what the first one found dead
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc) - torch.Memory().Heap
	}
	highest := func(steps int) (blocks int) {
		for range steps {
			step()
			s := torch.Memory()
			blocks = max(blocks, s.Live+s.Cached)
		}
		return blocks
	}
	early := highest(200)
	heap := rest()
	late := highest(1000)
	heapLate := rest()
	t.Logf("blocks: %d MB at most in 200 steps, %d MB in 1,000 more; rest of the heap %.1f MB, then %.1f MB", early>>20, late>>20,
		float64(heap)/(1<<20), float64(heapLate)/(1<<20))
	// A collection starts when 64 MB went out: what is held may reach twice that.
	if late > max(2*early, 160<<20) {
		t.Errorf("the allocator held %d MB in the first 200 steps and %d MB later", early>>20, late>>20)
	}
	if heapLate > heap+(1<<20) {
		t.Errorf("the rest of the heap grew from %d to %d bytes", heap, heapLate)
	}
}

// TestZerosInUsedMemory asks for zeros where other tensors have lain: memory that the system has just given is not cleared
// again, but this is.
func TestZerosInUsedMemory(t *testing.T) {
	for _, n := range []int{1 << 10, 1 << 16, 1 << 20} {
		for range 3 {
			used := torch.Full([]int{n}, 7.0)
			at := used.Storage().Bytes()
			used.Storage().Release()
			for name, zeros := range map[string]*torch.Tensor{
				"zeros": torch.Zeros(n), "zeros_like": torch.ZerosLike(torch.Empty(n)), "full": torch.Full([]int{n}, 0.0),
				"zero_": torch.Full([]int{n}, 7.0).Zero_(),
			} {
				if k := torch.CountNonzero(zeros).Item(); k != 0 {
					t.Errorf("%s: %v of %d elements are not zero", name, k, n)
				}
			}
			runtime.KeepAlive(at)
		}
	}
	if minus := torch.Full([]int{4}, math.Copysign(0, -1)); torch.Signbit(minus).All().Item() == 0 {
		t.Error("full of -0 is +0")
	}
}
