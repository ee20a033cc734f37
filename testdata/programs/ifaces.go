package main

import (
	"errors"
	"fmt"

	"tcdbg/torch"
)

type Act interface {
	Do(*torch.Tensor) *torch.Tensor
}
type relu struct{}
type leaky struct{ a float64 }
type named struct {
	Act
	name string
}
type fn func(*torch.Tensor) *torch.Tensor

func (relu) Do(x *torch.Tensor) *torch.Tensor     { return x.Relu() }
func (l *leaky) Do(x *torch.Tensor) *torch.Tensor { return torch.Where(x.Gt(0), x, x.Mul(l.a)) }
func (f fn) Do(x *torch.Tensor) *torch.Tensor     { return f(x) }

var errNeg = errors.New("negative")

type badErr struct{ code int }

func (b *badErr) Error() string { return fmt.Sprint("bad ", b.code) }

func apply(x *torch.Tensor, v any) (*torch.Tensor, error) {
	switch a := v.(type) {
	case nil:
		return x, errNeg
	case int, int64:
		_ = a
		return x.Add(a), nil
	case float64:
		return x.Mul(a), nil
	case Act:
		if n, ok := a.(*named); ok && n.name == "bad" {
			return nil, fmt.Errorf("wrapped: %w", &badErr{7})
		}
		return a.Do(x), nil
	case []*torch.Tensor:
		for _, t := range a {
			x = x.Add(t)
		}
		return x, nil
	case func(*torch.Tensor) *torch.Tensor:
		return a(x), nil
	default:
		return nil, fmt.Errorf("unknown %T", v)
	}
}

func main() {
	torch.ManualSeed(0)
	f := torch.Compile(apply)
	x := torch.Randn(3)
	for _, v := range []any{nil, 2, int64(3), 0.5, relu{}, &leaky{0.1}, &leaky{0.2}, &named{relu{}, "good"}, &named{relu{}, "bad"}, fn((*torch.Tensor).Exp), []*torch.Tensor{x, x}, (*torch.Tensor).Sin, "str"} {
		y, err := f(x, v)
		var b *badErr
		fmt.Printf("%v err=%v is=%v as=%v\n", y, err, errors.Is(err, errNeg), errors.As(err, &b))
	}
}
