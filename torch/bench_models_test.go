package torch_test

import (
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/models"
	"tcdbg/torch/nn"
)

// This file measures whole models in eager mode against the limit that the
// machine's multiply-adds set.

// BenchmarkEagerResNet50 is inference on two images of 224x224.
func BenchmarkEagerResNet50(b *testing.B) {
	net := models.ResNet50()
	nn.Eval(net)
	x := torch.Randn(2, 3, 224, 224)
	const macs = 4_089_184_256 // of an image: convolutions and the classifier
	againstPeak(b, 2*2*macs, func() { net.Forward(x) })
}

// BenchmarkEagerBert is BERT-base on one sentence of 128 tokens.
func BenchmarkEagerBert(b *testing.B) {
	net := models.NewBertModel(models.DefaultBertConfig())
	nn.Eval(net)
	ids := torch.Randint(0, 30000, []int{1, 128})
	const (
		tokens, width, inner, layers = 128, 768, 3072, 12
		macs                         = layers * tokens * (4*width*width + 2*width*inner + 2*tokens*width)
	)
	againstPeak(b, 2*macs, func() { net.Forward(ids) })
}
