package functional

import (
	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// ConvTbc is a convolution over [time, batch, channel] by kernels of [width, in,
// out]; pad zeros are put on both ends of time.
func ConvTbc(input, weight, bias *torch.Tensor, pad int) *torch.Tensor {
	return Conv1d(input.Permute(1, 2, 0), weight.Permute(2, 1, 0), kw.Bias(bias), kw.Padding(pad)).Permute(2, 0, 1)
}
