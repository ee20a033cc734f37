package app

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// This file keeps what a source file held before a fix was written into it.

// backupsKept is how many backups there are at most; the oldest go.
const backupsKept = 100

// backupsRoot is the folder of all backups.
func backupsRoot() (string, error) {
	runs, err := runsRoot()
	return filepath.Join(filepath.Dir(runs), "backups"), err
}

// backupsOf is where the backups of a file are, for a message.
func backupsOf(path string) string {
	root, err := backupsRoot()
	if err != nil {
		return "its backup"
	}
	return filepath.Join(root, "*-"+filepath.Base(path))
}

// backUp copies a file to the backups. A fix is not written without.
func backUp(path string) error {
	root, err := backupsRoot()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return fmt.Errorf("no backup of %s: %s", path, reason(err))
	}
	name := filepath.Join(root, time.Now().Format("20060102-150405.000000000")+"-"+filepath.Base(path))
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = put(file, string(text))
		file.Close()
	}
	if err != nil {
		_ = os.Remove(name)
		return fmt.Errorf("no backup of %s: %s", path, reason(err))
	}
	pruneBackups(root)
	return nil
}

// pruneBackups removes the oldest backups; their names begin with the time.
func pruneBackups(root string) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	for _, name := range names[:max(0, len(names)-backupsKept)] {
		_ = os.Remove(filepath.Join(root, name))
	}
}
