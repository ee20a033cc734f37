package torch_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strconv"
	"strings"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// dtypesByName are the types in which numbers were recorded.
var dtypesByName = map[string]torch.DType{
	"Float32": torch.Float32, "Float64": torch.Float64, "Float16": torch.Float16, "BFloat16": torch.Bfloat16,
}

// recordedDraws are the draws of testdata/random.txt that are no plain randn or rand.
var recordedDraws = map[string]func() *torch.Tensor{
	"normal of a transposed":  func() *torch.Tensor { return torch.Empty(40, 30).T().Normal_(0.5, 2) },
	"normal of every second":  func() *torch.Tensor { return torch.Empty(100, 2).Select(1, 0).Normal_() },
	"uniform of a transposed": func() *torch.Tensor { return torch.Empty(40, 30).T().Uniform_(-2, 3) },
	"normal_":                 func() *torch.Tensor { return torch.Empty(100001).Normal_(0.5, 0.02) },
	"uniform_":                func() *torch.Tensor { return torch.Empty(100001).Uniform_(-0.3, 0.7) },
	"uniform_ of doubles": func() *torch.Tensor {
		return torch.Empty(100001, kw.Dtype(torch.Float64)).Uniform_(-0.3, 2.7)
	},
	"randint":      func() *torch.Tensor { return torch.Randint(0, 10, []int{100003}) },
	"randint wide": func() *torch.Tensor { return torch.Randint(-5, 1<<40, []int{100003}) },
	"randperm":     func() *torch.Tensor { return torch.Randperm(100003) },
	"bernoulli_":   func() *torch.Tensor { return torch.Empty(100003).Bernoulli_(0.3) },
	"randn after":  func() *torch.Tensor { return torch.Randn(19) },
}

// drawRecorded makes the draw of a name: "randn 17 Float64", or one of recordedDraws.
func drawRecorded(t *testing.T, name string) *torch.Tensor {
	if f := recordedDraws[name]; f != nil {
		return f()
	}
	word := strings.Fields(name)
	n, err := strconv.Atoi(word[1])
	if err != nil {
		t.Fatal(err)
	}
	if word[0] == "randn" {
		x := torch.Randn(n, kw.Dtype(dtypesByName[word[2]]))
		if x.DType() == torch.Float64 { // whose logarithms are the C library's, good to its last bit
			x = x.To(torch.Float32)
		}
		return x
	}
	return torch.Rand(n, kw.Dtype(dtypesByName[word[2]]))
}

// TestDrawsAreTheReferences draws in one sequence what PyTorch 2.15 drew (on a machine
// with AVX2, whose processor is not Intel's), and compares the bytes by their SHA-256:
// sizes around those of blocks and of the generator's state, types, layouts, and that
// each draw leaves the generator where PyTorch's is.
func TestDrawsAreTheReferences(t *testing.T) {
	text, err := os.ReadFile("testdata/random.txt")
	if err != nil {
		t.Fatal(err)
	}
	torch.ManualSeed(7)
	for line := range strings.Lines(string(text)) {
		name, want, _ := strings.Cut(strings.TrimSpace(line), "\t")
		x := drawRecorded(t, name).Contiguous()
		sum := sha256.Sum256(x.Storage().Bytes()[:x.Numel()*x.DType().Size()])
		if got := hex.EncodeToString(sum[:8]); got != want {
			t.Errorf("%s: other bytes than PyTorch's: %s, want %s", name, got, want)
		}
	}
}

// TestDrawsOneByOne: numbers that are drawn together are those that are drawn apart.
func TestDrawsOneByOne(t *testing.T) {
	for _, n := range []int{1, 15, 623, 624, 625, 5000, 300007} {
		torch.ManualSeed(3)
		together := torch.Rand(n).Float64s()
		next := torch.Rand(1).Item()
		torch.ManualSeed(3)
		for i, want := range together {
			if got := torch.Rand(1).Item(); got != want {
				t.Fatalf("%d numbers: number %d is %v, want %v", n, i, got, want)
			}
		}
		if got := torch.Rand(1).Item(); got != next {
			t.Errorf("after %d numbers comes %v, want %v", n, got, next)
		}
	}
}

// BenchmarkRandn is torch.randn of as many numbers as a small language model has
// parameters in its table of words.
func BenchmarkRandn(b *testing.B) {
	const n = 26 << 20
	x := torch.Empty(n)
	for name, f := range map[string]func(){
		"randn":      func() { torch.Randn(n) },
		"normal_":    func() { x.Normal_(0, 0.02) },
		"uniform_":   func() { x.Uniform_(-1, 1) },
		"bernoulli_": func() { x.Bernoulli_(0.3) },
		"randint":    func() { torch.Randint(0, 1000, []int{n}) },
		"randn64":    func() { torch.Randn(n, kw.Dtype(torch.Float64)) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f()
			}
		})
	}
}
