package modeltest

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"testing"

	"tcdbg/internal/test"
	"tcdbg/torch/kw"
	"tcdbg/torch/models"
	"tcdbg/torch/nn"
)

// sized are the models of testdata/states.json.gz: sizes that no other record
// has.
var sized = map[string]struct {
	large bool
	make  func() any
}{
	"vit_l_16":        {true, func() any { return models.ViTL16() }},
	"vit_b_32":        {true, func() any { return models.ViTB32() }},
	"vgg16":           {true, func() any { return models.VGG16() }},
	"vgg19_bn":        {true, func() any { return models.VGG19(kw.BatchNorm(true)) }},
	"resnet101":       {false, func() any { return models.ResNet101() }},
	"densenet161":     {false, func() any { return models.DenseNet161() }},
	"densenet169":     {false, func() any { return models.DenseNet169() }},
	"densenet201":     {false, func() any { return models.DenseNet201() }},
	"convnext_small":  {false, func() any { return models.ConvNeXtSmall() }},
	"convnext_base":   {true, func() any { return models.ConvNeXtBase() }},
	"efficientnet_b4": {false, func() any { return models.EfficientNetB4() }},
	"llama_7b":        {false, func() any { return models.NewLlamaForCausalLM(models.DefaultLlamaConfig(), kw.Device("meta")) }},
	"t5_base": {true, func() any {
		c := models.DefaultT5Config()
		c.DModel, c.DFf, c.NumLayers, c.NumHeads = 768, 3072, 12, 12
		return models.NewT5EncoderModel(c)
	}},
}

// TestStatesAreTorchvisions compares names, shapes and dtypes of every entry.
func TestStatesAreTorchvisions(t *testing.T) {
	f, err := os.Open("testdata/states.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var want struct{ States map[string][]Entry }
	if err := json.NewDecoder(z).Decode(&want); err != nil {
		t.Fatal(err)
	}
	if len(want.States) != len(sized) {
		t.Errorf("%d states, %d models", len(want.States), len(sized))
	}
	for name, state := range want.States {
		t.Run(name, func(t *testing.T) {
			m, ok := sized[name]
			if !ok {
				t.Fatal("no such model here")
			}
			if m.large {
				test.Long(t, "88 to 304 million parameters")
			}
			checkState(t, state, nn.StateDict(m.make()))
		})
	}
}
