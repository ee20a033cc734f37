package explain

import (
	"fmt"
	"strings"
)

// This file merges advice: what asks for the same change for the same reason is one thing to do, at however many places.

// SameAdvice is an entry of the advice and the later entries that ask for the same change, for the
// same reason, elsewhere.
type SameAdvice struct {
	Lead int   // of the list
	More []int // likewise, in its order
}

// AlikeAdvice groups the entries of the advice, in their order.
func AlikeAdvice(list []Advice) []SameAdvice {
	type same struct{ text, fix string }
	at := map[same]int{}
	var out []SameAdvice
	for i := range list {
		a := &list[i]
		k := same{strings.TrimPrefix(a.Text, a.Subject()+" "), a.Fix.Text}
		joins := a.Fix.Text != "" && len(a.Fix.Lines) == 0 // a diff is of its place
		if j, known := at[k]; known && joins {
			out[j].More = append(out[j].More, i)
			continue
		}
		if joins {
			at[k] = len(out)
		}
		out = append(out, SameAdvice{Lead: i})
	}
	return out
}

// MoreText counts the other places of an entry: "the same at 3 more places, in 2 files"; "" where there are none.
func (s *SameAdvice) MoreText(list []Advice) string {
	if len(s.More) == 0 {
		return ""
	}
	files := map[string]bool{list[s.Lead].Pos.File: true}
	for _, m := range s.More {
		files[list[m].Pos.File] = true
	}
	text := "the same at " + Count(len(s.More), "more place")
	if len(files) > 1 {
		text += fmt.Sprintf(", in %d files", len(files))
	}
	return text
}

// Subject is the function that the text begins with; "" where it speaks of none.
func (a *Advice) Subject() string {
	if a.Frame == nil || !strings.HasPrefix(a.Text, a.Frame.Title()+" ") {
		return ""
	}
	return a.Frame.Title()
}

// Where is the place of an entry, named as names has it, and the function that the text of another entry would name.
func (a *Advice) Where(names Names) string {
	place, of := names.Place(a.Pos), a.Subject()
	if of == "" || strings.HasSuffix(place, " in "+of) {
		return place
	}
	return place + ": " + of
}
