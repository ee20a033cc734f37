package explain

import (
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tcdbg/logs"
	"tcdbg/logs/fx"
	"tcdbg/tracer/breaks"
)

// This file folds what Dynamo writes: starts, graphs, guards, breaks,
// recompiles, errors and metrics.

func (f *Fold) torchVersion(r *logs.Record) {
	logs.EachField(r.RawPayload(), func(k, v []byte) bool {
		if string(k) == "pytorch_version" {
			f.setEngine("PyTorch " + shortVersion(logs.JSONString(v)))
		}
		return true
	})
	r.Payload()
}

func shortVersion(v string) string { v, _, _ = strings.Cut(v, "+"); return v }

func (f *Fold) setEngine(e string) {
	if f.engine == "" {
		f.engine = f.intern(e)
	}
}

func (f *Fold) dynamoStart(r *logs.Record) {
	c := f.compileOf(r)
	if c == nil {
		return
	}
	c.begun = true
	if c.Start.IsZero() {
		c.Start = f.at(r)
	}
	st := f.framesToPos(dropConvertFrame(r.Stack("stack")))
	if len(st) > 0 {
		c.Stack = st
		last := st[len(st)-1]
		fr := c.Frame
		if fr.Name == "" {
			fr.Name = last.Func
			fr.Pos = last
			f.adopt(fr)
		}
	}
}

// dropConvertFrame cuts the framework's own frames off the inner end.
func dropConvertFrame(s []logs.Frame) []logs.Frame {
	for len(s) > 0 && strings.HasSuffix(s[len(s)-1].File, "_dynamo/convert_frame.py") {
		s = s[:len(s)-1]
	}
	return s
}

const resumePrefix = "torch_dynamo_resume_in_"

// resumedFunction reads outer and 16 out of torch_dynamo_resume_in_outer_at_16.
func resumedFunction(name string) (fn string, line int, ok bool) {
	rest, ok := strings.CutPrefix(name, resumePrefix)
	if !ok {
		return "", 0, false
	}
	i := strings.LastIndex(rest, "_at_")
	if i < 0 {
		return rest, 0, true
	}
	return rest[:i], atoi(rest[i+4:]), true
}

// adopt finds the function that a resume frame goes on with.
func (f *Fold) adopt(fr *Frame) {
	f.named(fr)
	fn, _, ok := resumedFunction(fr.Name)
	if !ok {
		return
	}
	same := f.byName[nameKey{fr.ID.Rank, fr.ID.Epoch, mangled(fn)}]
	for i := len(same) - 1; i >= 0; i-- {
		p := same[i]
		if p != fr && (p.Pos.File == fr.Pos.File || p.Pos.File == "" || fr.Pos.File == "") {
			fr.Parent = p
			p.Resumes = append(p.Resumes, fr)
			return
		}
	}
}

// named makes a frame findable by its name.
func (f *Fold) named(fr *Frame) {
	k := nameKey{fr.ID.Rank, fr.ID.Epoch, mangled(fr.Name)}
	if f.byName == nil {
		f.byName = map[nameKey][]*Frame{}
	}
	if list := f.byName[k]; len(list) == 0 || list[len(list)-1] != fr {
		f.byName[k] = append(list, fr)
	}
}

// nameKey is a function's name within one numbering of frames.
type nameKey struct {
	rank, epoch int
	name        string
}

// mangled makes <lambda> and _lambda_ the same.
func mangled(name string) string {
	return strings.NewReplacer("<", "_", ">", "_").Replace(name)
}

func (f *Fold) outputGraph(r *logs.Record) {
	c := f.compileOf(r)
	text := r.Text()
	g := fx.Parse(text)
	if c == nil {
		c = f.pastedGraph(r, g)
	}
	gr := c.Graph
	if gr == nil {
		gr = &Graph{}
		c.Graph = gr
	}
	gr.ID, gr.ID.Attempt = c.ID, r.ID.Attempt
	load := r.Loader()
	gr.Stages = append(stagesBefore(gr, c), Stage{Name: "dynamo", Load: load, Seq: r.Seq})
	c.stages = nil
	if g != nil {
		gr.Name = f.intern(g.Name)
		gr.Ops = f.interned(g.Operators())
		gr.Inputs = g.Placeholders()
		c.Ops = len(gr.Ops)
	}
	gr.LoadNodes = func() []GraphNode { return graphNodes(fx.Parse(load())) }
	if isTable(text) {
		f.hold(len(text))
		gr.Table = text
	}
}

// stagesBefore keeps the texts that came before the captured graph. Where one
// was captured already, this is a new attempt: of the old one only the bytecode
// still holds.
func stagesBefore(g *Graph, c *compile) []Stage {
	again := false
	for _, s := range g.Stages {
		again = again || s.Name == "dynamo"
	}
	var out []Stage
	for _, s := range append(g.Stages, c.stages...) {
		if !again || s.Name == "bytecode" {
			out = append(out, s)
		}
	}
	return out
}

func isTable(text string) bool {
	line, _, _ := strings.Cut(text, "\n")
	return fx.IsTableHead(line)
}

func (f *Fold) interned(list []string) []string {
	for i := range list {
		list[i] = f.intern(list[i])
	}
	return list
}

// graphNodes are the nodes of a parsed graph as a report has them.
func graphNodes(g *fx.Graph) []GraphNode {
	if g == nil {
		return nil
	}
	out := make([]GraphNode, len(g.Nodes))
	for i, n := range g.Nodes {
		out[i] = GraphNode{Name: n.Name, Op: n.Op, Target: n.Target, Type: n.Type, Args: n.Args}
		if n.Source.File != "" {
			out[i].Pos = logs.Pos{File: n.Source.File, Line: n.Source.Line, Func: n.Source.Func, Code: n.Source.Code}
		}
		if n.Op == "get_attr" {
			for _, body := range g.Subs {
				if body.Name == n.Target {
					out[i].Body = graphNodes(body)
				}
			}
		}
	}
	return out
}

func (f *Fold) guardTree(r *logs.Record) {
	c := f.compileOf(r)
	text := r.Text()
	leaves, noise, micros := scanGuards(text)
	if c == nil {
		return
	}
	load := r.Loader()
	c.guarded = true
	if isWrapper(c.Frame.Name) {
		c.wrapped, c.held = f.intern(wrappedClass(text)), f.interned(heldSizes(text))
	}
	c.Guards = &GuardTree{Leaves: leaves, Noise: noise, Micros: micros, Load: func() *GuardNode { return parseGuards(load()) }}
}

// guardList takes the flat JSON list of old logs.
func (f *Fold) guardList(r *logs.Record) {
	c := f.compileOf(r)
	if c == nil {
		return
	}
	n := 0
	logs.EachItem(r.RawPayload(), func([]byte) bool { n++; return true })
	load := r.Loader()
	c.guarded = true
	c.Guards = &GuardTree{Leaves: n, Load: func() *GuardNode { return guardsFromList(load()) }}
}

func guardsFromList(text string) *GuardNode {
	root := &GuardNode{Text: "RootGuardManager"}
	logs.EachItem([]byte(text), func(v []byte) bool {
		n := &GuardNode{Kind: "GUARD"}
		logs.EachField(v, func(k, val []byte) bool {
			if string(k) == "code" {
				n.Text = logs.JSONString(val)
			}
			return true
		})
		root.Children = append(root.Children, n)
		return true
	})
	return root
}

func (f *Fold) graphBreak(r *logs.Record) {
	text := r.Text()
	b := parseBreak(text)
	if b.reasonless() {
		f.note(r, "hint", text)
		return
	}
	c := f.compileOf(r)
	if c == nil {
		c = f.textCompile(r, b.place)
	}
	br := f.newBreak(b, cutTraceback(text))
	br.Seq = r.Seq
	for _, ch := range br.Chained {
		ch.Seq = r.Seq
	}
	if b.skip && c.Failure != nil && c.Failure.Type == "Unsupported" {
		c.wentOn()
	}
	if old := c.breaks[breakKey(br)]; old != nil { // a retry met it again
		if br.Outcome != "resumed" {
			old.Outcome = br.Outcome
		}
		if len(old.Stack) == 0 {
			old.Stack = br.Stack
		}
		if len(old.Chained) == 0 {
			old.Chained = br.Chained
			f.own(old, c)
		}
		return
	}
	f.own(br, c)
	c.breaks[breakKey(br)] = br
	f.hold(heldBreak + len(text))
	c.Breaks = append(c.Breaks, br)
	if c.Graph != nil && br.Before == nil {
		br.Before = c.Graph.Ops
	}
}

// wentOn says of a compile that failed that the program went on: the break that tells so
// came after the frame's end.
func (c *compile) wentOn() {
	c.Status, c.Frame.Status = Skipped, Skipped
	c.Failure.Eager, c.Failure.Fix = true, Fix{}
}

func (f *Fold) own(br *Break, c *compile) {
	br.Compile = &c.Compile
	for _, ch := range br.Chained {
		ch.Compile = &c.Compile
	}
}

func breakKey(b *Break) string {
	what := b.Code
	if what == "" {
		what = b.Type
	}
	return b.Pos.File + ":" + strconv.Itoa(b.Pos.Line) + "\x00" + what
}

// newBreak makes a Break of a parsed message.
func (f *Fold) newBreak(b *breakText, raw string) *Break {
	var out *Break
	for i, bl := range b.blocks {
		br := f.block(&bl)
		br.Pos, br.Outcome = f.pos(b.place), b.outcome()
		if i == 0 {
			out = br
			continue
		}
		br.Pos, br.During = f.pos(b.place), true
		out.Chained = append(out.Chained, br)
	}
	if out == nil {
		out = &Break{Type: "unknown", Fixability: string(breaks.Unclassified), Pos: f.pos(b.place), Outcome: b.outcome()}
	}
	out.Stack = f.stack(b.stack)
	out.Value = f.stack(b.value)
	out.Raw = f.intern(raw)
	if out.Code == breaks.ObservedPanic && !torchsOwn(out.Stack) { // what torch refuses, the program asked for
		out.Pos = ownPlace(out.Pos, out.Stack)
	}
	out.settle()
	for _, ch := range out.Chained {
		ch.settle()
	}
	return out
}

// settle says whose line a break is at: what the hints call the user's to fix is not,
// where the line is the framework's or an installed library's.
func (b *Break) settle() {
	b.Noise = frameworkFile(b.Pos.File)
	if b.Fixability != string(breaks.FixableByYou) {
		return
	}
	if b.Noise {
		b.Fixability = string(breaks.InFramework)
	} else if installedPackage(b.Pos.File) != "" {
		b.Fixability = string(breaks.InLibrary)
	}
}

func (f *Fold) block(bl *breakBlock) *Break {
	br := &Break{
		Code: f.intern(bl.code), Type: f.intern(bl.typ), Explanation: f.intern(bl.explanation),
		Hints: f.interned(bl.hints), Context: f.intern(bl.context),
	}
	cause, known := breaks.Lookup(bl.code)
	br.Fixability = string(breaks.Unclassified)
	if class, ok := breaks.Class(bl.hints); ok {
		br.Fixability = string(class)
	} else if known {
		br.Fixability = string(cause.Fixability)
	}
	if br.Explanation == "" && known {
		br.Explanation = cause.Explanation
	}
	return br
}

// torchsOwn says whether a stack ends in the standard library on torch's behalf: what is
// raised there is no answer to the program, as where torch inspects its own objects.
func torchsOwn(stack []logs.Pos) bool {
	if len(stack) == 0 || !libraryFile(stack[len(stack)-1].File) {
		return false
	}
	for i := len(stack) - 1; i >= 0 && frameworkFile(stack[i].File); i-- {
		if !libraryFile(stack[i].File) {
			return true
		}
	}
	return false
}

// frameworkFile says whether a file belongs to torch or the standard library:
// a break there is not the user's to fix.
func frameworkFile(file string) bool {
	for _, mark := range []string{"/site-packages/torch/", "site-packages/torch/", "/dist-packages/torch/", "/torch/_dynamo/", "/torch/nn/", "/torch/optim/", "/torch/distributed/", "/torch/utils/", "/torch/_inductor/"} {
		if strings.Contains(file, mark) {
			return true
		}
	}
	return libraryFile(file) || strings.HasPrefix(file, "torch/") || strings.HasPrefix(file, "_dynamo/") || cachedCode(file)
}

// libraryFile says whether a file belongs to Python's standard library.
func libraryFile(file string) bool {
	if strings.HasPrefix(file, "<frozen ") {
		return true
	}
	return (strings.Contains(file, "/lib/python3") || strings.Contains(file, "/lib64/python3")) && !strings.Contains(file, "-packages/")
}

// cachedCode knows a file of Inductor's cache, CACHE/XY/cXY....py, named by a hash
// in base 32. PyTorch 2.7 traces a backward pass that comes from the cache, and the
// graph breaks at every second line of it.
func cachedCode(file string) bool {
	dir, name := filepath.Split(file)
	hash, ok := strings.CutSuffix(name, ".py")
	return ok && len(hash) == 52 && strings.Trim(hash, "abcdefghijklmnopqrstuvwxyz234567") == "" && filepath.Base(dir) == hash[1:3]
}

func (f *Fold) dynamoError(r *logs.Record) {
	c := f.compileOf(r)
	text := r.Text()
	if c == nil {
		f.pastedError(r, text)
		return
	}
	c.errText = f.intern(lastError(text))
	c.errBreak, c.errSeq = parseError(text), r.Seq
}

// lastError is the exception's message without the framework's traceback.
func lastError(text string) string {
	lines := strings.Split(text, "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		l := lines[i]
		if l == "" || l[0] == ' ' || l[0] == '\t' {
			continue
		}
		if j := strings.Index(l, ": "); j > 0 && isExceptionName(l[:j]) {
			return strings.TrimSpace(strings.Join(lines[i:], "\n"))
		}
	}
	return strings.TrimSpace(text)
}

func isExceptionName(s string) bool {
	for i := 0; i < len(s); i++ {
		if !letterOrDigit(s[i]) && s[i] != '.' {
			return false
		}
	}
	return s != "" && (strings.Contains(s, "Error") || strings.Contains(s, "exc.") || strings.Contains(s, "Exception"))
}

// parseError reads the block within an error's text: under fullgraph it is the
// break that was not allowed.
func parseError(text string) *breakText {
	msg := lastError(text)
	if i := strings.Index(msg, ": "); i > 0 && isExceptionName(msg[:i]) {
		msg = msg[i+2:]
	}
	if i := strings.Index(msg, "\nSet TORCHDYNAMO_VERBOSE=1"); i >= 0 {
		msg = msg[:i]
	}
	head, stack := cutStack(msg)
	b := &breakText{stack: parseStack(stack)}
	b.parseBlocks(strings.Split(head, "\n"))
	if n := len(b.stack); n > 0 {
		b.place = b.stack[n-1]
	}
	return b
}

func (f *Fold) sideEffects(r *logs.Record) {
	if c := f.compileOf(r); c != nil {
		c.SideEffects = r.Loader()
	}
}

func (f *Fold) recompileReasons(r *logs.Record) {
	c := f.compileOf(r)
	reasons := parseReasons(r.Text())
	if c == nil {
		c = f.textCompile(r, logs.Pos{})
	}
	if name := logs.JSONString(r.Field("function")); name != "" && c.Frame.Name == "" {
		line, _ := logs.JSONInt(r.Field("line"))
		c.Frame.Name = f.intern(name)
		c.Frame.Pos = f.pos(logs.Pos{File: logs.JSONString(r.Field("file")), Line: int(line), Func: name})
		f.adopt(c.Frame)
	}
	f.setReasons(c, reasons, r.Seq)
}

func (f *Fold) setReasons(c *compile, reasons []string, seq int64) {
	if len(reasons) == 0 {
		return
	}
	rc := &Recompile{Compile: &c.Compile, Raw: f.interned(reasons), Seq: seq}
	var parts []string
	for _, s := range reasons {
		parts = append(parts, splitReason(s)...)
	}
	for _, s := range parts {
		g := parseReason(s)
		g.Source, g.Expected, g.Actual = f.intern(g.Source), f.intern(g.Expected), f.intern(g.Actual)
		g.Text = f.intern(g.Text)
		g.Pos = f.pos(g.Pos)
		rc.Failures = append(rc.Failures, g)
	}
	nearestFirst(rc)
	c.Recompile = rc
}

// metrics are the fields of a compilation_metrics record that decide on the
// outcome of a compile.
type metrics struct {
	name, file, failType, failReason, failFile, recompile, version string
	line, failLine                                                 int
	guards, ops                                                    int64 // -1: null
	guarded                                                        string
	seconds, duration                                              float64
	restarts                                                       []string
	start, seq                                                     int64
	noCudaGraph                                                    string // why none was recorded
}

func parseMetrics(r *logs.Record) metrics {
	m := metrics{guards: -1, ops: -1, seq: r.Seq}
	r.EachField(func(k, v []byte) bool {
		switch string(k) {
		case "co_name":
			m.name = logs.JSONString(v)
		case "co_filename":
			m.file = logs.JSONString(v)
		case "co_firstlineno":
			m.line = atoi(string(v))
		case "guard_count":
			m.guards = intOr(v)
		case "graph_op_count":
			m.ops = intOr(v)
		case "has_guarded_code":
			m.guarded = string(v)
		case "fail_type":
			m.failType = logs.JSONString(v)
		case "fail_reason":
			m.failReason = logs.JSONString(v)
		case "fail_user_frame_filename":
			m.failFile = logs.JSONString(v)
		case "fail_user_frame_lineno":
			m.failLine = atoi(string(v))
		case "entire_frame_compile_time_s":
			m.seconds, _ = logs.JSONFloat(v)
		case "duration_us":
			d, _ := logs.JSONFloat(v)
			m.duration = d / 1e6
		case "restart_reasons":
			m.restarts = logs.JSONStrings(v)
		case "recompile_reason":
			m.recompile = logs.JSONString(v)
		case "pytorch_version":
			m.version = logs.JSONString(v)
		case "start_time_us":
			m.start = intOr(v)
		case "cudagraph_skip_reason":
			m.noCudaGraph = logs.JSONString(v)
		}
		return true
	})
	return m
}

func intOr(v []byte) int64 {
	if n, ok := logs.JSONInt(v); ok {
		return n
	}
	return -1
}

func (f *Fold) compilationMetrics(r *logs.Record) {
	m := parseMetrics(r)
	if m.version != "" {
		f.setEngine("PyTorch " + shortVersion(m.version))
	}
	c := f.compileOf(r)
	if c == nil {
		f.exportMetrics(r, &m)
		return
	}
	c.metrics = true
	if m.noCudaGraph != "" {
		f.note(r, "cudagraphs", m.noCudaGraph)
	}
	fr := c.Frame
	if m.name != "" {
		rename := fr.Name == ""
		fr.Name = f.intern(m.name)
		fr.Pos = f.pos(logs.Pos{File: m.file, Line: m.line, Func: m.name})
		if rename {
			f.adopt(fr)
		}
	}
	c.Seconds = max(m.seconds, m.duration)
	if m.start > 0 {
		c.Start = time.UnixMicro(m.start)
		f.extend(c.Start, time.Duration(c.Seconds*float64(time.Second)))
	}
	c.Restarts = f.interned(m.restarts)
	load := r.MetaLoader()
	c.LoadMetrics = func() map[string]any { return metricsMap(load()) }
	f.settle(c, &m)
}

// settle decides on the outcome, by fail_type, guard_count and
// has_guarded_code together: none of them tells it alone.
func (f *Fold) settle(c *compile, m *metrics) {
	switch {
	case m.failType == "" && m.guards < 0 && m.skipped(c) && c.Graph == nil && !c.guarded:
		c.Status = Skipped
	case m.failType == "":
		c.Status = Compiled
		if c.Ops < 0 && m.ops >= 0 {
			c.Ops = int(m.ops)
		}
		if m.ops == 0 || m.ops < 0 && c.Graph == nil {
			c.Status = Empty
		}
	case m.hitLimit():
		c.Status, c.limit = Limit, true
	case m.failType == "FailOnRecompileLimitHit": // what runs eager elsewhere is an error under fullgraph
		f.fail(c, m)
		c.Status, c.limit = Limit, true
	default:
		f.fail(c, m)
	}
	if c.Recompile == nil && c.ID.Compile > 0 {
		if _, reasons := notAllowed(m.failReason); m.failType == recompileError && len(reasons) > 0 {
			f.setReasons(c, reasons, m.seq)
		} else if m.recompile != "" {
			f.setReasons(c, []string{m.recompile}, m.seq)
		}
	}
	c.Frame.Status = c.Status
}

// recompileError is the type of a failure under error_on_recompile.
const recompileError = "RecompileError"

// notAllowed reads the message of a recompile that raised an error: where no reasons are
// recorded beside it, the message has them.
func notAllowed(message string) (head string, reasons []string) {
	head, list, _ := strings.Cut(message, "\n")
	for line := range strings.SplitSeq(list, "\n") {
		text := strings.TrimSpace(line)
		item, listed := strings.CutPrefix(text, "- ")
		id, _, _ := strings.Cut(item, ": ")
		switch {
		case listed && isCompileID(id):
			reasons = append(reasons, item)
		case len(reasons) > 0 && text != "": // such as the guard's stack
			reasons[len(reasons)-1] += "\n" + strings.TrimPrefix(strings.TrimLeft(line, " "), "- ")
		}
	}
	return head, reasons
}

// skipped says whether a frame without graph and guards was left to eager
// execution: 2.6 says so by having no code where there was a break, later
// releases by having some.
func (m *metrics) skipped(c *compile) bool {
	return m.guarded == "true" || m.guarded == "false" && len(c.Breaks) > 0
}

// hitLimit says whether the frame was compiled as often as is allowed.
func (m *metrics) hitLimit() bool {
	return strings.HasPrefix(m.failReason, "Dynamo recompile limit exceeded") || strings.HasPrefix(m.failReason, "Dynamo cache limit exceeded") ||
		m.failType == "CacheLimitExceeded" || m.failType == "RecompileLimitExceeded"
}

func (f *Fold) fail(c *compile, m *metrics) {
	c.Status = Failed
	eager := m.failType == "Unsupported" && len(c.Breaks) > 0
	if eager {
		c.Status = Skipped
	}
	fl := &Failure{Eager: eager, ID: c.ID, Type: f.intern(m.failType), Reason: f.intern(m.failReason), Frame: c.Frame.Name, Seq: m.seq}
	fl.Pos = f.pos(logs.Pos{File: m.failFile, Line: m.failLine})
	if b := c.errBreak; b != nil {
		fl.Seq = c.errSeq
		if len(b.stack) > 0 {
			fl.Stack = f.stack(b.stack)
			fl.Pos = f.pos(b.place)
		}
		if len(b.blocks) > 0 {
			fl.Code, fl.Hints, fl.Context = f.intern(b.blocks[0].code), f.interned(b.blocks[0].hints), f.intern(b.blocks[0].context)
			if fl.Reason == "" {
				fl.Reason = f.intern(b.blocks[0].typ)
			}
		}
	}
	if fl.Pos.File == "" {
		fl.Pos = c.Frame.Pos
	}
	switch { // these come without a code
	case fl.Type == "FailOnRecompileLimitHit":
		fl.Code = breaks.RecompileLimit
	case fl.Code == "" && isFakeError(fl.Reason): // as before 2.10
		fl.Code = operatorFailed
	}
	if fl.Reason == "" {
		fl.Reason = c.errText
	}
	fl.Pos = fl.place()
	if len(c.Breaks) == 0 {
		fl.Fix = fixFailure(fl, f.engine)
	}
	f.placeConstraint(fl)
	f.placeExecuting(fl)
	c.Failure = fl
	f.hold(heldEvent + len(fl.Reason))
	f.failures = append(f.failures, fl)
}

// metricsMap decodes a metrics record for display, without the configuration
// dumps and the nulls.
func metricsMap(meta string) map[string]any {
	out := map[string]any{}
	logs.EachField([]byte(meta), func(k, v []byte) bool {
		key := logs.JSONString([]byte(`"` + string(k) + `"`))
		if strings.HasSuffix(key, "_config") || string(v) == "null" {
			return true
		}
		if n, ok := logs.JSONInt(v); ok {
			out[key] = n
		} else if x, ok := logs.JSONFloat(v); ok {
			out[key] = x
		} else if string(v) == "true" || string(v) == "false" {
			out[key] = string(v) == "true"
		} else {
			out[key] = logs.JSONString(v)
		}
		return true
	})
	return out
}

func (f *Fold) backwardMetrics(r *logs.Record) {
	m := parseMetrics(r)
	c := f.compileOf(r)
	if c == nil {
		f.backward += m.duration
		return
	}
	c.bwd += m.duration
	switch {
	case m.hitLimit(): // 2.6 records it here
		c.Status, c.limit, c.Frame.Status = Limit, true, Limit
	case m.failType != "":
		f.fail(c, &m)
		c.Failure.Type = "backward: " + c.Failure.Type
	}
	if m.start > 0 {
		f.extend(time.UnixMicro(m.start), time.Duration(m.duration*float64(time.Second)))
	}
}

func (f *Fold) runtimeMetrics(r *logs.Record) {
	m := parseMetrics(r)
	f.note(r, "runtime", "compiled code ran; runtime metrics recorded"+secondsNote(m.duration))
}

func secondsNote(s float64) string {
	if s <= 0 {
		return ""
	}
	return " (" + strconv.FormatFloat(s, 'f', 3, 64) + " s)"
}

// note keeps a remark; there are limits, since a remark is never worth memory.
func (f *Fold) note(r *logs.Record, kind, text string) {
	if len(f.side) >= 5_000 {
		return
	}
	if len(text) > 4000 {
		text = text[:4000] + " ..."
	}
	f.side = append(f.side, SideNote{ID: f.id(r), Kind: f.intern(kind), Text: f.intern(text)})
}

func firstLine(s string) string {
	s = strings.TrimLeft(s, "\n ")
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// extend widens the run's span.
func (f *Fold) extend(at time.Time, d time.Duration) {
	if f.start.IsZero() || at.Before(f.start) {
		f.start = at
	}
	if end := at.Add(d); end.After(f.end) {
		f.end = end
	}
}
