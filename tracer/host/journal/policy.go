package journal

import (
	"os"
	"strings"
)

// This file says which compiled functions give the same result when they are called again.

// Policy is what is done about a function.
type Policy int

// The policies.
const (
	Pure   Policy = iota // it does the same again
	Result               // its results are kept
	Random               // it draws from a generator without a seed
	Read                 // its first argument is a path that it reads
	Write                // its first argument is a path that it writes
	Remove               // its first argument is a path that it removes
	Skip                 // it is left out when the program runs again
	Fill                 // what it stores through its argument is kept
	Rename               // it gives a file another name
	Open                 // os.OpenFile
	Temp                 // it makes a folder with a new name
	Name                 // it is the name of a file
	Wait                 // it waits for other goroutines or the time, or wakes them: see package baton
	Refuse               // it ends the journal
)

// Of is the policy for a function by its full name: os.Getpid, (*os.File).Read.
func Of(name string) Policy {
	if p, ok := functions[name]; ok {
		return p
	}
	if name == "math/rand.Seed" && !strings.Contains(os.Getenv("GODEBUG"), "randseednop=0") {
		return Pure // it does nothing
	}
	pkg, base, method := split(name)
	if !method && (pkg == "math/rand" || pkg == "math/rand/v2") && !strings.HasPrefix(base, "New") {
		return Random
	}
	if pure[pkg] || pkg == "tcdbg/torch" || strings.HasPrefix(pkg, "tcdbg/torch/") {
		return Pure
	}
	return Refuse
}

// PathOf is which argument of a function is a path.
func PathOf(name string) int {
	if name == "tcdbg/torch.Save" || name == "tcdbg/torch.SaveSafetensors" {
		return 1
	}
	return 0
}

func split(name string) (pkg, base string, method bool) {
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return "", name, false
	}
	pkg, base = name[:i], name[i+1:]
	if strings.HasPrefix(pkg, "(") { // (*os.File)
		method = true
		pkg = strings.TrimLeft(strings.TrimSuffix(pkg, ")"), "(*")
	}
	// A type of a method is after the last dot of the path's last element.
	if method {
		slash := strings.LastIndexByte(pkg, '/') + 1
		if dot := strings.IndexByte(pkg[slash:], '.'); dot >= 0 {
			pkg = pkg[:slash+dot]
		}
	}
	return pkg, base, method
}

// pure are packages whose functions depend on their arguments alone, or on what else is in
// the program's memory. What they read through a file was checked when it was opened.
var pure = set(
	"bufio", "bytes", "cmp", "compress/gzip", "container/heap", "container/list", "container/ring", "context", "crypto/md5",
	"crypto/sha1", "crypto/sha256", "crypto/sha512", "crypto/subtle", "embed", "encoding", "encoding/base64", "encoding/binary",
	"encoding/csv", "encoding/gob", "encoding/hex", "encoding/json", "encoding/xml", "errors", "flag", "fmt", "go/ast", "go/format",
	"go/parser", "go/token", "hash", "hash/crc32", "hash/fnv", "html", "io", "io/fs", "iter", "log", "maps", "math", "math/big",
	"math/bits", "math/cmplx", "math/rand", "math/rand/v2", "net/url", "os", "path", "path/filepath", "reflect", "regexp", "runtime",
	"runtime/debug", "slices", "sort", "strconv", "strings", "sync", "sync/atomic", "text/tabwriter", "time", "unicode", "unicode/utf16",
	"unicode/utf8", "unique", "",
)

// functions are those that are not as their package.
var functions = func() map[string]Policy {
	m := map[string]Policy{}
	for p, names := range map[Policy]string{
		Result: `time.Now time.Since time.Until os.Getpid os.Getppid os.Hostname os.Executable os.Getuid os.Geteuid os.Getgid
			os.Getegid os.Getwd os.UserHomeDir os.TempDir os.UserCacheDir os.UserConfigDir os.Getpagesize runtime.NumGoroutine
			runtime.NumCPU runtime.GOMAXPROCS runtime.NumCgoCall runtime/debug.SetGCPercent runtime/debug.SetMemoryLimit
			runtime/debug.SetMaxStack runtime/debug.SetMaxThreads tcdbg/torch.Memory crypto/rand.Text`,
		Fill:   "runtime.ReadMemStats crypto/rand.Read",
		Rename: "os.Rename",
		Open:   "os.OpenFile",
		Temp:   "os.MkdirTemp",
		Name:   "(*os.File).Name",
		Read: `tcdbg/torch.Load tcdbg/torch.LoadSafetensors os.Open os.ReadFile os.Stat os.Lstat os.ReadDir io/ioutil.ReadFile
			io/ioutil.ReadDir os.Readlink`,
		Write: `tcdbg/torch.Save tcdbg/torch.SaveSafetensors os.Create os.WriteFile os.Mkdir os.MkdirAll
			io/ioutil.WriteFile`,
		Remove: "os.Remove os.RemoveAll",
		Skip:   "runtime.GC runtime/debug.FreeOSMemory",
		Wait: `time.Sleep time.After time.AfterFunc time.NewTimer time.NewTicker time.Tick (*time.Timer).Stop (*time.Timer).Reset
			(*time.Ticker).Stop (*time.Ticker).Reset (*sync.Mutex).Lock (*sync.Mutex).Unlock (*sync.RWMutex).Lock
			(*sync.RWMutex).Unlock (*sync.RWMutex).RLock (*sync.RWMutex).RUnlock (*sync.WaitGroup).Add (*sync.WaitGroup).Done
			(*sync.WaitGroup).Wait (*sync.WaitGroup).Go (*sync.Once).Do sync.OnceFunc (*sync.Cond).Wait (*sync.Cond).Signal
			(*sync.Cond).Broadcast (*sync.Pool).Get (*sync.Pool).Put runtime.Gosched (reflect.Value).Recv (reflect.Value).TryRecv
			(reflect.Value).Close`,
		Refuse: `context.AfterFunc context.WithTimeout context.WithDeadline context.WithTimeoutCause context.WithDeadlineCause
			os.StartProcess os.FindProcess os.Pipe os.Link os.Symlink os.Truncate os.CopyFS os.OpenRoot os.OpenInRoot
			os.Lchown os.Chown os.NewFile path/filepath.Walk path/filepath.WalkDir path/filepath.Glob path/filepath.EvalSymlinks
			io/fs.WalkDir io/fs.ReadFile io/fs.ReadDir io/fs.Stat io/fs.Glob io/fs.Sub
			runtime.SetFinalizer runtime.AddCleanup runtime/debug.ReadGCStats runtime.Stack runtime/debug.WriteHeapDump
			runtime/debug.ReadBuildInfo runtime.GoroutineProfile runtime.MemProfile runtime.ThreadCreateProfile
			runtime.BlockProfile (reflect.Value).MapKeys (reflect.Value).MapRange (reflect.Value).Seq (reflect.Value).Seq2
			io.Pipe (*io.PipeReader).Read (*io.PipeWriter).Write os.DirFS os.Chdir os.Chmod os.Chtimes (*os.File).Chdir (*os.File).Chmod (*os.File).Chown
			(*os.File).Fd (*os.File).SyscallConn (*os.fileStat).ModTime (*os.fileStat).Sys fmt.Scan fmt.Scanf fmt.Scanln io/fs.Lstat
			io/fs.ReadLink go/parser.ParseDir go/parser.ParseFile runtime.MutexProfile runtime.CPUProfile runtime.ReadTrace
			(*sync.Map).Range (*os.File).Truncate io/ioutil.TempDir io/ioutil.TempFile os.CreateTemp`,
	} {
		for _, n := range strings.Fields(names) {
			m[n] = p
		}
	}
	return m
}()

func set(names ...string) map[string]bool {
	m := map[string]bool{}
	for _, n := range names {
		m[n] = true
	}
	return m
}
