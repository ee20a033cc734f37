// Package bundle is one file of a run that opens anywhere: its trace, the lines of source that
// the trace names, its report and the versions that made it, as a zip.
//
// It imports explain, explain/diagnose, explain/rewrite and logs/regular. Open this file first (what a bundle holds), then
// write.go, parts.go (which lines), open.go (what is refused) and redact.go.
package bundle

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strings"
)

// Manifest is the member that says what the others are.
type Manifest struct {
	V        int      `json:"v"`
	Tcdbg    string   `json:"tcdbg"`
	Engine   string   `json:"engine"` // "PyTorch 2.15.0", or ours
	Python   string   `json:"python,omitempty"`
	System   string   `json:"system"` // on which the bundle was made
	Title    string   `json:"title"`
	Command  string   `json:"command,omitempty"` // that made the trace
	Redacted bool     `json:"redacted"`
	Traces   []Member `json:"traces"`
	Sources  []Member `json:"sources"`
}

// Member is one file of a bundle.
type Member struct {
	Name string `json:"name"` // as the trace or the command line calls it
	File string `json:"file"` // within the bundle
	// Kept are the lines of a source file that are in it, from and to, of which the first is 1; in
	// the place of the others it has empty lines. None: it has all.
	Kept [][2]int `json:"kept,omitempty"`
}

// version is the version of bundles that is written; those of before, which have whole files, are read too.
const version = 2

// The names of members.
const (
	manifestName = "tcdbg.json"
	reportName   = "report.md"
	traceFolder  = "trace/"
	sourceFolder = "source/"
)

// What a bundle may hold. Names in it are a stranger's, and so are the sizes that it gives.
const (
	maxMembers  = 8192
	maxManifest = 4 << 20
	maxTotal    = 16 << 30 // unpacked
	maxSource   = 8 << 20  // of one file
	maxSources  = 64 << 20 // of all
	maxRatio    = 400      // unpacked to packed, of a bundle whose traces are larger than
	smallTotal  = 256 << 20
)

// memberFile is what a member may be called: one folder of ours, a number, and a name without
// anything that a path means something by.
var memberFile = regexp.MustCompile(`^(trace|source)/[0-9]{1,5}/[A-Za-z0-9_][A-Za-z0-9._+-]{0,200}$`)

// memberName is a member for a file, whose last element stays: it may tell the rank.
func memberName(folder string, n int, of string) string {
	base := strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._+-", r)) {
			return r
		}
		return '_'
	}, path.Base(of))
	if len(base) > 150 {
		base = base[len(base)-150:]
	}
	base = strings.TrimLeft(base, ".+-")
	if base == "" {
		base = "file"
	}
	return fmt.Sprintf("%s%d/%s", folder, n, base)
}

// check refuses a manifest that this program does not understand or that names what no
// bundle has.
func (m *Manifest) check() error {
	if m.V < 1 || m.V > version {
		return fmt.Errorf("it is a bundle of version %d, and this tcdbg reads versions 1 to %d", m.V, version)
	}
	if len(m.Traces) == 0 {
		return fmt.Errorf("it names no trace")
	}
	seen := map[string]bool{}
	for folder, list := range map[string][]Member{traceFolder: m.Traces, sourceFolder: m.Sources} {
		for _, e := range list {
			if !memberFile.MatchString(e.File) || !strings.HasPrefix(e.File, folder) || seen[e.File] {
				return fmt.Errorf("it names a member %q, which no bundle has", e.File)
			}
			seen[e.File] = true
			last := 0
			for _, k := range e.Kept {
				if k[0] <= last || k[1] < k[0] {
					return fmt.Errorf("it names lines of %q that no file has", e.File)
				}
				last = k[1]
			}
		}
	}
	return nil
}

func readManifest(text []byte) (*Manifest, error) {
	m := &Manifest{}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("its %s cannot be read: %w", manifestName, err)
	}
	return m, m.check()
}
