package render

import (
	"tcdbg/explain"
	"tcdbg/explain/diagnose"
)

func (t *TextWriter) skipped(r *explain.Report) {
	list := r.SkippedForGood()
	if len(list) == 0 {
		return
	}
	t.section("SKIPPED: " + explain.Count(len(list), "function"))
	for i, fr := range list {
		if i == t.most(Rows) {
			t.more(len(list)-t.most(Rows), "function")
			break
		}
		t.line("  %s %s", fr.Title(), t.names.At(fr.Pos))
		t.line("      %s", diagnose.SkippedWords(fr))
	}
}
