package logs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Renderer is a Sink that prints records as TORCH_LOGS would: PyTorch's line
// prefix, every line of a message after it, artifacts chosen by name. One
// message is one write. A nil *Renderer prints nothing.
type Renderer struct {
	mu     sync.Mutex
	w      io.Writer
	set    LogSet
	o      WriterOptions
	names  map[int]FrameInfo               // frame -> what it is
	places map[CompileID]Provenance        // of the output code that follows, for kernel_code
	graph  map[CompileID]Out               // a captured graph that waits for its name
	hints  map[CompileID]map[string]string // values of symbols
	nodes  map[CompileID][]string          // last schedule
	line   string                          // last traced place
	rounds map[CompileID]int
}

// NewRenderer prints the records that set turns on.
func NewRenderer(w io.Writer, set LogSet, o WriterOptions) *Renderer {
	base := NewWriter(w, o)
	return &Renderer{
		w: w, set: set, o: base.o, names: map[int]FrameInfo{}, places: map[CompileID]Provenance{},
		graph: map[CompileID]Out{}, hints: map[CompileID]map[string]string{},
		nodes: map[CompileID][]string{}, rounds: map[CompileID]int{},
	}
}

// Stack implements Sink: a Renderer interns nothing.
func (r *Renderer) Stack(s []Frame) any { return s }

// Emit implements Sink.
func (r *Renderer) Emit(o Out) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := printerOf(&o); p.print != nil && p.wanted(r.set) {
		p.print(r, o)
	}
}

// wants reports whether Emit does anything with a record.
func (r *Renderer) wants(o *Out) bool {
	if r == nil {
		return false
	}
	p := printerOf(o)
	return p.print != nil && p.wanted(r.set)
}

func printerOf(o *Out) printer {
	name := o.Kind
	if o.Kind == "artifact" {
		if m, ok := o.Meta.(map[string]string); ok {
			name = m["name"]
		}
	}
	return printers[canonical(name)]
}

// printer is how records of one kind are printed.
type printer struct {
	logs  string // those that it prints, or keeps something for, by name; empty: it does so always
	print func(r *Renderer, o Out)
}

// wanted reports whether a record has to be looked at. Many are large, and most runs print none of them.
func (p printer) wanted(on LogSet) bool {
	if p.logs == "" {
		return true
	}
	for name := range strings.FieldsSeq(p.logs) {
		if on[name] {
			return true
		}
	}
	return false
}

// printers is the table from record to text.
var printers = map[string]printer{
	"tcdbg_frame":               {"", (*Renderer).frame},
	"dynamo_graph_break_reason": {"graph_breaks", (*Renderer).graphBreak},
	"recompile_reasons":         {"recompiles", (*Renderer).recompiles},
	"tcdbg_guard_miss":          {"", (*Renderer).guardMiss},
	"dynamo_cpp_guards_str":     {"guards", (*Renderer).guards},
	"dynamo_output_graph":       {"graph_code graph_sizes", (*Renderer).graphCode},
	"tcdbg_graph_code":          {"graph graph_code graph_sizes", (*Renderer).graphTable},
	"dynamo_side_effects":       text("side_effects", ""),
	"aot_joint_graph":           text("aot_joint_graph", "TRACED GRAPH\n ===== Joint graph ====="),
	"aot_forward_graph":         text("aot_graphs", "TRACED GRAPH\n ===== Forward graph ====="),
	"aot_backward_graph":        text("aot_graphs", "TRACED GRAPH\n ===== Backward graph ====="),
	"aot_inference_graph":       text("aot_graphs", "TRACED GRAPH\n ===== Inference graph ====="),
	"before_pre_grad_graph":     text("pre_grad_graphs", "TRACED GRAPH\n ===== BEFORE PRE GRAD ====="),
	"inductor_post_grad_graph":  text("post_grad_graphs", "TRACED GRAPH\n ===== AFTER POST GRAD ====="),
	"tcdbg_schedule":            {"post_grad_graphs", (*Renderer).lowered},
	"inductor_output_code":      {"output_code kernel_code", (*Renderer).outputCode},
	"tcdbg_fusion_step":         {"fusion", (*Renderer).fusion},
	"tcdbg_pass_step":           {"ir_pre_fusion ir_post_fusion schedule", (*Renderer).pass},
	"tcdbg_provenance":          {"schedule kernel_code perf_hints", (*Renderer).kernels},
	"tcdbg_autotuning":          {"autotuning", (*Renderer).autotuning},
	"tcdbg_trace_step":          {"trace_source trace_bytecode", (*Renderer).step},
	"create_symbol":             {"dynamic graph_sizes", (*Renderer).symbol},
	"tcdbg_graph_inputs":        {"cudagraphs", (*Renderer).cudagraphs},
	"tcdbg_ssa":                 text("bytecode", "ORIGINAL SSA"),
	"tcdbg_entry":               text("bytecode", "MODIFIED SSA"),
}

// cudagraphs says what the mode that asks for CUDA graphs does on a CPU.
func (r *Renderer) cudagraphs(o Out) {
	v, ok := data[GraphInputs](o)
	asked, _ := v.Options["triton.cudagraphs"].(bool)
	if !ok || v.Backend != "inductor" || !asked && v.Mode != "reduce-overhead" && v.Mode != "max-autotune" {
		return
	}
	r.print('V', "cudagraphs", o, "skipping cudagraphs due to cpu device: memory of "+v.Graph+" is kept and used again by its calls")
}

// lowered prints the graph that Inductor makes loops of: the passes on graphs are done.
func (r *Renderer) lowered(o Out) {
	if s, ok := data[Schedule](o); ok {
		r.print('V', "post_grad_graphs", o, "TRACED GRAPH\n ===== AFTER POST GRAD =====\n"+s.Code)
	}
}

func (r *Renderer) autotuning(o Out) {
	if v, ok := data[Autotuning](o); ok {
		r.print('I', "autotuning", o, v.Text())
	}
}

func text(name, head string) printer {
	return printer{name, func(r *Renderer, o Out) {
		body := string(o.Payload)
		if head != "" {
			body = head + "\n" + body
		}
		r.print('V', name, o, body)
	}}
}

// print writes one message if its name is on; "" is always on.
func (r *Renderer) print(level byte, name string, o Out, message string) {
	if name != "" && !r.set[name] {
		return
	}
	now := r.o.Now()
	var prefix []byte
	if r.o.HasRank || r.o.Rank > 0 {
		prefix = fmt.Appendf(prefix, "[rank%d]:", r.o.Rank)
	}
	place := o.Place
	if place == "" {
		place = "tcdbg:0"
	}
	prefix = fmt.Appendf(prefix, "%c%02d%02d %02d:%02d:%02d.%06d %d %s] ", level, now.Month(), now.Day(),
		now.Hour(), now.Minute(), now.Second(), now.Nanosecond()/1000/1000*1000, r.o.PID, place)
	if o.ID.Frame >= 0 {
		prefix = append(prefix, '[')
		prefix = append(prefix, o.ID.String()...)
		prefix = append(prefix, "] "...)
	}
	if name != "" && findLog(name).parent != "" {
		prefix = fmt.Appendf(prefix, "[__%s] ", name)
	}
	var out []byte
	for line := range strings.SplitSeq(strings.TrimRight(message, "\n"), "\n") {
		out = append(out, prefix...)
		out = append(out, line...)
		out = append(out, '\n')
	}
	_, _ = r.w.Write(out)
}

// String is the id as PyTorch prints it: 0/1, with _2 for the second retry.
func (id CompileID) String() string {
	if id.Frame < 0 {
		return "-/-"
	}
	s := fmt.Sprintf("%d/%d", id.Frame, max(id.Compile, 0))
	if id.Attempt > 0 {
		s += fmt.Sprintf("_%d", id.Attempt)
	}
	return s
}

// data decodes the payload of one of our artifacts.
func data[T any](o Out) (v T, ok bool) {
	var head struct {
		Data T `json:"data"`
	}
	if json.Unmarshal(o.Payload, &head) != nil {
		return v, false
	}
	return head.Data, true
}

func (r *Renderer) frame(o Out) {
	if v, ok := data[FrameInfo](o); ok {
		r.names[o.ID.Frame] = v
	}
}

func (r *Renderer) graphBreak(o Out) {
	body := o.Payload
	if i := bytes.Index(body, []byte("\nTraceback (most recent call last):")); i >= 0 {
		body = body[:i]
	}
	r.print('V', "graph_breaks", o, string(body))
}

func (r *Renderer) recompiles(o Out) {
	reasons := JSONStrings(o.Payload)
	if len(reasons) == 0 {
		reasons = []string{string(o.Payload)}
	}
	r.print('V', "recompiles", o, r.recompileHead(o)+"\n    - "+strings.Join(indentAll(reasons), "\n    - "))
}

func indentAll(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = strings.ReplaceAll(s, "\n", "\n    - ")
	}
	return out
}

func (r *Renderer) recompileHead(o Out) string {
	f := r.names[o.ID.Frame]
	return fmt.Sprintf("Recompiling function %s in %s:%d\n    triggered by the following guard failure(s):", f.Name, f.Pos.File, f.Pos.Line)
}

// guardMiss prints all failing guards by entry, and the warning at the limit.
func (r *Renderer) guardMiss(o Out) {
	v, ok := data[GuardMiss](o)
	if !ok {
		return
	}
	var b strings.Builder
	b.WriteString(r.recompileHead(o))
	last, n := "", 0
	for _, f := range v.Failures {
		entry := fmt.Sprintf("%d/%d", o.ID.Frame, f.Entry)
		if entry != last {
			if last != "" {
				b.WriteString("\n")
			}
			fmt.Fprintf(&b, "\n    guard %d failures:", n)
			last = entry
			n++
		}
		fmt.Fprintf(&b, "\n    - %s: %s", entry, f.Message)
	}
	r.print('V', "recompiles_verbose", o, b.String())
	if v.Limit {
		f := r.names[o.ID.Frame]
		reason := "none"
		if len(v.Failures) > 0 {
			reason = fmt.Sprintf("%d/%d: %s", o.ID.Frame, v.Failures[0].Entry, v.Failures[0].Message)
		}
		r.print('W', "", o, fmt.Sprintf("torch._dynamo hit config.%s (%d)\n   function: '%s' (%s:%d)\n   last reason: "+
			"%s\nThe function runs eagerly from here on.\nTo see all recompile reasons, use TCDBG_LOGS=\"recompiles\".",
			cmp.Or(v.Setting, "recompile_limit"), cmp.Or(v.At, o.ID.Compile), f.Name, f.Pos.File, f.Pos.Line, reason))
	}
}

func (r *Renderer) guards(o Out) { r.print('V', "guards", o, "GUARDS:\n"+string(o.Payload)) }

// graphCode keeps a captured graph: its name is in the record that follows.
func (r *Renderer) graphCode(o Out) { r.graph[attemptless(o.ID)] = o }

// graphTable prints a captured graph in the forms that are asked for.
func (r *Renderer) graphTable(o Out) {
	v, ok := data[GraphCode](o)
	if !ok {
		return
	}
	key := attemptless(o.ID)
	if code, ok := r.graph[key]; ok {
		delete(r.graph, key)
		r.print('V', "graph_code", code, "TRACED GRAPH\n ===== "+v.Name+" =====\n "+string(code.Payload))
		if r.set["graph_sizes"] {
			r.print('V', "graph_sizes", code, "TRACED GRAPH TENSOR SIZES\n===== "+v.Name+" ====="+r.sizes(code))
		}
	}
	r.print('V', "graph", o, "TRACED GRAPH\n ===== "+v.Name+" =====\n"+v.Table)
}

func attemptless(id CompileID) CompileID { return CompileID{id.Frame, id.Compile, 0} }

// sizes lists the sizes of a graph's nodes in its order, symbolic ones with
// those of the call that was compiled for.
func (r *Renderer) sizes(o Out) string {
	meta, err := marshal(o.Meta)
	if err != nil {
		return ""
	}
	type row struct {
		at   int
		text string
	}
	var rows []row
	code := string(o.Payload)
	EachField(meta, func(k, v []byte) bool {
		if string(k) != "sizes" {
			return true
		}
		return EachField(v, func(node, size []byte) bool {
			dims := strings.Split(strings.NewReplacer("[", "", "]", "", `"`, "", " ", "").Replace(string(size)), ",")
			name := string(node)
			text := "\n" + name + ": " + tuple(dims)
			if hints := r.hints[attemptless(o.ID)]; len(hints) > 0 {
				text += concrete(name, dims, hints)
			}
			at := strings.Index(code, " "+name+": \"")
			if at < 0 { // a placeholder
				at = strings.Index(code, " "+name+" = ")
			}
			rows = append(rows, row{at, text})
			return true
		})
	})
	slices.SortStableFunc(rows, func(a, b row) int { return a.at - b.at })
	var b strings.Builder
	for _, x := range rows {
		b.WriteString(x.text)
	}
	return b.String()
}

// concrete is the line of sizes with the values of their symbols; empty where
// there are no symbols, or where a size is a larger expression.
func concrete(name string, dims []string, hints map[string]string) string {
	out, symbolic := make([]string, len(dims)), false
	for i, d := range dims {
		v, ok := hints[d]
		if _, err := strconv.Atoi(d); !ok && err != nil {
			return ""
		}
		if out[i] = d; ok {
			out[i], symbolic = v, true
		}
	}
	if !symbolic {
		return ""
	}
	return "\n" + name + " (concrete): " + tuple(out)
}

// tuple writes sizes as Python writes a tuple.
func tuple(dims []string) string {
	switch {
	case len(dims) == 1 && dims[0] == "":
		return "()"
	case len(dims) == 1:
		return "(" + dims[0] + ",)"
	}
	return "(" + strings.Join(dims, ", ") + ")"
}

func (r *Renderer) outputCode(o Out) {
	path := ""
	if meta, err := marshal(o.Meta); err == nil {
		EachField(meta, func(k, v []byte) bool {
			if string(k) == "filename" {
				path = JSONString(v)
			}
			return true
		})
	}
	body := "Output code: \n" + string(o.Payload)
	if filepath.IsAbs(path) { // a bare name is no file: what is built lies in the cache
		body += "\nOutput code written to: " + path
	}
	r.print('V', "output_code", o, body)
	r.kernelCode(o)
}

// kernelCode prints the output code kernel by kernel.
func (r *Renderer) kernelCode(o Out) {
	key := attemptless(o.ID)
	lines := strings.Split(string(o.Payload), "\n")
	for _, k := range r.places[key].Kernels {
		if !k.Extern && k.From >= 1 && k.To >= k.From && k.To <= len(lines) {
			r.print('V', "kernel_code", o, k.Name+"\n"+strings.Join(lines[k.From-1:k.To], "\n"))
		}
	}
	delete(r.places, key)
}

func (r *Renderer) fusion(o Out) {
	v, ok := data[FusionStep](o)
	if !ok {
		return
	}
	key := attemptless(o.ID)
	if r.rounds[key] < v.Round {
		r.rounds[key] = v.Round
		before := v.Kernels // after the step, which made two of them one
		if v.Fused {
			before++
		}
		r.print('V', "fusion", o, fmt.Sprintf("===== attempting fusion (%d/10): %d nodes =====", v.Round, before))
	}
	if v.Fused {
		r.print('V', "fusion", o, fmt.Sprintf("fusing %s with %s", v.A, v.B))
		return
	}
	r.print('V', "fusion", o, fmt.Sprintf("cannot fuse %s with %s: %s", v.A, v.B, v.Reason))
}

// pass keeps the schedule that the last pass of the scheduler left: its lines
// that are not indented name the groups.
func (r *Renderer) pass(o Out) {
	v, ok := data[PassStep](o)
	if !ok || v.Pass != "fuse" {
		return
	}
	r.print('V', "ir_pre_fusion", o, "BEFORE FUSION\n"+v.Before)
	r.print('V', "ir_post_fusion", o, "AFTER FUSION\n"+v.After)
	var names []string
	for line := range strings.Lines(v.After) {
		if name, _, _ := strings.Cut(strings.TrimSpace(line), " "); name != "" && line[0] != ' ' {
			names = append(names, name)
		}
	}
	r.nodes[attemptless(o.ID)] = names
}

func (r *Renderer) kernels(o Out) {
	v, ok := data[Provenance](o)
	if !ok {
		return
	}
	key := attemptless(o.ID)
	if nodes := r.nodes[key]; len(nodes) > 0 {
		r.print('V', "schedule", o, "Schedule:\n ["+strings.Join(nodes, ",\n  ")+"]")
		delete(r.nodes, key)
	}
	r.places[key] = v // the code follows
	for _, k := range v.Kernels {
		if k.Extern {
			r.print('I', "perf_hints", o, fmt.Sprintf("Using FallbackKernel: %s (%s)", strings.Join(k.Ops, ", "), k.Reason))
		}
	}
}

func (r *Renderer) step(o Out) {
	v, ok := data[TraceStep](o)
	if !ok {
		return
	}
	place := fmt.Sprintf("%s:%d", v.Pos.File, v.Pos.Line)
	if place != r.line {
		r.line = place
		r.print('V', "trace_source", o, fmt.Sprintf("TRACE starts_line %s in %s\n    %s", place, v.Pos.Func, v.Pos.Code))
	}
	r.print('V', "trace_bytecode", o, fmt.Sprintf("TRACE %s [%s]", v.Instr, strings.Join(v.Stack, ", ")))
}

func (r *Renderer) symbol(o Out) {
	meta, err := marshal(o.Meta)
	if err != nil {
		return
	}
	f := map[string]string{}
	EachField(meta, func(k, v []byte) bool {
		if v[0] == '"' {
			f[string(k)] = JSONString(v)
		}
		return true
	})
	key := attemptless(o.ID)
	if r.hints[key] == nil {
		r.hints[key] = map[string]string{}
	}
	r.hints[key][f["symbol"]] = f["val"]
	r.print('I', "dynamic", o, fmt.Sprintf("create_symbol %s = %s for %s %s", f["symbol"], f["val"], f["source"], f["vr"]))
}
