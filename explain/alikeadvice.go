package explain

import (
	"fmt"
	"strings"
)

// This file merges advice: what asks for the same change for the same reason is one thing to do, at however many places.

// SameAdvice is an entry of the advice, with those behind it that ask for the same change for the
// same reason at other places.
type SameAdvice struct {
	Lead int
	More []int
}

// AlikeAdvice groups the entries of the advice, in their order.
func AlikeAdvice(list []Advice) []SameAdvice {
	type same struct{ text, fix string }
	at := map[same]int{}
	var out []SameAdvice
	for i := range list {
		a := &list[i]
		k := same{a.Text, a.Fix.Text}
		if a.Frame != nil {
			k.text = strings.ReplaceAll(a.Text, a.Frame.Title(), "")
		}
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
