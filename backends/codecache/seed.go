package codecache

import (
	"os"
	"path/filepath"
	"strings"
)

// Runtime is the kind of the runtime library, which all graphs need and which takes a C
// compiler longer than most of them.
const Runtime = "runtime"

// Seed gives the cache in dir, which it makes, the runtime libraries of another cache of the
// user's, so that who wants a cache without the code of earlier runs need not wait for them.
// They are entries like all: verified before they are loaded. Where none can be had, there
// are none.
func Seed(dir, from string) {
	source, err := openTrusted(from)
	if err != nil {
		return
	}
	defer func() { _ = source.Close() }()
	c, err := Open(dir, 0, func(string, ...any) {})
	if err != nil {
		return
	}
	defer c.Close()
	for _, f := range (&Cache{root: source}).files() {
		if strings.HasPrefix(f.Name(), Runtime+"-") {
			_ = os.Link(filepath.Join(from, f.Name()), filepath.Join(dir, f.Name()))
		}
	}
}
