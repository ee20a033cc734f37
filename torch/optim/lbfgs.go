package optim

import (
	"fmt"
	"math"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// LBFGS is the quasi-Newton method with limited memory. Its step calls the loss
// several times, so Step takes a closure.
type LBFGS struct {
	params []*torch.Tensor
	group  Group

	maxIter, maxEval, history      int
	toleranceGrad, toleranceChange float64
	wolfe                          bool
	evals, iterations              int // of all steps
	direction, lastGrad            *torch.Tensor
	step, lastLoss                 float64
	gradDiffs, paramDiffs          []*torch.Tensor // of the last iterations, oldest first
	inverses                       []float64       // of their products
	scale                          float64         // of the first guess at the inverse Hessian
}

// NewLBFGS makes an LBFGS. Options: kw.Lr(1), kw.MaxIter(20), kw.MaxEval (five
// quarters of it), kw.ToleranceGrad(1e-7), kw.ToleranceChange(1e-9),
// kw.HistorySize(100), kw.LineSearchFn("strong_wolfe").
func NewLBFGS(params []*torch.Tensor, opts ...torch.Option) *LBFGS {
	if len(params) == 0 {
		panic(noParameters("LBFGS"))
	}
	var numbers []torch.Option
	l := &LBFGS{params: params, scale: 1, group: Group{Params: params, Lr: 1}}
	for _, o := range opts {
		switch o.Name {
		case "line_search_fn":
		case "lr":
			setLr(&l.group, o.Value)
			continue
		default:
			numbers = append(numbers, o)
			continue
		}
		if o.Value != "strong_wolfe" {
			panic(&torch.Error{Op: "LBFGS", Kind: "RuntimeError", Msg: fmt.Sprintf("only 'strong_wolfe' is supported, not %v", o.Value)})
		}
		l.wolfe = true
	}
	v := schedulerOption("LBFGS", numbers, map[string]float64{
		"max_iter": 20, "max_eval": 0, "tolerance_grad": 1e-7, "tolerance_change": 1e-9, "history_size": 100,
	})
	if lr := l.group.rate(); lr < 0 {
		panic(&torch.Error{Op: "LBFGS", Kind: "ValueError", Msg: fmt.Sprintf("Invalid learning rate: %v", lr)})
	}
	l.maxIter, l.maxEval, l.history = int(v["max_iter"]), int(v["max_eval"]), int(v["history_size"])
	if l.maxEval == 0 {
		l.maxEval = l.maxIter * 5 / 4
	}
	l.toleranceGrad, l.toleranceChange = v["tolerance_grad"], v["tolerance_change"]
	return l
}

// ParamGroups is the one group; a change of its learning rate takes effect.
func (l *LBFGS) ParamGroups() []*Group { return []*Group{&l.group} }

// ZeroGrad forgets the gradients.
func (l *LBFGS) ZeroGrad() {
	for _, p := range l.params {
		p.SetGrad(nil)
	}
}

// grad is all gradients in one row.
func (l *LBFGS) grad() *torch.Tensor {
	parts := make([]*torch.Tensor, len(l.params))
	for i, p := range l.params {
		if parts[i] = p.Grad(); parts[i] == nil {
			parts[i] = torch.ZerosLike(p)
		}
		parts[i] = parts[i].Reshape(-1)
	}
	return torch.Cat(parts)
}

// move goes t along a direction.
func (l *LBFGS) move(t float64, direction *torch.Tensor) {
	at := 0
	for _, p := range l.params {
		p.Add_(direction.Narrow(0, at, p.Numel()).ViewAs(p), kw.Alpha(t))
		at += p.Numel()
	}
}

// Step calls closure, which clears the gradients, computes the loss and its
// gradients and returns it, until the loss falls no more or the limits of one
// step are reached. It returns the loss at the start.
func (l *LBFGS) Step(closure func() *torch.Tensor) *torch.Tensor {
	first := closure()
	torch.NoGrad(func() { l.iterate(closure, first.Item()) })
	return first
}

func (l *LBFGS) iterate(closure func() *torch.Tensor, loss float64) {
	evals := 1
	l.evals++
	grad := l.grad()
	for n := 1; n <= l.maxIter && largest(grad) > l.toleranceGrad; n++ {
		l.iterations++
		l.turn(grad)
		l.lastGrad, l.lastLoss = grad, loss
		l.step = l.group.rate()
		if l.iterations == 1 {
			l.step *= min(1, 1/grad.Abs().Sum().Item())
		}
		slope := dot(grad, l.direction)
		if slope > -l.toleranceChange {
			return
		}
		calls := 0
		if l.wolfe {
			loss, grad, l.step, calls = l.search(closure, point{0, loss, grad, slope}, l.step)
			l.move(l.step, l.direction)
		} else {
			l.move(l.step, l.direction)
			if n != l.maxIter {
				loss, grad = l.evaluate(closure)
				calls = 1
			}
		}
		evals += calls
		l.evals += calls
		if evals >= l.maxEval || l.step*largest(l.direction) <= l.toleranceChange || math.Abs(loss-l.lastLoss) < l.toleranceChange {
			return
		}
	}
}

func (l *LBFGS) evaluate(closure func() *torch.Tensor) (float64, *torch.Tensor) {
	var loss float64
	torch.EnableGrad(func() { loss = closure().Item() })
	return loss, l.grad()
}

func dot(a, b *torch.Tensor) float64 { return a.Dot(b).Item() }

func largest(x *torch.Tensor) float64 { return x.Abs().Max().Item() }

// turn sets the direction: down the gradient as the last steps bend it.
func (l *LBFGS) turn(grad *torch.Tensor) {
	if l.iterations == 1 {
		l.direction, l.scale = grad.Neg(), 1
		l.gradDiffs, l.paramDiffs, l.inverses = nil, nil, nil
		return
	}
	y, s := grad.Sub(l.lastGrad), l.direction.Mul(l.step)
	if ys := dot(y, s); ys > 1e-10 {
		if len(l.gradDiffs) == l.history {
			l.gradDiffs, l.paramDiffs, l.inverses = l.gradDiffs[1:], l.paramDiffs[1:], l.inverses[1:]
		}
		l.gradDiffs, l.paramDiffs, l.inverses = append(l.gradDiffs, y), append(l.paramDiffs, s), append(l.inverses, 1/ys)
		l.scale = ys / dot(y, y)
	}
	d := grad.Neg()
	shares := make([]float64, len(l.gradDiffs))
	for i := len(shares) - 1; i >= 0; i-- {
		shares[i] = dot(l.paramDiffs[i], d) * l.inverses[i]
		d.Add_(l.gradDiffs[i], kw.Alpha(-shares[i]))
	}
	d.Mul_(l.scale)
	for i := range shares {
		back := dot(l.gradDiffs[i], d) * l.inverses[i]
		d.Add_(l.paramDiffs[i], kw.Alpha(shares[i]-back))
	}
	l.direction = d
}

// StateDict is the state of one parameter, the first, as PyTorch has it.
func (l *LBFGS) StateDict() map[string]any {
	state := map[int]map[string]any{}
	if l.iterations > 0 {
		entry := map[string]any{
			"func_evals": l.evals, "n_iter": l.iterations, "d": l.direction, "t": l.step, "prev_flat_grad": l.lastGrad,
			"prev_loss": l.lastLoss,
			"old_dirs":  append([]*torch.Tensor{}, l.gradDiffs...), "old_stps": append([]*torch.Tensor{}, l.paramDiffs...),
			"H_diag": l.scale,
			"ro":     append([]float64{}, l.inverses...),
		}
		state[0] = entry
	}
	ids := make([]int, len(l.params))
	for i := range ids {
		ids[i] = i
	}
	line := any(nil)
	if l.wolfe {
		line = "strong_wolfe"
	}
	return map[string]any{"state": state, "param_groups": []map[string]any{{
		"lr": rate().get(&l.group), "max_iter": l.maxIter, "max_eval": l.maxEval, "tolerance_grad": l.toleranceGrad,
		"tolerance_change": l.toleranceChange,
		"history_size":     l.history, "line_search_fn": line, "maximize": false, "params": ids,
	}}}
}

// LoadStateDict takes over what StateDict returned.
func (l *LBFGS) LoadStateDict(state map[string]any) error {
	groups, ok := state["param_groups"].([]map[string]any)
	all, ok2 := state["state"].(map[int]map[string]any)
	if !ok || !ok2 || len(groups) != 1 {
		return fmt.Errorf("LBFGS: the state is not of one group of parameters")
	}
	if ids, ok := groups[0]["params"].([]int); !ok || len(ids) != len(l.params) {
		return fmt.Errorf("LBFGS: loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
	}
	setLr(&l.group, groups[0]["lr"])
	entry, ok := all[0]
	if !ok {
		l.iterations, l.evals = 0, 0
		return nil
	}
	l.evals, l.iterations = int(numberOf(entry["func_evals"])), int(numberOf(entry["n_iter"]))
	l.step, l.lastLoss, l.scale = numberOf(entry["t"]), numberOf(entry["prev_loss"]), numberOf(entry["H_diag"])
	l.direction, _ = entry["d"].(*torch.Tensor)
	l.lastGrad, _ = entry["prev_flat_grad"].(*torch.Tensor)
	l.gradDiffs, l.paramDiffs = listOf[*torch.Tensor](entry["old_dirs"]), listOf[*torch.Tensor](entry["old_stps"])
	l.inverses = nil
	for _, v := range listOf[any](entry["ro"]) {
		l.inverses = append(l.inverses, numberOf(v))
	}
	if l.direction == nil || l.lastGrad == nil || len(l.gradDiffs) != len(l.paramDiffs) || len(l.gradDiffs) != len(l.inverses) {
		return fmt.Errorf("LBFGS: the state lacks parts of its history")
	}
	l.direction, l.lastGrad = l.direction.Clone(), l.lastGrad.Clone()
	return nil
}

// numberOf is a number of a state: a float, an int or a tensor of one element.
func numberOf(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case int:
		return float64(v)
	case *torch.Tensor:
		return v.Item()
	}
	return 0
}

// listOf is a list of a state: as StateDict has it, or as a file has it.
func listOf[T any](v any) []T {
	switch v := v.(type) {
	case []T:
		return v
	case []float64:
		out := make([]T, len(v))
		for i, x := range v {
			out[i], _ = any(x).(T)
		}
		return out
	case []any:
		out := make([]T, len(v))
		for i, x := range v {
			out[i], _ = x.(T)
		}
		return out
	}
	return nil
}
