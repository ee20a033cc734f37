package results

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"tcdbg/logs"
)

// This file is what a run notes of the operators of some outermost calls, so that two runs can be
// held beside each other operator by operator (captureplace.go). Values are noted as digests.

// Noting asks a run for its operators: of the outermost calls From to To, from 1.
type Noting struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// MaxOperators bounds the operators that a process notes.
const MaxOperators = 20000

const operatorsPrefix = "operators-" // and the process id; an OperatorLine a line

// OperatorLine is one line: of one call, either an operator, or what the call begins or ends with.
type OperatorLine struct {
	Call     int       `json:"call"`
	Operator *Operator `json:"op,omitempty"`
	Known    []Digest  `json:"known,omitempty"` // of tensors that the call can reach at its beginning
	Out      []Digest  `json:"out,omitempty"`   // of tensors that it returns
	// Graphs counts the graphs that the call has run; Missing says why not all operators are noted.
	Graphs  int    `json:"graphs,omitempty"`
	Missing string `json:"missing,omitempty"`
}

// Operator is one operator that ran.
type Operator struct {
	Name string    `json:"name"`           // mul
	Text string    `json:"text"`           // mul(float32[4], 3)
	Args []Digest  `json:"args"`           // of tensors
	Outs []Digest  `json:"outs"`           // of tensors, those that it writes included
	Pos  *logs.Pos `json:"pos,omitempty"`  // of the program
	Node string    `json:"node,omitempty"` // of a captured graph
}

// Digest stands for the values of a tensor.
type Digest struct {
	Type string `json:"t"`           // float32[2 3]
	Sum  string `json:"d,omitempty"` // "": it cannot be compared
	// Sketch of floats are some of the numbers and the mean of their sizes, by which another rounding
	// is told from another value.
	Sketch []float64 `json:"s,omitempty"`
}

// sketched is how many numbers a sketch has beside the mean.
const sketched = 16

// SketchOf is the sketch of floats; nil where one of them is no finite number.
func SketchOf(v []float64) []float64 {
	if len(v) == 0 {
		return nil
	}
	out := make([]float64, 0, sketched+1)
	for i := range sketched {
		out = append(out, v[i*(len(v)-1)/(sketched-1)])
	}
	mean := 0.0
	for _, x := range v {
		mean += math.Abs(x)
	}
	out = append(out, mean/float64(len(v)))
	if slices.ContainsFunc(out, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }) {
		return nil
	}
	return out
}

// rounding reports whether two tensors look like the same numbers rounded otherwise.
func (d *Digest) rounding(e *Digest) bool {
	if d.Type != e.Type || len(d.Sketch) == 0 || len(d.Sketch) != len(e.Sketch) {
		return false
	}
	unit := 0x1p-23
	switch dtype, _, _ := strings.Cut(d.Type, "["); dtype {
	case "float64", "complex128":
		unit = 0x1p-52
	case "float16":
		unit = 0x1p-10
	case "bfloat16":
		unit = 0x1p-7
	}
	mean := len(d.Sketch) - 1
	for i, x := range d.Sketch {
		y := e.Sketch[i]
		if math.Abs(x-y) > 32*unit*max(math.Abs(x), math.Abs(y), d.Sketch[mean]) {
			return false
		}
	}
	return true
}

// OperatorWriter writes the operators of one process.
type OperatorWriter struct {
	mu    sync.Mutex
	file  *os.File
	out   *bufio.Writer
	count int
}

// NoteOperators begins the file of operators of a process in a folder.
func NoteOperators(dir string, pid string) (*OperatorWriter, error) {
	f, err := os.Create(filepath.Join(dir, operatorsPrefix+pid))
	if err != nil {
		return nil, err
	}
	return &OperatorWriter{file: f, out: bufio.NewWriter(f)}, nil
}

// Write writes a line. Of operators beyond MaxOperators it says once that they are missing.
func (w *OperatorWriter) Write(l OperatorLine) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if l.Operator != nil {
		w.count++
		if w.count == MaxOperators+1 {
			l = OperatorLine{Call: l.Call, Missing: "there are too many operators to note them all"}
		} else if w.count > MaxOperators {
			return
		}
	}
	if text, err := json.Marshal(l); err == nil {
		_, _ = w.out.Write(append(text, '\n')) // what is cut off is not compared
	}
}

// Close ends the file.
func (w *OperatorWriter) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.out.Flush()
	_ = w.file.Close()
}

// noted is what one call of a process has run.
type noted struct {
	ops     []*Operator
	known   []Digest
	out     []Digest
	graphs  int
	missing string
}

// operators reads what a process has noted of each call; none where it noted nothing.
func (p *Process) operators() (map[int]*noted, error) {
	name := filepath.Join(filepath.Dir(p.path), operatorsPrefix+strings.TrimPrefix(filepath.Base(p.path), valuesPrefix))
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	calls := map[int]*noted{}
	in := bufio.NewScanner(f)
	in.Buffer(nil, maxLine)
	for in.Scan() {
		var l OperatorLine
		if json.Unmarshal(in.Bytes(), &l) != nil {
			break
		}
		c := calls[l.Call]
		if c == nil {
			c = &noted{}
			calls[l.Call] = c
		}
		c.known, c.out, c.graphs = append(c.known, l.Known...), append(c.out, l.Out...), c.graphs+l.Graphs
		if l.Operator != nil {
			c.ops = append(c.ops, l.Operator)
		}
		if l.Missing != "" {
			c.missing = l.Missing
		}
	}
	return calls, in.Err()
}
