package functional

import (
	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// TripletMarginWithDistanceLoss is TripletMarginLoss by a distance of one's own.
// Options: kw.DistanceFunction (PairwiseDistance), kw.Margin(1.0),
// kw.Swap(false), kw.Reduction("mean").
func TripletMarginWithDistanceLoss(anchor, positive, negative *torch.Tensor, opts ...torch.Option) *torch.Tensor {
	const class = "triplet_margin_with_distance_loss"
	distance := func(a, b *torch.Tensor) *torch.Tensor { return PairwiseDistance(a, b) }
	margin, swap, reduction := 1.0, false, "mean"
	for _, o := range opts {
		switch o.Name {
		case "distance_function":
			distance = o.Value.(func(a, b *torch.Tensor) *torch.Tensor)
		case "margin":
			margin = number(class, o)
		case "swap":
			swap = truth(class, o)
		case "reduction":
			reduction = o.Value.(string)
		default:
			unexpected(class, o)
		}
	}
	if !(margin > 0) {
		panic(&torch.Error{Op: class, Kind: "ValueError", Msg: class + ": expected margin to be greater than 0"})
	}
	near, far := distance(anchor, positive), distance(anchor, negative)
	if swap {
		far = torch.Minimum(far, distance(positive, negative))
	}
	return reduced(class, near.Sub(far).Add(margin).Clamp(kw.Min(0.0)), reduction)
}

// reduced is a loss of each example as reduction says.
func reduced(class string, loss *torch.Tensor, reduction string) *torch.Tensor {
	switch reduction {
	case "mean":
		return loss.Mean()
	case "sum":
		return loss.Sum()
	case "none":
		return loss
	}
	panic(&torch.Error{Op: class, Kind: "ValueError", Msg: reduction + " is not a valid value for reduction"})
}
