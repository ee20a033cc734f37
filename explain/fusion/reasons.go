package fusion

import "strings"

// This file is what PyTorch's reasons mean. Its scheduler prints a few words for a pair that it does
// not fuse (WhyNoFuse); each row has those of PyTorch 2.15, a %s where it puts something in, and
// a sentence for whoever reads them. What has no row is shown as PyTorch says it.

// reason is one row.
type reason struct {
	words string
	means string
}

const tuneMemory = " A limit of memory, not of correctness."

var reasons = []reason{
	// Heuristics of torch/_inductor/choices.py.
	{
		"no shared data",
		"No value is read or written by both at the same index, so that one kernel would save no memory traffic that PyTorch " +
			"counts. Where both use a buffer, they walk it in different orders or ranges.",
	},
	{
		"no shared data due to indexing mismatch",
		"Both use a buffer, but at different indexes, so that a value one of them holds is not the value that the other " +
			"needs next.",
	},
	{
		"exceeds max fusion",
		"Together they are more nodes than one kernel may have: torch._inductor.config.max_fusion_size.",
	},
	{
		"Fusion will increase peak memory",
		"In one kernel their buffers would have to live at the same time, longer than they do now." + tuneMemory,
	},
	{
		"fusion_prevent_too_many_reads_and_writes",
		"One kernel would read and write more buffers than torch._inductor.config.max_fusion_unique_io_buffers allows.",
	},
	{
		"score_fusion_memory_threshold",
		"They share less than torch._inductor.config.score_fusion_memory_threshold bytes, too little to be worth a larger " +
			"kernel.",
	},
	{
		"Nodes are too far away. Fusing them may increase peak memory.",
		"They only read a common input, and many nodes lie between them: what the first writes would have to wait for the " +
			"second." + tuneMemory,
	},
	// Any nodes: torch/_inductor/scheduler.py.
	{
		"will create cycle",
		"A third node needs the first and is needed by the second: in one kernel each would wait for the other.",
	},
	{
		"intermediate nodes between node1 & node2",
		"The second also reads what a third node makes of the first's results, so that the third has to run between them.",
	},
	{
		"memory deps did not match",
		"The second reads a buffer at other places than the first writes in the same step of the loop, so that all of it has " +
			"to be written first.",
	},
	{
		"node1 must go before node2",
		"The order of the pair is turned: the node named first needs results of the second.",
	},
	{
		"node1 is nop",
		"The first computes nothing; there is no loop to join.",
	},
	{
		"node2 is extern or nop",
		"The second is a call of a library's kernel, or computes nothing; there is no loop to join.",
	},
	{
		"device mismatch (%s vs %s)",
		"They run on different devices.",
	},
	{
		"fusion for buffer explicit disabled",
		"A buffer of theirs is marked never to be fused.",
	},
	{
		"grouped node must not be fused with other nodes",
		"One is a group of nodes that has to stay together and alone, such as collectives in their order.",
	},
	{
		"incompatible reduction contracts",
		"Both reduce, and what the two promise about the order of a reduction cannot both be kept.",
	},
	{
		"template fusion does not preserve strict reduction ordering",
		"The second reduces in a fixed order, which the template's blocks would change.",
	},
	{
		"reduction fusion does not preserve strict reduction ordering",
		"One of two reductions has a fixed order, which a common loop would change.",
	},
	// Kernels of the user and of libraries.
	{
		"node1 is extern but not a triton kernel",
		"The first is a call of a library's kernel, into which nothing can be compiled; only a Triton kernel of the program " +
			"takes an epilogue.",
	},
	{
		"node1's triton kernel doesn't support epilogue fusion",
		"The first is a Triton kernel of the program whose stores cannot take an epilogue.",
	},
	{
		"node1 is extern but node2 is not SchedulerNode",
		"The first is a Triton kernel of the program, and an epilogue of it is one plain node; the second is a group or a call.",
	},
	{
		"node1 is extern but node2.node is not SchedulerNode",
		"The first is a Triton kernel of the program, and an epilogue of it has to compute a buffer; the second does not.",
	},
	{
		"node1 is extern but node2.node.data is not Pointwise",
		"The first is a Triton kernel of the program, and an epilogue of it has to be pointwise; the second reduces, " +
			"scatters or scans.",
	},
	{
		"epilogue is not a unary read of the output buffer",
		"An epilogue of the program's Triton kernel may read the kernel's result alone and write one buffer.",
	},
	{
		"epilogue's read and write indices differ",
		"An epilogue of the program's Triton kernel has to write each value where it read it.",
	},
	{
		"node1 and node2 uses different buf layouts",
		"The Triton kernel's result and the epilogue's differ in size, strides or device.",
	},
	// Foreach kernels.
	{
		"foreach do not have same length",
		"Two foreach kernels over lists of different lengths have no pairs to join.",
	},
	{
		"a consumer depends on another producer sub-node",
		"The parts of a foreach kernel run side by side, and a part of the second needs another part of the first than its own.",
	},
	{
		"candidate producer is a reduction, foreach ops cannot be fused with reductions currently",
		"A foreach kernel takes pointwise nodes, and the first reduces.",
	},
	{
		"candidate producer is not dep of any foreach consumer",
		"No part of the foreach kernel reads what the first writes.",
	},
	{
		"candidate consumer is a reduction, foreach ops cannot be fused with reductions currently",
		"A foreach kernel takes pointwise nodes, and the second reduces.",
	},
	{
		"candidate consumer has no dep in any foreach producer",
		"The second reads nothing that a part of the foreach kernel writes.",
	},
	// Templates: matrix products and convolutions that are generated.
	{
		"template epilogue not satisfied",
		"What follows a template can run inside of it only if it is pointwise, changes no argument in place, and " +
			"torch._inductor.config.epilogue_fusion is on.",
	},
	{
		"multi-output template epilogue requires ComputedBuffer",
		"The template has several results, and what follows does not compute a buffer.",
	},
	{
		"prologue fusion turned off",
		"What feeds a template is computed into memory: torch._inductor.config.prologue_fusion is off, or the template takes " +
			"none.",
	},
	{
		"prologue fusion only supported for pointwise nodes",
		"What feeds the template reduces, or is a template itself.",
	},
	{
		"template has no allowed prologue inputs",
		"None of the template's operands may be computed while it is read.",
	},
	{
		"prologue fusion not implemented for kernel for these inputs",
		"This operand of the template has to lie in memory; others might be computed while they are read.",
	},
	{
		"template prologue can only fuse functional pointwise nodes",
		"One of them writes in place or aliases an input.",
	},
	{
		"template prologue can only fuse nodes with a single use",
		"A value inside of what feeds the template is needed elsewhere, too.",
	},
	{
		"template prologue can only fuse nodes with a single use into template",
		"What feeds the template is needed elsewhere, too, and has to be written anyway.",
	},
	{
		"prologue fusion will not increase amount of bytes read in kernel",
		"What feeds the template reads more bytes than it writes: inside of the template they would be read again and again.",
	},
	{
		"prologue fusion will not increase attempt to fuse in padding bc it increases unaligned reads",
		"What feeds the template only pads; inside of it the template's reads would lose their alignment.",
	},
	{
		"prologue fusion that must be upcast to fp32 not profitable for low precision templates",
		"What feeds the template computes in float32, and the template multiplies in fewer bits.",
	},
	// Kernels that are timed: torch._inductor.config.benchmark_fusion.
	{
		"register spilling of the first kernel",
		"The first kernel alone already runs out of registers, so that no comparison was made.",
	},
	{
		"register spilling of the second kernel",
		"The second kernel alone already runs out of registers, so that no comparison was made.",
	},
	{
		"register spilling of the fused kernel",
		"One kernel for both runs out of registers and would keep values in memory.",
	},
	{
		"benchmark: fusing %s with %s cause %sx slowdown",
		"Both ways were timed, and one kernel was slower than two.",
	},
	{
		"memory-timeline fusion rejected: estimated peak delta %s bytes",
		"One kernel for both would raise the peak of memory by so many bytes." + tuneMemory,
	},
	// Reductions in two steps.
	{
		"nested reduction append planning failed",
		"The first is a reduction within a reduction, and no common loop was found for what follows.",
	},
	{
		"nested reduction append producer placement mismatch",
		"The first is a reduction within a reduction, and what follows would have to run at another place of its loops.",
	},
	{
		"sub-parent epilogue planning failed",
		"What follows reads parts of a reduction's loop, and no plan was found that computes it in the same kernel.",
	},
	{
		"consumer is not wholly in the sub-parent epilogue",
		"Only a part of what follows could run behind the reduction in the same kernel.",
	},
	{
		"staged fusion dependency proof failed",
		"It could not be proven that the reduction's results are there when what follows reads them.",
	},
	{
		"invalid sub-parent epilogue fusion",
		"What follows reads parts of a reduction's loop in a way that the kernel cannot have.",
	},
	{
		"staged reduction plan would be lost",
		"One is a reduction with what follows it in one kernel, which a further node would undo.",
	},
	// GPU loops: torch/_inductor/codegen/simd.py.
	{
		"Split scan cannot fuse with reductions",
		"A scan that is split over blocks cannot also reduce.",
	},
	{
		"numel/rnumel mismatch (reduce) (%s, %s), (%s, %s)",
		"Both reduce, and they have different numbers of results or of values for each result (results of both, then values of " +
			"both).",
	},
	{
		"numel/rnumel mismatch (non-reduce) (%s, %s), (%s, %s)",
		"Both are pointwise, over different numbers of elements (elements of both, then values of both).",
	},
	{
		"numel/rnumel mismatch prologue mismatch (%s, %s), (%s, %s)",
		"What feeds the template has a different number of elements from what is already computed while its operand is read.",
	},
	{
		"tiling mismatch (%s, %s, %s)",
		"On a GPU the two are cut in tiles of different shapes, and one kernel has one shape: " +
			"torch._inductor.config.triton.tiling_prevents_pointwise_fusion.",
	},
	{
		"nodes numel/rnumel incompatibility",
		"One is pointwise and one reduces, and the pointwise loops cannot be cut as the reduction's are.",
	},
	{
		"nodes numel incompatibility",
		"One is pointwise and one reduces, and they have different numbers of elements.",
	},
	{
		"invalid tiling for reduction",
		"On a GPU the pointwise node is cut in tiles that the reduction cannot have: " +
			"torch._inductor.config.triton.tiling_prevents_reduction_fusion.",
	},
	{
		"invalid loop order and tiling for native matmul",
		"A matrix product in Triton's own loops keeps their order, and the other node's differs.",
	},
	// CUTLASS: torch/_inductor/codegen/cutlass/scheduling.py.
	{
		"%s is not a ComputedBuffer",
		"An epilogue of a CUTLASS product has to compute a buffer.",
	},
	{
		"%s is not a Pointwise op",
		"An epilogue of a CUTLASS product has to be pointwise.",
	},
	{
		"%s does not have a computed buffer name",
		"An epilogue of a CUTLASS product needs a buffer with a name.",
	},
	{
		"%s's size: %s differs from %s's size: %s",
		"An epilogue of a CUTLASS product has to have the product's shape.",
	},
	{
		"%s has aliasing or mutation",
		"An epilogue of a CUTLASS product may not write in place or alias an input.",
	},
	{
		"%s is a reduction which is not yet supported by EVT",
		"An epilogue of a CUTLASS product may not reduce.",
	},
	{
		"cutlass epilogue fusion is not enabled",
		"torch._inductor.config.cutlass.cutlass_epilogue_fusion_enabled or torch._inductor.config.epilogue_fusion is off.",
	},
	{
		"epilogue fusion is only supported for TMA-enabled gemm ops",
		"This CUTLASS product does not use the GPU's tensor memory accelerator, which an epilogue needs.",
	},
	{
		"Cannot fuse epilogue node %s into %s, likely due to unsupported operation: %s",
		"CUTLASS has no form of this operator in an epilogue.",
	},
	{
		"Cannot fuse epilogue node %s into %s. Reason: %s",
		"CUTLASS cannot have this in an epilogue, often for a dtype.",
	},
	{
		"external read %s with size %s is a non-contiguous compatible reshape of template size %s, which CUTLASS EVT cannot " +
			"align to the accumulator shape",
		"The epilogue reads a tensor that is not contiguous in the product's shape; contiguous() before it removes that.",
	},
	// Older releases.
	{
		"node1 is extern or nop",
		"The first is a call of a library's kernel, or computes nothing; there is no loop to join.",
	},
	{
		"node1 is not TritonTemplateBuffer",
		"The first is no Triton template, so that it takes no epilogue.",
	},
	{
		"templates can only fuse epilogues",
		"The second is a template: only what follows it can run inside of it.",
	},
	// Our own engine, where it has other words.
	{
		"runs once",
		"One depends on parameters and constants alone and runs again only when they change, the other runs in every call.",
	},
}

// exact are the rows without anything put in, forms those with.
var exact, forms = func() (map[string]*reason, []*reason) {
	whole, rest := map[string]*reason{}, []*reason(nil)
	for i := range reasons {
		if r := &reasons[i]; strings.Contains(r.words, "%s") {
			rest = append(rest, r)
		} else {
			whole[r.words] = r
		}
	}
	return whole, rest
}()

// Means says in a sentence what PyTorch's words for a refusal mean, "" for words without a row.
func Means(words string) string {
	if r := rowOf(words); r != nil {
		return r.means
	}
	return ""
}

// Class is the words of a refusal without what was put in; those without a row stay as they are.
func Class(words string) string {
	if r := rowOf(words); r != nil {
		return strings.ReplaceAll(r.words, "%s", "…")
	}
	return words
}

func rowOf(words string) *reason {
	words = strings.TrimSpace(words)
	if r := exact[words]; r != nil {
		return r
	}
	for _, r := range forms {
		if fits(r.words, words) {
			return r
		}
	}
	return nil
}

// fits says whether words are a form with something in each of its gaps.
func fits(form, words string) bool {
	parts := strings.Split(form, "%s")
	words, ok := strings.CutPrefix(words, parts[0])
	if !ok {
		return false
	}
	for i, part := range parts[1:] {
		if i == len(parts)-2 && part == "" {
			return words != ""
		}
		at := strings.Index(words, part)
		if i == len(parts)-2 {
			at = len(words) - len(part)
			if !strings.HasSuffix(words, part) {
				return false
			}
		}
		if at <= 0 {
			return false
		}
		words = words[at+len(part):]
	}
	return words == ""
}
