package compiler

import (
	"tcdbg/torch"
	"tcdbg/torch/compiler/artifacts"
)

// This file takes compiled code from one process to another.

// CacheInfo tells what a call has saved or loaded.
type CacheInfo struct {
	Artifacts []artifacts.Artifact
}

// Keys are the names of the artifacts of one kind: "graph", "runtime".
func (c *CacheInfo) Keys(kind string) []string {
	var out []string
	for _, a := range c.Artifacts {
		if a.Kind == kind {
			out = append(out, a.Key)
		}
	}
	return out
}

// SaveCacheArtifacts is torch.compiler.save_cache_artifacts: what this process has compiled so far, or found in
// the cache of compiled code, as bytes for LoadCacheArtifacts. It is nil where that is nothing, as under `go run`.
// It panics with a *torch.Error where the cache cannot be read.
func SaveCacheArtifacts() ([]byte, *CacheInfo) {
	store := artifacts.Current()
	if store == nil {
		return nil, nil
	}
	data, list, err := store.Save()
	if err != nil {
		panic(&torch.Error{Op: "compiler.SaveCacheArtifacts", Msg: err.Error()})
	}
	if len(list) == 0 {
		return nil, nil
	}
	return data, &CacheInfo{list}
}

// LoadCacheArtifacts is torch.compiler.load_cache_artifacts: it adds what SaveCacheArtifacts gave, in this process
// or on another machine with the same C compiler and processor, to the cache of compiled code, so that what is
// compiled next is found there. The code will be executed: load only what you have saved. It returns nil under
// `go run`, and panics with a *torch.Error where the bytes are damaged or for another machine.
func LoadCacheArtifacts(data []byte) *CacheInfo {
	store := artifacts.Current()
	if store == nil {
		return nil
	}
	list, err := store.Load(data)
	if err != nil {
		panic(&torch.Error{Op: "compiler.LoadCacheArtifacts", Msg: err.Error()})
	}
	return &CacheInfo{list}
}
