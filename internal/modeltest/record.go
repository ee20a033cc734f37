package modeltest

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"strings"

	"tcdbg/torch"
	"tcdbg/torch/models"
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

// Build says how to make the model of a record.
type Build struct {
	Make  func() nn.Module
	Vocab int // for models that read tokens
	Slow  bool
	// Noise is how far gradients and the loss after a step may be off, where
	// float32 does not determine them to 1e-3.
	Noise float64
}

// Builds are the models of the records.
func Builds() map[string]Build {
	return map[string]Build{
		"resnet18": {Make: func() nn.Module { return models.ResNet18() }},
		// Eight values a channel in the last stage: PyTorch's own float64 gradients,
		// and its float32 ones without oneDNN, are 0.7% from the recorded ones.
		"resnet50":           {Make: func() nn.Module { return models.ResNet50() }, Slow: true, Noise: 1e-2},
		"densenet121":        {Make: func() nn.Module { return models.DenseNet121() }, Slow: true},
		"mobilenet_v3_small": {Make: func() nn.Module { return models.MobileNetV3Small() }},
		"vit_b_16":           {Make: func() nn.Module { return models.ViTB16() }, Slow: true},
		"vgg11":              {Make: func() nn.Module { return models.VGG11() }, Slow: true},
		"efficientnet_b0":    {Make: func() nn.Module { return models.EfficientNetB0() }, Slow: true},
		"squeezenet1_1":      {Make: func() nn.Module { return models.SqueezeNet1_1() }},
		"convnext_tiny":      {Make: func() nn.Module { return models.ConvNeXtTiny() }, Slow: true},
		"bert_base_2l": {Vocab: 30522, Make: func() nn.Module {
			c := models.DefaultBertConfig()
			c.NumHiddenLayers = 2
			return models.NewBertModel(c)
		}},
		"gpt2_2l":    {Vocab: 50257, Make: func() nn.Module { return GPT2() }},
		"llama_tiny": {Vocab: 1000, Make: func() nn.Module { return LlamaTiny() }},
		"t5_tiny": {Vocab: 500, Make: func() nn.Module {
			c := models.DefaultT5Config()
			c.NumLayers, c.DModel, c.DFf, c.DKv, c.NumHeads, c.VocabSize = 2, 64, 128, 16, 4, 500
			return models.NewT5EncoderModel(c)
		}},
	}
}

// GPT2 is the GPT-2 of two layers.
func GPT2() *models.GPT2LMHeadModel {
	c := models.DefaultGPT2Config()
	c.NLayer = 2
	return models.NewGPT2LMHeadModel(c)
}

// LlamaTiny is the LLaMA of the records.
func LlamaTiny() *models.LlamaForCausalLM {
	c := models.DefaultLlamaConfig()
	c.HiddenSize, c.IntermediateSize, c.NumHiddenLayers, c.VocabSize = 128, 352, 2, 1000
	c.NumAttentionHeads, c.NumKeyValueHeads = 8, 4
	return models.NewLlamaForCausalLM(c)
}

// FillState gives a model the weights of the formula and returns its state.
func FillState(m any) []nn.Named {
	state := nn.StateDict(m)
	for k, n := range state {
		Fill(k, n.Name, n.Tensor)
	}
	return state
}

// Recorded is training mode as the records were made: without dropout, but for
// that of transformers' attention, which is no module there and stayed on. It
// draws from the generator where making the model left it.
func Recorded(m any) {
	nn.Train(m)
	nn.Walk(m, func(name string, part any) {
		switch p := part.(type) {
		case *nn.Dropout:
			p.SetTraining(inAttention(name))
		case *models.StochasticDepth:
			p.SetTraining(false)
		}
	})
}

func inAttention(name string) bool {
	for _, end := range []string{"attention.self.dropout", "attn.attn_dropout", "SelfAttention.dropout"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// Loss is the mean square of an output.
func Loss(y *torch.Tensor) *torch.Tensor { return y.Square().Mean() }

// eval puts a model in evaluation mode.
func eval(m any) { nn.Eval(m) }
