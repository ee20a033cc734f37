package backends

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"tcdbg/logs"
	"tcdbg/tracer"
)

// phases keeps the order in which phases begin and end.
type phases struct {
	nowhere
	seen []string
}

func (p *phases) Emit(o logs.Out) {
	var e struct{ Name, Ph string }
	if o.Kind == "chromium_event" && json.Unmarshal(o.Payload, &e) == nil {
		p.seen = append(p.seen, e.Ph+" "+e.Name)
	}
}

// loggedBackend compiles with a sink of the test's.
type loggedBackend struct {
	tracer.Backend
	log logs.Sink
}

func (b loggedBackend) Compile(r *tracer.Request) (tracer.Runnable, error) {
	r.Log = b.log
	return b.Backend.Compile(r)
}

// The phases of a compile nest: aot around inductor and the C compiler.
func TestPhases(t *testing.T) {
	needCompiler(t)
	b, err := NewSet(Config{CacheDir: sharedCache, Threads: 2, Stderr: t.Output()}).Get("inductor")
	if err != nil {
		t.Fatal(err)
	}
	p := &phases{}
	runUnder(t, filepath.Join("..", "fixtures", "sincos", "model.go"), loggedBackend{b, p})
	const want = "B cc E cc B aot B inductor E inductor B cc E cc E aot" // the first compile loads the runtime library
	if got := strings.Join(p.seen, " "); !strings.HasPrefix(got, want) {
		t.Errorf("phases %s, want %s", got, want)
	}
}
