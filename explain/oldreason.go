package explain

import (
	"strings"

	"tcdbg/tracer/breaks"
)

// This file reads the reasons of one line that releases before 2.9 give for
// breaks which have blocks of their own today, so that a break has one code
// whichever release met it.

// oldReason is a cause told in one line.
func oldReason(s string) BreakBlock {
	for _, p := range []string{"from user code ", "Unsupported: "} {
		s = strings.TrimPrefix(s, p)
	}
	if bl, ok := untraceableBuiltin(s); ok {
		return bl
	}
	code := codeOfWords(s)
	if c, ok := breaks.Lookup(code); ok {
		return BreakBlock{Typ: c.Type, Code: code, Context: s}
	}
	return BreakBlock{Typ: withoutAddresses(s)}
}

// untraceableBuiltin reads "Graph break due to unsupported builtin time.perf_counter. This function is either ...",
// which has a block with the module and the name today.
func untraceableBuiltin(s string) (BreakBlock, bool) {
	for _, opening := range []string{"Graph break due to unsupported builtin ", "Graph break for an optree C/C++ function "} {
		rest, ok := strings.CutPrefix(s, opening)
		name, _, ended := strings.Cut(rest, ". ")
		if !ok || !ended {
			continue
		}
		c, known := breaks.Lookup(breaks.SkippedFunction)
		if !known {
			return BreakBlock{}, false
		}
		module := "<unknown module>"
		if of, ok := strings.CutPrefix(name, "None."); ok {
			name = of
		} else if dot := strings.LastIndexByte(name, '.'); dot > 0 {
			module, name = name[:dot], name[dot+1:]
		}
		context := "module: " + module + ", qualname: " + name + ", skip reason: <missing reason>"
		return BreakBlock{Typ: c.Type, Code: c.Code, Context: context}, true
	}
	return BreakBlock{}, false
}

func codeOfWords(s string) string {
	for _, m := range OldReasons {
		if strings.Contains(s, m.Words) {
			return m.Code
		}
	}
	for _, m := range OldOpenings { // too short to be looked for anywhere
		if strings.HasPrefix(strings.TrimLeft(s, `'"`), m.Words) {
			return m.Code
		}
	}
	return ""
}

// withoutAddresses drops where an object lay, which no two runs share.
func withoutAddresses(s string) string {
	const mark = " at 0x"
	var b strings.Builder
	for {
		i := strings.Index(s, mark)
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		s = strings.TrimLeft(s[i+len(mark):], "0123456789abcdef")
	}
}

// WordsOfCode are words of an older release, and the code that such a break has now.
type WordsOfCode struct{ Words, Code string }

// OldReasons tells codes by the words of older releases; the first that fits counts.
var OldReasons = []WordsOfCode{
	{"generic_jump", breaks.DataDependentBranching},
	{"data dependent jump", breaks.DataDependentBranching},
	{"Data-dependent jump", breaks.DataDependentBranching},
	{"Dynamic control flow is not supported at the moment", breaks.DataDependentBranching},
	{"unsupported operator: ", "GB0090"},
	{"Tensor.item", breaks.TensorItem},
	{"Tensor.tolist", breaks.TensorToList},
	{"Input tensor for tolist", breaks.TensorToList},
	{"call_function BuiltinVariable(", breaks.BuiltinPrint},
	{"builtin: ", breaks.BuiltinPrint},
	{"'skip function graph_break", breaks.GraphBreakCall},
	{"skip function", breaks.SkippedFunction},
	{"inline in skipfiles", breaks.SkippedInline},
	{"SKIPPED INLINING", breaks.SkippedInline},
	{"call torch._dynamo.disable() wrapped function", breaks.Disabled},
	{"dynamic shape operator", breaks.DynamicShapeOperator},
	{"data dependent operator", breaks.DataDependentOperator},
	{"Unsupported context manager", breaks.UnsupportedContext},
	{"Graph break under GenericContextWrappingVariable", breaks.BreakUnderContext},
	{"Tensor.backward", breaks.TensorBackward},
	{"logging.Logger method not supported", breaks.LoggerCall},
	{"Logger not supported for non-export", breaks.LoggerCall},
	{"Reordering debugging function", "GB0296"},
	{"has a C/C++ based str method", "GB0005"},
	{"purposely graph breaks on RNN", "GB0014"},
	{"does not support sparse Tensors", "GB0015"},
	{"TensorVariable has a grad_fn", "GB0104"},
	{"Tensor.numpy(). config.trace_numpy", "GB0105"},
	{"Tensor.numpy(). NumPy is not available", "GB0106"},
	{"retain_grad does not work with AOTDispatcher", "GB0108"},
	{"Tensor.requires_grad_", "GB0125"},
	{"Tensor.resize_as_", "GB0127"},
	{"Tensor.resize_", "GB0126"},
	{"Tensor.set_", "GB0128"},
	{"save_for_backward only supported", "GB0138"},
	{"autograd.Function context method", "GB0139"},
	{"assert with non-string message", "GB0171"},
	{"constant fold exception", "GB0178"},
	{"copy.deepcopy", "GB0179"},
	{"has no __str__ or __repr__ method", "GB0184"},
	{"itertools.cycle has too many items", "GB0192"},
	{"isinstance called on UserDefinedClass", "GB0194"},
	{"call_issubclass args not constant", "GB0195"},
	{"mutating requires_grad can introduce a new leaf", "GB0206"},
	{"sort with non-constant keys", "GB0207"},
	{"torch.* op returned non-Tensor", "GB0208"},
	{"factory functions that return tensors that require grad", "GB0225"},
	{"torch.from_numpy. config.trace_numpy", "GB0231"},
	{"torch.from_numpy. NumPy is not available", "GB0232"},
	{"does not support strided NestedTensor", "GB0233"},
	{"out= op was called where some of", "GB0241"},
	{"out= op was called where output", "GB0242"},
	{"one_hot with data-dependent output shape", "GB0246"},
	{"random.Random() with", "GB0297"},
}

// OldOpenings tells codes by how the reason begins.
var OldOpenings = []WordsOfCode{
	{"call_method ", breaks.UnsupportedMethod},
	{"call_id ", "GB0191"},
	{"hasattr ", "GB0150"},
	{"next(", "GB0160"},
}
