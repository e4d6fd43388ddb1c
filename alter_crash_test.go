package edgemill

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// copyStore copies a store's folder as it stands, which is what is left if the
// process ends now.
func copyStore(t testing.TB, from, to string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(to, path[len(from):])
		if d.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		return copyFile(path, target)
	}))
}

// copyFile copies a file and leaves its holes: Badger's files are mostly those.
func copyFile(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.Create(to)
	if err != nil {
		return err
	}
	defer dst.Close()
	info, err := src.Stat()
	if err != nil {
		return err
	}
	for at := int64(0); ; {
		begin, err := src.Seek(at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return dst.Truncate(info.Size())
		}
		if err != nil {
			return err
		}
		if at, err = src.Seek(begin, unix.SEEK_HOLE); err != nil {
			return err
		}
		if _, err := io.Copy(io.NewOffsetWriter(dst, begin), io.NewSectionReader(src, begin, at-begin)); err != nil {
			return err
		}
	}
}

const (
	crashBefore = "p: string @index(exact) @count @lang .\nq: [uid] @reverse .\n"
	crashAfter  = "n: int .\np: [string] @index(term) @count .\nq: [uid] @count .\ntype T {\n\tp\n}\n"
)

// loadCrash loads what the schemas above take, without tagged values.
func loadCrash(t testing.TB, db *DB) {
	newRandomEdges(t, 1, "p: string .").load(t, db)
	newRandomEdges(t, 2, "q: [uid] .").load(t, db)
}

// crashLists are the lists before and after the Alter.
func crashLists(t *testing.T) (before, after []string) {
	db := openAlter(t, crashBefore)
	loadCrash(t, db)
	before = listsAt(t, db, 0)
	require.NoError(t, db.Alter(context.Background(), crashAfter))
	return before, listsAt(t, db, 0)
}

// requireWhole opens a store after a crash and checks that the Alter took place
// or did not.
func requireWhole(t *testing.T, dir string, before, after []string) (altered bool) {
	t.Helper()
	db := openAlterIn(t, dir)
	want := before
	switch db.SchemaText() {
	case crashBefore:
		for _, key := range append(keysOf(t, db, "p"), keysOf(t, db, "q")...) {
			require.Regexp(t, "^(index p exact|count p|reverse q)", key)
		}
	case crashAfter:
		want, altered = after, true
	default:
		t.Fatalf("schema in part: %s", db.SchemaText())
	}
	requireSameLists(t, want, listsAt(t, db, 0), "after a crash")
	require.Empty(t, db.store.State().Alter)
	requireVerified(t, db)
	// The store goes on working, whichever way it went.
	require.NoError(t, db.Alter(context.Background(), crashAfter))
	requireSameLists(t, after, listsAt(t, db, 0), "altered after a crash")
	require.NoError(t, db.Close())
	return altered
}

// TestAlterCrash ends the process, as far as the disk can tell, before each
// write of an Alter and after it, and while it is undone after a failure.
func TestAlterCrash(t *testing.T) {
	before, after := crashLists(t)
	for _, failing := range []bool{false, true} {
		t.Run(fmt.Sprintf("failing %t", failing), func(t *testing.T) {
			dir, crashes := t.TempDir(), t.TempDir()
			db := openAlterIn(t, dir)
			require.NoError(t, db.Alter(context.Background(), crashBefore))
			loadCrash(t, db)
			db.alterLimits = alterLimits{postings: 4000, commit: 3000}
			points, fail := 0, failing
			converting := false
			db.alterLimits.at = func(p alterPoint) error {
				copyStore(t, dir, filepath.Join(crashes, fmt.Sprint(points)))
				points++
				if failing && converting && fail {
					fail = false
					return errors.New("a write fails once, amid the conversion")
				}
				converting = db.note().ConvertTS > 0 && p == atWrite
				return nil
			}
			err := db.Alter(context.Background(), crashAfter)
			require.Equal(t, failing, err != nil, "%v", err)
			db.alterLimits.at = nil
			copyStore(t, dir, filepath.Join(crashes, fmt.Sprint(points)))
			require.NoError(t, db.Close())

			altered := 0
			for i := range points + 1 {
				if requireWhole(t, filepath.Join(crashes, fmt.Sprint(i)), before, after) {
					altered++
				}
			}
			require.Greater(t, points, 10)
			require.Less(t, altered, points)
			require.Equal(t, failing, altered == 0)
		})
	}
}

const alterDirEnv = "EDGEMILL_TEST_ALTER_DIR"

// TestAlterKilledChild is the process that TestAlterKilled kills.
func TestAlterKilledChild(t *testing.T) {
	dir := os.Getenv(alterDirEnv)
	if dir == "" {
		t.Skip("run by TestAlterKilled")
	}
	db := openAlterIn(t, dir)
	fmt.Println("altering")
	if err := db.Alter(context.Background(), crashAfter); err != nil {
		t.Fatal(err)
	}
	fmt.Println("altered")
	time.Sleep(time.Minute)
}

// TestAlterKilled kills a process at various moments of an Alter. What was
// acknowledged is there, and otherwise all or nothing.
func TestAlterKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("runs processes")
	}
	before, after := crashLists(t)
	loaded := t.TempDir()
	db := openAlterIn(t, loaded)
	require.NoError(t, db.Alter(context.Background(), crashBefore))
	loadCrash(t, db)
	require.NoError(t, db.Close())
	for i := range 12 {
		dir := filepath.Join(t.TempDir(), "store")
		copyStore(t, loaded, dir)
		acknowledged := killAlter(t, dir, time.Duration(i*i)*time.Millisecond)
		altered := requireWhole(t, dir, before, after)
		require.True(t, altered || !acknowledged, "an acknowledged alter is gone")
	}
}

// killAlter runs the child and kills it some time after its Alter began. It
// reports whether the Alter was acknowledged.
func killAlter(t *testing.T, dir string, after time.Duration) (acknowledged bool) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestAlterKilledChild$")
	child.Env = append(os.Environ(), alterDirEnv+"="+dir)
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	line := make([]byte, len("altering\n"))
	_, err = io.ReadFull(out, line)
	require.NoError(t, err)
	require.Equal(t, "altering\n", string(line))
	time.Sleep(after)
	require.NoError(t, child.Process.Kill())
	rest, err := io.ReadAll(out)
	require.NoError(t, err)
	require.Error(t, child.Wait())
	return string(rest) == "altered\n"
}
