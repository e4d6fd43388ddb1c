package posting

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// commitLog is the files that make commits durable before Badger has them. The
// goroutine that has the committer's turn appends; another, the writer's, retires
// segments whose commits have become durable in Badger. They share only segs.
//
// L1: what lies below `durable` in the current segment, and below the end in
// earlier ones, was synced and is never changed.
//
// L2: of a group that failed nothing is read again. Its bytes are cut off
// durably, or a new segment that declares them void is durable before another
// group is answered.
//
// L3: segments are removed oldest first, each durably before the next, so those
// that are left have consecutive numbers.
type commitLog struct {
	fs  LogFS
	dir string
	// segmentSize is the size in bytes from which a segment takes no more.
	segmentSize int64

	// The segment that is appended to; nil before the first group.
	file    LogFile
	number  uint64
	end     int64
	durable int64
	// allocated is the size of its file.
	allocated int64
	// broken: the file's state is not known, and a new segment has to follow.
	broken bool
	// applied is the greatest mark of a group that was not refused.
	applied uint64
	// head is memory for the heads and small records.
	head []byte
	// syncs and the time that they took.
	syncs    uint64
	syncTime time.Duration

	segs struct {
		sync.Mutex
		// list is in ascending order of number; the last one is the current
		// segment, if there is one.
		list []segment
	}
}

// segment is a log file that is still needed.
type segment struct {
	name   string
	number uint64
	head   segmentHead
}

const (
	logDirName = "log"
	logSuffix  = ".log"
	tmpSuffix  = ".tmp"
)

func (l *commitLog) segmentName(number uint64) string {
	return filepath.Join(l.dir, fmt.Sprintf("%06d%s", number, logSuffix))
}

// openLog finds the segments in dir and reads their heads. No segment is made
// before the first append.
func openLog(fs LogFS, dir string, segmentSize int64) (*commitLog, error) {
	l := &commitLog{fs: fs, dir: dir, segmentSize: segmentSize}
	if err := fs.MkdirAll(dir); err != nil {
		return nil, err
	}
	numbers, err := l.listSegments()
	if err != nil {
		return nil, err
	}
	for i, n := range numbers {
		if i > 0 && n != numbers[i-1]+1 {
			return nil, fmt.Errorf("%s: %w: missing, and there are segments before and after it", l.segmentName(n-1), ErrBadState)
		}
		seg, err := l.openSegment(n, i == len(numbers)-1)
		if err != nil {
			return nil, err
		}
		if seg.number != 0 {
			l.segs.list = append(l.segs.list, seg)
		}
	}
	return l, nil
}

// listSegments returns the numbers of the segments, ascending, and removes what
// is left of one that was never finished.
func (l *commitLog) listSegments() ([]uint64, error) {
	names, err := l.fs.List(l.dir)
	if err != nil {
		return nil, err
	}
	var numbers []uint64
	for _, name := range names {
		if strings.HasSuffix(name, tmpSuffix) {
			if err := l.fs.Remove(filepath.Join(l.dir, name)); err != nil {
				return nil, err
			}
			continue
		}
		digits, ok := strings.CutSuffix(name, logSuffix)
		if n, err := strconv.ParseUint(digits, 10, 64); ok && err == nil && n > 0 && filepath.Base(l.segmentName(n)) == name {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// openSegment reads a segment's head. A last segment that is too short for one
// holds nothing: it is removed, and its number comes back 0.
func (l *commitLog) openSegment(number uint64, last bool) (segment, error) {
	seg := segment{name: l.segmentName(number), number: number}
	file, err := l.fs.Open(seg.name)
	if err != nil {
		return segment{}, err
	}
	defer file.Close()
	size, err := file.Size()
	if err != nil {
		return segment{}, err
	}
	if size < segmentHeadLen && last {
		return segment{}, l.fs.Remove(seg.name)
	}
	if size < segmentHeadLen {
		return segment{}, fmt.Errorf("%s: %w: byte 0: head cut short", seg.name, ErrBadState)
	}
	b := make([]byte, segmentHeadLen)
	if _, err := file.ReadAt(b, 0); err != nil {
		return segment{}, fmt.Errorf("%s: %w", seg.name, err)
	}
	if seg.head, err = parseSegmentHead(b); err != nil {
		return segment{}, fmt.Errorf("%s: %w", seg.name, err)
	}
	if seg.head.number != number {
		return segment{}, fmt.Errorf("%s: %w: byte 16: the head is of segment %d", seg.name, ErrBadState, seg.head.number)
	}
	return seg, nil
}

// replay calls visit with each group of the log in order, and makes the log
// ready to go on behind the last, all of it durable. Only the last segment may end
// in a torn record, which is dropped.
func (l *commitLog) replay(visit func([]encodedCommit) error) error {
	for i, seg := range l.segs.list {
		l.applied = max(l.applied, seg.head.applied)
		limit := int64(-1)
		if i+1 < len(l.segs.list) {
			limit = int64(l.segs.list[i+1].head.before)
		}
		end, err := l.replaySegment(seg, limit, visit)
		if err != nil {
			return err
		}
		l.number, l.end, l.durable = seg.number, end, end
	}
	return l.syncLast()
}

// syncLast makes the last segment durable: a process that ended before its sync
// has left records that the disk may not have, and the next segment will say that
// they are there.
func (l *commitLog) syncLast() error {
	n := len(l.segs.list)
	if n == 0 {
		return nil
	}
	file, err := l.fs.Open(l.segs.list[n-1].name)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := file.Sync(); err != nil {
		return fmt.Errorf("%s: sync: %w", l.segs.list[n-1].name, err)
	}
	return l.fs.SyncDir(l.dir)
}

// replaySegment reads a segment up to limit, the end that the next segment
// names, or to the end of what is good (-1). It returns where it ended.
func (l *commitLog) replaySegment(seg segment, limit int64, visit func([]encodedCommit) error) (int64, error) {
	file, err := l.fs.Open(seg.name)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	size, err := file.Size()
	if err != nil {
		return 0, err
	}
	s := segmentScan{file: file, name: seg.name, number: seg.number, size: size, at: segmentHeadLen}
	for s.at != limit {
		at := s.at
		group, err := s.next()
		if err == nil && limit >= 0 && s.at > limit {
			err = noRecord("the record ends behind byte %d, where the segment does", limit)
		}
		if errors.Is(err, errNoRecord) && limit < 0 {
			return at, s.mustBeTorn(at, err)
		}
		if err != nil {
			return 0, s.errorAt(at, err)
		}
		for i := range group {
			l.applied = max(l.applied, group[i].applied)
		}
		if err := visit(group); err != nil {
			return 0, s.errorAt(at, err)
		}
	}
	return s.at, nil
}

// mustBeTorn makes sure that no more than a torn tail begins at the place.
func (s *segmentScan) mustBeTorn(at int64, cause error) error {
	later, err := s.provesDurable(at)
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	if later >= 0 {
		return s.errorAt(at, fmt.Errorf("%w, and the record at byte %d came after it", cause, later))
	}
	return nil
}

// append writes the group as one record, and with sync makes it, and all before
// it, durable. On an error nothing of the group will be read again (L2), and
// the log can be tried again.
func (l *commitLog) append(group []encodedCommit, sync bool) error {
	if l.file == nil && len(group) == 0 {
		return nil
	}
	if l.file == nil || l.broken || l.end >= l.segmentSize {
		if err := l.rotate(); err != nil {
			return err
		}
	}
	start := l.end
	if err := l.write(group); err != nil {
		l.cutBack(start)
		return err
	}
	if sync {
		if err := l.sync(); err != nil {
			l.end = start
			l.abandon()
			return err
		}
	}
	for i := range group {
		l.applied = max(l.applied, group[i].applied)
	}
	return nil
}

// sync makes what was appended durable.
func (l *commitLog) sync() error {
	if l.durable == l.end {
		return nil
	}
	start := time.Now()
	err := l.file.Sync()
	l.syncs++
	l.syncTime += time.Since(start)
	if err != nil {
		return fmt.Errorf("commit log: sync: %w", err)
	}
	l.durable = l.end
	return nil
}

// smallRecord is the size in bytes up to which a record is put together and
// written in one call; the commits of a larger one are written as they lie.
const smallRecord = 1 << 20

// write appends the group's record; none for an empty group.
func (l *commitLog) write(group []encodedCommit) error {
	if len(group) == 0 {
		return nil
	}
	var body int
	for i := range group {
		body += len(group[i].data)
	}
	head := recordHead{
		commits: uint32(len(group)), number: l.number,
		offset: uint64(l.end), durable: uint64(l.durable), length: uint64(body),
	}
	buf := head.append(l.head[:0], group)
	l.allocate(l.end + int64(len(buf)+body))
	for i := range group {
		data := group[i].data
		if len(buf)+len(data) > smallRecord {
			if err := l.writeAll(&buf); err != nil {
				return err
			}
		}
		if len(data) > smallRecord {
			if err := l.writeAll(&data); err != nil {
				return err
			}
			continue
		}
		buf = append(buf, data...)
	}
	err := l.writeAll(&buf)
	l.head = buf
	return err
}

// writeAll writes the buffer at the end of the segment and empties it.
func (l *commitLog) writeAll(buf *[]byte) error {
	if len(*buf) == 0 {
		return nil
	}
	n, err := l.file.WriteAt(*buf, l.end)
	l.end += int64(n)
	*buf = (*buf)[:0]
	if err != nil {
		return fmt.Errorf("commit log: append: %w", err)
	}
	return nil
}

// allocateStep is by how many bytes the current segment grows. Growing costs a
// sync a journal entry of the file system; measured, a synced append into
// space that is there took 0.15 ms, and one that grew the file 0.21 ms.
const allocateStep = 4 << 20

// allocate sees to space up to an offset. Where there is none the write that
// follows says so.
func (l *commitLog) allocate(upTo int64) {
	if upTo <= l.allocated {
		return
	}
	size := (upTo/allocateStep + 1) * allocateStep
	if l.file.Allocate(size) == nil {
		l.allocated = size
	}
}

// cutBack takes back what was appended from start on, after an append that
// failed. Where it cannot be sure of that the segment is abandoned.
func (l *commitLog) cutBack(start int64) {
	l.end, l.allocated = start, start
	if l.file.Truncate(start) != nil || l.file.Sync() != nil {
		l.abandon()
		return
	}
	l.durable = start
}

// abandon gives the current segment up: after a failed sync nobody knows what
// of it is on the disk. A new segment takes its place right away if it can, and
// before the next group otherwise. The truncation serves where it cannot: then
// the end of the process at least does not bring a refused group back.
func (l *commitLog) abandon() {
	l.broken = true
	_ = l.file.Truncate(l.end)
	l.allocated = l.end
	_ = l.rotate() // The next append tries again, and reports it.
}

// rotate begins a new segment. What was acknowledged without a sync goes along
// if the current segment cannot be synced any more. The new file gets its name
// when it is complete and durable, and the old one counts until then.
func (l *commitLog) rotate() error {
	if l.file != nil && !l.broken && l.sync() != nil {
		l.broken = true
	}
	number := l.number + 1
	next := &commitLog{fs: l.fs, dir: l.dir, number: number, head: l.head, end: segmentHeadLen, durable: segmentHeadLen}
	head := segmentHead{number: number, before: uint64(l.durable), applied: l.applied}
	name := l.segmentName(number)
	err := next.create(name+tmpSuffix, name, head, l)
	if err != nil {
		return fmt.Errorf("commit log: new segment: %w", err)
	}
	if l.file != nil {
		_ = l.file.Close() // It is synced as far as it counts.
	}
	l.file, l.number, l.end, l.durable, l.allocated = next.file, number, next.end, next.durable, next.allocated
	l.broken = false
	l.segs.Lock()
	defer l.segs.Unlock()
	l.segs.list = append(l.segs.list, segment{name: name, number: number, head: head})
	return nil
}

// create makes the segment under a passing name, fills in what from has that is
// not durable, and gives it its name. On an error no file is left, if that can
// be helped.
func (l *commitLog) create(tmp, name string, head segmentHead, from *commitLog) error {
	file, err := l.fs.Create(tmp)
	if err != nil {
		return err
	}
	l.file = file
	l.allocate(segmentHeadLen)
	_, err = file.WriteAt(head.append(nil), 0)
	if err == nil && from.file != nil && from.durable < from.end {
		err = l.copyUnsynced(from)
	}
	if err == nil {
		err = file.Sync()
	}
	if err == nil {
		l.durable = l.end
		err = l.fs.Rename(tmp, name)
	}
	if err == nil {
		if err = l.fs.SyncDir(l.dir); err == nil {
			return nil
		}
		tmp = name
	}
	return errors.Join(err, file.Close(), ignoreMissing(l.fs.Remove(tmp)))
}

// copyUnsynced appends the records of another segment that are not durable.
func (l *commitLog) copyUnsynced(from *commitLog) error {
	s := segmentScan{
		file: from.file, name: from.segmentName(from.number), number: from.number, size: from.end, at: from.durable,
	}
	for s.at < from.end {
		at := s.at
		group, err := s.next()
		if err != nil {
			return s.errorAt(at, err)
		}
		if err := l.write(group); err != nil {
			return err
		}
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// first returns the number of the oldest segment, 0 without one.
func (l *commitLog) first() uint64 {
	l.segs.Lock()
	defer l.segs.Unlock()
	if len(l.segs.list) == 0 {
		return 0
	}
	return l.segs.list[0].number
}

// count is how many segments there are.
func (l *commitLog) count() int {
	l.segs.Lock()
	defer l.segs.Unlock()
	return len(l.segs.list)
}

// removeOldest removes the oldest segment durably (L3).
func (l *commitLog) removeOldest() error {
	l.segs.Lock()
	name := l.segs.list[0].name
	l.segs.Unlock()
	if err := ignoreMissing(l.fs.Remove(name)); err != nil {
		return err
	}
	if err := l.fs.SyncDir(l.dir); err != nil {
		return err
	}
	l.segs.Lock()
	defer l.segs.Unlock()
	l.segs.list = slices.Delete(l.segs.list, 0, 1)
	return nil
}

// close closes the current segment; the files stay.
func (l *commitLog) close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}
