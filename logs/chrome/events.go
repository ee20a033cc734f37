package chrome

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// This file reads the events of a Chrome trace: a stranger's JSON of any size.

const (
	maxEvents = 4 << 20
	maxNames  = 1 << 20
	maxName   = 400 // bytes of a name that are kept
)

// kind is what an event is to us.
type kind uint8

const (
	other      kind = iota
	operator        // of the dispatcher
	step            // a marked step
	annotation      // of the program, or an optimizer's
	region          // Torch-Compiled Region
	lookup          // TorchDynamo Cache Lookup
	function        // CompiledFunction, CompiledFunctionBackward
	graphCall       // ## Call CompiledFxGraph
	plumbing        // between a region and its graph
	python          // a function of Python
	launch          // a call of the CUDA runtime
	deviceWork      // a kernel, copy or fill on a GPU
	memory          // an allocation or its end
)

// event is one event of a thread. Times are nanoseconds since the trace's base.
type event struct {
	ts, dur int64
	name    int32 // index of names
	thread  int32 // index of threads
	kind    kind
	back    bool  // in the backward pass, by itself
	device  int32 // of device work
	link    int64 // correlation of launches and device work, sequence number of functions
	bytes   int64 // of memory: allocated then
}

// trace is what was read.
type trace struct {
	events  []event
	names   []string
	threads []string
	ids     map[string]int32 // of names
	tids    map[string]int32
	stacked bool
	rank    *int  // of a distributed job
	skipped int64 // events that cannot be read
}

// raw is an event as it is written.
type raw struct {
	Ph   string          `json:"ph"`
	Cat  string          `json:"cat"`
	Name string          `json:"name"`
	PID  json.RawMessage `json:"pid"`
	TID  json.RawMessage `json:"tid"`
	TS   float64         `json:"ts"`
	Dur  float64         `json:"dur"`
	Args struct {
		Correlation int64    `json:"correlation"`
		Device      *int32   `json:"device"`
		Sequence    *int64   `json:"Sequence number"`
		Allocated   *float64 `json:"Total Allocated"`
		DeviceType  int      `json:"Device Type"`
		DeviceID    int32    `json:"Device Id"`
	} `json:"args"`
}

// Looks says whether the first bytes of a file may be a Chrome trace's: an object with a list of
// events, or that list alone.
func Looks(head []byte) bool {
	head = bytes.TrimLeft(head, " \t\r\n")
	switch {
	case bytes.HasPrefix(head, []byte("{")):
		return bytes.Contains(head, []byte(`"traceEvents"`))
	case bytes.HasPrefix(head, []byte("[")):
		return bytes.HasPrefix(bytes.TrimLeft(head[1:], " \t\r\n"), []byte("{")) && bytes.Contains(head, []byte(`"ph"`))
	}
	return false
}

// read reads a trace.
func read(r io.Reader) (*trace, error) {
	tr := &trace{ids: map[string]int32{}, tids: map[string]int32{}}
	err := walk(r, func(text []byte) error {
		var e raw
		if json.Unmarshal(text, &e) != nil {
			tr.skipped++
			return nil
		}
		return tr.add(&e)
	}, func(name string, text []byte) {
		if name == "distributedInfo" {
			tr.rank = rankOf(text)
		}
	})
	return tr, err
}

// walk gives the events of a trace, and what else it says by its name; values are the caller's until it returns.
func walk(r io.Reader, event func(text []byte) error, field func(name string, text []byte)) error {
	d := json.NewDecoder(r)
	switch t, err := d.Token(); {
	case err != nil || t != json.Delim('{') && t != json.Delim('['):
		return errors.New("is no Chrome trace: it begins with neither an object nor a list")
	case t == json.Delim('['):
		err := walkList(d, event)
		if errors.Is(err, errCut) {
			return nil // the list alone may lack its end
		}
		return err
	}
	found := false
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return broken(err)
		}
		if key != "traceEvents" {
			var other json.RawMessage
			if err := d.Decode(&other); err != nil {
				return broken(err)
			}
			if name, ok := key.(string); ok && field != nil {
				field(name, other)
			}
			continue
		}
		if found {
			return errors.New("is no Chrome trace: it has traceEvents twice")
		}
		found = true
		if tok, err := d.Token(); err != nil || tok != json.Delim('[') {
			return errors.New("is no Chrome trace: traceEvents is no list")
		}
		if err := walkList(d, event); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return broken(err)
	}
	if !found {
		return errors.New("is no Chrome trace: it has no traceEvents")
	}
	return nil
}

// walkList gives the events of a list that has begun.
func walkList(d *json.Decoder, event func(text []byte) error) error {
	var text json.RawMessage
	for d.More() {
		text = text[:0]
		if err := d.Decode(&text); err != nil {
			return broken(err)
		}
		if err := event(text); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return broken(err)
	}
	return nil
}

var errCut = errors.New("is a Chrome trace that was cut off")

func broken(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errCut
	}
	return fmt.Errorf("is no Chrome trace: %w", err)
}

// add keeps an event that is of use.
func (t *trace) add(e *raw) error {
	k := kindOf(e)
	if k == other {
		return nil
	}
	if len(t.events) >= maxEvents {
		return fmt.Errorf("has more than %d events: record fewer steps", maxEvents)
	}
	out := event{ts: nanos(e.TS), dur: nanos(e.Dur), kind: k, device: -1}
	if out.dur < 0 {
		t.skipped++
		return nil
	}
	name := e.Name
	switch k {
	case python:
		t.stacked = true
	case launch, deviceWork:
		out.link = e.Args.Correlation
		if e.Args.Device != nil {
			out.device = *e.Args.Device
		}
	case function:
		if e.Args.Sequence != nil {
			out.link = *e.Args.Sequence + 1 // 0: none
		}
		out.back = strings.HasSuffix(name, "Backward")
	case memory:
		out.bytes = int64(*e.Args.Allocated)
		name = deviceName(e.Args.DeviceType, e.Args.DeviceID)
	case operator, plumbing:
		out.back = strings.HasPrefix(name, engine)
	}
	if len(name) > maxName {
		name = name[:maxName]
	}
	var ok bool
	if out.name, ok = index(&t.names, t.ids, name); !ok {
		return fmt.Errorf("has more than %d names of events", maxNames)
	}
	if out.thread, ok = index(&t.threads, t.tids, string(e.PID)+"/"+string(e.TID)); !ok {
		return fmt.Errorf("has more than %d threads", maxNames)
	}
	t.events = append(t.events, out)
	return nil
}

func index(list *[]string, ids map[string]int32, s string) (int32, bool) {
	i, ok := ids[s]
	if ok {
		return i, true
	}
	if len(*list) >= maxNames {
		return 0, false
	}
	i = int32(len(*list))
	*list = append(*list, strings.Clone(s))
	ids[s] = i
	return i, true
}

// nanos are those of microseconds that float64 can tell apart.
func nanos(us float64) int64 {
	const most = 1 << 53
	if us != us || us > most/1e3 || us < -most/1e3 {
		return -1
	}
	return int64(us*1e3 + 0.5)
}

// The names that PyTorch gives its events.
const (
	engine       = "autograd::engine::evaluate_function: "
	regionPrefix = "Torch-Compiled Region: "
	callPrefix   = "## Call CompiledFxGraph "
	lookupName   = "TorchDynamo Cache Lookup"
	ourStep      = "tcdbg_step" // marks where a step begins and the one before ends
	theirStep    = "ProfilerStep#"
)

// wrapperCall is how older releases mark a graph, where they are asked to.
var wrapperCall = regexp.MustCompile(`inductor_wrapper_call$`)

func kindOf(e *raw) kind {
	switch {
	case e.Ph == "i" || e.Ph == "I":
		if e.Name == "[memory]" && e.Args.Allocated != nil && *e.Args.Allocated >= 0 && *e.Args.Allocated < 1<<60 {
			return memory
		}
		return other
	case e.Ph != "X":
		return other
	}
	switch e.Cat {
	case "cpu_op":
		return operatorKind(e.Name)
	case "user_annotation":
		switch {
		case e.Name == ourStep || strings.HasPrefix(e.Name, theirStep):
			return step
		case wrapperCall.MatchString(e.Name):
			return graphCall
		}
		return annotation
	case "python_function":
		return python
	case "cuda_runtime", "cuda_driver":
		return launch
	case "kernel", "gpu_memcpy", "gpu_memset":
		return deviceWork
	}
	return other
}

func operatorKind(name string) kind {
	switch {
	case strings.HasPrefix(name, regionPrefix):
		return region
	case name == lookupName:
		return lookup
	case strings.HasPrefix(name, callPrefix), wrapperCall.MatchString(name):
		return graphCall
	case name == "CompiledFunction", name == "CompiledFunctionBackward":
		return function
	case name == engine+"CompiledFunctionBackward", strings.HasPrefix(name, "AOTDispatcher "), strings.HasPrefix(name, "Pregraph "):
		return plumbing
	}
	return operator
}

func deviceName(kind int, id int32) string {
	switch kind {
	case 0:
		return "cpu"
	case 1:
		return "cuda:" + strconv.Itoa(int(id))
	}
	return fmt.Sprintf("device %d:%d", kind, id)
}
