package app

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"tcdbg/logs/regular"
)

// This file is the run folder: where it is, what lies in it and who writes
// what. The engine (or PyTorch) writes the trace, the child's stdout and
// stderr are two files, and the viewer alone writes run.json.

// Names in a run folder.
const (
	infoFile   = "run.json"
	lockFile   = "lock"   // held while the run is alive, by the viewer and by the program under it
	traceFile  = "trace/" // folder: TORCH_TRACE makes one file a process
	engineLog  = "trace/dedicated_log_torch_trace_tcdbg.log"
	stdoutFile = "stdout"
	stderrFile = "stderr"
	faultFile  = "fault"

	newInfoFile = infoFile + ".new" // becomes run.json when it is whole
)

// State is how a run is doing.
type State string

// The states of a run.
const (
	Running State = "running"
	Exited  State = "exited"
	Crashed State = "crashed" // the engine or a kernel failed
	Killed  State = "killed"  // by a signal
	Lost    State = "lost"    // the viewer died before it could say
	Unseen  State = "unseen"  // it was left running, and nobody saw its end
)

// RunInfo is run.json.
type RunInfo struct {
	V       int        `json:"v"`
	ID      string     `json:"id"`
	Kind    string     `json:"kind"` // run, exec
	Program []string   `json:"program"`
	Args    []string   `json:"args"`
	Dir     string     `json:"dir"`
	Start   time.Time  `json:"start"`
	End     *time.Time `json:"end,omitempty"`
	State   State      `json:"state"`
	Code    int        `json:"code"`
	Signal  string     `json:"signal,omitempty"`
	Crash   string     `json:"crash,omitempty"` // one line
	Engine  Options    `json:"engine"`
	// Left is the process that the viewer left running, 0: none.
	Left int `json:"left,omitempty"`
}

// Options are what the viewer tells the engine.
type Options struct {
	Logs  string `json:"logs,omitempty"`  // artifacts as text on stderr
	Pause bool   `json:"pause,omitempty"` // stop at the first safe point
	// Record keeps what would not be the same if the program ran again, to go back.
	Record bool `json:"record,omitempty"`
	// Profile is how many steady steps of a PyTorch program are recorded with its profiler.
	Profile int `json:"profile,omitempty"`
	// Trial makes the run a trial of a remedy.
	Trial *TrialOptions `json:"trial,omitempty"`
}

// Run is an open run folder.
type Run struct {
	Path string
	Info RunInfo
	lock *os.File   // the program under the screens holds it too
	mu   sync.Mutex // of Info, once the program runs
}

// runsRoot is the folder of all runs.
func runsRoot() (string, error) {
	base := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(base) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", failf(ExitWrite, "no home folder for the run folder: %v; set XDG_STATE_HOME", err)
		}
		base = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(base, "tcdbg", "runs"), nil
}

// newRun makes a fresh run folder, whole or not at all.
func newRun(kind string, program, args []string, o Options) (*Run, error) {
	root, err := runsRoot()
	if err != nil {
		return nil, err
	}
	return newRunIn(root, kind, program, args, o)
}

// newRunIn makes a fresh run folder below root.
func newRunIn(root, kind string, program, args []string, o Options) (*Run, error) {
	dir, _ := os.Getwd()
	now := time.Now()
	var err error
	r := &Run{Info: RunInfo{
		V: 1, Kind: kind, Program: program, Args: args, Dir: dir,
		Start: now, State: Running, Engine: o,
	}}
	if r.Path, err = freshFolder(root, now.Format("20060102-150405")+"-"+runName(program)+"-", salt); err != nil {
		return nil, fileError("cannot make the run folder", root, err, elsewhere)
	}
	r.Info.ID = filepath.Base(r.Path)
	if err := r.fill(); err != nil {
		if r.lock != nil {
			r.lock.Close()
		}
		_ = os.RemoveAll(r.Path)
		return nil, err
	}
	return r, nil
}

// elsewhere is what to do where the folder of runs is no good.
const elsewhere = "set XDG_STATE_HOME to a folder that can be written"

// fill makes what lies in a run folder from the start.
func (r *Run) fill() error {
	err := os.Mkdir(r.file(traceFile), 0o755)
	if err != nil {
		return fileError("cannot make the run folder", r.Path, err, elsewhere)
	}
	if r.lock, err = os.OpenFile(r.file(lockFile), os.O_CREATE|os.O_RDWR, 0o644); err != nil {
		return fileError("cannot write", r.file(lockFile), err, elsewhere)
	}
	if err := syscall.Flock(int(r.lock.Fd()), syscall.LOCK_EX); err != nil {
		return fileError("cannot lock", r.file(lockFile), err, elsewhere)
	}
	if r.Info.Kind == "run" {
		if err := newFaultPage(r.file(faultFile)); err != nil {
			return fileError("cannot write", r.file(faultFile), err, elsewhere)
		}
	}
	return r.save()
}

// newRunOrNone is newRun for a program whose record is not what was asked for: where there
// can be none, that is said, and the program runs as it would.
func (s *session) newRunOrNone(kind string, program, args []string, o Options) *Run {
	r, err := newRun(kind, program, args, o)
	if err != nil {
		fmt.Fprintf(s.Stderr, "tcdbg: %s; this run is not recorded\n", shown(asFailure(err).text))
		return &Run{Info: RunInfo{V: 1, Kind: kind, Program: program, Args: args, Start: time.Now(), State: Running, Engine: o}}
	}
	return r
}

// unrecorded reports whether the run has no folder.
func (r *Run) unrecorded() bool { return r.Path == "" }

// salt tells apart the runs of one program within a second.
func salt() string {
	var b [2]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// freshFolder makes a folder in root that was not there before and returns its path: the
// prefix with a salt. Two runs may draw the same salt, so what exists is left alone.
func freshFolder(root, prefix string, salt func() string) (string, error) {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", err
	}
	for {
		path := filepath.Join(root, prefix+salt())
		if err := os.Mkdir(path, 0o755); !errors.Is(err, fs.ErrExist) {
			return path, err
		}
	}
}

// runName is the readable part of a run's id: the program's base name, in
// letters that are safe in a path.
func runName(program []string) string {
	name := "run"
	if len(program) > 0 {
		name = filepath.Base(program[0])
	}
	name = strings.TrimSuffix(name, filepath.Ext(name))
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
			return r
		}
		return '-'
	}, name)
	name = strings.Trim(name, "-")
	if name == "" {
		return "run"
	}
	return name[:min(len(name), 40)]
}

func (r *Run) file(name string) string { return filepath.Join(r.Path, name) }

// save writes run.json whole: a reader sees the old one or the new one.
func (r *Run) save() error {
	text, err := json.MarshalIndent(&r.Info, "", "  ")
	if err != nil {
		return err
	}
	tmp := r.file(newInfoFile)
	if err = os.WriteFile(tmp, append(text, '\n'), 0o644); err == nil {
		err = os.Rename(tmp, r.file(infoFile))
	}
	if err != nil {
		_ = os.Remove(tmp)
		return fileError("cannot write", r.file(infoFile), err, "free some space or set XDG_STATE_HOME")
	}
	return nil
}

// finish notes the end of the run and gives up the lock.
func (r *Run) finish(e ending) error {
	if r.unrecorded() {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	r.Info.End = &now
	r.Info.State, r.Info.Code, r.Info.Signal, r.Info.Crash = e.State, e.Code, e.Signal, e.Crash
	err := r.save()
	r.lock.Close()
	return err
}

// leave notes that the program runs on without a viewer.
func (r *Run) leave(pid int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Info.State != Running {
		return nil // it has just ended
	}
	r.Info.Left = pid
	return r.save()
}

// title is the command line as screens and reports name it.
func (i *RunInfo) title() string {
	var words []string
	for _, p := range i.Program {
		words = append(words, filepath.Base(p))
	}
	return strings.Join(append(words, i.Args...), " ")
}

// maxInfo is how large a run.json may be: a command line has at most a few megabytes.
const maxInfo = 16 << 20

// loadRun reads the run.json of a folder. A run that says it is running but
// whose viewer and program are gone is reported as Lost, or as Unseen where the
// program was left running.
func loadRun(path string) (*Run, error) {
	text, err := regular.Read(filepath.Join(path, infoFile), maxInfo)
	if err != nil {
		return nil, err
	}
	r := &Run{Path: path}
	if err := json.Unmarshal(text, &r.Info); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(path, infoFile), err)
	}
	if r.Info.State == Running && !r.alive() {
		r.Info.State = Lost
		if r.Info.Left != 0 {
			r.Info.State = Unseen
		}
	}
	return r, nil
}

// alive reports whether the run's lock is held: by a viewer, or by a program that
// was started under one.
func (r *Run) alive() bool {
	held := true
	r.ifDead(func() { held = false })
	return held
}

// ifDead does something about a run whose lock nobody holds; a run that begins meanwhile
// waits for it.
func (r *Run) ifDead(do func()) {
	f, err := regular.Open(r.file(lockFile))
	if err != nil {
		do()
		return
	}
	defer f.Close()
	if syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil {
		do()
	}
}

// tidy removes what a viewer that was killed has left: it was about to become run.json.
func tidy(path string) {
	r := &Run{Path: path}
	r.ifDead(func() { _ = os.Remove(r.file(newInfoFile)) })
}

// listRuns returns all runs, oldest first; folders that are no runs are left
// out. What viewers that were killed have left half made is removed.
func listRuns() ([]*Run, error) {
	root, err := runsRoot()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fileError("cannot read", root, err, "")
	}
	var runs []*Run
	for _, e := range entries {
		path := filepath.Join(root, e.Name())
		r, err := loadRun(path)
		if err != nil || r.Info.End == nil && r.Info.State != Running {
			tidy(path)
		}
		if err == nil {
			runs = append(runs, r)
		}
	}
	// Names have seconds: of two within one the later is last.
	slices.SortStableFunc(runs, func(a, b *Run) int { return a.Info.Start.Compare(b.Info.Start) })
	return runs, nil
}

// findRun finds a saved run by its id, a unique part of it, or "last".
func findRun(name string) (*Run, error) {
	runs, err := listRuns()
	if err != nil {
		return nil, err
	}
	if name == "last" {
		if len(runs) == 0 {
			return nil, failf(ExitNoFile, "no saved runs yet; make one with tcdbg run model.go")
		}
		return runs[len(runs)-1], nil
	}
	var found []*Run
	for _, r := range runs {
		if r.Info.ID == name {
			return r, nil
		}
		if strings.Contains(r.Info.ID, name) {
			found = append(found, r)
		}
	}
	switch len(found) {
	case 0:
		return nil, failf(ExitNoFile, "no run or file is named %s; tcdbg runs lists the saved runs", name)
	case 1:
		return found[0], nil
	}
	return nil, failf(ExitUsage, "%d runs match %s (%s, %s, ...); give more of the id",
		len(found), name, found[0].Info.ID, found[1].Info.ID)
}
