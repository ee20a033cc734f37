package inductor

import (
	"fmt"
	"strings"

	"tcdbg/inductor/codegen/cpp"
	"tcdbg/inductor/ir"
	"tcdbg/inductor/sched"
	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file turns kernels into translation units, steps and the text that
// people read.

// kernelsPerShard is how many kernels are worth a compiler process of their own.
const kernelsPerShard = 8

// entryShare tells what the entry function, which is in shard 0, costs: a
// kernel for so many that it calls.
const entryShare = 12

// maxShards bounds the compiler processes of one graph.
const maxShards = 8

// code generates the kernels, distributes them over shards and orders the steps.
func (c *compiler) code() {
	c.packWeights()
	c.countTraffic()
	total := 0
	for _, k := range c.ks {
		if k != nil {
			total++
		}
	}
	n := min(max(c.opt.Cores, 1), (total+kernelsPerShard-1)/kernelsPerShard, maxShards)
	n = max(n, 1)
	preludes := make([]*cpp.Prelude, n)
	bodies := make([]strings.Builder, n)
	for i := range preludes {
		preludes[i] = cpp.NewPrelude()
	}
	c.codes = make([]*cpp.Code, len(c.ks))
	done := 0
	for i, k := range c.ks {
		if k == nil {
			continue
		}
		shard := min((done+total/(entryShare*n))*n/total, n-1)
		done++
		env := &cpp.Env{Target: c.opt.Target, Slot: func(b *ir.Buffer) int { return c.slot(b) }, Size: c.size, Streams: c.streams(i), Check: c.check}
		c.codes[i] = c.kernel(env, preludes[shard], k, &bodies[shard])
	}
	segments := c.steps()
	for i := range preludes {
		text := preludes[i].Text() + "\n" + bodies[i].String()
		if i == 0 {
			c.out.entry = cpp.Entry(c.out.Entry, segments)
			text += c.out.entry
		}
		c.out.heads = append(c.out.heads, preludes[i].Text())
		c.out.Libm = c.out.Libm || preludes[i].Libm()
		c.out.Shards = append(c.out.Shards, text)
	}
}

// kernel generates one kernel into a shard, or finds that an equal one is there.
func (c *compiler) kernel(env *cpp.Env, pre *cpp.Prelude, k *sched.Kernel, shard *strings.Builder) *cpp.Code {
	code := cpp.Kernel(env, pre, k)
	shape := code.Shape()
	if symbol, ok := c.shapes[shape]; ok {
		code.Symbol = symbol
		return code
	}
	c.shapes[shape] = code.Name
	shard.WriteString(code.Text + "\n")
	return code
}

func (c *compiler) slot(b *ir.Buffer) int {
	s, ok := c.slots[b]
	if !ok {
		panic("inductor: buffer " + b.Name + " has no memory")
	}
	return s
}

// packWeights gives each product whose right operand is a parameter a packed
// copy that the prologue makes.
func (c *compiler) packWeights() {
	for _, g := range c.groups {
		if !g.Template || g.Once {
			continue
		}
		n := templateNode(g)
		mm := n.MM
		if mm.Conv != nil {
			c.packFilter(n)
			continue
		}
		k, kok := mm.K.IsConst()
		cols, nok := n.Outer[len(n.Outer)-1].IsConst()
		if !c.fixed(mm.B) || !kok || !nok || usesBatch(mm.BIdx, len(n.Outer)-2) {
			continue
		}
		width := int64(2 * c.opt.Target.Lanes)
		size := (cols + width - 1) / width * width * k
		c.packedBuffer(mm, mm.B, size)
	}
}

// packFilter packs the weight of a convolution, its left operand, a panel of
// rows after another for each group.
func (c *compiler) packFilter(n *ir.Node) {
	mm := n.MM
	if !c.fixed(mm.A) {
		return
	}
	k, kok := mm.K.IsConst()
	rows, rok := n.Outer[len(n.Outer)-2].IsConst()
	groups, gok := convGroups(n).IsConst()
	if !kok || !rok || !gok {
		return
	}
	mm.Form = ir.ConvColumns
	if pixels, ok := n.Outer[len(n.Outer)-1].IsConst(); ok && groups == 1 {
		mm.Form = cpp.ChooseConv(c.opt.Target.Lanes, rows, k, pixels, mm.Conv)
	}
	c.packedBuffer(mm, mm.A, cpp.PackedConv(mm.Form, c.opt.Target.Lanes, groups, rows, k))
}

// fixed reports whether a buffer changes only with parameters.
func (c *compiler) fixed(b *ir.Buffer) bool { return b.Param || c.once(b) }

// convGroups is the size of the group loop, which follows that of the images.
func convGroups(n *ir.Node) sym.Int {
	if len(n.Outer) == 4 {
		return n.Outer[1]
	}
	return sym.Const(1)
}

// packedBuffer gives the packed copy of operand b its place.
func (c *compiler) packedBuffer(mm *ir.MatmulInfo, b *ir.Buffer, size int64) {
	mm.PackB = true
	mm.PackedBuffer = &ir.Buffer{Name: "packed_" + b.Name, DType: ops.Float32, Shape: sym.Consts([]int{int(size)}), Stride: sym.Consts([]int{1})}
	c.slots[mm.PackedBuffer] = len(c.out.Buffers)
	c.out.Buffers = append(c.out.Buffers, Buffer{
		Name: mm.PackedBuffer.Name, DType: ops.Float32, Shape: mm.PackedBuffer.Shape,
		Stride: mm.PackedBuffer.Stride, Span: sym.Const(size), Offset: -1, Role: RolePacked,
	})
}

func usesBatch(x ir.Index, nb int) bool {
	for k := range nb {
		if x.Uses(k) {
			return true
		}
	}
	return false
}

func templateNode(g *sched.Group) *ir.Node {
	for _, it := range g.Items {
		if it.Node.Kind == ir.Matmul {
			return it.Node
		}
	}
	return nil
}

// steps orders segments and extern calls; the prologue's segment comes last.
func (c *compiler) steps() []cpp.Segment {
	var segs []cpp.Segment
	for i, g := range c.groups {
		if g.Once {
			continue
		}
		if g.Extern {
			c.out.Steps = append(c.out.Steps, Step{Segment: -1, Extern: c.extern(g.Items[0].Node, c.names[i]), Names: c.names[i : i+1]})
			continue
		}
		last := len(c.out.Steps) - 1
		if last < 0 || c.out.Steps[last].Segment < 0 {
			c.out.Steps = append(c.out.Steps, Step{Segment: len(segs)})
			segs = append(segs, cpp.Segment{})
			last++
		}
		st := &c.out.Steps[last]
		st.Kernels = append(st.Kernels, c.ks[i])
		st.Names = append(st.Names, c.names[i])
		s := &segs[len(segs)-1]
		s.Kernels = append(s.Kernels, c.codes[i])
	}
	if pack := c.prologue(); len(pack.Kernels) > 0 {
		c.out.Prologue = []Step{{Segment: len(segs), Kernels: c.onceKernels(), Names: codeNames(pack.Kernels)}}
		segs = append(segs, pack)
	}
	return segs
}

func codeNames(codes []*cpp.Code) []string {
	var out []string
	for _, c := range codes {
		out = append(out, c.Name)
	}
	return out
}

// onceKernels are the kernels that run in the prologue.
func (c *compiler) onceKernels() []*sched.Kernel {
	var out []*sched.Kernel
	for i, g := range c.groups {
		if g.Once {
			out = append(out, c.ks[i])
		}
	}
	return out
}

// prologue computes what depends on parameters alone, then packs the weights.
func (c *compiler) prologue() cpp.Segment {
	var s cpp.Segment
	for i, g := range c.groups {
		if !g.Once {
			continue
		}
		s.Kernels = append(s.Kernels, c.codes[i])
		for _, it := range g.Items {
			it.Node.Reads(func(b *ir.Buffer, _ *ir.Index) { c.prologueInput(b) })
		}
	}
	c.packs(&s)
	return s
}

// packs adds the statements that pack weights.
func (c *compiler) packs(s *cpp.Segment) {
	for i, g := range c.groups {
		if !g.Template || g.Once {
			continue
		}
		n := templateNode(g)
		mm := n.MM
		if !mm.PackB {
			continue
		}
		if mm.Conv != nil {
			c.prologueInput(mm.A)
			s.Kernels = append(s.Kernels, c.packConv(n, c.names[i]))
			continue
		}
		c.prologueInput(mm.B)
		nb := len(n.Outer) - 2
		s.Kernels = append(s.Kernels, c.packRight(mm.B, mm.PackedBuffer, n.Outer[nb+1], mm.K, mm.BIdx.Coef[nb+2], mm.BIdx.Coef[nb+1], mm.BIdx.Off, c.names[i]))
	}
}

// packRight is the prologue's call that packs a right operand of cols columns: row
// and col are its strides along k and from column to column.
func (c *compiler) packRight(b, packed *ir.Buffer, cols, k, row, col, off sym.Int, kernel string) *cpp.Code {
	return &cpp.Code{Name: "pack_" + b.Name, Pack: true, Text: fmt.Sprintf(
		"{ const tc_gemm_args g = {0, %s, %s, 0, {0}, {0}, {0}, 0, 0, %s, %s, 0, (const float *)B[%d] + %s, 0, 0}; R->pack(&g, (float *)B[%d], \"pack_%s\"); }  // for %s",
		c.sizeText(cols), c.sizeText(k), c.sizeText(row), c.sizeText(col), c.slot(b), c.sizeText(off), c.slot(packed), b.Name, kernel)}
}

// packConv is the prologue's call that packs the weight of a convolution.
func (c *compiler) packConv(n *ir.Node, kernel string) *cpp.Code {
	mm := n.MM
	nb := len(n.Outer) - 2
	if mm.Form == ir.ConvPixels { // the weight is the right operand, turned
		return c.packRight(mm.A, mm.PackedBuffer, n.Outer[nb], mm.K, mm.AIdx.Coef[nb+2], mm.AIdx.Coef[nb], mm.AIdx.Off, kernel)
	}
	groupStride := "0"
	if nb == 2 {
		groupStride = c.sizeText(mm.AIdx.Coef[1])
	}
	return &cpp.Code{Name: "pack_" + mm.A.Name, Pack: true, Text: fmt.Sprintf(
		"{ const tc_gemm_args g = {%s, 0, %s, 2, {1, %s}, {0, %s}, {0}, %s, %s, 0, 0, (const float *)B[%d] + %s, 0, 0, 0, %d}; R->pack(&g, (float *)B[%d], \"pack_%s\"); }  // for %s",
		c.sizeText(n.Outer[nb]), c.sizeText(mm.K), c.sizeText(convGroups(n)), groupStride,
		c.sizeText(mm.AIdx.Coef[nb]), c.sizeText(mm.AIdx.Coef[nb+2]), c.slot(mm.A), c.sizeText(mm.AIdx.Off),
		mm.Form, c.slot(mm.PackedBuffer), mm.A.Name, kernel)}
}

func (c *compiler) sizeText(x sym.Int) string {
	if v, ok := x.IsConst(); ok {
		return fmt.Sprint(v)
	}
	return fmt.Sprintf("S[%d]", c.size(x))
}

func (c *compiler) extern(n *ir.Node, name string) *Extern {
	x := &Extern{Op: n.Ext.Op, Name: name, Reason: string(n.Ext.Reason)}
	for _, a := range n.Ext.Args {
		x.Args = append(x.Args, c.externArg(a))
	}
	for _, b := range n.Ext.Outs {
		x.Outs = append(x.Outs, c.slot(b))
	}
	return x
}

func (c *compiler) externArg(a ops.Arg) ops.Arg {
	switch a := a.(type) {
	case ir.BufArg:
		return BufferView{Buffer: c.slot(a.Buf), Shape: a.Shape, Stride: a.Stride, Offset: a.Off}
	case []ops.Arg:
		out := make([]ops.Arg, len(a))
		for i, x := range a {
			out[i] = c.externArg(x)
		}
		return out
	}
	return a
}

// finish fills in outputs, the text for people and the provenance, and logs.
func (c *compiler) finish() {
	for _, o := range c.ir.Outputs {
		out := Output{Buffer: -1, Shape: o.Shape, Stride: o.Stride, Offset: o.Off, Value: o.Value}
		if o.Buf != nil {
			out.Buffer = c.slot(o.Buf)
		}
		c.out.Outputs = append(c.out.Outputs, out)
	}
	c.wrapper()
	c.logged(c.out.Plan)
	c.logged(c.out.Provenance)
	if c.opt.Log != nil {
		c.opt.Log.Emit(logs.Out{
			Kind: "inductor_output_code", ID: c.opt.ID, Payload: []byte(c.out.Wrapper),
			Meta: map[string]string{"filename": c.out.Entry + ".c"},
		})
		c.logged(c.tritonCode())
	}
}

// wrapper writes the output code: the order of steps, then every kernel, with
// the provenance of its lines.
func (c *compiler) wrapper() {
	var sb strings.Builder
	line := 1
	add := func(s string) {
		sb.WriteString(s)
		line += strings.Count(s, "\n")
	}
	add(c.callText())
	c.out.Provenance.Graph = c.out.Name
	for i, k := range c.ks {
		entry := logs.Kernel{Name: c.names[i], Graph: c.out.Name, Once: c.groups[i].Once}
		if k == nil {
			n := c.groups[i].Items[0].Node
			entry.Extern, entry.Reason = true, string(n.Ext.Reason)
			entry.Ops = opNames(n.Origins)
			c.out.Provenance.Kernels = append(c.out.Provenance.Kernels, entry)
			continue
		}
		entry.Ops, entry.Bytes, entry.FLOPs = opNames(k.Origins()), k.Traffic(), k.FLOPs()
		entry.From = line + 1
		for _, l := range c.codes[i].Lines {
			entry.Lines = addLine(entry.Lines, line+1+l.Line, l.Origin)
		}
		add("\n" + c.codes[i].Text)
		entry.To = line - 1
		c.out.Provenance.Kernels = append(c.out.Provenance.Kernels, entry)
	}
	c.out.Wrapper = sb.String()
}

func opNames(os []ir.Origin) []string {
	var out []string
	for _, o := range os {
		out = append(out, o.Op)
	}
	return out
}

func addLine(ls []logs.KernelLine, line int, o ir.Origin) []logs.KernelLine {
	pos := logs.Pos{}
	if len(o.Stack) > 0 {
		f := o.Stack[len(o.Stack)-1]
		pos = logs.Pos{File: f.File, Line: f.Line, Col: f.Col, Func: f.Func, Code: f.Code}
	}
	if n := len(ls); n > 0 && ls[n-1].Line == line {
		ls[n-1].Nodes = append(ls[n-1].Nodes, o.Node)
		ls[n-1].Pos = append(ls[n-1].Pos, pos)
		return ls
	}
	return append(ls, logs.KernelLine{Line: line, Nodes: []string{o.Node}, Pos: []logs.Pos{pos}})
}

// callText lists what a run does, step by step.
func (c *compiler) callText() string {
	var sb strings.Builder
	fmt.Fprintf(&sb, "// %s: %d kernels, %d extern calls, arena %d bytes\n", c.out.Name, c.count(false), c.count(true), c.out.Arena)
	for i, s := range c.out.Sizes {
		fmt.Fprintf(&sb, "// S[%d] = %s\n", i, s)
	}
	for i, b := range c.out.Buffers {
		place := [...]string{"input", "arena", "output", "packed", "in place of ", "check"}[b.Role]
		if b.Role == RoleOver {
			place += c.ir.Inputs[b.Over].Name
		}
		if b.Role == RoleArena {
			place = fmt.Sprintf("arena+%d", b.Offset)
		}
		fmt.Fprintf(&sb, "// B[%d] = %s: %s%s stride %s, %s\n", i, b.Name, b.DType.Short(), ops.ShapeText(b.Shape), ops.ShapeText(b.Stride), place)
	}
	for _, k := range c.onceKernels() {
		fmt.Fprintf(&sb, "// once %s\n", k.Name)
	}
	for _, st := range c.out.Steps {
		if st.Extern != nil {
			fmt.Fprintf(&sb, "// call %s  (%s)\n", st.Extern.Name, st.Extern.Reason)
			continue
		}
		for _, k := range st.Kernels {
			fmt.Fprintf(&sb, "// run  %s\n", k.Name)
		}
	}
	return sb.String()
}

func (c *compiler) count(extern bool) int {
	n := 0
	for _, k := range c.ks {
		if (k == nil) == extern {
			n++
		}
	}
	return n
}
