package tui

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"tcdbg/explain/fold"
	"tcdbg/logs"
	"tcdbg/tui/keys"
	"tcdbg/tui/picture"
)

// savedFeed is a real run, saved: testdata/bar.log is what tcdbg run wrote for
// testdata/bar.go.txt, whose name was bar.go.
func savedFeed(t *testing.T) *fakeFeed {
	t.Helper()
	st, err := logs.Open([]string{"testdata/bar.log"}, logs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	r, err := fold.All(st, "bar.go")
	if err != nil {
		t.Fatal(err)
	}
	return &fakeFeed{
		report: r, run: Run{Title: "bar.go", Ended: "exit 0"}, noSchedule: true,
		files: map[string][]string{"bar.go": strings.Split(readFile(t, "testdata/bar.go.txt"), "\n")},
	}
}

// The README's pictures are frames of a real run.
func TestPictures(t *testing.T) {
	d := newDriver(t, savedFeed(t), Options{Colour: true}, 110, 26)
	for name, key := range map[string]keys.Screen{
		"overview": keys.Overview, "source": keys.Source, "breaks": keys.Breaks,
		"kernels": keys.Kernels,
	} {
		d.send(keyMsg(title(keys.Overview).Key))
		d.script("keys g")
		d.send(keyMsg(title(key).Key))
		checkFrame(t, d.frame(), 110, 26)
		drawn(t, name, d)
	}
}

// The README leads with a training run of PyTorch's.
func TestPictureOfPyTorch(t *testing.T) {
	st, err := logs.Open([]string{"../explain/testdata/traces/pytorch-2.15/train_small.log.zst"}, logs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	r, err := fold.All(st, "train_small.py")
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeFeed{report: r, run: Run{Title: "train_small.py", Ended: "exit 0"}, noSchedule: true}
	d := newDriver(t, f, Options{Colour: true}, 110, 26)
	d.script("keys g")
	checkFrame(t, d.frame(), 110, 26)
	drawn(t, "pytorch", d)
}

// drawn compares a picture of what is seen with the one that is kept.
func drawn(t *testing.T, name string, d *driver) {
	t.Helper()
	svg := picture.SVG("tcdbg: the screen "+name, d.frame(), 110, 26)
	dec := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	golden(t, name+".svg", svg)
}

// A real run of ours answers on every screen what it is asked.
func TestSavedRun(t *testing.T) {
	newDriver(t, savedFeed(t), Options{}, 140, 40).script(`
		expect bar.go:13
		expect branch on a tensor's value
		keys 2
		expect break: branch on a tensor
		expect fused_abs_add_div_0
		keys 3
		expect GB0170
		expect WHERE THE VALUE COMES FROM
		keys 4
		expect a.size[0]  10 → 5
		keys 5
		expect TENSOR_MATCH
		keys 6
		expect bar from line 14 on
		keys 7
		expect ✓ abs + add
		keys 8
		expect fused_mul_0
		keys 9
		expect backend_compile
	`)
}
