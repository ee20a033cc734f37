package nn_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
)

// digest is the beginning of the SHA-256 of a tensor's bytes.
func digest(x *torch.Tensor) string {
	sum := sha256.Sum256(x.Storage().Bytes()[:x.Numel()*x.DType().Size()])
	return hex.EncodeToString(sum[:8])
}

// TestTruncNormalIsTheReferences compares trunc_normal_ with the bytes that PyTorch 2.15
// gave after manual_seed(7), and what it draws next with what PyTorch draws next: where
// most numbers, some and few fall inside.
func TestTruncNormalIsTheReferences(t *testing.T) {
	for _, c := range []struct {
		size            int
		dtype           torch.DType
		mean, std, a, b float64
		want, next      string
	}{
		{100003, torch.Float32, 0, 1, -2, 2, "ab621d7000cfc6ff", "783333d6c4d67630"},
		{100003, torch.Float32, 0, 0.02, -2, 2, "582b779666258e1a", "4111676ed26d191d"},
		{100003, torch.Float32, 0, 0.02, -0.04, 0.04, "3d3039510d18adee", "783333d6c4d67630"},
		{100003, torch.Float32, 1, 2, 0.5, 1.5, "162d9c16dbb2ad41", "035b4850b88b7bf8"},
		{100003, torch.Float32, 0, 1, 2, 3, "ba605d0ee99cc1c3", "ebf225372ebd3134"},
		{100003, torch.Float32, 0.5, 0.1, 0.7, 0.9, "8b9dee3bcea819f6", "9c7397623401e39d"},
		{100003, torch.Float32, 3, 1, -1, 1, "0aab08a80314d6f2", "de4dc38ab2cab941"},
		{100003, torch.Bfloat16, 0, 1, -2, 2, "9602a8aad51a774b", "b3903ee0aa347c6a"},
		{100003, torch.Bfloat16, 0, 0.02, -2, 2, "6ac9dd2a3652279c", "16dde813ae2fda1b"},
		{100003, torch.Bfloat16, 0, 0.02, -0.04, 0.04, "559623d3e6eec59d", "b3903ee0aa347c6a"},
		{100003, torch.Bfloat16, 1, 2, 0.5, 1.5, "16fadf2f7f69468f", "035b4850b88b7bf8"},
		{100003, torch.Bfloat16, 0, 1, 2, 3, "169773078dbcf740", "ebf225372ebd3134"},
		{100003, torch.Bfloat16, 0.5, 0.1, 0.7, 0.9, "e0d165ce3db1396a", "fe8b74041f2f25e3"},
		{100003, torch.Bfloat16, 3, 1, -1, 1, "1e2e129a3066396e", "b10f83a2476b1dc2"},
		{7, torch.Float32, 0, 1, -1, 1, "b3fe387d50968f38", "3b9ca71a9555278b"},
	} {
		t.Run(fmt.Sprint(c.size, c.dtype, c.mean, c.std, c.a, c.b), func(t *testing.T) {
			torch.ManualSeed(7)
			x := nn.TruncNormal_(torch.Empty(c.size, kw.Dtype(c.dtype)), c.mean, c.std, c.a, c.b)
			if got := digest(x); got != c.want {
				t.Errorf("other bytes than PyTorch's: %s, want %s", got, c.want)
			}
			if got := digest(torch.Rand(3)); got != c.next {
				t.Errorf("the generator is elsewhere than PyTorch's: %s, want %s", got, c.next)
			}
		})
	}
}
