package fold

import (
	"fmt"
	"html"
	"regexp"
	"testing"
)

// This file looks at pages of several widths in a browser: words stay whole, and nothing is wider than the page.

// measuring says in the document's title what it found in a frame: words that are broken, of which some, and by how much the
// page is too wide. Code and hashes may break anywhere.
const measuring = `
const page = document.getElementById("page").contentDocument, broken = [];
for (const d of page.querySelectorAll("details:not(.text)")) d.open = true;
const walk = page.createTreeWalker(page.body, NodeFilter.SHOW_TEXT);
for (let t = walk.nextNode(); t; t = walk.nextNode()) {
  if (t.parentElement.closest("script, style, pre, code, .hide, .flame") || !t.parentElement.offsetParent) continue;
  for (const m of t.data.matchAll(/[A-Za-z0-9]{2,}/g)) {
    if (m[0].length > 30) continue;
    const r = page.createRange();
    r.setStart(t, m.index);
    r.setEnd(t, m.index + m[0].length);
    const at = [...r.getClientRects()].filter((x) => x.width > 0.5);
    if (at.length > 1 && at[at.length - 1].top - at[0].top > 4) broken.push(m[0]);
  }
}
const root = page.documentElement;
document.title = broken.length + " broken: " + broken.slice(0, 5).join(" ") + "; " + (root.scrollWidth - root.clientWidth) + " too wide";
`

// TestNarrowPagesKeepWordsWhole: at the widths of a phone, a tablet and a desk no word of a table or text is broken.
func TestNarrowPagesKeepWordsWhole(t *testing.T) {
	policy := regexp.MustCompile(`<meta http-equiv="Content-Security-Policy"[^>]*>`) // the test's script is not the page's
	title := regexp.MustCompile(`<title>([^<]*)</title>`)
	for _, path := range []string{
		"../../tui/testdata/job", "../testdata/traces/pytorch-2.11/trace_00_gb_cpu.log.zst", "../testdata/traces/pytorch-2.15/ddp_train",
	} {
		page := htmlOf(t, report(t, path))
		if !policy.MatchString(page) {
			t.Fatal("the page has no policy")
		}
		page = html.EscapeString(policy.ReplaceAllString(page, ""))
		for _, width := range []int{400, 800, 1280} {
			frame := fmt.Sprintf(
				`<!DOCTYPE html><title></title><iframe id="page" style="width: %dpx; height: 900px; border: 0" srcdoc="%s"></iframe>`+
					`<script>onload = () => { %s };</script>`, width, page, measuring,
			)
			got := title.FindStringSubmatch(opened(t, frame, "", ""))
			if got == nil || got[1] != "0 broken: ; 0 too wide" {
				t.Errorf("%s at %d px: %v", path, width, got)
			}
		}
	}
}
