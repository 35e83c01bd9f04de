package fakemodel

import "maps"

// question is the input of a program's tool to ask the user. The three tools differ in one field.
func question(text string, extra object) object {
	one := object{
		"question": text,
		"header":   "Choice",
		"options": []object{
			{"label": "alpha", "description": "first choice"},
			{"label": "beta", "description": "second choice"},
		},
	}
	maps.Copy(one, extra)
	return object{"questions": []object{one}}
}
