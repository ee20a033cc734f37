package tui

import (
	"strings"
	"testing"
)

// No screen shows the name that Dynamo invents for the rest of a function, but where it shows a record as it is.
func TestResumedNames(t *testing.T) {
	for _, trace := range []string{"testdata/bar.log", "testdata/calls.log", "../explain/testdata/traces/pytorch-2.15/unet.log.zst"} {
		d := newDriver(t, traceFeed(t, trace), Options{}, 160, 50)
		for _, key := range strings.Fields("1 2 3 4 5 6 @") {
			d.script("keys " + key)
			for range 12 {
				d.script("keys j")
				shown, _, _ := strings.Cut(d.plain(), "AS RECORDED")
				if i := strings.Index(shown, "torch_dynamo_resume_in"); i >= 0 {
					t.Fatalf("%s, screen %s:\n%s", trace, key, shown)
				}
			}
		}
	}
}
