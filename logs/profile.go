package logs

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"time"

	"tcdbg/logs/chrome"
	"tcdbg/logs/regular"
)

// This file makes a Chrome trace of torch.profiler a source: it has one record, which says
// what the trace adds up to.

// Profiled is written by a process of a Python program whose steps were to be recorded.
type Profiled struct {
	PID      int               `json:"pid"`
	Files    map[string]string `json:"files"`    // Chrome traces beside the record, by what they are for: times, stacks
	Problems []string          `json:"problems"` // why there are none, or fewer steps
}

// ArtifactName is that of the record.
func (Profiled) ArtifactName() (string, int) { return "tcdbg_profiled", 1 }

// profileName says whether a file of a folder, its name in small letters, is the Chrome trace of a
// profiler: ours, or what torch.profiler's handler for TensorBoard writes.
func profileName(name string) bool {
	return strings.HasPrefix(name, "tcdbg_profile_") || strings.HasSuffix(name, ".pt.trace.json")
}

// profileReader reads a Chrome trace to its end at the first Read, and then gives the record.
type profileReader struct {
	src  *source
	from io.Reader
	text *bytes.Reader
	err  error
}

func newProfileReader(src *source) *profileReader { return &profileReader{src: src, from: src.scan.in} }

// Read implements io.Reader.
func (r *profileReader) Read(b []byte) (int, error) {
	if r.text == nil {
		r.text = bytes.NewReader(nil)
		var p *chrome.Profile
		if p, r.err = chrome.Read(r.from); r.err == nil {
			r.text = bytes.NewReader(r.record(p))
		}
	}
	if r.err != nil {
		return 0, r.err
	}
	return r.text.Read(b)
}

func (r *profileReader) record(p *chrome.Profile) []byte {
	var out bytes.Buffer
	now := time.Now
	if !r.src.changed.IsZero() {
		now = func() time.Time { return r.src.changed.UTC() }
	}
	if p.Rank != nil && *p.Rank <= maxRank {
		r.src.mu.Lock()
		r.src.Rank = *p.Rank
		r.src.mu.Unlock()
	}
	w := NewWriter(&out, WriterOptions{Rank: max(0, r.src.Rank), HasRank: r.src.Rank >= 0, Now: now})
	w.Emit(Artifact(NoCompile, p))
	return out.Bytes()
}

// maxTracksBytes bounds what a Chrome trace may unpack to.
const maxTracksBytes = 8 << 30

// ReadTracks reads all spans of a Chrome trace, which may be packed.
func ReadTracks(path string) (t *chrome.Tracks, err error) {
	err = readUnpacked(path, func(in io.Reader) error {
		t, err = chrome.ReadTracks(io.LimitReader(in, maxTracksBytes))
		return err
	})
	return t, err
}

// holdsChrome says whether a file, which may be packed, begins as a Chrome trace. One that cannot be read is none.
func holdsChrome(path string) (is bool) {
	_ = readUnpacked(path, func(in io.Reader) error {
		head, _ := io.ReadAll(io.LimitReader(in, headSize)) // an archive may be cut off: what it holds is looked at
		is = chrome.Looks(head)
		return nil
	})
	return is
}

// readUnpacked has a file read, which may be packed.
func readUnpacked(path string, read func(in io.Reader) error) error {
	f, err := regular.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() // it was only read
	in := bufio.NewReaderSize(f, headSize)
	magic, err := in.Peek(4)
	if err != nil && err != io.EOF {
		return err
	}
	src := &source{Source: Source{Path: path}}
	z, err := src.decoder(in, magic)
	defer func() {
		for _, c := range src.closers {
			_ = c.Close()
		}
	}()
	switch {
	case err != nil:
		return err
	case z != nil:
		return read(z)
	}
	return read(in)
}
