package backends

import (
	"encoding/json"
	"fmt"
	"strings"

	"tcdbg/graph"
	"tcdbg/inductor"
	"tcdbg/inductor/tune"
	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/torch/compiler/modes"
)

// This file keeps what was chosen by timing, for the next process.

// tuningVersion changes with what candidates there are, and with how they are timed.
const tuningVersion = 1

// keptTuning is a note in the cache.
type keptTuning struct {
	Version int             `json:"version"`
	Choices tune.Choices    `json:"choices"`
	Record  logs.Autotuning `json:"record"`
}

// tuningKey is all that choices for a graph depend on: what it computes, for which sizes, how it is asked to be compiled,
// compiler, processor, threads and runtime library.
func (e *engine) tuningKey(g *graph.Graph, asked modes.Options, opt inductor.Options) []string {
	var inputs strings.Builder
	for _, ph := range g.Placeholders() {
		if m, ok := ph.Meta.(*ops.TensorMeta); ok {
			fmt.Fprintf(&inputs, "%s%v %v\n", m.DType.Short(), m.Shape, m.Stride)
			continue
		}
		fmt.Fprintf(&inputs, "%v\n", ph.Meta)
	}
	asked.CUDAGraphs, asked.Trace = false, false // which change no code
	return []string{
		fmt.Sprint(tuningVersion), g.Code(), inputs.String(), fmt.Sprint(opt.Params, opt.Training, opt.Replaces), fmt.Sprintf("%+v", asked),
		e.cc.id, e.cpu.Flags, fmt.Sprint(e.lanes, e.rt.threads), runtimeText(),
	}
}

// keptChoices are those of an earlier search; a nil record: there was none.
func (e *engine) keptChoices(key []string) (tune.Choices, *logs.Autotuning) {
	content := e.cache.Note(key)
	if content == nil {
		return tune.Choices{}, nil
	}
	var k keptTuning
	if err := json.Unmarshal(content, &k); err != nil || k.Version != tuningVersion {
		return tune.Choices{}, nil
	}
	for _, run := range k.Choices.Runs {
		if run.Threads < 0 || run.Rows < 0 || run.Cols < 0 {
			return tune.Choices{}, nil
		}
	}
	return k.Choices, &k.Record
}

// keepChoices keeps them. Where that fails the next process searches again.
func (e *engine) keepChoices(key []string, c tune.Choices, record *logs.Autotuning) {
	content, err := json.Marshal(keptTuning{tuningVersion, c, *record})
	if err == nil {
		err = e.cache.KeepNote(key, content)
	}
	if err != nil {
		e.set.warnOnce("what was chosen by timing is not kept: %v", err)
	}
}
