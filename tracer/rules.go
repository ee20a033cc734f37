package tracer

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"unsafe"

	"tcdbg/torch"
	"tcdbg/torch/compiler"
	"tcdbg/tracer/eval"
	"tcdbg/tracer/host"
)

// This file is what the settings of torch/compiler say to a trace.

// rules are the settings now.
func rules(in *host.Interp) eval.Rules {
	s := compiler.Config()
	r := eval.Rules{ConstantInts: s.SpecializeInt, ConstantFloats: s.SpecializeFloat, StaticParameters: s.ForceParameterStaticShapes}
	add := func(list []any, ignored bool) {
		for _, f := range list {
			if r.Logging == nil {
				r.Logging = map[string]eval.Logging{}
			}
			name := functionName(in, f)
			r.Logging[name] = eval.Logging{Name: name, Func: reflect.ValueOf(f), Ignored: ignored}
		}
	}
	add(s.ReorderableLoggingFunctions, false)
	add(s.IgnoreLoggingFunctions, true)
	return r
}

// functionName is the full name of a function, as SSA spells it.
func functionName(in *host.Interp, f any) string {
	word := reflect.ValueOf(f)
	at := reflect.New(word.Type())
	at.Elem().Set(word)
	if cl := in.ClosureOf(unsafe.Pointer(at.Pointer())); cl != nil {
		if name, bound := strings.CutSuffix(cl.Fn.String(), "$bound"); bound {
			panic(&torch.Error{Op: "compiler.Configure", Msg: fmt.Sprintf(
				"%s is given with its receiver; a logging function is given as the method expression alone, such as "+
					"(*log.Logger).Println", name)})
		}
		return strings.TrimSuffix(cl.Fn.String(), "$thunk")
	}
	name := runtime.FuncForPC(word.Pointer()).Name()
	if recv, method, ok := strings.Cut(name, ".(*"); ok { // log.(*Logger).Println
		return "(*" + recv + "." + method
	}
	return name
}
