package tui

import (
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/tui/theme"
)

// TestKernelColumns: the share of the time is in one column, whether the bytes of
// a kernel are known or not and however long they print.
func TestKernelColumns(t *testing.T) {
	at := -1
	for _, k := range []*explain.Kernel{
		{Name: "fused_add_0", Lang: "c", Calls: 1, Timed: 1, Nanos: 1000, Bytes: 4096},
		{Name: "fused_add_1", Lang: "c", Calls: 1, Timed: 1, Nanos: 123_000, Bytes: 16_510},
		{Name: "extern_randn_2", Lang: "extern", Calls: 1, Timed: 1, Nanos: 33_000},
	} {
		text := (&kernelRow{k, &kernelTable{total: 200_000, name: 16}}).draw(&New(richFeed(), Options{}).sc, 80).Text()
		i := theme.Width(text[:strings.Index(text, "%")])
		if at < 0 {
			at = i
		}
		if i != at || theme.Width(text) != 80 {
			t.Errorf("%q: the share ends in column %d of %d, not %d", text, i, theme.Width(text), at)
		}
	}
}
