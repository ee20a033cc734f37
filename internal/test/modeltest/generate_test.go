package modeltest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tcdbg/internal/test/modeltest/zoo"
	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/models"
	"tcdbg/torch/nn"
)

// generated is what transformers' generate gives for the weights and prompts of
// the formula, greedily; testdata/generate.py wrote it.
func generated(t *testing.T) map[string][][]int {
	text, err := os.ReadFile("testdata/generated.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string][][]int
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	return want
}

func sameTokens(t *testing.T, name string, got *torch.Tensor, want [][]int) {
	t.Helper()
	if got.Size(0) != len(want) {
		t.Fatalf("%s: %d rows, want %d", name, got.Size(0), len(want))
	}
	for i, row := range want {
		if g := got.Select(0, i).Ints(); !slices.Equal(g, row) {
			t.Errorf("%s, row %d:\ngot  %v\nwant %v", name, i, g, row)
		}
	}
}

// TestGreedyTokensAreTransformers holds 32 greedy steps with a cache, and texts
// that end before, against transformers.
func TestGreedyTokensAreTransformers(t *testing.T) {
	want := generated(t)
	for name, make := range zoo.Generations() {
		g := make()
		FillState(g.Model)
		eval(g.Model)
		sameTokens(t, name, g.Generate(g.Model, Input(0, []int{2, 16}, g.Vocab)), want[name])
		delete(want, name)
	}
	for name := range want {
		t.Errorf("%s is not generated here", name)
	}
}

// TestCompiledTokensAreTransformers does so with a compiled step.
func TestCompiledTokensAreTransformers(t *testing.T) {
	want, bin := generated(t), ""
	for name, make := range zoo.Generations() {
		if model, _, _ := strings.Cut(name, "_tiny"); !chosen(name) && model != "llama" {
			t.Logf("%s is not compiled in this run (TCDBG_MODELS=%s)", name, name)
			continue
		}
		if bin == "" {
			bin = buildTcdbg(t)
		}
		g, dir := make(), t.TempDir()
		tensors := map[string]*torch.Tensor{"input": Input(0, []int{2, 16}, g.Vocab)}
		for _, n := range FillState(g.Model) {
			tensors[n.Name] = n.Tensor
		}
		if err := torch.SaveSafetensors(tensors, dir+"/in"); err != nil {
			t.Fatal(err)
		}
		for _, backend := range allBackends(t) {
			cmd := exec.Command(bin, "run", "--plain", "testdata/generate/model.go", name, dir+"/in", dir+"/out")
			cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+dir, "TCDBG_BACKEND="+backend)
			if text, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s under %s: %v\n%s", name, backend, err, text)
			}
			out, err := torch.LoadSafetensors(dir + "/out")
			if err != nil {
				t.Fatal(err)
			}
			sameTokens(t, name+" under "+backend, out["tokens"], want[name])
		}
	}
}

func TestGenerateRefusals(t *testing.T) {
	prompt := torch.Zeros(1, 1, kw.Dtype(torch.Int64))
	for want, opts := range map[string][]torch.Option{
		"give that too":     {kw.PadTokenId(1)},
		"names no token":    {kw.EosTokenId([]int{})},
		"must be int or []": {kw.EosTokenId("end")},
		"unexpected keywo":  {kw.Lr(1)},
	} {
		func() {
			defer func() {
				if e, ok := recover().(*torch.Error); !ok || !strings.Contains(e.Msg, want) {
					t.Errorf("got %v, want %s", e, want)
				}
			}()
			models.Generate(known{}, prompt, 3, opts...)
		}()
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
	if err := nn.Load(models.NewGPT2LMHeadModel(small), path); err == nil ||
		!strings.Contains(err.Error(), `"transformer.h.1.ln_1.weight"`) {
		t.Errorf("a smaller state gives %v", err)
	}
}

// TestWeightsAreAssigned builds models without memory and gives them the weights of a file.
func TestWeightsAreAssigned(t *testing.T) {
	gpt := models.DefaultGPT2Config()
	gpt.NLayer, gpt.NEmbd, gpt.VocabSize, gpt.NHead = 1, 24, 50, 2
	bert := models.DefaultBertConfig()
	bert.NumHiddenLayers, bert.HiddenSize, bert.IntermediateSize, bert.VocabSize, bert.NumAttentionHeads = 1, 24, 32, 50, 2
	ids := Input(0, []int{1, 8}, 50)
	type forward interface {
		Forward(*torch.Tensor) *torch.Tensor
	}
	for name, model := range map[string]func(opts ...torch.Option) forward{
		"gpt2": func(opts ...torch.Option) forward { return models.NewGPT2LMHeadModel(gpt, opts...) },
		"bert": func(opts ...torch.Option) forward { return models.NewBertModel(bert, opts...) },
	} {
		a, b := model(), model(kw.Device("meta"))
		FillState(a)
		path := filepath.Join(t.TempDir(), "m.safetensors")
		if err := nn.Save(a, path); err != nil {
			t.Fatal(err)
		}
		for _, p := range nn.Parameters(b) {
			if p.Device() != "meta" {
				t.Errorf("%s: a parameter has memory before there are weights", name)
			}
		}
		if err := nn.Load(b, path, kw.Assign(true)); err != nil {
			t.Fatal(name, err)
		}
		eval(a)
		eval(b)
		torch.NoGrad(func() {
			if !torch.Equal(a.Forward(ids), b.Forward(ids)).Bool() {
				t.Errorf("%s: outputs differ", name)
			}
		})
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
