package torch

import "reflect"

// gradFn is a node of the autograd tape.
type gradFn struct{}

// checkCompile panics for arguments that Compile refuses in both worlds.
func checkCompile(f any, opts []Option) {
	if reflect.ValueOf(f).Kind() != reflect.Func {
		panic("torch.Compile: argument is not a function")
	}
}

func callAny(f any, args []any) {
	in := make([]reflect.Value, len(args))
	for i, a := range args {
		in[i] = reflect.ValueOf(a)
	}
	reflect.ValueOf(f).Call(in)
}
