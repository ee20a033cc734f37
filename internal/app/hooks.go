package app

import (
	"os"
	"slices"
	"strconv"

	"tcdbg/internal/pyhook"
)

// This file puts our Python modules into a program under exec, where its options ask for any.

// hooksFolder is where the files for Python lie within a run's folder, until its program has
// ended.
const hooksFolder = "hooks"

// kinetoLevel is the variable for how much PyTorch's profiler says of itself.
const kinetoLevel = "KINETO_LOG_LEVEL"

// stepsVar is set to 0 where the steps of traces are not to be recorded.
const stepsVar = "TCDBG_STEPS"

// modules are those that the options ask for, and the one that records calls.
func (o *Options) modules() []string {
	var list []string
	if o.Pause {
		list = append(list, "pause")
		if os.Getenv(stepsVar) != "0" {
			list = append(list, "tracesteps")
		}
	}
	if o.Profile > 0 {
		list = append(list, "profile")
	}
	if os.Getenv(callsVar) != "0" {
		list = append(list, "calls")
	}
	return list
}

// withHooks is a program's environment with our modules in it. Where they cannot be written a
// program of which only calls, modules and nodes of schedules were to be recorded runs without them, and the screens say so.
func (r *Run) withHooks(env []string) ([]string, error) {
	o := &r.Info.Engine
	modules := append(o.modules(), "modules")
	if slices.Contains(env, "TORCH_LOGS="+fusionLogs) {
		modules = append(modules, "loops") // what the nodes of the decisions read and write
	}
	if len(modules) == 0 {
		return env, nil
	}
	plain := env
	env, err := pyhook.Install(r.file(hooksFolder), env, modules...)
	switch {
	case err != nil && !o.Pause && o.Profile == 0:
		return plain, nil
	case err != nil:
		return nil, failf(ExitWrite, "cannot write the files for Python: %v", err)
	}
	if o.Profile > 0 {
		env = append(env, pyhook.ProfileVar+"="+strconv.Itoa(o.Profile))
		if _, set := os.LookupEnv(kinetoLevel); !set {
			env = append(env, kinetoLevel+"=99") // nothing of the profiler's own goes to the program's standard error
		}
	}
	return env, nil
}

// removeHooks is for when no process of the program begins any longer.
func (r *Run) removeHooks() {
	if r != nil && r.Info.Kind == "exec" {
		_ = os.RemoveAll(r.file(hooksFolder))
	}
}
