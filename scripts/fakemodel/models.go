package fakemodel

// The model lists name one model; the endpoint answers under any name.
var (
	openModels = object{
		"object": "list", "models": []any{}, "has_more": false, "first_id": "fake-model", "last_id": "fake-model",
		"data": []object{{
			"id": "fake-model", "type": "model", "object": "model", "display_name": "fake-model",
			"created_at": "2025-01-01T00:00:00Z", "created": 0, "owned_by": "fake",
		}},
	}
	geminiModels = object{"models": []object{{
		"name": "models/fake-gemini", "version": "1", "displayName": "fake",
		"inputTokenLimit": 1000000, "outputTokenLimit": 8192,
		"supportedGenerationMethods": []string{"generateContent", "countTokens"},
	}}}
)
