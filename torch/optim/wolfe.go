package optim

import (
	"math"

	"tcdbg/torch"
)

// This file is the line search of LBFGS: a step along the direction that meets
// the strong Wolfe conditions, found by cubic interpolation.

const (
	wolfeDecrease  = 1e-4 // of the slope, which the loss must fall by
	wolfeCurvature = 0.9  // of the slope, which may be left
	wolfeChange    = 1e-9
	wolfeSteps     = 25
)

// point is the loss at a step t along the direction, with its slope there.
type point struct {
	t, loss float64
	grad    *torch.Tensor
	slope   float64
}

// line is a search along the direction of l.
type line struct {
	l       *LBFGS
	closure func() *torch.Tensor
	start   point
	calls   int
}

// at looks at step t and comes back.
func (s *line) at(t float64) point {
	before := make([]*torch.Tensor, len(s.l.params))
	for i, p := range s.l.params {
		before[i] = p.Clone()
	}
	s.l.move(t, s.l.direction)
	loss, grad := s.l.evaluate(s.closure)
	for i, p := range s.l.params {
		p.Copy_(before[i])
	}
	s.calls++
	return point{t, loss, grad, dot(grad, s.l.direction)}
}

// high reports whether the loss is not low enough at p.
func (s *line) high(p point) bool { return p.loss > s.start.loss+wolfeDecrease*p.t*s.start.slope }

// flat reports whether the slope is small enough at p.
func (s *line) flat(p point) bool { return math.Abs(p.slope) <= -wolfeCurvature*s.start.slope }

// search returns the loss, the gradient, the step, and how often it called the
// closure.
func (l *LBFGS) search(closure func() *torch.Tensor, start point, t float64) (float64, *torch.Tensor, float64, int) {
	s := &line{l: l, closure: closure, start: start}
	low, high, round, done := s.bracket(t)
	if !done {
		low = s.zoom(low, high, round)
	}
	return low.loss, low.grad, low.t, s.calls
}

// bracket goes ahead until a good step lies between the last two points, of
// which low has the smaller loss; done says that low itself is good.
func (s *line) bracket(t float64) (low, high point, round int, done bool) {
	last, p := s.start, s.at(t)
	for ; round < wolfeSteps; round++ {
		switch {
		case s.high(p) || round > 1 && p.loss >= last.loss:
			low, high = lower(last, p)
			return low, high, round, false
		case s.flat(p):
			return p, p, round, true
		case p.slope >= 0:
			low, high = lower(last, p)
			return low, high, round, false
		}
		next := cubic(last, p, p.t+0.01*(p.t-last.t), p.t*10)
		last, p = p, s.at(next)
	}
	low, high = lower(s.start, p)
	return low, high, round, false
}

// lower orders two points by their losses.
func lower(a, b point) (low, high point) {
	if a.loss <= b.loss {
		return a, b
	}
	return b, a
}

// zoom narrows the bracket and returns its better end.
func (s *line) zoom(low, high point, round int) point {
	stuck := false
	span := largest(s.l.direction)
	for ; round < wolfeSteps && math.Abs(high.t-low.t)*span >= wolfeChange; round++ {
		left, right := low, high
		if left.t > right.t {
			left, right = right, left
		}
		t := cubic(left, right, left.t, right.t)
		t, stuck = inside(t, left.t, right.t, stuck)
		p := s.at(t)
		if s.high(p) || p.loss >= low.loss {
			low, high = lower(low, p)
			continue
		}
		if s.flat(p) {
			return p
		}
		if p.slope*(high.t-low.t) >= 0 {
			high = low
		}
		low = p
	}
	return low
}

// inside keeps t off the ends of a bracket when it comes close to them twice, or
// lies outside.
func inside(t, left, right float64, stuck bool) (float64, bool) {
	margin := 0.1 * (right - left)
	if min(right-t, t-left) >= margin {
		return t, false
	}
	if !stuck && t < right && t > left {
		return t, true
	}
	if math.Abs(t-right) < math.Abs(t-left) {
		return right - margin, false
	}
	return left + margin, false
}

// cubic is the least point, within bounds, of the cubic through two points with
// their slopes; the middle of the bounds where it has none.
func cubic(a, b point, low, high float64) float64 {
	if a.t > b.t {
		a, b = b, a
	}
	d := a.slope + b.slope - 3*(a.loss-b.loss)/(a.t-b.t)
	square := d*d - a.slope*b.slope
	if square < 0 {
		return (low + high) / 2
	}
	root := math.Sqrt(square)
	t := b.t - (b.t-a.t)*((b.slope+root-d)/(b.slope-a.slope+2*root))
	return min(max(t, low), high)
}
