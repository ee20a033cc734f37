package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tcdbg/logs"
)

// This file is the ranks of a distributed run as a person compares them: those that did the
// same are one group.

// RankGroup is the ranks that did the same.
type RankGroup struct {
	Ranks   []int // ascending
	Usual   bool  // most ranks are in it: the others are compared with it
	Parted  Parting
	Differs []string // what its ranks did otherwise, by function; none for the usual group
}

// Parting is what first made a group of ranks another one than the usual.
type Parting struct {
	Kind PartKind
	Text string
	At   ID       // of the compile, of the first rank of the group
	Pos  logs.Pos // of its function or break; none where the trace does not tell
	Has  bool     // At is a compile
}

// PartKind is what ranks part by.
type PartKind string

// The kinds, as the screens call them.
const (
	PartFunction   PartKind = "function"
	PartBreak      PartKind = "break"
	PartRecompile  PartKind = "recompile"
	PartTensor     PartKind = "tensor"
	PartGraph      PartKind = "graph"
	PartCollective PartKind = "collective"
	PartCache      PartKind = "cache"
	PartOutcome    PartKind = "outcome"
	PartTime       PartKind = "compile time"
	PartBehind     PartKind = "behind" // of a run that goes on: it has done less so far
)

// Straggler is a rank whose compiles took far longer than those of the usual rank.
type Straggler struct {
	Rank           int
	Seconds, Usual float64 // of all its compiles, and the median of all ranks
	Phases         []SlowPhase
}

// SlowPhase is a phase in which a straggler spent more time than the usual rank, itself
// and not in phases within.
type SlowPhase struct {
	Name           string
	Seconds, Usual float64
}

// InputType is a tensor that a compile is given: float32[8, 32] cuda.
type InputType struct{ Source, Type string }

// RankSchedule is a list that ranks of one job must have alike: Inductor's collectives, or the
// tensors that its kernels and collectives write, one a line, in their order.
type RankSchedule struct {
	ID         ID
	Collective bool
	Text       string
}

// RankRanges writes ranks as people do: 0-254, 256.
func RankRanges(ranks []int) string {
	var b strings.Builder
	for i := 0; i < len(ranks); {
		j := i
		for j+1 < len(ranks) && ranks[j+1] == ranks[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		switch {
		case j == i:
			b.WriteString(strconv.Itoa(ranks[i]))
		case j == i+1:
			fmt.Fprintf(&b, "%d, %d", ranks[i], ranks[j])
		default:
			fmt.Fprintf(&b, "%d-%d", ranks[i], ranks[j])
		}
		i = j + 1
	}
	return b.String()
}

// Title names the ranks of a group.
func (g *RankGroup) Title() string {
	if len(g.Ranks) == 1 {
		return "rank " + strconv.Itoa(g.Ranks[0])
	}
	return "ranks " + RankRanges(g.Ranks)
}

// Standing is the rank of a group that is shown for all of them: of those that has tells of, the one whose compiles took
// longest, as a job waits for it. longest says that they took longer than those of another rank of the group.
func (r *Report) Standing(g *RankGroup, has func(rank int) bool) (rank int, longest, ok bool) {
	took := func(rank int) float64 {
		i, known := slices.BinarySearchFunc(r.Ranks, rank, func(k *Rank, rank int) int { return cmp.Compare(k.Rank, rank) })
		if !known {
			return 0
		}
		return r.Ranks[i].Totals.CompileSeconds
	}
	least, most := took(g.Ranks[0]), 0.0
	for _, n := range g.Ranks {
		t := took(n)
		least = min(least, t)
		if has(n) && (!ok || t > most) {
			rank, most, ok = n, t, true
		}
	}
	return rank, most > least, ok
}

// Alike says for how many ranks the times of one stand.
func Alike(ranks, standing int, longest bool) string {
	text := fmt.Sprintf("%d ranks alike, with the times of rank %d", ranks, standing)
	if longest {
		text += ", which took longest"
	}
	return text
}

// Text says where the time went.
func (s *Straggler) Text() string {
	text := fmt.Sprintf("takes %.2f s to compile, the usual rank %.2f s", s.Seconds, s.Usual)
	for i, p := range s.Phases {
		if i == 2 {
			break
		}
		sep := "; "
		if i == 0 {
			sep = ": "
		}
		text += sep + fmt.Sprintf("%s %.2f s more", p.Name, p.Seconds-p.Usual)
	}
	return text
}
