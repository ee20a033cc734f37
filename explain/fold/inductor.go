package fold

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/logs/fx"
)

// This file folds what AOTAutograd and Inductor write: graphs of each stage,
// output code, provenance and caches.

// stageNames are the short names of stages; others keep their own.
var stageNames = map[string]string{
	"dynamo_output_graph": "dynamo", "before_pre_grad_graph": "pre-grad before", "after_pre_grad_graph": "pre-grad",
	"aot_joint_graph": "joint", "aot_forward_graph": "forward", "aot_backward_graph": "backward",
	"aot_inference_graph": "inference", "before_joint_graph": "joint passes before", "after_joint_graph": "joint passes",
	"before_post_grad_graph": "post-grad before", "inductor_post_grad_graph": "post-grad",
	"compiled_autograd_graph": "compiled autograd", "optimize_ddp_split_graph": "ddp split", "optimize_ddp_split_child": "ddp part",
	"fx_graph_runnable": "runnable", "exported_program": "exported program", "torch._functorch.config": "functorch config",
	"aot_forward_graph_fw_metadata": "forward metadata", "aot_autograd_runtime_wrappers": "runtime wrappers",
	"runtime_wrapper_orchestration": "runtime wrappers",
}

// stage remembers where a text is; it is read when somebody looks.
func stage(f *Fold, r *logs.Record) {
	name := r.Content()
	if s, ok := stageNames[name]; ok {
		name = s
	} else if strings.HasSuffix(name, "_ORIGINAL_BYTECODE") { // resume functions: their name comes before
		name = "bytecode"
	} else if strings.HasSuffix(name, "_MODIFIED_BYTECODE") {
		name = "compiled bytecode"
	}
	if n := logs.JSONString(r.Field("name")); n != "" && r.Kind != "artifact" {
		name += " " + n
	}
	s := explain.Stage{Name: f.intern(name), Load: r.Loader(), Seq: r.Seq}
	c := f.compileOf(r)
	if c == nil {
		if c = exported(f, r); c != nil {
			exportStage(f, r, c, s)
			return
		}
		f.note(r, "dump", name)
		return
	}
	if r.Content() == "compiled_autograd_graph" && c.Graph == nil {
		f.autogradGraph(r, c)
	}
	f.hold(heldStage)
	c.addStage(s)
}

// addStage adds a stage to the graph of c, or keeps it until there is one.
func (c *compile) addStage(s explain.Stage) {
	if c.Graph != nil {
		c.Graph.Stages = append(c.Graph.Stages, s)
	} else {
		c.stages = append(c.stages, s)
	}
}

func (f *Fold) autogradGraph(r *logs.Record, c *compile) {
	g := fx.Parse(r.View())
	if g == nil {
		return
	}
	load := r.Loader()
	c.Graph = &explain.Graph{ID: c.ID, Name: "compiled autograd", Ops: f.interned(g.Operators()), Inputs: g.Placeholders()}
	c.Graph.LoadNodes = func() []explain.GraphNode { return explain.NodesOf(fx.Parse(load())) }
}

func outputCode(f *Fold, r *logs.Record) {
	text := r.View()
	c := f.compileOf(r)
	out := &explain.OutputCode{ID: f.id(r), Path: f.intern(logs.JSONString(r.Field("filename"))), Load: r.Loader()}
	if c == nil {
		c = f.textCompile(r, logs.Pos{})
	}
	_, role := aotID(text)
	role = cmp.Or(role, roleOfFile(out.Path))
	out.Role = f.intern(role)
	f.hold(heldOutput)
	c.Outputs = append(c.Outputs, out)
	if c.kernels == nil {
		c.kernels = map[string]*explain.Kernel{}
	}
	var nodes *nodePlaces
	var ops map[string]bool
	for _, k := range splitKernels(text) {
		if nodes == nil {
			nodes = f.placesOf(c.Graph)
		}
		if len(k.ops) == 0 {
			if ops == nil {
				ops = c.operators()
			}
			k.ops = opsFromName(k.name, ops)
		}
		f.addKernel(c, out, &k, nodes)
		if len(k.aten) > 0 {
			f.hold(heldKernel)
			out.Launches = append(out.Launches, explain.Launch{Kernel: f.intern(k.name), Nodes: k.aten})
		}
	}
	for _, k := range c.kernels {
		if k.Output == nil {
			f.attach(k, out)
		}
	}
}

// operators are those of the last graph that went into code generation.
func (c *compile) operators() map[string]bool {
	stages := c.stages
	if c.Graph != nil {
		stages = c.Graph.Stages
	}
	for i := len(stages) - 1; i >= 0; i-- {
		if stages[i].Name == "post-grad" {
			return operatorsIn(stages[i].Load())
		}
	}
	return map[string]bool{}
}

// attach gives a kernel its source within an output code.
func (f *Fold) attach(k *explain.Kernel, out *explain.OutputCode) {
	k.Output = out
	load, from, to := out.Load, k.From, k.To
	k.Load = func() string { return sliceLines(load(), from, to) }
}

func (f *Fold) addKernel(c *compile, out *explain.OutputCode, ck *codeKernel, nodes *nodePlaces) {
	k := &explain.Kernel{
		ID: c.ID, Name: f.intern(ck.name), Lang: f.intern(ck.lang), Reason: ck.reason, Ops: f.interned(ck.ops),
		Nodes: f.interned(ck.nodes), From: ck.from, To: ck.to, Bytes: -1, FLOPs: -1, Nanos: -1, Fused: len(ck.ops),
	}
	f.attach(k, out)
	for _, n := range append(append([]string(nil), ck.nodes...), ck.aten...) {
		if p, ok := nodes.ofNode(n); ok {
			k.Pos = addPos(k.Pos, f.pos(p))
		}
	}
	if len(k.Pos) == 0 {
		for _, op := range ck.ops {
			if p, ok := nodes.ofOperator(fx.Short(strings.TrimPrefix(op, "aten."))); ok {
				k.Pos = addPos(k.Pos, f.pos(p))
			}
		}
	}
	ck.nodes, ck.aten = k.Nodes, f.interned(ck.aten)
	k.Lines = kernelLines(*ck, k.Pos)
	c.kernels[k.Name] = k
	f.hold(heldKernel)
	f.outputs = append(f.outputs, k)
	f.applyProvenance(c, k)
}

func addPos(list []logs.Pos, p logs.Pos) []logs.Pos {
	for _, q := range list {
		if q.File == p.File && q.Line == p.Line {
			return list
		}
	}
	return append(list, p)
}

// nodePlaces finds the lines of a captured graph's nodes, by name and, where no
// other node has the same one, by operator.
type nodePlaces struct {
	nodes  []explain.GraphNode
	byName map[string]int
	byOp   map[string]int // -1: several have it
}

func (f *Fold) placesOf(g *explain.Graph) *nodePlaces {
	var nodes []explain.GraphNode
	if g != nil && g == f.parsedOf {
		nodes = explain.NodesOf(f.parsed)
	} else {
		nodes = g.Nodes()
	}
	p := &nodePlaces{nodes, make(map[string]int, len(nodes)), map[string]int{}}
	for i, n := range nodes {
		if n.Pos.File == "" {
			continue
		}
		p.byName[n.Name] = i
		op := fx.Short(n.Target)
		if _, twice := p.byOp[op]; twice {
			i = -1
		}
		p.byOp[op] = i
	}
	return p
}

func (p *nodePlaces) ofNode(name string) (logs.Pos, bool) {
	i, ok := p.byName[name]
	if !ok {
		return logs.Pos{}, false
	}
	return p.nodes[i].Pos, true
}

func (p *nodePlaces) ofOperator(op string) (logs.Pos, bool) {
	i, ok := p.byOp[op]
	if !ok || i < 0 {
		return logs.Pos{}, false
	}
	return p.nodes[i].Pos, p.nodes[i].Pos.Line > 0
}

// provenance is what the provenance artifacts of one compile say.
type provenance struct {
	nodes  map[string][]string // kernel -> nodes of the post-grad graph
	origin map[string][]string // post-grad node -> pre-grad nodes
	stacks map[string][]string
}

func (f *Fold) provenanceOf(c *compile) *provenance {
	if c.maps == nil {
		c.maps = &provenance{nodes: map[string][]string{}, origin: map[string][]string{}, stacks: map[string][]string{}}
	}
	return c.maps
}

// nodeMappings reads the JSON of node mappings; it is empty on a cache hit.
func nodeMappings(f *Fold, r *logs.Record) {
	c := f.compiling(r)
	if c == nil || !r.HasPayload() {
		return
	}
	p := f.provenanceOf(c)
	logs.EachField(r.Payload(), func(k, v []byte) bool {
		switch string(k) {
		case "cppCodeToPost":
			f.readLists(v, p.nodes)
			noteLaunches(f, c, v)
		case "postToPre":
			f.readLists(v, p.origin)
		}
		return true
	})
	for _, k := range c.kernels {
		f.applyProvenance(c, k)
	}
}

// noteLaunches notes what each call of a kernel computes, of the newest output code: the mapping follows it.
func noteLaunches(f *Fold, c *compile, v []byte) {
	if len(c.Outputs) == 0 {
		return
	}
	var list []explain.Launch
	logs.EachField(v, func(k, nodes []byte) bool {
		name, _, _ := strings.Cut(logs.JSONString([]byte(`"`+string(k)+`"`)), ":")
		list = append(list, explain.Launch{Kernel: f.intern(name), Nodes: f.interned(logs.JSONStrings(nodes))})
		return true
	})
	f.hold(heldKernel * len(list))
	c.Outputs[len(c.Outputs)-1].Launches = list
}

// readLists takes the lists of one artifact. A kernel that is called several times
// has one for each call, told apart by a number after its name: here it has them all.
func (f *Fold) readLists(v []byte, into map[string][]string) {
	seen := map[string]bool{}
	logs.EachField(v, func(k, list []byte) bool {
		name, _, _ := strings.Cut(logs.JSONString([]byte(`"`+string(k)+`"`)), ":")
		items := f.interned(logs.JSONStrings(list))
		if seen[name] {
			items = append(slices.Clip(into[name]), items...)
		}
		seen[name] = true
		into[f.intern(name)] = items
		return true
	})
}

func kernelStacks(f *Fold, r *logs.Record) {
	c := f.compiling(r)
	if c == nil || !r.HasPayload() {
		return
	}
	f.readLists(r.Payload(), f.provenanceOf(c).stacks)
	for _, k := range c.kernels {
		f.applyProvenance(c, k)
	}
}

// applyProvenance gives a kernel the nodes and lines that the artifacts name.
func (f *Fold) applyProvenance(c *compile, k *explain.Kernel) {
	p := c.maps
	if p == nil {
		return
	}
	if nodes := p.nodes[k.Name]; len(nodes) > 0 {
		var all []string
		for _, n := range nodes {
			if pre := p.origin[n]; len(pre) > 0 {
				all = append(all, pre...)
			} else {
				all = append(all, n)
			}
		}
		k.Nodes = explain.Distinct(all)
		k.Lines = []logs.KernelLine{{Line: k.From, Nodes: nodes, Pos: k.Pos}}
	}
	var told []logs.Pos
	for _, s := range p.stacks[k.Name] {
		if st := explain.ParseStack(s); len(st) > 0 && c.begins(st) {
			told = addPos(told, f.pos(explain.OwnPlace(st[len(st)-1], st)))
		}
	}
	if len(told) > 0 {
		k.Pos = told
	}
}

// begins says whether a stack begins in the function that is compiled: code out of a
// cache comes with the stacks of the program that filled it.
func (c *compile) begins(st []logs.Pos) bool {
	return c.Frame.Pos.File == "" || st[0].File == c.Frame.Pos.File
}

// appendNew adds what a short list does not hold yet.
func appendNew(list []string, more ...string) []string {
next:
	for _, m := range more {
		for _, have := range list {
			if have == m {
				continue next
			}
		}
		list = append(list, m)
	}
	return list
}

// tritonInfo reads compile times of Triton kernels.
func tritonInfo(f *Fold, r *logs.Record) {
	c := f.compileOf(r)
	if c == nil {
		return
	}
	logs.EachField(r.Payload(), func(name, v []byte) bool {
		k := c.kernels[string(name)]
		if k == nil {
			return true
		}
		logs.EachField(v, func(key, val []byte) bool {
			if string(key) == "compile_time_us" {
				k.CompileMicros = intOr(val)
			}
			return true
		})
		return true
	})
}

// cacheOf names the cache of "fx_graph_cache_hit"; "" for other artifacts.
func cacheOf(name string) string {
	for _, end := range []string{"_hit", "_miss", "_bypass", "_exception"} {
		base, ok := strings.CutSuffix(name, end)
		if !ok {
			continue
		}
		if c, ok := strings.CutSuffix(base, "_cache"); ok {
			return c
		}
	}
	return ""
}

func (f *Fold) cacheEvent(r *logs.Record) {
	name := r.Content()
	ev := explain.CacheEvent{ID: f.id(r), Cache: f.intern(cacheOf(name))}
	ev.Hit = f.intern(name[strings.LastIndexByte(name, '_')+1:])
	logs.EachField(r.RawPayload(), func(k, v []byte) bool {
		switch string(k) {
		case "key":
			ev.Key = logs.JSONString(v)
		case "cache_bypass_reason", "bypass_reason", "reason":
			ev.Reason = f.intern(explain.FirstLine(logs.JSONString(v)))
		case "cache_bypass_exception_type":
			if ev.Reason == "" {
				ev.Reason = f.intern(logs.JSONString(v))
			}
		case "cache_status_detailed":
			if d := logs.JSONString(v); ev.Reason == "" && d != ev.Hit && d != "full_miss" {
				ev.Reason = f.intern(d)
			}
		case "components": // the long part
			return false
		}
		return true
	})
	f.hold(heldEvent + len(ev.Key))
	f.caches = append(f.caches, ev)
	rs := f.rank(r)
	if len(rs.caches) < 1<<16 {
		rs.caches = append(rs.caches, strings.ToUpper(ev.Hit[:1])[0])
	}
	if c := f.compileOf(r); c != nil && (c.Cache == "" || ev.Hit == "miss") {
		c.Cache = ev.Hit
	}
}

func autogradReasons(f *Fold, r *logs.Record) {
	f.note(r, "compiled autograd", strings.Join(explain.ParseReasons(r.Text()), "\n"))
}

// remark keeps the text of records that explain themselves.
func remark(f *Fold, r *logs.Record) {
	text := string(r.Meta())
	if r.Kind == "artifact" && r.HasPayload() {
		text = r.Text()
	}
	f.note(r, r.Content(), text)
}

// maxGradSources bounds the inputs of a compile that are known to want gradients.
const maxGradSources = 4096

// describe counts the tensors that a compile was told of. It makes no compile:
// torch.export describes its inputs under an id of its own without one.
func describe(f *Fold, r *logs.Record) {
	c := f.compiles[compileKey{frameKey{r.Rank, r.Epoch, r.Autograd, r.ID.Frame}, max(r.ID.Compile, 0)}]
	if r.HasID && (c == nil || c.hollow()) { // another export, or a compile that is yet to begin
		f.described[compileKey{frameKey{r.Rank, r.Epoch, r.Autograd, r.ID.Frame}, max(r.ID.Compile, 0)}] = true
		delete(f.stopped, r.Source)
	}
	if c == nil || !r.HasID {
		return
	}
	switch r.Kind {
	case "describe_tensor":
		c.Tensors++
		c.wantsGrad = string(r.Field("requires_grad")) == "true"
		inputType(c, r)
	case "describe_source": // of the tensor before
		if c.wantsGrad && len(c.GradSources) < maxGradSources {
			c.GradSources = appendNew(c.GradSources, f.intern(logs.JSONString(r.Field("source"))))
		}
		if len(c.Sources) < 64 {
			c.Sources = appendNew(c.Sources, f.intern(logs.JSONString(r.Field("source"))))
		}
		inputSource(f, c, r)
	case "describe_storage":
		if n, ok := logs.JSONInt(r.Field("size")); ok {
			c.InputBytes += n
		}
	}
}

// createSymbol notes a dynamic size, or an unbacked one.
func createSymbol(f *Fold, r *logs.Record) {
	var s explain.Symbol
	r.EachField(func(k, v []byte) bool {
		switch string(k) {
		case "symbol":
			s.Name = logs.JSONString(v)
		case "val":
			s.Hint = logs.JSONString(v)
		case "vr":
			s.Range = logs.JSONString(v)
		case "source":
			s.Source = logs.JSONString(v)
		}
		return true
	})
	s.ID = f.id(r)
	s.Name, s.Hint, s.Range, s.Source = f.intern(s.Name), f.intern(s.Hint), f.intern(s.Range), f.intern(s.Source)
	if at, ok := f.lastPos(r.Stack("user_stack")); ok {
		s.Pos = at
	}
	f.addSymbol(r, s) // torch.export has symbols under an id that nothing else has
}

func (f *Fold) addSymbol(r *logs.Record, s explain.Symbol) *explain.Symbol {
	key := symbolKey{r.Rank, r.Epoch, r.ID.Frame, r.ID.Compile, s.Name}
	if old := f.symIndex[key]; old != nil {
		if s.Source != "" {
			*old = s // another attempt
		}
		return old
	}
	f.hold(heldEvent)
	f.symIndex[key] = &s
	f.symbols = append(f.symbols, &s)
	return &s
}

// specialization notes that a dynamic size was fixed after all.
func specialization(f *Fold, r *logs.Record) {
	var name, value, reason string
	var sources []string
	r.EachField(func(k, v []byte) bool {
		switch string(k) {
		case "symbol":
			name = logs.JSONString(v)
		case "value":
			value = logs.JSONString(v)
		case "reason":
			reason = logs.JSONString(v)
		case "sources":
			sources = logs.JSONStrings(v)
		}
		return true
	})
	s := explain.Symbol{ID: f.id(r), Name: f.intern(name), Source: f.intern(strings.Join(sources, ", "))}
	if old := f.symIndex[symbolKey{r.Rank, r.Epoch, r.ID.Frame, r.ID.Compile, name}]; old != nil {
		s.Hint, s.Range, s.Pos = old.Hint, old.Range, old.Pos
	}
	p := f.addSymbol(r, s)
	p.Specialized, p.Reason = f.intern(value), f.intern(reason)
	if at, ok := f.lastPos(r.Stack("user_stack")); ok {
		if !explain.FrameworkFile(at.File) || explain.FrameworkFile(p.Pos.File) { // else the line that calls it
			p.Pos = at
		}
	}
}

// guardAdded notes a guard on sizes and the line that asked for it.
func guardAdded(f *Fold, r *logs.Record) {
	c := f.compileOf(r)
	g := explain.ShapeGuard{Expr: f.intern(logs.JSONString(r.Field("expr"))), Attempt: r.ID.Attempt}
	if at, ok := f.lastPos(r.Stack("user_stack")); ok {
		g.Pos = at
	}
	for _, fr := range r.Stack("stack") {
		if strings.Contains(fr.File, "_inductor/") {
			g.Backend = true
		}
	}
	if c == nil {
		f.note(r, "guard", g.Expr)
		return
	}
	if f.guards++; f.guards <= maxShapeGuards {
		c.ShapeGuards = append(c.ShapeGuards, g)
	}
}

// maxShapeGuards bounds what a log of nothing but guards can fill memory with;
// the report says how many there are beyond.
const maxShapeGuards = 1 << 16

func fakeKernel(f *Fold, r *logs.Record) {
	var op, reason string
	r.EachField(func(k, v []byte) bool {
		switch string(k) {
		case "op":
			op = logs.JSONString(v)
		case "reason":
			reason = logs.JSONString(v)
		}
		return true
	})
	f.note(r, r.Kind, strings.TrimSpace(op+" "+reason))
}

// decode reads a tcdbg_* artifact; false for an unknown version, which is
// shown raw.
func decode(r *logs.Record, into logs.Versioned) bool { return decodePayload(r.Payload(), into) }

func decodePayload(payload []byte, into logs.Versioned) bool {
	_, want := into.ArtifactName()
	var head struct {
		V    int             `json:"v"`
		Data json.RawMessage `json:"data"`
	}
	if json.Unmarshal(payload, &head) != nil || head.V != want {
		return false
	}
	return json.Unmarshal(head.Data, into) == nil
}
