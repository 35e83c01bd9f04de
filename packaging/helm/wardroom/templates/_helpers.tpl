{{/* Names, labels and the configuration of the service. */}}

{{- define "wardroom.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 48 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 48 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "wardroom.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "wardroom.labels" -}}
{{ include "wardroom.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "wardroom.agents" -}}
{{ .Values.agents.namespace.name | default (printf "%s-agents" .Release.Namespace | trunc 63 | trimSuffix "-") }}
{{- end }}

{{/* What the chart sets, and the values over it. */}}
{{- define "wardroom.config" -}}
{{- $config := dict
  "server" (dict "listen" "0.0.0.0:8080")
  "store" (dict "path" "/var/lib/wardroom/store")
  "security" (dict "authentication" (dict "apiKeys" (dict "enabled" true))) }}
{{- if .Values.workspaces.claim }}
{{- $_ := set $config "threads" (dict "root" "/workspaces") }}
{{- end }}
{{- if and .Values.serviceMonitor.enabled (not .Values.serviceMonitor.authorization) }}
{{- $_ := set $config "metrics" (dict "public" true) }}
{{- end }}
{{- if .Values.agents.enabled }}
{{- $runtime := merge (dict "namespace" (include "wardroom.agents" .)) (deepCopy .Values.agents.runtime) }}
{{- if .Values.workspaces.claim }}
{{- $mounts := merge (dict "/workspaces" (dict "claim" .Values.workspaces.claim "mode" "rw")) (default dict (get $runtime "mounts")) }}
{{- $_ := set $runtime "mounts" $mounts }}
{{- end }}
{{- $_ := set $config "runtimes" (dict "kubernetes" (dict "plugin" "runtime-kubernetes" "config" $runtime)) }}
{{- end }}
{{- mergeOverwrite $config (deepCopy .Values.config) | toYaml }}
{{- end }}
