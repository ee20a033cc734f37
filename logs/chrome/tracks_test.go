package chrome

import (
	"strings"
	"testing"
)

// Every program's spans are read: complete ones, nested ones, instants; what is none is counted.
func TestTracks(t *testing.T) {
	text := `{"baseTimeNanoseconds":5000,"traceEvents":[
		{"ph":"M","name":"process_name","pid":1,"args":{"name":"server"}},{"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"io"}},
		{"ph":"X","name":"a","cat":"c","pid":1,"tid":2,"ts":1.0015,"dur":2.5},{"ph":"B","name":"b","pid":"x","tid":3,"ts":10},
		{"ph":"B","name":"in","pid":"x","tid":3,"ts":11},{"ph":"E","pid":"x","tid":3,"ts":12},{"ph":"E","pid":"x","tid":3,"ts":13},
		{"ph":"E","pid":"x","tid":3,"ts":14},{"ph":"i","name":"now","pid":1,"tid":2,"ts":-4.25},{"ph":"C","name":"n","pid":1,"ts":3},
		{"ph":"B","name":"never ends","pid":1,"tid":2,"ts":4},{"ph":"X","name":"back","pid":1,"tid":2,"ts":4,"dur":-1},7]}`
	got, err := ReadTracks(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if s := strings.Join(got.Tracks, ", "); s != "server / io, process x / thread 3" {
		t.Errorf("tracks %s", s)
	}
	want := []struct {
		name       string
		start, dur int64
	}{{"a", 6001, 2500}, {"in", 16000, 1000}, {"b", 15000, 3000}, {"now", 750, 0}}
	for i, s := range got.Spans {
		if i >= len(want) || got.Names[s.Name] != want[i].name || s.Start != want[i].start || s.Dur != want[i].dur {
			t.Errorf("%d: %s %+v", i, got.Names[s.Name], s)
		}
	}
	if len(got.Spans) != len(want) || got.Other != 5 {
		t.Errorf("%d spans, %d others", len(got.Spans), got.Other)
	}
}

// What is not drawn is counted by kind, each event once.
func TestTracksCountsKinds(t *testing.T) {
	var events []string
	for _, ph := range strings.Split("C C s t f b n e S T p F N P", " ") {
		events = append(events, `{"ph":"`+ph+`","name":"n","id":1,"pid":1,"tid":1,"ts":3}`)
	}
	got, err := ReadTracks(strings.NewReader("[" + strings.Join(events, ",") + "]"))
	if err != nil || got.Counters != 2 || got.Flows != 3 || got.Asyncs != 7 || got.Other != 14 || len(got.Spans) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// A list alone may lack its end, as Chrome's format allows; an object may not.
func TestTracksCutOff(t *testing.T) {
	got, err := ReadTracks(strings.NewReader(`[{"ph":"X","name":"a","pid":1,"tid":2,"ts":1,"dur":2},{"ph":"X","na`))
	if err != nil || len(got.Spans) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := ReadTracks(strings.NewReader(`{"traceEvents":[{"ph":"X","na`)); err == nil {
		t.Error("half an object is a trace")
	}
}

// The id of a process or a thread may be any JSON; as a title it is cut like other names.
func TestLongTrackTitles(t *testing.T) {
	long := strings.Repeat("x", 1<<16)
	got, err := ReadTracks(strings.NewReader(`[{"ph":"X","name":"a","pid":"` + long + `","tid":"` + long + `","ts":1,"dur":2}]`))
	if err != nil || len(got.Tracks) != 1 || len(got.Tracks[0]) > 3*maxName {
		t.Errorf("%v, %d bytes", err, len(got.Tracks[0]))
	}
}

// A trace without an event of torch.profiler has nothing to add up.
func TestForeign(t *testing.T) {
	p, err := Read(strings.NewReader(`[{"ph":"X","name":"a","cat":"http","pid":1,"tid":2,"ts":1,"dur":2}]`))
	if err != nil || !p.Foreign {
		t.Errorf("%+v, %v", p, err)
	}
}

func FuzzTracks(f *testing.F) {
	f.Add(`[{"ph":"X","name":"a","pid":1,"tid":2,"ts":1,"dur":2},{"ph":"B","ts":1e300},{"ph":"E","ts":2}]`)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ReadTracks(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, s := range got.Spans {
			if s.Dur < 0 || int(s.Name) >= len(got.Names) || int(s.Track) >= len(got.Tracks) {
				t.Fatalf("%+v", s)
			}
		}
	})
}
