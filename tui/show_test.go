package tui

import (
	"fmt"
	"os"
	"testing"
)

func TestShow(t *testing.T) {
	if os.Getenv("SHOW") == "" {
		t.Skip()
	}
	var w, h int
	fmt.Sscanf(os.Getenv("SHOW"), "%dx%d", &w, &h)
	d := newDriver(t, richFeed(), Options{}, w, h)
	for _, k := range os.Getenv("SCR") {
		d.send(keyMsg(string(k)))
		fmt.Println(d.plain())
		checkFrame(t, d.frame(), w, h)
	}
}
