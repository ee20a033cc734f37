package fold

import (
	"strings"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/logs/fx"
)

// This file splits Inductor's generated wrapper into kernels: Triton and C++
// kernels defined through async_compile, extern calls in the wrapper's body.

// codeKernel is one kernel within a wrapper.
type codeKernel struct {
	name, lang string
	from, to   int // lines, 1-based, both within
	ops        []string
	nodes      []string // source nodes of the captured graph
	aten       []string // nodes of the post-grad graph
	count      int      // calls of an extern kernel in the wrapper
	reason     string
}

// kernelHead is what is in the comment above a kernel.
type kernelHead struct {
	ops, nodes, aten []string
	line             int
}

// splitKernels finds the kernels of a wrapper.
func splitKernels(text string) []codeKernel {
	var out []codeKernel
	var head kernelHead
	end := "" // closing quotes of the kernel that is open
	externs := map[string]int{}
	lineNo := 0
	for len(text) > 0 {
		line, rest, _ := strings.Cut(text, "\n")
		text = rest
		lineNo++
		if end != "" {
			if strings.HasPrefix(line, end) || strings.HasSuffix(line, end) || strings.Contains(line, end+")") ||
				strings.Contains(line, end+",") {
				out[len(out)-1].to = lineNo
				end = ""
			}
			continue
		}
		switch {
		case strings.HasPrefix(line, "#"):
			head.comment(line, lineNo)
		case strings.Contains(line, "async_compile."):
			k, quotes, ok := openKernel(line, lineNo, head)
			head = kernelHead{}
			if !ok {
				continue
			}
			out = append(out, k)
			end = quotes
		default:
			if strings.TrimSpace(line) != "" {
				head = kernelHead{}
			}
			out = externCall(out, externs, line, lineNo)
		}
		if len(out) > 100_000 {
			return out
		}
	}
	if end != "" {
		out[len(out)-1].to = lineNo
	}
	return out
}

// comment takes one line of the comment above a kernel.
func (h *kernelHead) comment(line string, n int) {
	if rest, ok := strings.CutPrefix(line, "# Topologically Sorted Source Nodes: ["); ok {
		nodes, rest, _ := strings.Cut(rest, "]")
		h.nodes = commaList(nodes)
		if _, aten, ok := strings.Cut(rest, "Original ATen: ["); ok {
			aten, _, _ = strings.Cut(aten, "]")
			h.ops = commaList(aten)
		}
	} else if rest, ok := strings.CutPrefix(line, "# Source Nodes: ["); ok { // before 2.5
		nodes, rest, _ := strings.Cut(rest, "]")
		h.nodes = commaList(nodes)
		if _, aten, ok := strings.Cut(rest, "Original ATen: ["); ok {
			aten, _, _ = strings.Cut(aten, "]")
			h.ops = commaList(aten)
		}
	} else if n, ok := fx.ParseListingLine(line); ok && n.Op == "call_function" {
		h.aten = append(h.aten, n.Name)
	}
	if h.line == 0 {
		h.line = n
	}
}

func commaList(s string) []string {
	var out []string
	for p := range strings.SplitSeq(s, ",") {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return out
}

// openKernel reads "NAME = async_compile.LANG('NAME', ”'" and returns the
// quotes that close it.
func openKernel(line string, n int, h kernelHead) (codeKernel, string, bool) {
	name, rest, ok := strings.Cut(line, " = async_compile.")
	if !ok {
		return codeKernel{}, "", false
	}
	lang, _, ok := strings.Cut(rest, "(")
	if !ok {
		return codeKernel{}, "", false
	}
	k := codeKernel{name: strings.TrimSpace(name), lang: lang, from: n, to: n, ops: h.ops, nodes: h.nodes, aten: h.aten}
	if strings.HasPrefix(lang, "cpp") {
		k.lang = "cpp"
	}
	for _, q := range []string{"'''", `"""`} {
		if i := strings.Index(rest, q); i >= 0 && strings.Count(rest, q) == 1 {
			return k, q, true
		}
	}
	return k, "", true
}

// opsFromName reads the operators out of cpp_fused_add_mul_0, whose comment
// names none. Names of operators have underscores themselves, so the operators
// of the graph, then known ones, are matched first.
func opsFromName(name string, graph map[string]bool) []string {
	_, rest, ok := strings.Cut(name, "fused_")
	if !ok {
		return nil
	}
	if i := strings.LastIndexByte(rest, '_'); i >= 0 && strings.Trim(rest[i+1:], "0123456789") == "" {
		rest = rest[:i]
	} else if strings.Trim(rest, "0123456789") == "" {
		return nil
	}
	var out []string
	for rest != "" {
		if n := longestOp(rest, graph); n > 0 {
			out = append(out, rest[:n])
			rest = strings.TrimPrefix(rest[n:], "_")
			continue
		}
		op, tail, _ := strings.Cut(rest, "_")
		if op == "" && tail != "" { // _softmax
			op, tail, _ = strings.Cut(tail, "_")
			op = "_" + op
		}
		out = append(out, op)
		rest = tail
	}
	return out
}

func longestOp(s string, graph map[string]bool) int {
	best := 0
	try := func(op string) {
		if len(op) > best && strings.HasPrefix(s, op) && (len(s) == len(op) || s[len(op)] == '_') {
			best = len(op)
		}
	}
	for op := range graph {
		try(op)
	}
	for _, op := range longNames {
		try(op)
	}
	return best
}

// operatorsIn collects the names of the operators that a graph's text calls:
// add for torch.ops.aten.add.Tensor.
func operatorsIn(text string) map[string]bool {
	out := map[string]bool{}
	for {
		_, rest, ok := strings.Cut(text, "torch.ops.")
		if !ok {
			return out
		}
		text = rest
		_, rest, ok = strings.Cut(rest, ".") // the namespace
		if !ok {
			return out
		}
		i := 0
		for i < len(rest) && explain.LetterOrDigit(rest[i]) {
			i++
		}
		if i > 0 && i < 80 {
			out[rest[:i]] = true
		}
	}
}

// longNames are operators with underscores in their names.
var longNames = []string{
	"_softmax", "_log_softmax", "_to_copy", "_unsafe_view", "_native_batch_norm_legit", "_native_batch_norm_legit_no_training",
	"native_layer_norm", "native_batch_norm", "native_group_norm", "native_dropout", "native_layer_norm_backward",
	"max_pool2d_with_indices", "avg_pool2d", "_adaptive_avg_pool2d", "index_add", "index_put", "index_select", "masked_fill",
	"scalar_tensor", "lift_fresh", "lift_fresh_copy", "local_scalar_dense", "_local_scalar_dense", "_assert_scalar", "full_like",
	"zeros_like", "ones_like", "empty_like", "rand_like", "randn_like", "new_zeros", "new_full",
	"convolution_backward", "threshold_backward", "gelu_backward", "tanh_backward", "sigmoid_backward", "silu_backward",
	"embedding_dense_backward", "slice_backward", "select_backward", "select_scatter", "slice_scatter", "constant_pad_nd",
	"prepare_softmax_online", "log_softmax", "nll_loss_forward", "nll_loss_backward", "mse_loss", "leaky_relu", "hard_swish",
	"scaled_dot_product_attention", "bitwise_and", "bitwise_or", "bitwise_not", "logical_and", "logical_or", "logical_not",
	"clamp_min", "clamp_max", "var_mean", "arange_start", "squeeze_copy", "rms_norm", "cross_entropy", "layer_norm", "batch_norm",
	"_log_softmax_backward_data", "_softmax_backward_data", "_foreach_add", "_foreach_mul", "pow_tensor", "floor_divide",
}

// externCall notes a call of a library kernel in the wrapper's body.
func externCall(out []codeKernel, seen map[string]int, line string, n int) []codeKernel {
	name := externName(strings.TrimSpace(line))
	if name == "" {
		return out
	}
	if i, ok := seen[name]; ok {
		out[i].count++
		return out
	}
	seen[name] = len(out)
	op := strings.TrimPrefix(strings.TrimPrefix(name, "extern_kernels."), "torch.ops.")
	return append(out, codeKernel{name: name, lang: "extern", from: n, to: n, ops: []string{op}, count: 1, reason: externReason(name)})
}

// externName finds extern_kernels.mm( and torch.ops.aten.x.default( calls.
func externName(s string) string {
	for _, p := range []string{"extern_kernels.", "torch.ops.aten.", "torch.ops."} {
		i := strings.Index(s, p)
		if i < 0 || i > 0 && (explain.LetterOrDigit(s[i-1]) || s[i-1] == '.') {
			continue
		}
		j := i + len(p)
		for j < len(s) && (explain.LetterOrDigit(s[j]) || s[j] == '.') {
			j++
		}
		if j < len(s) && s[j] == '(' && !strings.Contains(s[i:j], "inductor.") {
			return s[i:j]
		}
	}
	return ""
}

func externReason(name string) string {
	if strings.HasPrefix(name, "extern_kernels.") {
		return "a library kernel; templates were not tried or lost"
	}
	return "no lowering: falls back to the eager operator"
}

// sliceLines cuts lines from..to (1-based) out of a text.
func sliceLines(text string, from, to int) string {
	start := 0
	for i := 1; i < from; i++ {
		j := strings.IndexByte(text[start:], '\n')
		if j < 0 {
			return ""
		}
		start += j + 1
	}
	end := start
	for i := from; i <= to; i++ {
		j := strings.IndexByte(text[end:], '\n')
		if j < 0 {
			return text[start:]
		}
		end += j + 1
	}
	return text[start:end]
}

// aotID reads "# AOT ID: ['0_forward']": the graph counter pairs forward and
// backward, the word says which of them the code is.
func aotID(text string) (id, role string) {
	_, rest, ok := strings.Cut(text[:min(len(text), 200)], "# AOT ID: ['")
	if !ok {
		return "", ""
	}
	s, _, _ := strings.Cut(rest, "'")
	id, role, _ = strings.Cut(s, "_")
	return id, role
}

// kernelLines ties the lines of a Triton kernel or C++ kernel to nodes: only
// the whole kernel is known, so each kernel is one entry at its first line.
func kernelLines(k codeKernel, pos []logs.Pos) []logs.KernelLine {
	nodes := k.aten
	if len(nodes) == 0 {
		nodes = k.nodes
	}
	if len(nodes) == 0 && len(pos) == 0 {
		return nil
	}
	return []logs.KernelLine{{Line: k.from, Nodes: nodes, Pos: pos}}
}
