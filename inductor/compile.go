package inductor

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tcdbg/graph"
	"tcdbg/graph/pass"
	"tcdbg/inductor/codegen"
	"tcdbg/inductor/codegen/cpp"
	"tcdbg/inductor/codegen/triton"
	"tcdbg/inductor/ir"
	"tcdbg/inductor/layout"
	"tcdbg/inductor/lower"
	"tcdbg/inductor/plan"
	"tcdbg/inductor/sched"
	"tcdbg/inductor/tune"
	"tcdbg/logs"
)

// Options steer a compilation.
type Options struct {
	Machine cpp.Machine
	Cores   int    // shards that can be compiled at once
	Params  []bool // placeholders that change rarely: a module's parameters
	// Training tells that parameters which want gradients change after every call.
	Training bool
	// Replaces maps outputs to the placeholders, by position, whose content they
	// replace and nobody else wants: they may be written in place.
	Replaces map[int]int
	ID       logs.CompileID
	Log      logs.Sink // may be nil
	// Decisions ends the search for fusions after so many; 0: no limit, -1: nothing
	// is fused.
	Decisions int
	// NoEpilogueFusion keeps what reads a template's result out of its kernel, NoLayout images
	// as they come; MaxFusion bounds the nodes of a kernel, 0: the default.
	NoEpilogueFusion, NoLayout bool
	MaxFusion                  int
	// NoPatterns leaves normalisations unfolded; NoReuse gives each buffer of the arena a place of its own; AllBlocked has
	// every region that can lie in blocks of channels, where nothing else was chosen.
	NoPatterns, NoReuse, AllBlocked bool
	// Tuned is what was chosen by timing.
	Tuned tune.Choices
	// Faults, for tests of what looks for them, are put into the program.
	Faults *Faults
}

// Faults change a program between its passes. Nil functions change nothing.
type Faults struct {
	Loops func(*ir.Program)     // after lowering
	Fused func([]*sched.Group)  // after fusion, where anything may be fused
	Code  func(c string) string // of a shard
}

// targets are the languages that programs are written in. The first is compiled and
// run and decides what is packed; the others are for people, where somebody listens.
var targets = []target{
	{
		"c", ".c", "C on vector types, for the machine's compiler",
		func(o *Options) codegen.Target {
			return &cpp.Target{Machine: o.Machine, Cores: o.Cores, Forms: o.Tuned.Forms}
		},
	},
	{"triton", ".py", "a Python module of Triton kernels, for a GPU", func(*Options) codegen.Target { return triton.Target{} }},
}

// target is a row: ext is what names of its files end in.
type target struct {
	name, ext, doc string
	make           func(o *Options) codegen.Target
}

// Compile turns a graph of core operators into a program.
func Compile(g *graph.Graph, opt Options) (*Program, error) {
	c, err := compile(g, opt)
	if err != nil {
		return nil, err
	}
	return c.out, nil
}

// compile is Compile with its insides, which Replay wants.
func compile(g *graph.Graph, opt Options) (*compiler, error) {
	c := &compiler{given: g, graph: g, opt: opt, target: targets[0].make(&opt), out: &Program{}, compile: Compile}
	if err := pass.Run(&pass.Runner{Stage: "inductor", ID: opt.ID, Log: opt.Log}, passes, c); err != nil {
		return nil, err
	}
	return c, nil
}

// compiler holds one compilation; the fields below target are what the passes leave.
type compiler struct {
	given  *graph.Graph // which stays as it is
	graph  *graph.Graph
	opt    Options
	target codegen.Target
	// compile compiles the graphs of control flow.
	compile func(g *graph.Graph, opt Options) (*Program, error)
	ir      *ir.Program
	// regions are those that were weighed for a layout of their own.
	regions []*layout.Region
	groups  []*sched.Group
	plan    *plan.Plan
	module  *codegen.Module
	others  []logs.Out // the program in other languages
	out     *Program
}

// passes is the table from a graph of core operators to a program.
var passes = pass.NewTable("inductor",
	pass.Pass[*compiler]{
		Name: "widen", Doc: "compute convolutions of half precision in float32, and round what they give",
		Run: (*compiler).widen, Print: (*compiler).text, Record: true,
		Check: func(c *compiler) error { return c.graph.Check() },
	},
	pass.Pass[*compiler]{
		Name: "fold_norm", Doc: "fold what scales channels after a convolution into its weight and bias",
		Needs: []pass.Need{{Pass: "widen", Why: "weights are folded in float32"}},
		Run:   (*compiler).foldNorm, Print: (*compiler).text, Record: true,
		Check: func(c *compiler) error { return c.graph.Check() },
	},
	pass.Pass[*compiler]{
		Name: "lower", Doc: "turn operators into loops, and mark those that the prologue can run",
		Needs: []pass.Need{{Pass: "fold_norm", Why: "weights are still values of the graph there"}},
		Run:   (*compiler).lower, Print: (*compiler).text, Record: true,
		Check: func(c *compiler) error { return errors.Join(c.ir.Check(), c.ir.CheckAddresses()) },
	},
	pass.Pass[*compiler]{
		Name: "concat", Doc: "let a concatenation lie in the memory of a longer one that begins with the same pieces",
		Needs: []pass.Need{{Pass: "lower", Why: "copies of pieces are loops, whose addresses are rewritten"}},
		Run:   (*compiler).concat, Print: (*compiler).text, Record: true,
		Check: func(c *compiler) error { return errors.Join(c.ir.Check(), c.ir.CheckAddresses()) },
	},
	pass.Pass[*compiler]{
		Name: "repeats", Doc: "let products of heads that share keys and values read those where they lie, without a copy for each head",
		Needs: []pass.Need{{Pass: "lower", Why: "copies are loops, whose addresses are rewritten"}},
		Run:   (*compiler).repeats, Print: (*compiler).text, Record: true,
		Check: func(c *compiler) error { return errors.Join(c.ir.Check(), c.ir.CheckAddresses()) },
	},
	pass.Pass[*compiler]{
		Name: "layout", Doc: "choose regions in which channels of images lie side by side",
		Needs: []pass.Need{
			{Pass: "lower", Why: "addresses of loops are what is rewritten"},
			{Pass: "concat", Why: "pieces are found by their addresses in plain images"},
			{Pass: "repeats", Why: "what a product reads is in a layout then"},
		},
		Run: (*compiler).layout, Print: (*compiler).text, Notes: true, Record: true,
		Check: func(c *compiler) error { return errors.Join(c.ir.Check(), c.ir.CheckAddresses()) },
	},
	pass.Pass[*compiler]{
		Name: "halves", Doc: "let convolutions that multiply numbers of bfloat16 read images of them, without a copy in float32",
		Needs: []pass.Need{{Pass: "layout", Why: "tiles and the dot product read channels that lie side by side"}},
		Run:   (*compiler).halves, Print: (*compiler).text, Record: true,
		Check: func(c *compiler) error { return errors.Join(c.ir.Check(), c.ir.CheckAddresses()) },
	},
	pass.Pass[*compiler]{
		Name: "fuse", Doc: "decide which loops run together, and in which order",
		Needs: []pass.Need{
			{Pass: "lower", Why: "loops are what is fused"},
			{Pass: "layout", Why: "loops that walk an image alike can be fused"},
			{Pass: "halves", Why: "a copy that is fused cannot go"},
		},
		Run: (*compiler).fuse, Print: (*compiler).text, Record: true,
		Check: func(c *compiler) error { return sched.CheckOrder(c.groups) },
	},
	step("kernels", "give each group its loops and phases", (*plan.Plan).MakeKernels, (*plan.Plan).CheckKernels,
		pass.Need{Pass: "fuse", Why: "a kernel is a group that nothing more can join"}),
	pass.Pass[*compiler]{
		Name: "buffers", Doc: "list what needs memory, and what can be written in place",
		Needs: []pass.Need{{Pass: "kernels", Why: "what a kernel keeps in registers or rows needs no memory"}},
		Run: func(c *compiler) (int, error) {
			c.plan.PlaceBuffers(c.graph)
			return 1, nil
		},
		Check: func(c *compiler) error { return c.plan.CheckBuffers() },
	},
	pass.Pass[*compiler]{
		Name: "attention", Doc: "let the kernels of an attention run together, a band of rows at a time",
		Needs: []pass.Need{{Pass: "buffers", Why: "what is written in place cannot be read by later rows"}},
		Run:   (*compiler).attention,
		Check: func(c *compiler) error { return c.plan.CheckAttention() },
	},
	step("arena", "place what lives between kernels in one arena", (*plan.Plan).PlanArena, (*plan.Plan).CheckArena,
		pass.Need{Pass: "buffers", Why: "only buffers with the arena's role are placed"},
		pass.Need{Pass: "attention", Why: "what kernels that run together use lives until the last of them ends"}),
	pass.Pass[*compiler]{
		Name: "pack", Doc: "let the target choose which weights the prologue packs",
		Needs: []pass.Need{{Pass: "buffers", Why: "the copies come after all other buffers"}},
		Run: func(c *compiler) (int, error) {
			c.plan.Pack(c.target)
			return len(c.plan.Packs), nil
		},
		Check: func(c *compiler) error { return c.plan.CheckPacks() },
	},
	step("traffic", "count the bytes between the uses of a buffer", (*plan.Plan).CountTraffic, (*plan.Plan).CheckTraffic,
		pass.Need{Pass: "kernels", Why: "a kernel knows what it moves"},
		pass.Need{Pass: "attention", Why: "what passes between kernels that run together does not move"}),
	step("steps", "order segments, extern calls and the prologue, and find the results",
		(*plan.Plan).OrderSteps, (*plan.Plan).CheckSteps,
		pass.Need{Pass: "buffers", Why: "extern calls and results name buffers by position"},
		pass.Need{Pass: "pack", Why: "the prologue packs"}),
	pass.Pass[*compiler]{
		Name: "bodies", Doc: "compile the graphs of control flow, each to a program of its own",
		Needs: []pass.Need{{Pass: "steps", Why: "a step runs them"}},
		Run:   (*compiler).bodies, Check: (*compiler).checkBodies,
	},
	pass.Pass[*compiler]{
		Name: "generate", Doc: "write the program in the language that is compiled",
		Needs: []pass.Need{
			{Pass: "arena", Why: "the listing shows where buffers are"},
			{Pass: "traffic", Why: "it says which stores bypass the caches"},
			{Pass: "steps", Why: "the entry runs them"},
		},
		Run: (*compiler).generate, Check: (*compiler).checkModule,
	},
	pass.Pass[*compiler]{
		Name: "show", Doc: "record plan and code, and what was written beside it in the other languages",
		Needs: []pass.Need{{Pass: "generate", Why: "the records tell where kernels are in the code"}},
		When:  func(c *compiler) bool { return c.opt.Log != nil },
		Run:   (*compiler).show,
	},
)

// step is a row that fills in the plan.
func step(name, doc string, run func(*plan.Plan), check func(*plan.Plan) error, needs ...pass.Need) pass.Pass[*compiler] {
	return pass.Pass[*compiler]{
		Name: name, Doc: doc, Needs: needs,
		Run: func(c *compiler) (int, error) {
			run(c.plan)
			return 1, nil
		},
		Check: func(c *compiler) error { return check(c.plan) },
	}
}

// text is the compilation as it is now: groups, loops, or the graph.
func (c *compiler) text() string {
	switch {
	case c.plan != nil:
		return groupsText(c.groups)
	case c.ir != nil:
		return c.weighed() + c.out.IR
	}
	return c.graph.Code()
}

// foldNorm works on a copy: the graph itself runs as its operators where a call needs that.
func (c *compiler) foldNorm() (int, error) {
	if c.opt.NoPatterns {
		return 0, nil
	}
	g := lower.Decomposed(c.graph)
	leave := func(n *graph.Node) bool { return c.opt.Machine.BFloat != cpp.BFloatWidened && keepsBFloat16(n) }
	if len(foldable(g, c.opt.Params, leave)) == 0 {
		return 0, nil
	}
	c.ownGraph(g)
	return foldNorms(c.graph, c.opt.Params, leave), nil
}

func (c *compiler) lower() (int, error) {
	p, err := lower.Lower(c.graph, lower.Options{Params: c.opt.Params, Training: c.opt.Training, Externs: c.opt.Tuned.Externs})
	if err != nil {
		return 0, err
	}
	markHoisted(p)
	if err := p.Check(); err != nil {
		return 0, fmt.Errorf("inductor: lowering of %s: %w", c.graph.Name, err)
	}
	if f := c.opt.Faults; f != nil && f.Loops != nil {
		f.Loops(p)
	}
	c.ir, c.out.IR = p, p.String()
	return 1, nil
}

// concat gives concatenations that begin alike one memory.
func (c *compiler) concat() (int, error) {
	n := layout.Concat(c.ir)
	if n > 0 {
		c.out.IR = c.ir.String()
	}
	return n, nil
}

// repeats drops copies that repeat right operands of products.
func (c *compiler) repeats() (int, error) {
	n := layout.Repeats(c.ir)
	if n > 0 {
		c.out.IR = c.ir.String()
	}
	return n, nil
}

// halves drops copies of images in float32.
func (c *compiler) halves() (int, error) {
	if c.opt.Machine.BFloat == cpp.BFloatWidened {
		return 0, nil
	}
	hoisted := c.ir.Hoisted()
	fixed := func(b *ir.Buffer) bool { return b.Param || hoisted[b] } // as the plan has it
	n := layout.Halves(c.ir, func(n *ir.Node) bool { return !n.Hoisted && c.opt.Machine.PacksTiles(n, fixed) })
	if n > 0 {
		c.out.IR = c.ir.String()
	}
	return n, nil
}

// layout rewrites the regions that are worth it, and keeps what was weighed.
func (c *compiler) layout() (int, error) {
	n := 0
	if c.opt.NoLayout || c.images() == tune.LayoutPlanes {
		return 0, nil
	}
	c.regions = layout.Blocks(c.ir, layout.Options{Lanes: c.opt.Machine.Lanes, All: c.images() == tune.LayoutBlocks})
	for _, r := range c.regions {
		if r.Chosen {
			n++
		}
	}
	if n > 0 {
		c.out.IR = c.ir.String()
	}
	return n, nil
}

// weighed says what became of each region, a line each.
func (c *compiler) weighed() string {
	var sb strings.Builder
	for _, r := range c.regions {
		fmt.Fprintf(&sb, "// %s: %s\n", r.Buffers[0].Name, r.Why())
	}
	return sb.String()
}

func (c *compiler) fuse() (int, error) {
	c.logSchedule()
	c.groups = sched.Schedule(c.ir, sched.Options{
		Record: c.fusion, Decisions: c.opt.Decisions, Replaces: c.opt.Replaces,
		MaxFusion: c.maxFusion(), NoEpilogue: c.unfused(),
	})
	if err := sched.CheckOrder(c.groups); err != nil {
		return 0, fmt.Errorf("inductor: %s: %w", c.graph.Name, err)
	}
	if f := c.opt.Faults; f != nil && f.Fused != nil && c.opt.Decisions >= 0 {
		f.Fused(c.groups)
	}
	c.plan = plan.New(c.ir, c.opt.Replaces)
	c.plan.Groups, c.plan.NoReuse = c.groups, c.opt.NoReuse
	return 1, nil
}

// images, maxFusion and unfused are the options with what was chosen.
func (c *compiler) images() string {
	if c.opt.Tuned.Layout == "" && c.opt.AllBlocked {
		return tune.LayoutBlocks
	}
	return c.opt.Tuned.Layout
}

func (c *compiler) maxFusion() int { return cmp.Or(c.opt.Tuned.MaxFusion, c.opt.MaxFusion) }
func (c *compiler) unfused() bool  { return c.opt.NoEpilogueFusion || c.opt.Tuned.Unfused }

// fusion keeps and logs one decision of the scheduler.
func (c *compiler) fusion(s logs.FusionStep) {
	c.out.Fusions = append(c.out.Fusions, s)
	if c.opt.Log != nil {
		c.opt.Log.Emit(logs.Artifact(c.opt.ID, s))
	}
}

// attention finds kernels that run together, and logs which refusals to fuse that makes up for.
func (c *compiler) attention() (int, error) {
	c.plan.FindAttention()
	if c.opt.Log == nil || len(c.plan.Attentions) == 0 {
		return len(c.plan.Attentions), nil
	}
	of := map[string]*plan.Attention{} // by the node
	for i, g := range c.plan.Groups {
		for _, it := range g.Members() {
			of[it.Node.Name] = c.plan.AttentionAt(i)
		}
	}
	var steps []int
	for i, s := range c.out.Fusions {
		a, _, _ := strings.Cut(s.A, "_") // a group's name begins with that of a node
		b, _, _ := strings.Cut(s.B, "_")
		if !s.Fused && of[a] != nil && of[a] == of[b] {
			steps = append(steps, i)
		}
	}
	c.logged(logs.Together{Steps: steps})
	return len(c.plan.Attentions), nil
}

// groupsText prints a schedule: each group with its nodes.
func groupsText(groups []*sched.Group) string {
	b := make([]byte, 0, 512*len(groups))
	for _, g := range groups {
		b = g.Append(b)
	}
	return string(b)
}

func (c *compiler) generate() (int, error) {
	others := c.elsewhere()
	c.module = codegen.Assemble(c.target, c.plan)
	c.others = others()
	if err := c.module.Missing; err != nil {
		return 0, fmt.Errorf("inductor: %s: %w", c.graph.Name, err)
	}
	b, out := c.module.Build, c.out
	out.Layout = c.plan.Layout
	out.Shards, out.Cold, out.Entry, out.Libm, out.Lanes, out.Sizes = b.Shards, b.Cold, b.Entry, b.Libm, b.Lanes, b.Sizes
	out.heads, out.entry = b.Heads, b.Start
	out.Wrapper = c.module.Text
	if f := c.opt.Faults; f != nil && f.Code != nil {
		for i, text := range out.Shards {
			out.Shards[i] = f.Code(text)
		}
	}
	c.provenance()
	out.Products = cpp.Products(c.opt.Machine, c.plan)
	out.Unblocked = slices.ContainsFunc(c.regions, func(r *layout.Region) bool { return !r.Chosen })
	out.Reorders = lower.Reorders(c.graph)
	out.Blocked = slices.ContainsFunc(c.regions, func(r *layout.Region) bool { return r.Chosen })
	return len(c.plan.Kernels), nil
}

// checkModule wants each kernel's code in the lines of the module that the records name.
func (c *compiler) checkModule() error {
	lines := strings.Count(c.module.Text, "\n") + 1
	for i, k := range c.plan.Kernels {
		if part := &c.module.Parts[i]; k != nil && (part.Code == "" || part.From < 1 || part.To < part.From || part.To > lines) {
			return fmt.Errorf("inductor: %s is in lines %d to %d of a module of %d", k.Name, part.From, part.To, lines)
		}
	}
	return nil
}

// provenance says where each kernel is in the output code and what it was made of.
func (c *compiler) provenance() {
	p := c.plan
	c.out.Provenance.Graph = p.Name
	for i, k := range p.Kernels {
		entry := logs.Kernel{Name: p.Names[i], Graph: p.Name, Hoisted: p.Groups[i].Hoisted}
		if k == nil {
			n := p.Groups[i].Items[0].Node
			entry.Extern, entry.Reason = true, string(n.Ext.Reason)
			entry.Ops = opNames(n.Origins)
			c.out.Computes = append(c.out.Computes, nodeNames(n.Origins))
			if n.Ext.Flow != nil {
				c.placeFlow(&entry, n)
			}
		} else {
			part := &c.module.Parts[i]
			entry.Ops, entry.Bytes, entry.FLOPs = opNames(k.Origins()), k.Traffic(), p.FLOPs(i)
			entry.From, entry.To, entry.Lines = part.From, part.To, part.Lines
			c.out.Computes = append(c.out.Computes, nodeNames(k.Origins()))
		}
		c.out.Provenance.Kernels = append(c.out.Provenance.Kernels, entry)
	}
}

func nodeNames(os []ir.Origin) []string {
	out := make([]string, len(os))
	for i, o := range os {
		out[i] = o.Node
	}
	return out
}

func opNames(os []ir.Origin) []string {
	var out []string
	for _, o := range os {
		out = append(out, o.Op)
	}
	return out
}

// show records what was planned and written.
func (c *compiler) show() (int, error) {
	c.logged(c.out.Memory)
	c.logged(c.out.Provenance)
	c.opt.Log.Emit(logs.Out{
		Kind: "inductor_output_code", ID: c.opt.ID, Payload: []byte(c.out.Wrapper),
		Meta: map[string]string{"filename": "tc_entry_" + graph.Word(c.plan.Name) + targets[0].ext},
	})
	for _, o := range c.others {
		c.opt.Log.Emit(o)
	}
	return len(targets), nil
}

// elsewhere begins to write the program in the other languages, where somebody listens, and returns what waits for
// the records of it: the texts take long, and writers change nothing of what they read.
func (c *compiler) elsewhere() (records func() []logs.Out) {
	if c.opt.Log == nil {
		return func() []logs.Out { return nil }
	}
	var out []logs.Out
	var failed any
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { failed = recover() }()
		for _, t := range targets[1:] {
			out = append(out, logs.Artifact(c.opt.ID, c.shown(&t)))
		}
	}()
	return func() []logs.Out {
		<-done
		if failed != nil {
			panic(failed)
		}
		return out
	}
}

// shown is the record of the program in another language.
func (c *compiler) shown(t *target) *logs.TargetCode {
	m := codegen.Assemble(t.make(&c.opt), c.plan)
	code := &logs.TargetCode{Graph: c.plan.Name, Language: t.name, Ext: t.ext, Text: m.Text}
	if m.Missing != nil {
		code.Missing = m.Missing.Error()
	}
	for i, k := range c.plan.Kernels {
		if k == nil {
			continue
		}
		part := &m.Parts[i]
		entry := logs.TargetKernel{Name: k.Name, From: part.From, To: part.To, Lines: part.Lines}
		if part.Missing != nil {
			entry.Missing = part.Missing.Error()
		}
		code.Kernels = append(code.Kernels, entry)
	}
	return code
}

// logged emits an artifact when somebody listens.
func (c *compiler) logged(a logs.Versioned) {
	if c.opt.Log != nil {
		c.opt.Log.Emit(logs.Artifact(c.opt.ID, a))
	}
}
