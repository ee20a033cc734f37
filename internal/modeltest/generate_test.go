package modeltest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tcdbg/internal/modeltest/zoo"
	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/models"
	"tcdbg/torch/nn"
)

// TestGreedyTokensAreTransformers holds 32 greedy steps with a cache against
// what transformers' generate gives for the same weights and prompt.
func TestGreedyTokensAreTransformers(t *testing.T) {
	text, err := os.ReadFile("testdata/generated.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string][][]int
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		make  func() models.CausalLM
		vocab int
	}{
		{"llama_tiny", func() models.CausalLM { return zoo.LlamaTiny() }, 1000},
		{"gpt2_2l", func() models.CausalLM { return zoo.GPT2() }, 50257},
	} {
		m := c.make()
		FillState(m)
		eval(m)
		prompt := Input(0, []int{2, 16}, c.vocab).Narrow(1, 0, 8)
		got := models.Generate(m, prompt, 32)
		for i, row := range want[c.name] {
			if g := got.Select(0, i).Ints(); !slices.Equal(g, row) {
				t.Errorf("%s, row %d:\ngot  %v\nwant %v", c.name, i, g, row)
			}
		}
	}
}

// TestCacheChangesNothing compares logits with a cache, token by token, and
// without.
func TestCacheChangesNothing(t *testing.T) {
	m := zoo.LlamaTiny()
	FillState(m)
	eval(m)
	ids := Input(0, []int{2, 16}, 1000)
	torch.NoGrad(func() {
		whole := m.Forward(ids)
		cache := models.NewKVCache()
		for i := range 16 {
			step := m.ForwardCached(ids.Narrow(1, i, 1), cache).Select(1, 0)
			if d := step.Sub(whole.Select(1, i)).Abs().Max().Item(); d > 1e-4 {
				t.Fatalf("position %d is off by %v", i, d)
			}
		}
		if cache.Len() != 16 {
			t.Errorf("the cache holds %d positions", cache.Len())
		}
	})
}

// TestTopKStaysWithinTheLikeliest draws many tokens and looks up their rank.
func TestTopKStaysWithinTheLikeliest(t *testing.T) {
	m := zoo.LlamaTiny()
	FillState(m)
	eval(m)
	prompt := Input(0, []int{2, 4}, 1000)
	torch.ManualSeed(3)
	out := models.Generate(m, prompt, 12, kw.K(5))
	ranks := map[int]bool{}
	torch.NoGrad(func() {
		logits := m.Forward(out)
		for i := 4; i < 16; i++ {
			before := logits.Select(1, i-1)
			chosen := before.Gather(1, out.Narrow(1, i, 1))
			for _, r := range before.Gt(chosen).Sum(kw.Dim(1)).Ints() {
				ranks[r] = true
				if r >= 5 {
					t.Errorf("position %d: the token has rank %d", i, r)
				}
			}
		}
	})
	if len(ranks) < 3 {
		t.Errorf("24 draws gave ranks %v only", ranks)
	}
}

// TestNucleusAndTemperature draws tokens of a model whose probabilities are
// known: 0.5, 0.3, 0.15 and 0.05, whatever came before.
func TestNucleusAndTemperature(t *testing.T) {
	prompt := torch.Zeros(500, 1, kw.Dtype(torch.Int64))
	for _, c := range []struct {
		opts []torch.Option
		want [4]float64
	}{
		{nil, [4]float64{1}},
		{[]torch.Option{kw.Temperature(1)}, [4]float64{0.5, 0.3, 0.15, 0.05}},
		{[]torch.Option{kw.TopP(0.7)}, [4]float64{0.625, 0.375}},
		{[]torch.Option{kw.TopP(0.4)}, [4]float64{1}},
		{[]torch.Option{kw.K(3)}, [4]float64{0.526, 0.316, 0.158}},
		{[]torch.Option{kw.Temperature(0.5)}, [4]float64{0.685, 0.247, 0.062, 0.007}},
		{[]torch.Option{kw.K(2), kw.TopP(0.5)}, [4]float64{1}},
	} {
		torch.ManualSeed(0)
		drawn := models.Generate(known{}, prompt, 8, c.opts...).Narrow(1, 1, 8).Reshape(-1).Ints()
		var share [4]float64
		for _, id := range drawn {
			share[id] += 1 / float64(len(drawn))
		}
		for i, w := range c.want {
			if d := share[i] - w; d > 0.03 || d < -0.03 || w == 0 && share[i] != 0 {
				t.Errorf("%v: shares are %.3f, want %v", c.opts, share, c.want)
				break
			}
		}
	}
}

// known predicts the same whatever it reads.
type known struct{}

func (known) ForwardCached(ids *torch.Tensor, _ *models.KVCache) *torch.Tensor {
	p := torch.NewTensor([]float32{0.5, 0.3, 0.15, 0.05}).Log()
	return p.Expand(ids.Size(0), ids.Size(1), 4)
}

// TestStateGoesThroughFiles saves a model with tied weights in both formats and
// loads it into another.
func TestStateGoesThroughFiles(t *testing.T) {
	small := models.DefaultGPT2Config()
	small.NLayer, small.NEmbd, small.VocabSize, small.NHead = 1, 24, 50, 2
	a := models.NewGPT2LMHeadModel(small)
	FillState(a)
	ids := Input(0, []int{1, 8}, 50)
	eval(a)
	for _, file := range []string{"m.pt", "m.safetensors"} {
		path := filepath.Join(t.TempDir(), file)
		if err := nn.Save(a, path); err != nil {
			t.Fatal(err)
		}
		b := models.NewGPT2LMHeadModel(small)
		eval(b)
		if err := nn.Load(b, path); err != nil {
			t.Fatal(file, err)
		}
		torch.NoGrad(func() {
			if d := a.Forward(ids).Sub(b.Forward(ids)).Abs().Max().Item(); d != 0 {
				t.Errorf("%s: outputs differ by %v", file, d)
			}
		})
	}
	small.NLayer = 2
	path := filepath.Join(t.TempDir(), "m.pt")
	if err := nn.Save(a, path); err != nil {
		t.Fatal(err)
	}
	if err := nn.Load(models.NewGPT2LMHeadModel(small), path); err == nil || !strings.Contains(err.Error(), `"transformer.h.1.ln_1.weight"`) {
		t.Errorf("a smaller state gives %v", err)
	}
}

// TestLlama7BOnTheMetaDevice builds the model without memory.
func TestLlama7BOnTheMetaDevice(t *testing.T) {
	m := models.NewLlamaForCausalLM(models.DefaultLlamaConfig(), kw.Device("meta"))
	total := 0
	for _, p := range nn.Parameters(m) {
		total += p.Numel()
	}
	if total != 6_738_415_616 {
		t.Errorf("%d parameters", total)
	}
	y := m.Forward(torch.Zeros(1, 8, kw.Dtype(torch.Int64), kw.Device("meta")))
	if fmt.Sprint(y.Shape()) != "[1 8 32000]" || y.Device() != "meta" {
		t.Errorf("output is %v on %v", y.Shape(), y.Device())
	}
}
