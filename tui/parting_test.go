package tui

import (
	"slices"
	"testing"
	"time"
)

// Quitting and running again ask what becomes of a program that runs: stop it, leave
// it running, or stay.
func TestPartingAsks(t *testing.T) {
	for _, c := range []struct {
		key, answer string
		sent        []string
		quits       bool
	}{
		{"q", "s", nil, true},
		{"q", "l", []string{"leave"}, true},
		{"q", "esc", nil, false},
		{"q", "q", nil, false},
		{"R", "s", []string{"rerun"}, false},
		{"R", "l", []string{"leave", "rerun"}, false},
		{"R", "esc", nil, false},
	} {
		for _, size := range []string{"80x24", "160x50"} {
			f := richFeed()
			f.run.Ours, f.run.Again = true, true
			d := newDriver(t, f, Options{}, 80, 24)
			d.script("size " + size + "\nkeys " + c.key +
				"\nexpect captioner.go is still running\nexpect stop it and\nexpect leave it running and\nexpect stay here")
			if d.m.sc.quit || len(f.sent) > 0 {
				t.Fatalf("%s acted before it was answered", c.key)
			}
			d.script("keys " + c.answer)
			if d.m.sc.quit != c.quits || !slices.Equal(f.sent, c.sent) {
				t.Errorf("%s %s: quit %v, did %q", c.key, c.answer, d.m.sc.quit, f.sent)
			}
			if !c.quits {
				d.script("refute is still running")
			}
		}
	}
}

// The end of the program is shown while a report is still made, takes the question away,
// and q quits then: before the end was shown, too.
func TestEndIsSeenBesideReports(t *testing.T) {
	f := richFeed()
	f.run.Ours, f.run.Live = true, true
	d := newDriver(t, f, Options{}, 120, 40)
	d.m.polling = true // a report is on its way
	d.script("keys q\nexpect is still running")
	now := d.m.sc.now().Add(2 * justAsked)
	d.m.sc.now = func() time.Time { return now }
	f.run.Ours, f.run.Live, f.run.Ended, f.run.Failed = false, false, "the program was ended by SIGKILL", true
	d.send(lookMsg{})
	d.script("expect SIGKILL\nrefute is still running\nkeys q")
	if !d.m.sc.quit {
		t.Error("q does not quit")
	}

	for _, script := range []string{"keys q", "keys q q", "keys q, and the end is seen"} {
		f := richFeed()
		f.run.Ours, f.run.Live = true, true
		d := newDriver(t, f, Options{}, 120, 40)
		if script != "keys q" {
			d.script("keys q")
		}
		f.run.Ours, f.run.Live = false, false // and nothing was drawn since
		if script == "keys q, and the end is seen" {
			d.send(lookMsg{})
		} else {
			d.script("keys q")
		}
		if !d.m.sc.quit {
			t.Errorf("%s: q does not quit", script)
		}
	}
}

// What has ended, or is not ours to stop, is not asked about.
func TestPartingWithoutAProgram(t *testing.T) {
	for _, live := range []bool{true, false} {
		f := richFeed()
		f.run.Live = live
		d := newDriver(t, f, Options{}, 80, 24)
		d.script("keys q")
		if !d.m.sc.quit {
			t.Errorf("live %v: q did not quit", live)
		}
	}
}
