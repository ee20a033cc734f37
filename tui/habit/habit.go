// Package habit is what a person brings to the screens and takes away again: what was
// searched for, marks, how wide the list is, which columns are shown, where the screens
// were left, and the settings of a file.
//
// It imports nothing of ours. Open habit.go first (history, marks), then session.go (what a
// saved run is opened with again) and settings.go (the file).
package habit

import (
	"slices"
	"strings"
)

// maxHistory is how many texts are kept.
const maxHistory = 50

// History is the texts that were typed, the newest last.
type History struct {
	list  []string
	at    int // len(list): the text that is being typed
	draft string
}

// Add adds a text; one that was there comes to the end.
func (h *History) Add(text string) {
	if text == "" {
		return
	}
	h.list = append(slices.DeleteFunc(h.list, func(s string) bool { return s == text }), text)
	if n := len(h.list) - maxHistory; n > 0 {
		h.list = h.list[n:]
	}
	h.Begin()
}

// Begin begins at the end again: a prompt was opened.
func (h *History) Begin() { h.at, h.draft = len(h.list), "" }

// Step goes to an older text (n < 0) or a newer one, beginning with what is typed, which comes
// back after the newest.
func (h *History) Step(n int, typed string) string {
	if h.at >= len(h.list) {
		h.draft = typed
	}
	h.at = max(0, min(h.at+n, len(h.list)))
	if h.at >= len(h.list) {
		return h.draft
	}
	return h.list[h.at]
}

// Texts are the texts, the newest last.
func (h *History) Texts() []string { return slices.Clone(h.list) }

// Mark is a place on the screens: a row of a screen.
type Mark struct {
	Screen string `json:"screen"`
	Row    string `json:"row"`
}

// MarkName is the letter of a mark as it is pressed; "" for what is none.
func MarkName(key string) string {
	if len(key) == 1 && strings.ContainsAny(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") {
		return key
	}
	return ""
}
