package models

import "tcdbg/torch/nn"

// This file is how transformers draws the weights of its models, in its order,
// so that a seed gives the same model.

// initWeights draws the weights of all parts again, children before parents:
// normal numbers for matrices, zeros for biases. special, which may be nil, is
// called for each part after that.
func initWeights(module any, std float64, special func(part any)) {
	nn.Apply(module, func(part any) {
		switch m := part.(type) {
		case *nn.Linear:
			nn.Normal_(m.Weight, 0, std)
			if m.Bias != nil {
				nn.Zeros_(m.Bias)
			}
		case *nn.Embedding:
			nn.Normal_(m.Weight, 0, std)
			m.ZeroPadding()
		}
		if special != nil {
			special(part)
		}
	})
}
