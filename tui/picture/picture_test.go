package picture

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// TestShapes: lines and blocks are shapes, in one piece where they join; the rest is text, and the
// picture has a title and a role.
func TestShapes(t *testing.T) {
	svg := SVG("a <b>", "┌──┐ ok\n│██│ \x1b[2m░░\x1b[0m\n└──┘", 10, 3)
	for _, want := range []string{`role="img"`, `<title id="title">a` + "\u00a0" + `&lt;b&gt;</title>`, ">ok</text>", `opacity="0.15"`} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %s in\n%s", want, svg)
		}
	}
	if strings.ContainsAny(svg, "┌─┐│└┘█░") {
		t.Errorf("a line or a block is text:\n%s", svg)
	}
	if n := strings.Count(svg, "<rect"); n != 1+4*2+2+4+2 { // background, corners, lines, sides, blocks
		t.Errorf("%d shapes", n)
	}
	dec := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	// Columns: what follows shapes begins where its cell does.
	if !strings.Contains(svg, `<text x="54.0"`) {
		t.Errorf("ok is not in its column:\n%s", svg)
	}
}

// TestAlike: equal shapes are one run.
func TestAlike(t *testing.T) {
	if got := strings.Join(alike("a b──│ x██░"), "/"); got != "a b/──/│/ x/██/░" {
		t.Error(got)
	}
}
