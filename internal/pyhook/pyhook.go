// Package pyhook puts Python code of ours into a program that it starts: a
// sitecustomize.py in a folder that comes first on PYTHONPATH, and the modules beside it
// that the run asks for. Nothing is installed; the folder goes with the run. The files
// under py say what they do.
package pyhook

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

//go:embed py/sitecustomize.py py/tcdbg_hooks/*.py
var files embed.FS

const root = "py"

// The environment of our Python code. Modules have variables of their own beside.
const (
	hooksVar = "TCDBG_HOOKS"      // modules to start, with commas between them
	traceVar = "TCDBG_HOOK_TRACE" // folder for records, that of TORCH_TRACE
	dirVar   = "TCDBG_HOOK_DIR"   // folder of the files
)

// PauseVar names the unix socket of the viewer to the module pause.
const PauseVar = "TCDBG_PAUSE"

// ProfileVar tells the module profile how many steps it is to record.
const ProfileVar = "TCDBG_PROFILE"

// Install writes our Python files into dir, which must not exist yet, and returns env
// with what makes a Python program, and the processes that it starts, load the modules.
// What an outer run put into env is taken out. The program's records go to the folder that
// env's TORCH_TRACE names.
func Install(dir string, env []string, modules ...string) ([]string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if strings.ContainsRune(dir, os.PathListSeparator) {
		return nil, fmt.Errorf("%s: a folder with %q in its name cannot be on PYTHONPATH", dir, os.PathListSeparator)
	}
	for _, m := range modules {
		if _, err := fs.Stat(files, root+"/tcdbg_hooks/"+m+".py"); err != nil {
			return nil, fmt.Errorf("no Python module of ours is named %s", m)
		}
	}
	if err := write(dir); err != nil {
		return nil, err
	}
	return environment(dir, env, modules), nil
}

// write copies the files into dir. The folder is the user's alone: what lies there is executed.
func write(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	return fs.WalkDir(files, root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == root {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(name, root+"/")))
		if d.IsDir() {
			return os.Mkdir(to, 0o700)
		}
		text, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o600)
	})
}

// environment is env with our variables, and dir first on PYTHONPATH.
func environment(dir string, env, modules []string) []string {
	var out, paths []string
	var outer, trace string
	for _, e := range env {
		switch name, value, _ := strings.Cut(e, "="); name {
		case hooksVar, traceVar, PauseVar, ProfileVar:
		case dirVar:
			outer = value
		case "PYTHONPATH":
			paths = filepath.SplitList(value)
		case "TORCH_TRACE":
			trace = value
			out = append(out, e)
		default:
			out = append(out, e)
		}
	}
	path := []string{dir}
	for _, p := range paths {
		if p != outer || outer == "" {
			path = append(path, p)
		}
	}
	return append(out,
		"PYTHONPATH="+strings.Join(path, string(os.PathListSeparator)),
		hooksVar+"="+strings.Join(modules, ","), traceVar+"="+trace, dirVar+"="+dir)
}
