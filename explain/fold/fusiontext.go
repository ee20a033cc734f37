package fold

import (
	"slices"
	"strconv"
	"strings"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/logs/loops"
)

// This file folds the logs of PyTorch's scheduler: its nodes, what it fused and what it did not.

// fusionLine folds one message of the fusion log.
func fusionLine(f *Fold, r *logs.Record, text string) bool {
	line := strings.TrimSpace(explain.FirstLine(text))
	if line == nodesBefore {
		fusionLoops(f, r, true, text)
		return true
	}
	id := f.id(r)
	id.Attempt = 0
	if strings.HasPrefix(line, "===== attempting fusion (1/") && f.fusing[id] != nil && f.fusing[id].Round > 0 {
		delete(f.fusing, id) // the backward of the same compile
	}
	fu := f.fusionOf(f.id(r), f.compileOf(r))
	switch {
	case strings.HasPrefix(line, "===== attempting fusion ("):
		fu.Round++
		if n := numberBefore(line, " nodes"); fu.Before == 0 {
			fu.Before, fu.After = n, n
		}
	case strings.HasPrefix(line, "cannot fuse "):
		refusal(f, fu, line)
	case strings.HasPrefix(line, memoryRejected):
		pair, delta, _ := strings.Cut(strings.TrimPrefix(line, memoryRejected), ": ")
		refusal(f, fu, "cannot fuse "+pair+": "+strings.TrimSpace(memoryRejected)+": "+delta)
	case strings.HasPrefix(line, "fusing "):
		a, b, _ := strings.Cut(strings.TrimPrefix(line, "fusing "), " with ")
		fu.Steps = append(
			fu.Steps,
			logs.FusionStep{Round: fu.Round, A: f.intern(a), B: f.intern(b), Fused: true, Result: f.intern(a + "_" + b)},
		)
	case strings.HasPrefix(line, "completed fusion round"):
		if _, rest, ok := strings.Cut(line, " nodes into "); ok {
			fu.After = numberBefore(rest, " nodes")
		}
	case strings.Contains(line, " has ") && strings.HasSuffix(line, " shared data"):
		sharedData(f, fu, line)
	case strings.HasPrefix(line, "Schedule:"):
		fu.Schedule = append(fu.Schedule, r.Loader())
	case line == "fuse_nodes_once, candidates:", strings.Contains(line, schedulerNode):
		for line := range strings.SplitSeq(text, "\n") {
			candidate(f, fu, strings.TrimSpace(line))
		}
	case strings.HasPrefix(line, "found "), strings.HasPrefix(line, "===== fusion complete"):
	default:
		return false
	}
	return true
}

const (
	nodesBefore    = "tcdbg: nodes before fusion" // internal/pyhook has it written
	memoryRejected = "memory-timeline fusion rejected "
	schedulerNode  = "SchedulerNode(name='op"
	maxGap         = 1 << 10 // between two numbers
)

// candidate reads a node of the scheduler, "SchedulerNode(name='op1'), Reduction(['[64]',
// 'sum', 'origins=OrderedSet([sum_1, relu])', ...": its number and the operator that it
// computes, the first of those it came from. Groups repeat the nodes in them.
func candidate(f *Fold, fu *explain.Fusion, line string) {
	kind, rest, ok := strings.Cut(line, schedulerNode)
	number, rest, closed := strings.Cut(rest, "'")
	n, err := strconv.Atoi(number)
	if !ok || !closed || err != nil || n < 0 || n > len(fu.Ops)+maxGap || strings.Contains(kind, "(") {
		return
	}
	for len(fu.Origins) <= n {
		fu.Origins = append(fu.Origins, explain.NodeOrigin{})
		f.hold(heldName)
	}
	if len(fu.Origins[n].Nodes) == 0 && kind == "" {
		fu.Origins[n] = origin(f, rest)
	}
	op := ""
	switch kind {
	case "ExternKernel":
		op = "extern op" + number
	case "NopKernel":
		op = "nop op" + number
	case "":
		if _, origins, ok := strings.Cut(rest, "'origins="); ok {
			if i := strings.IndexAny(origins, "[{"); i >= 0 {
				origins = origins[i+1:]
			}
			op = strings.TrimRight(origins[:max(strings.IndexAny(origins, ",]}"), 0)], "0123456789")
			op = strings.TrimRight(op, "_")
		}
	}
	if op == "" || n < len(fu.Ops) && fu.Ops[n] != "" {
		return
	}
	for len(fu.Ops) <= n {
		fu.Ops = append(fu.Ops, "")
		f.hold(heldName)
	}
	fu.Ops[n] = f.intern(op)
}

// refusal reads "cannot fuse A with B: REASON".
func refusal(f *Fold, fu *explain.Fusion, line string) {
	pair, reason, _ := strings.Cut(strings.TrimPrefix(line, "cannot fuse "), ": ")
	if strings.HasPrefix(pair, "(benchmark)") {
		pair, _, _ = strings.Cut(strings.TrimPrefix(reason, "fusing "), " cause ")
		reason = "benchmark: " + reason
	}
	a, b, _ := strings.Cut(pair, " with ")
	a, b = ofBuffers(fu, a), ofBuffers(fu, b)
	step := logs.FusionStep{Round: fu.Round, A: f.intern(a), B: f.intern(b), Reason: f.intern(reason), Score: fu.Scores[a+"\x00"+b]}
	if fu.Refused == nil {
		fu.Refused = map[string]int{}
	}
	key := a + "\x00" + b
	if i, again := fu.Refused[key]; again && fu.Steps[i].Reason == reason { // pairs are tried again as groups grow
		return
	}
	fu.Refused[key] = len(fu.Steps)
	fu.Steps = append(fu.Steps, step)
}

func sharedData(f *Fold, fu *explain.Fusion, line string) {
	pair, rest, _ := strings.Cut(line, " has ")
	a, b, _ := strings.Cut(pair, " and ")
	if fu.Scores == nil {
		fu.Scores = map[string]int64{}
	}
	fu.Scores[a+"\x00"+b] = int64(numberBefore(rest, " shared"))
}

// numberBefore reads the number in front of a word.
func numberBefore(s, word string) int {
	i := strings.Index(s, word)
	if i < 0 {
		return 0
	}
	j := i
	for j > 0 && s[j-1] >= '0' && s[j-1] <= '9' {
		j--
	}
	return explain.Atoi(s[j:i])
}

// maxLoops bounds the text of a schedule's loops that is read.
const maxLoops = 64 << 20

// fusionLoops reads what the nodes of a schedule read and write. The log from before fusion opens
// the decisions; the one from after it says the same of nodes that no other told of.
func fusionLoops(f *Fold, r *logs.Record, before bool, text string) {
	id := f.id(r)
	id.Attempt = 0
	if before && f.fusing[id] != nil && f.fusing[id].Round > 0 {
		delete(f.fusing, id)
	}
	if !before && (f.fusing[id] == nil || f.fusing[id].Loops != nil) || len(text) > maxLoops {
		return
	}
	p := loops.Parse(text)
	if p == nil {
		return
	}
	fu := f.fusionOf(f.id(r), f.compileOf(r))
	if fu.Loops == nil {
		f.hold(p.Size())
		fu.Loops = p
	}
}

// maxOrigins bounds the graph's nodes that are kept of one node of the scheduler.
const maxOrigins = 64

// origin reads what a node of the scheduler computes, "origins=OrderedSet([sum_1, relu])', 'stack_traces
// = {', '  File "/w/a.py", line 7, in f', '    y = x.sum()', ...: the graph's nodes, and of each
// stack the innermost line.
func origin(f *Fold, s string) explain.NodeOrigin {
	var o explain.NodeOrigin
	_, s, ok := strings.Cut(s, "'origins=")
	if !ok {
		return o
	}
	names, rest, _ := strings.Cut(strings.TrimLeft(strings.TrimPrefix(s, "OrderedSet("), "[{"), "'")
	names, _, _ = strings.Cut(names, "]")
	names = strings.TrimRight(names, "})")
	for name := range strings.SplitSeq(names, ", ") {
		if len(o.Nodes) == maxOrigins {
			break
		}
		if name != "" {
			o.Nodes = append(o.Nodes, f.intern(name))
			f.hold(heldName)
		}
	}
	for trace := range strings.SplitSeq(rest, "'stack_traces = {'") {
		i := strings.LastIndex(trace, `  File "`)
		if i < 0 || len(o.Pos) == maxOrigins {
			continue
		}
		file, after, _ := strings.Cut(trace[i+len(`  File "`):], `", line `)
		line, after, _ := strings.Cut(after, ", in ")
		fn, code, _ := strings.Cut(after, "', ")
		code, _, _ = strings.Cut(strings.Trim(code, `'"`), "', ")
		n, err := strconv.Atoi(line)
		if err != nil || n <= 0 || file == "" {
			continue
		}
		p := logs.Pos{File: f.intern(file), Line: n, Func: f.intern(fn), Code: f.intern(strings.TrimRight(code, " '"))}
		if !slices.Contains(o.Pos, p) {
			o.Pos = append(o.Pos, p)
			f.hold(heldEvent)
		}
	}
	return o
}

// ofBuffers is the node that writes a set of buffers, OrderedSet(['buf4']), in whose words timed
// decisions are told; other names stay.
func ofBuffers(fu *explain.Fusion, s string) string {
	_, list, ok := strings.Cut(s, "(['")
	if !ok {
		return s
	}
	list, _, _ = strings.Cut(list, "'])")
	if fu.Loops == nil {
		return strings.ReplaceAll(list, "', '", ", ")
	}
	var nodes []string
	for name := range strings.SplitSeq(list, "', '") {
		if n := fu.Loops.Writer(name); n != "" && !slices.Contains(nodes, n) {
			nodes = append(nodes, n)
		}
	}
	if len(nodes) == 0 {
		return strings.ReplaceAll(list, "', '", ", ")
	}
	return strings.Join(nodes, "_")
}
