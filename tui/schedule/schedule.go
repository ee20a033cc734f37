// Package schedule is what the Fusion screen shows of a scheduler's work at one step: its kernels, which
// are made again when somebody looks.
//
// It knows no screen. Open this file.
package schedule

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
)

// Kernel is one kernel of a schedule in the making.
type Kernel struct {
	Node   string   // name of the scheduler node: op0_op1
	Ranges string   // its loops
	Ops    []string // operators in it
	Name   string
	Source string // "" for an extern kernel
}

// State is the schedule after some decisions.
type State struct {
	Kernels []Kernel
	Err     error
}

// Maker makes one schedule at a time, and none for a row that the cursor has left.
type Maker struct {
	mu  sync.Mutex
	row atomic.Int64 // rows looked at
}

// Left says that another row is looked at.
func (s *Maker) Left() { s.row.Add(1) }

// Job makes a schedule for the row that is looked at now; made is false where the
// cursor has left that row before the turn came.
func (s *Maker) Job(work func() ([]Kernel, error)) func() (state State, made bool) {
	row := s.row.Load()
	return func() (State, bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.row.Load() != row {
			return State{}, false
		}
		ks, err := work()
		return State{ks, err}, true
	}
}

// Sources is the code of the kernels of some nodes.
func Sources(ks []Kernel, nodes ...string) string {
	var b strings.Builder
	for _, node := range nodes {
		for _, k := range ks {
			switch {
			case k.Node != node:
			case k.Source == "":
				b.WriteString("// " + k.Name + ": an extern kernel\n")
			default:
				b.WriteString(strings.TrimRight(k.Source, "\n") + "\n")
			}
		}
	}
	return b.String()
}

// List is a schedule: a line for each kernel.
func List(ks []Kernel) string {
	var b strings.Builder
	for _, k := range ks {
		fmt.Fprintf(&b, "%s = %s %s\n", k.Node, strings.Join(k.Ops, ", "), k.Ranges)
	}
	return b.String()
}
