package logs

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// This file writes messages as records. What PyTorch also has as a record gets
// that record's name; the rest becomes torch_log, with the artifact's name.

// converter keeps what must be known to tell where ids start again.
type converter struct {
	ranks map[int]*textRank
	// beside says that a trace of the same run is read too: then only what the
	// trace lacks becomes records of its own.
	beside bool
}

type textRank struct {
	seen map[compileKey]map[string]bool // compile -> artifacts seen, with attempt
}

func newConverter() converter { return converter{ranks: map[int]*textRank{}} }

// event is a record about to be written.
type event struct {
	kind, name string // name: of an artifact
	meta       map[string]any
	payload    string
	hasPayload bool
}

// convert writes one prefixed message.
func (c *converter) convert(out *bytes.Buffer, m *message) {
	name := m.artifact
	if name == "" {
		name = artifactOf(strings.Join(m.lines, "\n"))
	}
	text := strings.Join(m.lines[m.told:], "\n")
	if m.told > 0 { // what came late for a message that is converted
		for _, e := range torchLog(m, name, text) {
			c.write(out, m, e)
		}
		return
	}
	if m.id.Frame < 0 && name == "cudagraphs" { // the id is inside the text
		l := textLine{id: NoCompile, autograd: -1}
		lexTags(text, &l)
		if l.hasID {
			m.id, m.hasID, text = l.id, true, l.text
		}
	}
	c.start(out, m, name)
	conv := textConverters[name]
	if conv == nil || c.beside {
		conv = torchLog
	}
	for _, e := range conv(m, name, text) {
		c.write(out, m, e)
	}
}

// artifactOf tells an untagged message by its text.
func artifactOf(text string) string {
	for _, s := range []struct{ start, name string }{
		{"Graph break in user code", "graph_breaks"},
		{"Graph break (", "graph_breaks"},
		{"Graph break: ", "graph_breaks"},
		{"Recompiling function ", "recompiles"},
		{"GUARDS:", "guards"},
		{"\nTREE_GUARD_MANAGER", "guards"},
		{"TREE_GUARD_MANAGER", "guards"},
		{"Output code:", "output_code"},
		{"Output code written to:", "output_code"},
		{"Schedule:", "schedule"},
		{"cannot fuse ", "fusion"},
		{"fusing ", "fusion"},
		{"===== attempting fusion", "fusion"},
		{"skipping cudagraphs", "cudagraphs"},
		{"create_symbol ", "dynamic"},
		{"create_unbacked_symbol ", "dynamic"},
		{"eval ", "dynamic"},
		{"set_replacement ", "dynamic"},
		{"create_env", "dynamic"},
		{"produce_guards", "dynamic"},
		{"Step ", "step"},
		{"torchdynamo start ", "step"},
	} {
		if strings.HasPrefix(text, s.start) {
			return s.name
		}
	}
	if strings.HasPrefix(text, "TRACED GRAPH") {
		switch {
		case strings.HasPrefix(text, "TRACED GRAPH TENSOR SIZES"):
			return "graph_sizes"
		case strings.Contains(text, "Forward graph") || strings.Contains(text, "Backward graph") || strings.Contains(text, "Joint graph"):
			return "aot_graphs"
		case strings.Contains(text, "POST GRAD"):
			return "post_grad_graphs"
		case strings.Contains(text, "PRE GRAD"):
			return "pre_grad_graphs"
		}
		return "graph_code"
	}
	return ""
}

// firstPhase are artifacts that one attempt of a compile writes once, so that
// a second one means that ids started again.
var firstPhase = map[string]bool{"graph_breaks": true, "graph_code": true, "recompiles": true, "recompiles_verbose": true, "guards": true}

// start writes a dynamo_start for the first message of a compile, and again
// where its id is used for another compile after a reset.
func (c *converter) start(out *bytes.Buffer, m *message, name string) {
	if m.id.Frame < 0 || c.beside {
		return
	}
	r := c.ranks[m.rank]
	if r == nil {
		r = &textRank{seen: map[compileKey]map[string]bool{}}
		c.ranks[m.rank] = r
	}
	key := compileKey{m.autograd, m.id.Frame, m.id.Compile}
	mark := name + "_" + strconv.Itoa(m.id.Attempt)
	seen := r.seen[key]
	if name == "guards" && m.lines[0] != "GUARDS:" {
		mark = "" // a further part of them
	}
	again := seen != nil && firstPhase[name] && seen[mark]
	if again {
		clear(r.seen)
		seen = nil
	}
	if seen == nil {
		seen = map[string]bool{}
		r.seen[key] = seen
		start := *m
		start.id.Attempt = 0
		c.write(out, &start, event{kind: "dynamo_start", meta: map[string]any{"stack": []any{}}})
	}
	seen[mark] = true
}

// textConverters is the table from artifact name to records.
var textConverters = map[string]func(m *message, name, text string) []event{
	"graph_breaks":       textArtifact("dynamo_graph_break_reason"),
	"recompiles":         recompileText,
	"recompiles_verbose": recompileText,
	"guards":             guardsText,
	"graph_code":         textKind("dynamo_output_graph"),
	"graph":              textKind("dynamo_output_graph"),
	"aot_graphs":         aotText,
	"aot_joint_graph":    textKind("aot_joint_graph"),
	"post_grad_graphs":   textArtifact("inductor_post_grad_graph"),
	"pre_grad_graphs":    textArtifact("before_pre_grad_graph"),
	"ddp_graphs":         textKind("optimize_ddp_split_graph"),
	"compiled_autograd":  compiledAutogradText,
	"output_code":        outputCodeText,
	"side_effects":       textArtifact("dynamo_side_effects"),
	"dynamic":            dynamicText,
	"step":               stepText,
	"bytecode":           bytecodeText,
}

func textArtifact(as string) func(*message, string, string) []event {
	return func(_ *message, _, text string) []event {
		return []event{{kind: "artifact", name: as, payload: text, hasPayload: true}}
	}
}

func textKind(as string) func(*message, string, string) []event {
	return func(_ *message, _, text string) []event {
		return []event{{kind: as, payload: text, hasPayload: true}}
	}
}

func torchLog(m *message, name, text string) []event {
	return []event{{kind: "torch_log", meta: map[string]any{"name": name, "level": string(m.level)}, payload: text, hasPayload: true}}
}

// recompileText reads head, entries and user stacks; the stack's lines are
// after "- " as reasons do.
func recompileText(m *message, name, text string) []event {
	lines := strings.Split(text, "\n")
	meta := map[string]any{"encoding": "json"}
	if fn, place, ok := strings.Cut(strings.TrimPrefix(lines[0], "Recompiling function "), " in "); ok {
		meta["function"] = fn
		file, line, _ := cutPlace(place)
		meta["file"], meta["line"] = file, line
	}
	var reasons [][]string // lines of each
	more := func(line string) { reasons[len(reasons)-1] = append(reasons[len(reasons)-1], line) }
	for _, l := range lines[1:] {
		s, ok := strings.CutPrefix(strings.TrimLeft(l, " "), "- ")
		switch {
		case strings.Contains(l, "triggered by the following") ||
			strings.HasPrefix(strings.TrimSpace(l), "guard ") && strings.HasSuffix(l, "failures:"):
		case !ok:
			if t := strings.TrimSpace(l); t != "" && len(reasons) > 0 {
				more(t)
			}
		case reasonHead().MatchString(s) || len(reasons) == 0:
			reasons = append(reasons, []string{s})
		case !strings.HasPrefix(s, " ") && !strings.HasPrefix(s, "User stack trace"):
			reasons = append(reasons, []string{s})
		default:
			more(s)
		}
	}
	joined := make([]string, len(reasons))
	for i, lines := range reasons {
		joined[i] = strings.Join(lines, "\n")
	}
	body, err := marshal(joined)
	if err != nil || len(reasons) == 0 {
		return torchLog(m, name, text)
	}
	return []event{{kind: "artifact", name: "recompile_reasons", meta: meta, payload: string(body), hasPayload: true}}
}

var reasonHead = pattern(`^!?\d+/\d+(_\d+)?: `)

func cutPlace(s string) (string, int, bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s, 0, false
	}
	n, err := strconv.Atoi(s[i+1:])
	return s[:i], n, err == nil
}

// guardsText keeps the tree; guard functions printed on their own are logs.
func guardsText(m *message, name, text string) []event {
	if !strings.Contains(text, "+- ") {
		return torchLog(m, name, text)
	}
	return []event{{kind: "dynamo_cpp_guards_str", payload: strings.TrimPrefix(text, "GUARDS:\n"), hasPayload: true}}
}

func aotText(m *message, name, text string) []event {
	head := text[:min(len(text), 200)]
	kind := ""
	switch {
	case !strings.HasPrefix(text, "TRACED GRAPH"):
	case strings.Contains(head, "Joint graph"):
		kind = "aot_joint_graph"
	case strings.Contains(head, "Backward graph"):
		kind = "aot_backward_graph"
	case strings.Contains(head, "Forward graph"):
		kind = "aot_forward_graph"
	default:
		kind = "aot_inference_graph"
	}
	if kind == "" {
		return torchLog(m, name, text)
	}
	return []event{{kind: kind, payload: text, hasPayload: true}}
}

func compiledAutogradText(m *message, name, text string) []event {
	if strings.HasPrefix(text, "TRACED GRAPH") {
		return []event{{kind: "compiled_autograd_graph", payload: text, hasPayload: true}}
	}
	return torchLog(m, name, text)
}

func outputCodeText(m *message, name, text string) []event {
	body := strings.TrimPrefix(strings.TrimPrefix(text, "Output code: \n"), "Output code:\n")
	meta := map[string]any{}
	if i := strings.LastIndex(body, "Output code written to: "); i >= 0 {
		path, _, _ := strings.Cut(body[i+len("Output code written to: "):], "\n")
		meta["filename"] = strings.TrimSpace(path)
		body = strings.TrimSuffix(body[:i], "\n")
	}
	if strings.TrimSpace(body) == "" {
		return torchLog(m, name, text)
	}
	return []event{{kind: "inductor_output_code", meta: meta, payload: body, hasPayload: true}}
}

var (
	symbolForm  = pattern(`^create_symbol (\S+) = (\S+) for (.+?) (\[[^\]]*\])(.*)$`)
	unbacked    = pattern(`^create_unbacked_symbol?i?n?t? (\S+) (\[[^\]]*\])(.*)$`)
	evalForm    = pattern(`^eval (.+?) \[(?:guard added|deferred)[^\]]*\](.*)$`)
	replaceForm = pattern(`^set_replacement (\S+) = (\S+) \(([^)]*)\)`)
	placeForm   = pattern(`# (\S+):(\d+) in (\S+)`)
)

// dynamicText reads the log of symbolic sizes.
func dynamicText(m *message, name, text string) []event {
	if f := symbolForm().FindStringSubmatch(text); f != nil {
		return []event{{kind: "create_symbol", meta: map[string]any{
			"symbol": f[1], "val": f[2], "source": f[3], "vr": f[4],
			"user_stack": placeStack(f[5]),
		}}}
	}
	if f := unbacked().FindStringSubmatch(text); f != nil {
		return []event{{kind: "create_unbacked_symbol", meta: map[string]any{"symbol": f[1], "vr": f[2], "user_stack": placeStack(f[3])}}}
	}
	if f := evalForm().FindStringSubmatch(text); f != nil {
		return []event{{kind: "guard_added_fast", meta: map[string]any{"expr": f[1], "user_stack": placeStack(f[2])}}}
	}
	if f := replaceForm().FindStringSubmatch(text); f != nil {
		if _, err := strconv.Atoi(f[2]); err == nil {
			return []event{{
				kind: "symbolic_shape_specialization",
				meta: map[string]any{"symbol": f[1], "value": f[2], "reason": f[3], "sources": []string{}},
			}}
		}
	}
	return torchLog(m, name, text)
}

// placeStack makes a one-frame stack of "code  # file:19 in r (..)".
func placeStack(s string) []any {
	f := placeForm().FindStringSubmatch(s)
	if f == nil {
		return []any{}
	}
	n, _ := strconv.Atoi(f[2])
	code, _, _ := strings.Cut(s, "  # ")
	return []any{map[string]any{"line": n, "name": f[3], "filename": f[1], "loc": strings.TrimSpace(code)}}
}

var stepForm = pattern(`torchdynamo start (?:tracing|compiling) (\S+) (.+):(\d+)`)

// stepText reads "Step 1: torchdynamo start tracing r /w/m.py:18", which names
// the frame.
func stepText(m *message, name, text string) []event {
	f := stepForm().FindStringSubmatch(text)
	if f == nil || m.id.Frame < 0 {
		return torchLog(m, "dynamo", text)
	}
	n, _ := strconv.Atoi(f[3])
	return []event{frameEvent(f[1], f[2], n)}
}

var bytecodeForm = pattern(`^ORIGINAL BYTECODE (\S+) (.+) line (\d+)`)

// bytecodeText reads "ORIGINAL BYTECODE r /w/m.py line 18", which names the
// frame too.
func bytecodeText(m *message, name, text string) []event {
	f := bytecodeForm().FindStringSubmatch(text)
	log := torchLog(m, name, text)
	if f == nil || m.id.Frame < 0 {
		return log
	}
	n, _ := strconv.Atoi(f[3])
	return append([]event{frameEvent(f[1], f[2], n)}, log...)
}

// frameEvent names the function of a compile.
func frameEvent(name, file string, line int) event {
	st := []any{map[string]any{"line": line, "name": name, "filename": file}}
	return event{kind: "torch_log", meta: map[string]any{"name": "frame", "stack": st}, hasPayload: true}
}

// plain writes one unprefixed block.
func (c *converter) plain(out *bytes.Buffer, kind plainKind, m *message) {
	text := strings.Join(m.lines, "\n")
	var events []event
	if c.beside {
		kind = plainOutput
	}
	switch kind {
	case plainBreak:
		events = textArtifact("dynamo_graph_break_reason")(m, "", text)
	case plainError:
		events = errorText(m, text)
	case plainRecompile:
		events = recompileText(m, "recompiles", text)
	case plainTable, plainCode:
		events = textKind("dynamo_output_graph")(m, "", text)
	case plainGuards:
		events = guardsText(m, "guards", text)
	case plainExplain:
		events = explainText(m, text)
	case plainWrapper:
		events = outputCodeText(m, "output_code", text)
	default:
		if strings.TrimSpace(text) == "" {
			return
		}
		events = torchLog(m, "output", text)
	}
	for _, e := range events {
		c.write(out, m, e)
	}
}

// errorText writes an exception of the compiler; other tracebacks are output.
func errorText(m *message, text string) []event {
	if !strings.Contains(text, "torch._dynamo.exc.") && !strings.Contains(text, "compile-graph-break-site") &&
		len(FindUncaught(text)) == 0 {
		return torchLog(m, "output", text)
	}
	if _, rest, ok := strings.Cut(text, "EXC <class '"); ok { // repr of a class, then the message
		if name, msg, ok := strings.Cut(rest, "'> "); ok {
			text = name + ": " + msg
		}
	}
	return []event{{kind: "artifact", name: "dynamo_error", payload: text, hasPayload: true}}
}

// explainText reads the output of torch._dynamo.explain: its break reasons
// become breaks, its lists of operators graphs, the counts a remark. The
// counts themselves are not believed: they are graphs minus one.
func explainText(m *message, text string) []event {
	var events []event
	lines := strings.Split(text, "\n")
	var counts []string
	for i := 0; i < len(lines); i++ {
		trimmed := strings.TrimSpace(lines[i])
		switch {
		case strings.Contains(trimmed, "Graph Count:"), strings.HasPrefix(trimmed, "Graph Break Count:"),
			strings.HasPrefix(trimmed, "Op Count:"):
			counts = append(counts, trimmed)
		case strings.HasPrefix(lines[i], "    Reason: "):
			j := i + 1
			for j < len(lines) && !strings.HasPrefix(lines[j], "  Break Reason ") &&
				!strings.HasPrefix(lines[j], "Ops per Graph:") && !strings.HasPrefix(lines[j], "Out Guards:") {
				j++
			}
			events = append(events, explainBreak(strings.TrimPrefix(lines[i], "    Reason: "), lines[i+1:j]))
			i = j - 1
		case strings.HasPrefix(trimmed, "Ops ") && strings.HasSuffix(trimmed, ":") && strings.HasPrefix(lines[i], "  Ops "):
			j := i + 1
			for j < len(lines) && strings.HasPrefix(lines[j], "    ") {
				j++
			}
			events = append(events, explainOps(strings.TrimSuffix(trimmed, ":"), lines[i+1:j]))
			i = j - 1
		}
	}
	return append(events, torchLog(m, "explain", strings.Join(counts, ", "))...)
}

// explainBreak puts a reason and its stack into the form of a break message.
func explainBreak(reason string, rest []string) event {
	var b strings.Builder
	b.WriteString(reason)
	for _, l := range rest {
		b.WriteByte('\n')
		if strings.TrimSpace(l) == "User Stack:" {
			b.WriteString("\nUser code traceback:")
			continue
		}
		b.WriteString(l)
	}
	return event{kind: "artifact", name: "dynamo_graph_break_reason", payload: b.String(), hasPayload: true}
}

// explainOps makes a graph listing of a list of targets.
func explainOps(title string, ops []string) event {
	var b strings.Builder
	b.WriteString("graph():\n")
	for i, op := range ops {
		fmt.Fprintf(
			&b, "    %%op_%d : [num_users=1] = call_function[target=%s](args = (), kwargs = {})\n", i,
			fxTarget(strings.TrimSpace(op)),
		)
	}
	return event{kind: "dynamo_output_graph", meta: map[string]any{"function": "explain " + title}, payload: b.String(), hasPayload: true}
}

var builtinTarget = pattern(`^<(?:built-in )?(?:function|method) (\w+)`)

func fxTarget(s string) string {
	if f := builtinTarget().FindStringSubmatch(s); f != nil {
		return f[1]
	}
	return strings.NewReplacer("[", "(", "]", ")", "\n", " ").Replace(s)
}

// write appends one record in the form of a trace.
func (c *converter) write(out *bytes.Buffer, m *message, e event) {
	us := m.micros
	day := int(us / 86_400_000_000)
	mon := 11
	for mon > 0 && yearDay[mon] > day {
		mon--
	}
	us %= 86_400_000_000
	level := m.level
	if !isLevel(level) {
		level = 'V'
	}
	place := strings.Map(func(r rune) rune {
		if r == '\n' || r == ']' {
			return '_'
		}
		return r
	}, m.place)
	if place == "" {
		place = "text:" + strconv.Itoa(m.first)
	}
	fmt.Fprintf(out, "%c%02d%02d %02d:%02d:%02d.%06d %d %s] {", level, mon+1, day-yearDay[mon]+1,
		us/3_600_000_000, us/60_000_000%60, us/1_000_000%60, us%1_000_000, m.thread, place)
	kind, meta := e.kind, e.meta
	if meta == nil {
		meta = map[string]any{}
	}
	meta["text_line"] = m.first
	if e.kind == "artifact" {
		meta["name"] = e.name
		if _, ok := meta["encoding"]; !ok {
			meta["encoding"] = "string"
		}
	}
	body, err := marshal(meta)
	if err != nil {
		body = []byte("{}")
	}
	fmt.Fprintf(out, "%q: %s", kind, body)
	if m.rank >= 0 {
		fmt.Fprintf(out, `, "rank": %d`, m.rank)
	}
	if m.autograd >= 0 {
		fmt.Fprintf(out, `, "compiled_autograd_id": %d`, m.autograd)
	}
	if m.id.Frame >= 0 {
		fmt.Fprintf(out, `, "frame_id": %d, "frame_compile_id": %d, "attempt": %d`, m.id.Frame, m.id.Compile, m.id.Attempt)
	}
	if e.hasPayload {
		sum := md5.Sum([]byte(e.payload))
		fmt.Fprintf(out, `, "has_payload": "%s"`, hex.EncodeToString(sum[:]))
	}
	out.WriteString("}\n")
	if !e.hasPayload {
		return
	}
	for line := range strings.SplitSeq(e.payload, "\n") {
		out.WriteByte('\t')
		out.WriteString(line)
		out.WriteByte('\n')
	}
}
