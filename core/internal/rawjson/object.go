package rawjson

// AsObject returns a value as it is shown where an object is promised: text as {"text": "..."}, anything else that is no
// object as {"value": ...}. null and nothing stay what they are.
func AsObject(raw []byte) []byte {
	key := `{"value":`
	switch KindOf(raw) {
	case Object, Null:
		return raw
	case String:
		key = `{"text":`
	}
	if len(raw) == 0 {
		return raw
	}
	b := append(make([]byte, 0, len(key)+len(raw)+1), key...)
	return append(append(b, raw...), '}')
}
