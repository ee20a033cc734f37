package tui

import (
	"strings"
	"testing"
)

// At 80 columns what the lines above the rows say is left out whole, not cut in a word.
func TestLeadsFit(t *testing.T) {
	for _, trace := range []string{"testdata/bar.log", "testdata/calls.log", "../explain/testdata/traces/pytorch-2.15/unet.log.zst"} {
		d := newDriver(t, traceFeed(t, trace), Options{}, 80, 24)
		for _, key := range []string{"1", "@"} {
			d.script("keys " + key)
			for i, line := range strings.Split(d.plain(), "\n")[3:5] {
				if strings.Contains(line, "…") && !strings.Contains(line, "0…9") || strings.Count(line, "…") > 1 {
					t.Errorf("%s, screen %s, line %d: %s", trace, key, i, line)
				}
			}
		}
	}
}
