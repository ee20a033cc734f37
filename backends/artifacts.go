package backends

import (
	"bytes"

	"tcdbg/backends/codecache"
	"tcdbg/torch/compiler/artifacts"
)

// This file gives a program the code that it has compiled, and takes up what it got elsewhere
// (compiler.SaveCacheArtifacts, compiler.LoadCacheArtifacts).

// Save implements artifacts.Store.
func (s *Set) Save() ([]byte, []artifacts.Artifact, error) {
	if !s.started.Load() || s.eng.cache == nil {
		return nil, nil, nil
	}
	var b bytes.Buffer
	list, err := s.eng.cache.ExportLoaded(CodeFor(), &b)
	return b.Bytes(), artifactsOf(list), err
}

// Load implements artifacts.Store.
func (s *Set) Load(data []byte) ([]artifacts.Artifact, error) {
	dir, err := s.cacheDir()
	if err != nil {
		return nil, err
	}
	added, there, err := codecache.Import(dir, CodeFor(), bytes.NewReader(data), int64(len(data)))
	return artifactsOf(append(added, there...)), err
}

func artifactsOf(list []codecache.Info) []artifacts.Artifact {
	var out []artifacts.Artifact
	for _, e := range list {
		out = append(out, artifacts.Artifact{Key: e.Name, Kind: e.Kind, Size: e.Size})
	}
	return out
}
