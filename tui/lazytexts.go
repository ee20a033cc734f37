package tui

import tea "github.com/charmbracelet/bubbletea"

// This file is what documents need and nobody waits for: payloads that are read and
// trees that are parsed beside the UI. A document is made without them at first, and
// again when they have come.

// texts are the payloads that were read, and the work that is under way.
type texts struct {
	have  map[string]string
	order []string
	want  map[string]bool // under way
	jobs  []tea.Cmd       // not begun
	// missed says that a document lacks something that is under way.
	missed bool
	gen    int // counts what has come
}

// maxTexts is how many payloads are kept.
const maxTexts = 24

// text returns a payload, or false while it is read.
func (sc *scene) text(key string, read func() string) (string, bool) {
	t := &sc.texts
	if s, ok := t.have[key]; ok {
		return s, true
	}
	if read == nil {
		t.missed = true
		return "", false
	}
	t.later(key, func() func() {
		s := read()
		return func() { t.put(key, s) }
	})
	return "", false
}

func (t *texts) put(key, text string) {
	if len(t.order) >= maxTexts {
		delete(t.have, t.order[0])
		t.order = t.order[1:]
	}
	t.have[key] = text
	t.order = append(t.order, key)
}

// later has work done beside the UI, unless it is under way, and what work returns
// done on the UI's goroutine.
func (t *texts) later(key string, work func() (done func())) {
	t.missed = true
	if t.want[key] {
		return
	}
	t.want[key] = true
	t.jobs = append(t.jobs, func() tea.Msg {
		done := work()
		return onUI(func(*scene) tea.Cmd {
			delete(t.want, key)
			done()
			t.gen++
			return nil
		})
	})
}

// begin begins what was asked for.
func (t *texts) begin() tea.Cmd {
	jobs := t.jobs
	t.jobs = nil
	return tea.Batch(jobs...)
}

// kept is what was parsed beside the UI, by key.
type kept[T any] struct {
	have map[string]T
	most int
}

func newKept[T any](most int) kept[T] { return kept[T]{map[string]T{}, most} }

// get returns what read makes, or false while it is made.
func (k *kept[T]) get(t *texts, key string, read func() T) (v T, ok bool) {
	if v, ok = k.have[key]; ok {
		return v, true
	}
	t.later(key, func() func() {
		v := read()
		return func() { k.put(key, v) }
	})
	return v, false
}

func (k *kept[T]) put(key string, v T) {
	if len(k.have) >= k.most {
		clear(k.have)
	}
	k.have[key] = v
}
