package results

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// This file writes the results of our own engine.

// Writer writes what one process computes. It is safe for concurrent use.
type Writer struct {
	mu     sync.Mutex
	lines  *os.File
	values *bufio.Writer
	file   *os.File
	at     int64
	calls  int
	state  int64 // bytes written of what calls write and of gradients
	end    End
	err    error
}

// Create begins the files of this process in a folder.
func Create(dir string, h Hello) (*Writer, error) {
	w := &Writer{}
	var err error
	pid := fmt.Sprint(h.PID)
	if w.lines, err = os.Create(filepath.Join(dir, linesPrefix+pid)); err != nil {
		return nil, err
	}
	if w.file, err = os.Create(filepath.Join(dir, valuesPrefix+pid)); err != nil {
		w.lines.Close()
		return nil, err
	}
	w.values = bufio.NewWriterSize(w.file, 1<<16)
	w.write(Line{Hello: &h})
	return w, w.err
}

func (w *Writer) write(l Line) {
	text, err := json.Marshal(l)
	if err == nil {
		_, err = w.lines.Write(append(text, '\n'))
	}
	if w.err == nil {
		w.err = err
	}
}

// Values are the numbers of a tensor: one of the two is set.
type Values struct {
	Floats []float64
	Ints   []int64
}

// Call writes one call. values gives the numbers of a leaf that is a tensor, state those of one of
// its state. It returns how many calls there were.
func (w *Writer) Call(c Call, values, state func(i int) Values) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls++
	if w.calls > MaxCalls {
		c.Out, c.State, c.Full = nil, nil, true
	}
	c.StateFull = w.tensors(c.State, state) || c.StateFull
	for i := range c.Out {
		l := &c.Out[i]
		if l.Dtype == "" {
			continue
		}
		v := values(i)
		if w.at-w.state+v.bytes() > MaxValues {
			c.Out, c.Full = nil, true
			break
		}
		w.numbers(l, v)
	}
	w.write(Line{Call: &c})
	return w.calls
}

// Recording reports whether calls and gradients are still compared.
func (w *Writer) Recording() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls < MaxCalls
}

// Grads writes the gradients of a backward pass.
func (w *Writer) Grads(g Grads, values func(i int) Values) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g.After = w.calls
	g.Full = w.tensors(g.Leaves, values) || g.Full
	w.write(Line{Grads: &g})
}

// tensors writes the numbers of leaves that are not bare; full says that not all had room.
func (w *Writer) tensors(list []Leaf, values func(i int) Values) (full bool) {
	for i := range list {
		l := &list[i]
		if l.Bare || l.Opaque {
			continue
		}
		v := values(i)
		if w.state+v.bytes() > MaxBytes {
			l.Bare, full = true, true
			continue
		}
		w.state += v.bytes()
		w.numbers(l, v)
	}
	return full
}

func (v Values) bytes() int64 { return 8 * int64(len(v.Floats)+len(v.Ints)) }

// numbers writes the numbers of a tensor.
func (w *Writer) numbers(l *Leaf, v Values) {
	l.At, l.Int, l.N = w.at, v.Ints != nil, v.bytes()/8
	for _, x := range v.Floats {
		w.put(math.Float64bits(x))
	}
	for _, x := range v.Ints {
		w.put(uint64(x))
	}
}

func (w *Writer) put(bits uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], bits)
	if _, err := w.values.Write(b[:]); err != nil && w.err == nil {
		w.err = err
	}
	w.at += 8
}

// Applied notes that a switch took effect.
func (w *Writer) Applied(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.end.Applied, what) {
		w.end.Applied = append(w.end.Applied, what)
	}
}

// Close writes the last line; cut says that the program was ended after enough calls.
func (w *Writer) Close(cut bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end.Cut, w.end.Calls, w.end.PeakRSS = cut, w.calls, peakRSS()
	w.write(Line{End: &w.end})
	if err := w.values.Flush(); w.err == nil {
		w.err = err
	}
	w.file.Close()
	w.lines.Close()
	return w.err
}

// peakRSS is the most memory that this process has had resident, 0 where the system
// does not say.
func peakRSS() int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			var kib int64
			if _, err := fmt.Sscan(rest, &kib); err == nil {
				return kib << 10
			}
		}
	}
	return 0
}
