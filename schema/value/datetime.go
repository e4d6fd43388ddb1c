package value

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// stamp is a datetime taken apart: the instant in UTC, and the zone that it was
// written in.
type stamp struct {
	instant time.Time
	// offset is the zone's, in seconds east of UTC.
	offset int
	// utc: the zone is UTC itself, which is stored otherwise than an offset of
	// zero.
	utc bool
}

const (
	// maxOffset is the greatest zone offset in seconds: 23:59.
	maxOffset = 23*3600 + 59*60
	// secondsTo1970 is the number of seconds from the first of January of year 1,
	// where stored datetimes begin, to that of 1970.
	secondsTo1970 = (1969*365 + 1969/4 - 1969/100 + 1969/400) * 86400
	// utcOffset is the offset that stands for UTC in the stored form, in minutes.
	utcOffset = -1
	// firstSecond and lastSecond are the years 0 and 9999 with a day around them,
	// in seconds since 1970; the exact year is looked at after that.
	firstSecond = -secondsTo1970 - 367*86400
	lastSecond  = 253402300800 + 86400
)

var (
	errYear = errors.New("the year is not in 0 to 9999")
	errZone = errors.New("the time zone is beyond 23:59")
)

// Time gives the moment of a value of type DateTime, in its own zone.
func (v Value) Time() (time.Time, error) {
	s, err := v.stamp()
	if err != nil || s.utc {
		return s.instant, err
	}
	return s.instant.In(time.FixedZone("", s.offset)), nil
}

// Instant gives the moment of a value of type DateTime in UTC. It does not
// allocate.
func (v Value) Instant() (time.Time, error) {
	s, err := v.stamp()
	return s.instant, err
}

func (v Value) stamp() (stamp, error) {
	if err := v.expect(DateTime); err != nil {
		return stamp{}, err
	}
	return decodeTime(v.Data)
}

// AppendTime appends the stored form of a datetime. The year, in t's own zone,
// must be in 0 to 9999 and the zone at most 23:59 from UTC.
func AppendTime(dst []byte, t time.Time) ([]byte, error) {
	_, offset := t.Zone()
	if err := checkZoneAndYear(t.Year(), offset); err != nil {
		return dst, err
	}
	out, err := t.AppendBinary(dst)
	if err != nil {
		return dst, err
	}
	return out, nil
}

func checkZoneAndYear(year, offset int) error {
	if offset > maxOffset || offset < -maxOffset {
		return errZone
	}
	if year < 0 || year > 9999 {
		return errYear
	}
	return nil
}

// decodeTime reads the stored form: a version byte (2 where the zone has
// seconds), then big-endian seconds since year 1, nanoseconds and the offset in
// minutes, with version 2 a byte of seconds more.
func decodeTime(data []byte) (stamp, error) {
	if len(data) == 0 || data[0] != 1 && data[0] != 2 {
		return stamp{}, errors.New("unknown version of a stored datetime")
	}
	if want := 14 + int(data[0]); len(data) != want {
		return stamp{}, fmt.Errorf("a datetime of version %d has %d bytes, not %d", data[0], want, len(data))
	}
	seconds := int64(binary.BigEndian.Uint64(data[1:])) - secondsTo1970
	nanoseconds := binary.BigEndian.Uint32(data[9:])
	if nanoseconds >= 1e9 {
		return stamp{}, fmt.Errorf("%d nanoseconds", nanoseconds)
	}
	if seconds < firstSecond || seconds > lastSecond {
		return stamp{}, errYear
	}
	minutes := int(int16(binary.BigEndian.Uint16(data[13:])))
	s := stamp{instant: time.Unix(seconds, int64(nanoseconds)).UTC()}
	if minutes == utcOffset {
		s.utc = true
		return s, checkZoneAndYear(s.instant.Year(), 0)
	}
	s.offset = minutes * 60
	if data[0] == 2 {
		s.offset += int(int8(data[15]))
	}
	return s, checkZoneAndYear(s.local().Year(), s.offset)
}

// local is the time that the zone's clocks show, as if it were UTC.
func (s stamp) local() time.Time {
	return s.instant.Add(time.Duration(s.offset) * time.Second)
}

// zoneStyle says how an offset of zero that isn't UTC is written.
type zoneStyle bool

const (
	zoneOfText    zoneStyle = false // Z, as RFC 3339 prefers
	zoneOfLiteral zoneStyle = true  // +00:00, so that it reads back as it was
)

func appendTimeText(dst, data []byte, style zoneStyle) ([]byte, error) {
	s, err := decodeTime(data)
	if err != nil {
		return dst, err
	}
	if s.offset%60 != 0 {
		s.offset, s.utc = 0, true
	}
	dst = s.local().AppendFormat(dst, "2006-01-02T15:04:05.999999999")
	if s.utc || s.offset == 0 && style == zoneOfText {
		return append(dst, 'Z'), nil
	}
	return appendOffset(dst, s.offset/60), nil
}

// appendOffset appends an offset in minutes as +hh:mm.
func appendOffset(dst []byte, minutes int) []byte {
	sign := byte('+')
	if minutes < 0 {
		sign, minutes = '-', -minutes
	}
	h, m := byte(minutes/60), byte(minutes%60)
	return append(dst, sign, '0'+h/10, '0'+h%10, ':', '0'+m/10, '0'+m%10)
}

func appendParsedTime(dst []byte, text string) ([]byte, error) {
	t, err := parseTime(text)
	if err != nil {
		return dst, refuse(DateTime, text, timeReason(err))
	}
	out, err := AppendTime(dst, t)
	if err != nil {
		return dst, refuse(DateTime, text, err.Error())
	}
	return out, nil
}

// parseTime reads the accepted forms. The short ones are told by their length,
// so that each text has one reading.
func parseTime(text string) (time.Time, error) {
	for _, layout := range [...]string{"2006", "2006-01", "2006-01-02"} {
		if len(text) == len(layout) {
			return time.Parse(layout, text)
		}
	}
	var t time.Time
	// UnmarshalText holds to RFC 3339 where time.Parse is lax.
	firstErr := t.UnmarshalText([]byte(text))
	if firstErr == nil {
		return t, nil
	}
	for _, layout := range [...]string{"2006-01-02T15:04:05", "2006-01-02 15:04:05 -0700 MST"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, firstErr
}

// timeReason says what package time found wrong, without the text that its own
// message repeats in full.
func timeReason(err error) string {
	var parse *time.ParseError
	if errors.As(err, &parse) && parse.Message != "" {
		return "a part is out of range"
	}
	return "invalid syntax"
}
