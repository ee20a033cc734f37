package exported

import (
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tcdbg/backends"
	"tcdbg/torch"
)

// This file is `tcdbg package`.

// packageFlags are its flags.
type packageFlags struct {
	out, name string
	sizes     []string
}

// Failures makes errors with the exit codes of the command line.
type Failures struct {
	Usage, Data func(err error) error
}

// NewPackageCommand makes the command; cfg is what the C compiler is run with.
func NewPackageCommand(out io.Writer, cfg backends.Config, fail Failures) *cobra.Command {
	var f packageFlags
	c := &cobra.Command{
		Use:   "package [flags] model.pt2",
		Short: "Make a shared library with a C header of an exported program",
		Long: `Compiles a program that PyTorch or torch.Export exported for inference, and writes
libNAME.so and NAME.h: kernels, thread pool and weights in one file, which a C
program links with and calls without tcdbg. Sizes that vary in the program vary in
the library, from 2 on; --size makes constants of them.

The library runs on processors like this one, and says so on others. Programs that
change buffers, and operators that run outside of generated code, are refused by name.`,
		Example: "  tcdbg package model.pt2 -o deploy\n  tcdbg package model.pt2 --name scorer --size x:0=1",
		Args:    cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fail.Usage(fmt.Errorf("package needs one file of torch.export.save: tcdbg package model.pt2"))
			}
			sizes, err := readSizes(f.sizes)
			if err != nil {
				return fail.Usage(err)
			}
			lib, header, err := f.run(args[0], sizes, cfg)
			if err != nil {
				return fail.Data(err)
			}
			_, err = fmt.Fprintf(out, "%s\n%s\n", lib, header)
			return err
		},
	}
	c.Flags().StringVarP(&f.out, "out", "o", ".", "the `FOLDER` that the files are written to")
	c.Flags().StringVar(&f.name, "name", "", "what the library's functions are called (default: the file's name)")
	c.Flags().StringArrayVar(&f.sizes, "size", nil, "`INPUT:DIM=N`: a size that varies in the program is N in the library")
	return c
}

func (f *packageFlags) run(path string, sizes map[string]int64, cfg backends.Config) (lib, header string, err error) {
	name := f.name
	if name == "" {
		name = wordOf(path)
	}
	p, err := torch.LoadExported(path)
	if err != nil {
		return "", "", err
	}
	if err := backends.NewSet(cfg).Package(p, f.out, name, sizes); err != nil {
		return "", "", fmt.Errorf("%s: %w", path, err)
	}
	return filepath.Join(f.out, "lib"+name+".so"), filepath.Join(f.out, name+".h"), nil
}

var noWord = regexp.MustCompile(`[^A-Za-z0-9_]+`)

// wordOf makes a word of C of a file's name.
func wordOf(path string) string {
	name := strings.Trim(noWord.ReplaceAllString(strings.TrimSuffix(filepath.Base(path), suffix), "_"), "_")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "model_" + name
	}
	return strings.TrimSuffix(name, "_")
}

// readSizes reads x:0=8.
func readSizes(list []string) (map[string]int64, error) {
	out := map[string]int64{}
	for _, s := range list {
		at, number, _ := strings.Cut(s, "=")
		n, err := strconv.ParseInt(number, 10, 64)
		if _, _, dim := strings.Cut(at, ":"); err != nil || n < 0 || !dim {
			return nil, fmt.Errorf("--size %s: it wants INPUT:DIM=N, such as x:0=8", s)
		}
		out[at] = n
	}
	return out, nil
}
