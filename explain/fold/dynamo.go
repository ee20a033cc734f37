package fold

import (
	"strconv"
	"strings"
	"time"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
	"tcdbg/logs"
	"tcdbg/logs/fx"
	"tcdbg/tracer/breaks"
)

// This file folds what Dynamo writes: starts, graphs, guards, breaks,
// recompiles, errors and metrics.

func torchVersion(f *Fold, r *logs.Record) {
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

func dynamoStart(f *Fold, r *logs.Record) {
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

// adopt finds the function that a resume frame goes on with. A file has many functions of
// one name, such as forward: the line belongs to the one that begins last before it.
func (f *Fold) adopt(fr *explain.Frame) {
	f.named(fr)
	fn, line, ok := explain.ResumedFunction(fr.Name)
	if !ok {
		return
	}
	same := f.byName[nameKey{fr.ID.Rank, fr.ID.Epoch, mangled(fn)}]
	var parent *explain.Frame
	for i := len(same) - 1; i >= 0; i-- {
		p := same[i]
		if p == fr || p.Pos.File != fr.Pos.File && p.Pos.File != "" && fr.Pos.File != "" || line > 0 && p.Pos.Line > line {
			continue
		}
		if parent == nil || p.Pos.Line > parent.Pos.Line {
			parent = p
		}
	}
	if parent != nil {
		fr.Parent = parent
		parent.Resumes = append(parent.Resumes, fr)
	}
}

// named makes a frame findable by its name.
func (f *Fold) named(fr *explain.Frame) {
	k := nameKey{fr.ID.Rank, fr.ID.Epoch, mangled(fr.Name)}
	if f.byName == nil {
		f.byName = map[nameKey][]*explain.Frame{}
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

func outputGraph(f *Fold, r *logs.Record) {
	c := f.compileOf(r)
	text := r.Text()
	g := fx.Parse(text)
	if c == nil {
		c = f.pastedGraph(r, g)
	}
	gr := c.Graph
	if gr == nil {
		gr = &explain.Graph{}
		c.Graph = gr
	}
	gr.ID, gr.ID.Attempt = c.ID, r.ID.Attempt
	load := r.Loader()
	gr.Stages = append(stagesBefore(gr, c), explain.Stage{Name: "dynamo", Load: load, Seq: r.Seq})
	c.stages = nil
	if g != nil {
		gr.Name = f.intern(g.Name)
		gr.Ops = f.interned(g.Operators())
		gr.Inputs = g.Placeholders()
		c.Ops = len(gr.Ops)
	}
	if r.HasPayload() { // a redacted trace has none
		gr.LoadNodes = func() []explain.GraphNode { return explain.NodesOf(fx.Parse(load())) }
	}
	if isTable(text) {
		f.hold(len(text))
		gr.Table = text
	}
}

// stagesBefore keeps the texts that came before the captured graph. Where one
// was captured already, this is a new attempt: of the old one only the bytecode
// still holds.
func stagesBefore(g *explain.Graph, c *compile) []explain.Stage {
	again := false
	for _, s := range g.Stages {
		again = again || s.Name == "dynamo"
	}
	var out []explain.Stage
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

func guardTree(f *Fold, r *logs.Record) {
	c := f.compileOf(r)
	text := r.Text()
	leaves, noise, micros := explain.ScanGuards(text)
	if c == nil {
		return
	}
	if text == "" { // of a trace that an earlier version has redacted
		c.guarded = true
		return
	}
	load := r.Loader()
	c.guarded = true
	if explain.IsWrapper(c.Frame.Name) {
		c.Wrapped, c.Held = f.intern(diagnose.WrappedClass(text)), f.interned(diagnose.HeldSizes(text))
	}
	c.Guards = &explain.GuardTree{
		Leaves: leaves, Noise: noise, Micros: micros,
		Load: func() *explain.GuardNode { return explain.ParseGuards(load()) },
	}
}

// guardList takes the flat JSON list of old logs.
func guardList(f *Fold, r *logs.Record) {
	c := f.compileOf(r)
	if c == nil {
		return
	}
	n := 0
	logs.EachItem(r.RawPayload(), func([]byte) bool { n++; return true })
	load := r.Loader()
	c.guarded = true
	c.Guards = &explain.GuardTree{Leaves: n, Load: func() *explain.GuardNode { return guardsFromList(load()) }}
}

func guardsFromList(text string) *explain.GuardNode {
	root := &explain.GuardNode{Text: "RootGuardManager"}
	logs.EachItem([]byte(text), func(v []byte) bool {
		n := &explain.GuardNode{Kind: "GUARD"}
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

func graphBreak(f *Fold, r *logs.Record) {
	text := r.Text()
	b := explain.ParseBreak(text)
	if b.Reasonless() {
		f.note(r, "hint", text)
		return
	}
	c := f.compileOf(r)
	if c == nil {
		c = f.textCompile(r, b.Place)
	}
	br := f.newBreak(b, explain.CutTraceback(text))
	br.Seq = r.Seq
	for _, ch := range br.Chained {
		ch.Seq = r.Seq
	}
	if b.Skip && c.Failure != nil && c.Failure.Type == "Unsupported" {
		c.wentOn()
	}
	if old := c.breaks[diagnose.BreakKey(br)]; old != nil { // a retry met it again
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
	c.breaks[diagnose.BreakKey(br)] = br
	f.hold(heldBreak + len(text))
	c.Breaks = append(c.Breaks, br)
	if c.Graph != nil && br.Before == nil {
		br.Before = c.Graph.Ops
	}
}

// wentOn says of a compile that failed that the program went on: the break that tells so
// came after the frame's end.
func (c *compile) wentOn() {
	c.Status, c.Frame.Status = explain.Skipped, explain.Skipped
	c.Failure.Eager, c.Failure.Fix = true, explain.Fix{}
}

func (f *Fold) own(br *explain.Break, c *compile) {
	br.Compile = &c.Compile
	for _, ch := range br.Chained {
		ch.Compile = &c.Compile
	}
}

// newBreak makes a Break of a parsed message.
func (f *Fold) newBreak(b *explain.BreakText, raw string) *explain.Break {
	var out *explain.Break
	for i, bl := range b.Blocks {
		br := f.block(&bl)
		br.Pos, br.Outcome = f.pos(b.Place), b.Outcome()
		if i == 0 {
			out = br
			continue
		}
		br.Pos, br.During = f.pos(b.Place), true
		out.Chained = append(out.Chained, br)
	}
	if out == nil {
		out = &explain.Break{Type: "unknown", Fixability: string(breaks.Unclassified), Pos: f.pos(b.Place), Outcome: b.Outcome()}
	}
	out.Stack = f.stack(b.Stack)
	out.Value = f.stack(b.Value)
	out.Raw = f.intern(raw)
	if out.Code == breaks.ObservedPanic && !torchsOwn(out.Stack) { // what torch refuses, the program asked for
		out.Pos = explain.OwnPlace(out.Pos, out.Stack)
	}
	attributeBreak(out)
	for _, ch := range out.Chained {
		attributeBreak(ch)
	}
	return out
}

// attributeBreak says whose line a break is at: what the hints call the user's to fix is not,
// where the line is the framework's or an installed library's.
func attributeBreak(b *explain.Break) {
	b.Noise = explain.FrameworkFile(b.Pos.File)
	if b.Fixability != string(breaks.FixableByYou) {
		return
	}
	if b.Noise {
		b.Fixability = string(breaks.InFramework)
	} else if explain.InstalledPackage(b.Pos.File) != "" {
		b.Fixability = string(breaks.InLibrary)
	}
}

func (f *Fold) block(bl *explain.BreakBlock) *explain.Break {
	br := &explain.Break{
		Code: f.intern(bl.Code), Type: f.intern(bl.Typ), Explanation: f.intern(bl.Explanation),
		Hints: f.interned(bl.Hints), Context: f.intern(bl.Context),
	}
	cause, known := breaks.Lookup(bl.Code)
	br.Fixability = string(breaks.Unclassified)
	if class, ok := breaks.Class(bl.Hints); ok {
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
	if len(stack) == 0 || !explain.LibraryFile(stack[len(stack)-1].File) {
		return false
	}
	for i := len(stack) - 1; i >= 0 && explain.FrameworkFile(stack[i].File); i-- {
		if !explain.LibraryFile(stack[i].File) {
			return true
		}
	}
	return false
}

func dynamoError(f *Fold, r *logs.Record) {
	c := f.compileOf(r)
	text := r.Text()
	if c == nil {
		f.pastedError(r, text)
		return
	}
	c.errText = f.intern(explain.LastError(text))
	c.errBreak, c.errSeq = explain.ParseError(text), r.Seq
}

func sideEffects(f *Fold, r *logs.Record) {
	if c := f.compileOf(r); c != nil {
		c.SideEffects = r.Loader()
	}
}

func recompileReasons(f *Fold, r *logs.Record) {
	c := f.compileOf(r)
	reasons := explain.ParseReasons(r.Text())
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
	rc := &explain.Recompile{Compile: &c.Compile, Raw: f.interned(reasons), Seq: seq}
	var parts []string
	for _, s := range reasons {
		parts = append(parts, explain.SplitReason(s)...)
	}
	for _, s := range parts {
		g := explain.ParseReason(s)
		g.Source, g.Expected, g.Actual = f.intern(g.Source), f.intern(g.Expected), f.intern(g.Actual)
		g.Text = f.intern(g.Text)
		g.Pos = f.pos(g.Pos)
		rc.Failures = append(rc.Failures, g)
	}
	explain.NearestFirst(rc)
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
			m.line = explain.Atoi(string(v))
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
			m.failLine = explain.Atoi(string(v))
		case "entire_frame_compile_time_s":
			s, _ := logs.JSONFloat(v)
			m.seconds = plausible(s)
		case "duration_us":
			d, _ := logs.JSONFloat(v)
			m.duration = plausible(d / 1e6)
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

func compilationMetrics(f *Fold, r *logs.Record) {
	m := parseMetrics(r)
	if m.version != "" {
		f.setEngine("PyTorch " + shortVersion(m.version))
	}
	c := f.compileOf(r)
	if c == nil {
		exportMetrics(f, r, &m)
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
		c.Status = explain.Skipped
	case m.failType == "":
		c.Status = explain.Compiled
		if c.Ops < 0 && m.ops >= 0 {
			c.Ops = int(m.ops)
		}
		if m.ops == 0 || m.ops < 0 && c.Graph == nil {
			c.Status = explain.Empty
		}
	case m.hitLimit():
		c.Status, c.limit = explain.Limit, true
	case m.failType == "FailOnRecompileLimitHit": // what runs eagerly elsewhere is an error under fullgraph
		f.fail(c, m)
		c.Status, c.limit = explain.Limit, true
	default:
		f.fail(c, m)
	}
	if c.Recompile == nil && c.ID.Compile > 0 {
		if _, reasons := explain.NotAllowed(m.failReason); m.failType == explain.RecompileError && len(reasons) > 0 {
			f.setReasons(c, reasons, m.seq)
		} else if m.recompile != "" {
			f.setReasons(c, []string{m.recompile}, m.seq)
		}
	}
	c.Frame.Status = c.Status
}

// skipped says whether a frame without graph and guards was left to eager
// execution: 2.6 says so by having no code where there was a break, later
// releases by having some.
func (m *metrics) skipped(c *compile) bool {
	return m.guarded == "true" || m.guarded == "false" && len(c.Breaks) > 0
}

// hitLimit says whether the frame was compiled as often as is allowed.
func (m *metrics) hitLimit() bool {
	return strings.HasPrefix(m.failReason, "Dynamo recompile limit exceeded") ||
		strings.HasPrefix(m.failReason, "Dynamo cache limit exceeded") ||
		m.failType == "CacheLimitExceeded" || m.failType == "RecompileLimitExceeded"
}

func (f *Fold) fail(c *compile, m *metrics) {
	c.Status = explain.Failed
	eager := m.failType == "Unsupported" && len(c.Breaks) > 0
	if eager {
		c.Status = explain.Skipped
	}
	fl := &explain.Failure{
		Eager: eager, ID: c.ID, Type: f.intern(m.failType), Reason: f.intern(m.failReason), Frame: c.Frame.Name,
		Seq: m.seq,
	}
	fl.Pos = f.pos(logs.Pos{File: m.failFile, Line: m.failLine})
	if b := c.errBreak; b != nil {
		fl.Seq = c.errSeq
		if len(b.Stack) > 0 {
			fl.Stack = f.stack(b.Stack)
			fl.Pos = f.pos(b.Place)
		}
		if len(b.Blocks) > 0 {
			fl.Code, fl.Hints, fl.Context = f.intern(b.Blocks[0].Code), f.interned(b.Blocks[0].Hints), f.intern(b.Blocks[0].Context)
			if fl.Reason == "" {
				fl.Reason = f.intern(b.Blocks[0].Typ)
			}
		}
	}
	if fl.Pos.File == "" {
		fl.Pos = c.Frame.Pos
	}
	switch { // these come without a code
	case fl.Type == "FailOnRecompileLimitHit":
		fl.Code = breaks.RecompileLimit
	case fl.Code == "" && explain.IsFakeError(fl.Reason): // as before 2.10
		fl.Code = explain.OperatorFailed
	}
	if fl.Reason == "" {
		fl.Reason = c.errText
	}
	fl.Pos = fl.Place()
	if len(c.Breaks) == 0 {
		fl.Fix = diagnose.FixFailure(fl, f.engine)
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

func backwardMetrics(f *Fold, r *logs.Record) {
	m := parseMetrics(r)
	c := f.compileOf(r)
	if c == nil {
		f.backward += m.duration
		return
	}
	c.bwd += m.duration
	switch {
	case m.hitLimit(): // 2.6 records it here
		c.Status, c.limit, c.Frame.Status = explain.Limit, true, explain.Limit
	case m.failType != "":
		f.fail(c, &m)
		c.Failure.Type = "backward: " + c.Failure.Type
	}
	if m.start > 0 {
		f.extend(time.UnixMicro(m.start), time.Duration(m.duration*float64(time.Second)))
	}
}

func runtimeMetrics(f *Fold, r *logs.Record) {
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
	f.side = append(f.side, explain.SideNote{ID: f.id(r), Kind: f.intern(kind), Text: f.intern(text)})
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
