package chrome

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"slices"

	"tcdbg/logs/bounds"
)

// This file says what the program of a trace did, so that traces of the ranks of one job can be compared.

// rankOf reads the rank from what torch.profiler says of a distributed job.
func rankOf(info []byte) *int {
	var v struct {
		Rank *int `json:"rank"`
	}
	if json.Unmarshal(info, &v) != nil || v.Rank == nil || *v.Rank < 0 {
		return nil
	}
	return v.Rank
}

// counted says of which categories spans are compared. Calls of the CUDA runtime are not: threads that wait ask again and
// again whether something has ended. Allocations are not spans.
func counted(cat string) bool {
	switch cat {
	case "cuda_runtime", "cuda_driver", "overhead", "Trace", "cpu_instant_event":
		return false
	}
	return true
}

// ordered says whether spans of a category are made by one thread, or one stream of a GPU, in the order of the program. Others
// may be made by any of several threads, whichever is free.
func ordered(cat string) bool {
	switch cat {
	case "cpu_op", "kernel", "gpu_memcpy", "gpu_memset", "python_function":
		return true
	}
	return false
}

// Did is equal of two traces whose programs did the same: they have the same spans, each as often, and on each thread and
// stream their operators and kernels in the same order. Which threads and processes these were, and when, does not count.
func (t *Tracks) Did() string { return t.did() }

func (t *Tracks) compared() string {
	order := make([]int32, 0, len(t.Spans))
	inOrder := make([]bool, len(t.Cats))
	for i, c := range t.Cats {
		inOrder[i] = ordered(c)
	}
	foreign := !slices.Contains(inOrder, true) // another program's trace: all that it has is in order
	for i := range t.Spans {
		if foreign || inOrder[t.Spans[i].Cat] {
			order = append(order, int32(i))
		}
	}
	slices.SortFunc(order, func(i, j int32) int {
		a, b := &t.Spans[i], &t.Spans[j]
		return cmp.Or(cmp.Compare(a.Track, b.Track), cmp.Compare(a.Start, b.Start), cmp.Compare(b.Dur, a.Dur),
			cmp.Compare(t.Names[a.Name], t.Names[b.Name]))
	})
	var lists []string // of each track
	for from := 0; from < len(order); {
		h, track := sha256.New(), t.Spans[order[from]].Track
		for ; from < len(order) && t.Spans[order[from]].Track == track; from++ {
			_, _ = h.Write(append([]byte(t.Names[t.Spans[order[from]].Name]), 0))
		}
		lists = append(lists, string(h.Sum(nil)))
	}
	slices.Sort(lists)
	h := sha256.New()
	for _, s := range lists {
		_, _ = h.Write([]byte(s))
	}
	counts := t.Counts()
	names := make([]string, 0, len(counts))
	for name := range counts {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		_, _ = h.Write(append([]byte(name), 0))
		_ = binary.Write(h, binary.LittleEndian, int64(counts[name]))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Counts is how many spans of each name there are, of those that are compared.
func (t *Tracks) Counts() map[string]int {
	of := make([]bool, len(t.Cats))
	for i, c := range t.Cats {
		of[i] = counted(c)
	}
	n := make([]int, len(t.Names))
	for i := range t.Spans {
		if of[t.Spans[i].Cat] {
			n[t.Spans[i].Name]++
		}
	}
	out := map[string]int{}
	for i, name := range t.Names {
		if n[i] > 0 {
			out[name] += n[i]
		}
	}
	return out
}

// Extent is how long a trace is, from its first span to the end of its last.
func (t *Tracks) Extent() int64 { return t.extent() }

func (t *Tracks) long() int64 {
	if len(t.Spans) == 0 {
		return 0
	}
	first, last := t.Spans[0].Start, t.Spans[0].Start
	for i := range t.Spans {
		s := &t.Spans[i]
		first, last = min(first, s.Start), max(last, s.Start+s.Dur)
	}
	return max(0, last-first)
}

// Longest is the trace with its n longest spans, of those that took equally long the first. What it is compared by stays.
func (t *Tracks) Longest(n int) *Tracks {
	if len(t.Spans) <= n {
		return t
	}
	t.did()
	t.extent()
	kept, _ := bounds.Longest(t.Spans, n, func(s *Span) int64 { return s.Dur })
	out := *t
	out.Left, out.Spans = t.Left+int64(len(t.Spans)-n), kept
	return &out
}
