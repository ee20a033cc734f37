package tui

import (
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/logs"
)

// TestErrorsAreReadable: on the Overview what an error says, and its fix, are there to
// their last word, in any window, also after its size has changed.
func TestErrorsAreReadable(t *testing.T) {
	said := "FlexAttention does not support backward on CPU. Please set the input requires_grad to False or use another device."
	fix := "Run it without torch.compile: where it raises there too, the program is at fault; where it does not, move this line out."
	feed := richFeed()
	feed.report.Failures = []*explain.Failure{{
		ID: explain.ID{Rank: -1}, Type: "BackendCompilerFailed", Reason: "it failed:\n" + said, Frame: "step",
		Pos: logs.Pos{File: "/w/a.py", Line: 7}, Fix: explain.Fix{Text: fix},
	}}
	d := newDriver(t, feed, Options{}, 80, 60)
	for _, size := range []string{"80x60", "120x60", "64x60", "200x60"} {
		d.script("keys 1\nsize " + size)
		shown := strings.Join(strings.Fields(d.plain()), " ")
		for _, text := range []string{said, fix} {
			if !strings.Contains(shown, text) {
				t.Errorf("%s lacks %q:\n%s", size, text, d.plain())
			}
		}
		if size == "200x60" && !strings.Contains(d.plain(), said) {
			t.Errorf("%s wraps what has room:\n%s", size, d.plain())
		}
	}
}
