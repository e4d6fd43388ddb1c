package value

// Type says how a value's stored bytes read. The numbers are those of val_type
// in stored postings and of value_type in stored schemas.
type Type uint8

// The types of values. A value of type Default is text whose predicate states
// no type.
const (
	Default  Type = 0
	Binary   Type = 1
	Int      Type = 2
	Float    Type = 3
	Bool     Type = 4
	DateTime Type = 5
	Geo      Type = 6
	UID      Type = 7
	Password Type = 8
	String   Type = 9
	Object   Type = 10
	BigFloat Type = 11
	Vector   Type = 12
)

var typeNames = [...]string{
	Default:  "default",
	Binary:   "binary",
	Int:      "int",
	Float:    "float",
	Bool:     "bool",
	DateTime: "datetime",
	Geo:      "geo",
	UID:      "uid",
	Password: "password",
	String:   "string",
	Object:   "object",
	BigFloat: "bigfloat",
	Vector:   "float32vector",
}

// String gives the type's name in the schema language, or "unknown" for a
// number that is no type.
func (t Type) String() string {
	if int(t) >= len(typeNames) {
		return "unknown"
	}
	return typeNames[t]
}

// ParseType finds the type of a schema-language name. The spelling dateTime is
// taken as well as datetime; all else is as Type.String gives it.
func ParseType(name string) (Type, bool) {
	if name == "dateTime" {
		return DateTime, true
	}
	for t, s := range typeNames {
		if s == name {
			return Type(t), true
		}
	}
	return 0, false
}
