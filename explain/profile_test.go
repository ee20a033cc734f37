package explain

import (
	"strings"
	"testing"

	"tcdbg/logs/chrome"
)

// TestProfileSaysWhatItsTimesAreOf: of a recording that marks no steps no time is "a step".
func TestProfileSaysWhatItsTimesAreOf(t *testing.T) {
	for marked, want := range map[string]string{"": "GPU 0: busy 5.0 us in all", "ProfilerStep": "GPU 0: busy 5.0 us a step"} {
		p := &Profile{Profile: &chrome.Profile{
			Marked: marked, Steps: []int64{9000}, GPUs: []*chrome.GPU{{Busy: 5000, Idle: 4000}},
		}}
		text := strings.Join(p.Summary(), "\n")
		if !strings.Contains(text, want) || marked == "" && strings.Contains(text, "a step") {
			t.Errorf("marked by %q:\n%s", marked, text)
		}
	}
}
