package app

import (
	"encoding/json"
	"os"
	"slices"
	"strings"

	"tcdbg/explain/remedy"
	"tcdbg/internal/pyhook"
)

// This file starts a Python program for a trial, with our module in it.

// pythonTrial is what the module trial of internal/pyhook reads.
type pythonTrial struct {
	*TrialOptions
	Switches []remedy.Switch `json:"switches"`
}

// Names in the folder of a Python trial.
const (
	hookFolder  = "hook"
	trialConfig = "hook/trial.json"

	numericsConfig = "hook/numerics.json"
)

func (p *trialProgram) startPython(r *Run, files [3]*os.File) (*child, error) {
	o, modules := r.Info.Engine.Trial, []string{"trial"}
	if o.Numerics != nil {
		modules = append(modules, "numerics")
	}
	env, err := pyhook.Install(r.file(hookFolder), trialEnv(r, p.cache(), os.Environ()), modules...)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(pythonTrial{o, o.Switches})
	if err == nil {
		err = os.WriteFile(r.file(trialConfig), text, 0o600)
	}
	if err != nil {
		return nil, err
	}
	env = append(env, "TCDBG_TRIAL="+r.file(trialConfig))
	if o.Numerics != nil {
		if text, err = json.Marshal(o.Numerics); err == nil {
			err = os.WriteFile(r.file(numericsConfig), text, 0o600)
		}
		if err != nil {
			return nil, err
		}
		env = append(env, "TCDBG_NUMERICS="+r.file(numericsConfig))
	}
	return startForeignIn(r, p.dir, p.argv, env, files, true)
}

// trialEnv is the environment of a trial: the trace in its folder, and a cache that the
// trials of a run share. Graphs are compiled in each; C++ and Triton code that another one has
// built is not built again, which would take most of the time.
func trialEnv(r *Run, cache string, env []string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return slices.Contains([]string{
			"TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TORCHINDUCTOR_FX_GRAPH_CACHE", "TORCHINDUCTOR_AUTOGRAD_CACHE",
		}, name)
	})
	seeded := slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, "PYTHONHASHSEED=") })
	env = traceEnv(r, env, true)
	for i, e := range env {
		if e == "TORCH_LOGS="+fusionLogs {
			env[i] = "TORCH_LOGS=graph_breaks"
		}
	}
	env = append(env, "TORCHINDUCTOR_CACHE_DIR="+cache, "TORCHINDUCTOR_FX_GRAPH_CACHE=0", "TORCHINDUCTOR_AUTOGRAD_CACHE=0")
	if !seeded {
		env = append(env, "PYTHONHASHSEED=0")
	}
	return env
}
