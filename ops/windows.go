package ops

import (
	"fmt"
	"math"
)

// This file holds the windows of torch.signal.

const windowTail = "*, bool sym=True, dtype? dtype=None, device? device=None, bool requires_grad=False) -> Tensor"

// window is a row whose values are f of the n positions.
func window(id ID, name, args string, f func(w *windowCall) Value) *Op {
	return composite(id, "signal.windows."+name, "(int m, "+args+windowTail, TagFactory|TagNotMethod|TagNoGrad, func(b B, c *Call) Value {
		w := &windowCall{
			b: b, call: c, name: name, n: named[IntArg](c, "m").Num(), d: named[DTypeArg](c, "dtype").Or(Float32),
			symmetric: named[BoolArg](c, "sym").Bool(),
		}
		return w.values(f)
	})
}

// windowCall is the call of a window of n numbers.
type windowCall struct {
	call      *Call
	b         B
	name      string
	d         DType
	n         int
	symmetric bool
}

// number is an argument that one window has.
func (w *windowCall) number(name string) float64 { return named[NumberArg](w.call, name).Float() }

func (w *windowCall) values(f func(w *windowCall) Value) Value {
	name := w.name // as PyTorch's messages have it: some windows are made by another
	switch name {
	case "hann", "hamming", "general_hamming", "nuttall":
		name = "general_cosine"
	}
	if w.n < 0 {
		refuse(&Error{Kind: "ValueError", Msg: fmt.Sprintf("%s requires non-negative window length, got M=%d", name, w.n)})
	}
	if w.d != Float32 && w.d != Float64 {
		refuse(&Error{Kind: "ValueError", Msg: name + " expects float32 or float64 dtypes, got: " + w.d.String()})
	}
	if w.n <= 1 {
		return w.b.Emit(Ones, []int{w.n}, w.d)
	}
	return f(w)
}

// points are n evenly spaced numbers from start by step.
func (w *windowCall) points(start, step float64) Value {
	b := w.b
	at := b.cast(b.Emit(Arange, w.n, nil, symOne, Int64), w.d)
	return b.add(b.mul(at, step), start)
}

// steps is the number of steps over the window: a periodic one is cut from a
// symmetric one that is longer by one.
func (w *windowCall) steps() float64 {
	if w.symmetric {
		return float64(w.n - 1)
	}
	return float64(w.n)
}

// cosines sums a[i] * cos(i*t) with alternating signs over a whole turn.
func (w *windowCall) cosines(a []float64) Value {
	b := w.b
	t := w.points(0, 2*math.Pi/w.steps())
	var sum Value
	for i, k := range a {
		if i%2 == 1 {
			k = -k
		}
		part := b.mul(b.Emit(Cos, b.mul(t, float64(i))), k)
		if sum == nil {
			sum = part
		} else {
			sum = b.add(sum, part)
		}
	}
	return sum
}

func windowRows() []*Op {
	cosine := func(id ID, name string, a ...float64) *Op {
		return window(id, name, "", func(w *windowCall) Value { return w.cosines(a) })
	}
	return []*Op{
		window(WindowBartlett, "bartlett", "", func(w *windowCall) Value {
			b := w.b
			return b.sub(1, b.Emit(Abs, w.points(-1, 2/w.steps())))
		}),
		cosine(WindowBlackman, "blackman", 0.42, 0.5, 0.08),
		window(WindowCosine, "cosine", "", func(w *windowCall) Value {
			step := math.Pi / (w.steps() + 1)
			return w.b.Emit(Sin, w.points(0.5*step, step))
		}),
		window(WindowExponential, "exponential", "*, float? center=None, float tau=1.0, ", func(w *windowCall) Value {
			b, tau := w.b, w.number("tau")
			if tau <= 0 {
				refuse(&Error{Kind: "ValueError", Msg: fmt.Sprintf("Tau must be positive, got: %s instead.", floatText(tau))})
			}
			center := w.steps() / 2
			if !named[NumberArg](w.call, "center").IsNone() {
				if w.symmetric {
					refuse(&Error{Kind: "ValueError", Msg: "Center must be None for symmetric windows"})
				}
				center = w.number("center")
			}
			return b.exp(b.neg(b.Emit(Abs, w.points(-center/tau, 1/tau))))
		}),
		window(WindowGaussian, "gaussian", "*, float std=1.0, ", func(w *windowCall) Value {
			b, std := w.b, w.number("std")
			if std <= 0 {
				refuse(&Error{
					Kind: "ValueError",
					Msg:  fmt.Sprintf("Standard deviation must be positive, got: %s instead.", floatText(std)),
				})
			}
			k := 1 / (std * math.Sqrt2)
			return b.exp(b.neg(b.sq(w.points(-w.steps()/2*k, k))))
		}),
		window(WindowGeneralCosine, "general_cosine", "*, float[] a, ", func(w *windowCall) Value {
			a, _ := named[ListArg](w.call, "a").Arg.([]float64)
			if len(a) == 0 {
				refuse(&Error{Kind: "ValueError", Msg: "Coefficients cannot be empty"})
			}
			return w.cosines(a)
		}),
		window(WindowGeneralHamming, "general_hamming", "*, float alpha=0.54, ", func(w *windowCall) Value {
			alpha := w.number("alpha")
			return w.cosines([]float64{alpha, 1 - alpha})
		}),
		cosine(WindowHamming, "hamming", 0.54, 0.46),
		cosine(WindowHann, "hann", 0.5, 0.5),
		window(WindowKaiser, "kaiser", "*, float beta=12.0, ", func(w *windowCall) Value {
			b, beta := w.b, w.number("beta")
			if beta < 0 {
				refuse(&Error{Kind: "ValueError", Msg: fmt.Sprintf("beta must be non-negative, got: %s instead.", floatText(beta))})
			}
			t := w.points(-beta, 2*beta/w.steps())
			inside := b.sqrt(b.Emit(ClampMin, b.sub(beta*beta, b.sq(t)), 0.0))
			return b.div(b.Emit(I0, inside), b.Emit(I0, b.full(nil, beta, NewMeta(w.d, CPU, nil))))
		}),
		cosine(WindowNuttall, "nuttall", 0.3635819, 0.4891775, 0.1365995, 0.0106411),
	}
}
