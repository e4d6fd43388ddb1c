package posting

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// A log segment is a file of a head and records, one behind the other. All
// numbers are little-endian; checksums are CRC-32C.
//
// The head, written once:
//
//	 0  magic     8 bytes
//	 8  format    uint32
//	12  zero      uint32
//	16  number    uint64  the segment's number
//	24  before    uint64  where the records of the segment before end; what it
//	                      holds from there on is void
//	32  applied   uint64  the greatest mark that the segments before carry
//	40  zero      20 bytes
//	60  checksum  uint32  of all that
//
// A record holds a group:
//
//	 0  magic     8 bytes
//	 8  checksum  uint32  of the rest of the record's head and of its table
//	12  commits   uint32
//	16  number    uint64  the segment's number
//	24  offset    uint64  where in the segment the record begins
//	32  durable   uint64  below it, the segment was durable when this was written
//	40  length    uint64  of the commits, in bytes
//	48  table: for each commit its length (uint64), checksum (uint32) and number
//	    of entries (uint32)
//	    the commits, as encodedCommit says
//
// A record names its place, so that neither bytes of a user's value nor those
// of an older file in the same blocks pass for one. `durable` tells a torn tail
// from damage: where a bad record is followed by a good one that knows the bad
// one to have been durable, something was lost that must not be.
const (
	logFormat = 1

	segmentMagic   = "emlogseg"
	segmentHeadLen = 64

	recordMagic   = "em\xf0group"
	recordHeadLen = 48
	tableRowLen   = 16
)

// segmentHead is what the head of a segment says.
type segmentHead struct {
	number, before, applied uint64
}

func (h segmentHead) append(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, segmentMagic...)
	dst = binary.LittleEndian.AppendUint32(dst, logFormat)
	dst = binary.LittleEndian.AppendUint32(dst, 0)
	dst = binary.LittleEndian.AppendUint64(dst, h.number)
	dst = binary.LittleEndian.AppendUint64(dst, h.before)
	dst = binary.LittleEndian.AppendUint64(dst, h.applied)
	dst = append(dst, make([]byte, segmentHeadLen-4-40)...)
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}

// parseSegmentHead reads a head of segmentHeadLen bytes. The format is looked
// at before the checksum, since another format may put that elsewhere.
func parseSegmentHead(b []byte) (segmentHead, error) {
	if string(b[:8]) != segmentMagic {
		return segmentHead{}, fmt.Errorf("%w: byte 0: not a log segment", ErrBadState)
	}
	format := binary.LittleEndian.Uint32(b[8:])
	if format > logFormat {
		return segmentHead{}, fmt.Errorf("log format %d, and this program reads up to %d: %w", format, logFormat, ErrNewerFormat)
	}
	sum := binary.LittleEndian.Uint32(b[segmentHeadLen-4:])
	if format == 0 || sum != crc32.Checksum(b[:segmentHeadLen-4], castagnoli) {
		return segmentHead{}, fmt.Errorf("%w: byte 0: damaged head", ErrBadState)
	}
	return segmentHead{
		number:  binary.LittleEndian.Uint64(b[16:]),
		before:  binary.LittleEndian.Uint64(b[24:]),
		applied: binary.LittleEndian.Uint64(b[32:]),
	}, nil
}

// recordHead is what the head of a record says.
type recordHead struct {
	crc                             uint32
	commits                         uint32
	number, offset, durable, length uint64
}

// tableRow is what a record's table says of one commit.
type tableRow struct {
	length       uint64
	crc, entries uint32
}

// append appends the record's head and table.
func (h recordHead) append(dst []byte, group []encodedCommit) []byte {
	start := len(dst)
	dst = append(dst, recordMagic...)
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.LittleEndian.AppendUint32(dst, h.commits)
	dst = binary.LittleEndian.AppendUint64(dst, h.number)
	dst = binary.LittleEndian.AppendUint64(dst, h.offset)
	dst = binary.LittleEndian.AppendUint64(dst, h.durable)
	dst = binary.LittleEndian.AppendUint64(dst, h.length)
	for i := range group {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(len(group[i].data)))
		dst = binary.LittleEndian.AppendUint32(dst, group[i].crc)
		dst = binary.LittleEndian.AppendUint32(dst, group[i].entries)
	}
	sum := crc32.Checksum(dst[start+12:], castagnoli)
	binary.LittleEndian.PutUint32(dst[start+8:], sum)
	return dst
}

// parseRecordHead reads a head of recordHeadLen bytes; its checksum, which
// covers the table too, is not looked at.
func parseRecordHead(b []byte) (recordHead, bool) {
	if string(b[:8]) != recordMagic {
		return recordHead{}, false
	}
	return recordHead{
		crc:     binary.LittleEndian.Uint32(b[8:]),
		commits: binary.LittleEndian.Uint32(b[12:]),
		number:  binary.LittleEndian.Uint64(b[16:]),
		offset:  binary.LittleEndian.Uint64(b[24:]),
		durable: binary.LittleEndian.Uint64(b[32:]),
		length:  binary.LittleEndian.Uint64(b[40:]),
	}, true
}

// tableLen is the length in bytes of the record's table.
func (h recordHead) tableLen() int64 { return int64(h.commits) * tableRowLen }

func parseTableRow(b []byte) tableRow {
	return tableRow{
		length:  binary.LittleEndian.Uint64(b),
		crc:     binary.LittleEndian.Uint32(b[8:]),
		entries: binary.LittleEndian.Uint32(b[12:]),
	}
}
