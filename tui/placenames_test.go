package tui

import (
	"fmt"
	"strings"
	"testing"
)

// TestPlacesAreBrief: wherever a run was started, places have one form on every
// line of the Overview, and the code beside one never costs its name.
func TestPlacesAreBrief(t *testing.T) {
	for _, root := range []string{"", "/home/ann", "/home/ann/captioner"} {
		for w := 80; w <= 200; w += 4 {
			feed := richFeed()
			feed.run.Root = root
			for i := range feed.report.Advice {
				a := &feed.report.Advice[i]
				a.Pos.Code = "if " + strings.Repeat("long.", 12) + "Bool() {"
				a.Cost = "1 time, splits off 1 graph, 240 ms"
			}
			d := newDriver(t, feed, Options{}, w, 40)
			d.script("keys 1\nrefute captioner/model.go\nrefute …:")
			for _, a := range feed.report.Advice {
				d.script(fmt.Sprintf("expect model.go:%d ", a.Pos.Line))
			}
		}
	}
}
