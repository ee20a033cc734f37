package modules

import (
	"slices"
	"strconv"
	"strings"

	"tcdbg/explain"
)

// This file is what a node costs by its shapes: the bytes that its operator reads and
// writes, before anything is fused, and the floating-point operations of products,
// convolutions and attention, as PyTorch's FlopCounterMode counts them.

// Cost is of one node.
type Cost struct {
	Bytes, FLOPs int64
	// Unknown says that a size is symbolic, or a type not printed: both are at least this.
	Unknown bool
}

// n0 is an operator's name alone: mm of torch.ops.aten.mm.default.
func n0(target string) string {
	if rest, ok := strings.CutPrefix(target, "torch.ops."); ok {
		parts := strings.Split(rest, ".")
		return parts[min(1, len(parts)-1)]
	}
	if rest, ok := strings.CutPrefix(target, "aten."); ok {
		name, _, _ := strings.Cut(rest, ".")
		return name
	}
	return target[strings.LastIndexByte(target, '.')+1:]
}

// views move no data.
var views = map[string]bool{
	"view": true, "permute": true, "transpose": true, "t": true, "expand": true, "unsqueeze": true, "squeeze": true,
	"slice": true, "select": true, "detach": true, "alias": true, "as_strided": true, "split": true, "split_with_sizes": true,
	"unbind": true, "chunk": true, "flatten": true, "reshape": true, "getitem": true, "unflatten": true, "expand_as": true,
	"view_as": true, "narrow": true, "swapaxes": true, "movedim": true, "_unsafe_view": true, "size": true,
	"_log_api_usage_once": true, "_set_grad_enabled": true, "T": true, "mT": true,
}

func isView(op string) bool { return views[op] }

// tensor is a printed type.
type tensor struct {
	dims  []int64
	count int64
	bytes int64
	known bool
}

// typeOf reads "f32[4, 128][128, 1]cpu".
func typeOf(text string) tensor {
	dtype, rest, ok := strings.Cut(text, "[")
	sizes, _, closed := strings.Cut(rest, "]")
	width := widths[dtype]
	if !ok || !closed || width == 0 {
		return tensor{}
	}
	t := tensor{count: 1, known: true}
	for _, s := range strings.FieldsFunc(sizes, func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < 0 || n > 0 && t.count > maxCount/n {
			return tensor{}
		}
		t.dims = append(t.dims, n)
		t.count *= n
	}
	t.bytes = t.count * width
	return t
}

// maxCount bounds the elements that are believed.
const maxCount = 1 << 46

var widths = map[string]int64{
	"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i64": 8, "i32": 4, "i16": 2, "i8": 1, "u8": 1, "u16": 2, "u32": 4, "u64": 8,
	"b8": 1, "c64": 8, "c128": 16, "f8e4m3fn": 1, "f8e5m2": 1, "c32": 4,
}

func (g *Graph) costOf(i int) Cost {
	n := &g.Nodes[i]
	if !computes(n) || n.Op == "get_attr" {
		return Cost{}
	}
	op := n0(n.Target)
	if views[op] {
		return Cost{}
	}
	args := make([]tensor, len(g.args[i]))
	out := typeOf(n.Type)
	c := Cost{Bytes: out.bytes, Unknown: !out.known}
	for k, a := range g.args[i] {
		args[k] = typeOf(g.Nodes[a].Type)
		c.Bytes += args[k].bytes
		c.Unknown = c.Unknown || !args[k].known && g.Nodes[a].Type != ""
	}
	c.FLOPs = flops(op, out, args, n)
	return c
}

// last is a tensor's last size.
func (t tensor) last() int64 {
	if len(t.dims) == 0 {
		return 0
	}
	return t.dims[len(t.dims)-1]
}

func flops(op string, out tensor, args []tensor, n *explain.GraphNode) int64 {
	arg := func(i int) tensor {
		if i < len(args) {
			return args[i]
		}
		return tensor{}
	}
	switch op {
	case "mm", "bmm", "matmul", "linear", "mv":
		return 2 * out.count * arg(0).last()
	case "addmm", "baddbmm":
		return 2 * out.count * arg(1).last()
	case "conv1d", "conv2d", "conv3d", "convolution", "_convolution", "mkldnn_convolution":
		if w := arg(1); len(w.dims) > 0 && w.dims[0] > 0 {
			return 2 * out.count * (w.count / w.dims[0])
		}
	case "conv_transpose1d", "conv_transpose2d", "conv_transpose3d":
		if w := arg(1); len(w.dims) > 0 && w.dims[0] > 0 {
			return 2 * arg(0).count * (w.count / w.dims[0])
		}
	case "convolution_backward":
		if w := arg(2); len(w.dims) > 0 && w.dims[0] > 0 {
			return 2 * arg(0).count * (w.count / w.dims[0]) * wanted(n.Text)
		}
	}
	if strings.Contains(op, "scaled_dot_product") && !strings.Contains(op, "backward") {
		q, k, v := arg(0), arg(1), arg(2)
		if n := len(k.dims); n >= 2 && q.last() > 0 {
			return 2*q.count*k.dims[n-2] + 2*(q.count/q.last())*k.dims[n-2]*v.last()
		}
	}
	return 0
}

// wanted counts which of the gradients of input and weight a call asks for: "[True, True, False])".
func wanted(text string) int64 {
	at := strings.LastIndexByte(text, '[')
	if at < 0 {
		return 2
	}
	parts := strings.Split(text[at+1:], ",")
	var n int64
	for _, p := range parts[:min(2, len(parts))] {
		if strings.TrimSpace(p) == "True" {
			n++
		}
	}
	return n
}

// Times are the nanoseconds of a call that the kernels of a captured graph took, by its nodes; those of its
// backward graph are left out. A kernel's time is shared by its nodes alike. Where a profiler measured the kernels its
// figures go before ours.
func Times(r *explain.Report, own *explain.Graph, captured *Graph) map[string]float64 {
	measured := map[*explain.Kernel]float64{}
	for _, p := range r.Profiles {
		for _, c := range p.Costs() {
			if c.Kernel != nil && c.Kind == explain.KernelCost {
				measured[c.Kernel] += float64(p.PerStep(c.Worth()))
			}
		}
	}
	var out map[string]float64
	for _, k := range r.Kernels {
		if !k.ID.SameCompile(own.ID) || len(k.Nodes) == 0 || k.Backward() {
			continue
		}
		ns, ok := measured[k]
		if !ok {
			ns, ok = k.CallNanos()
		}
		if !ok {
			continue
		}
		if out == nil {
			out = map[string]float64{}
		}
		for _, n := range k.Nodes {
			out[n] += ns / float64(len(k.Nodes))
		}
	}
	if out == nil || !r.OfGo() {
		return out
	}
	return captured.timesOf(out, own)
}

// timesOf gives the times of the nodes that our own engine compiled to those that were captured: the same line in the
// same module shares what it became.
func (g *Graph) timesOf(compiled map[string]float64, own *explain.Graph) map[string]float64 {
	st := StagesOf(own)
	at := slices.IndexFunc(st.Names, func(name string) bool { return name == "forward" || name == "inference" })
	if at < 0 {
		return nil
	}
	stage := st.Read(at, g)
	lines, places := map[string][]int{}, map[string][]int{}
	for i := range g.Nodes {
		if computes(&g.Nodes[i]) {
			lines[key(g, i)] = append(lines[key(g, i)], i)
			places[g.Module[i]] = append(places[g.Module[i]], i)
		}
	}
	out := map[string]float64{}
	for j := range stage.Nodes {
		ns := compiled[stage.Nodes[j].Name]
		if ns == 0 {
			continue
		}
		to := lines[key(stage, j)]
		if len(to) == 0 {
			to = places[stage.Module[j]]
		}
		for _, i := range to {
			out[g.Nodes[i].Name] += ns / float64(len(to))
		}
	}
	return out
}
