{{- define "perkwire.name" -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{/* Selector labels for a role. The context is (list root role). */}}
{{- define "perkwire.selector" -}}
app.kubernetes.io/name: perkwire
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- define "perkwire.labels" -}}
{{ include "perkwire.selector" . }}
app.kubernetes.io/version: {{ (index . 0).Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ (index . 0).Release.Service }}
{{- end -}}

{{/* Container for a role. The context is (list root role). */}}
{{- define "perkwire.container" -}}
{{- $root := index . 0 -}}
{{- $role := index . 1 -}}
name: {{ $role }}
image: "{{ $root.Values.image.repository }}:{{ $root.Values.image.tag | default $root.Chart.AppVersion }}"
imagePullPolicy: {{ $root.Values.image.pullPolicy }}
envFrom:
  - secretRef: { name: {{ $root.Values.secretName }} }
env:
  - { name: ROLES, value: {{ $role }} }
  - { name: HOST, value: 0.0.0.0 }
  - { name: PORT, value: "8080" }
  - { name: PUBLIC_URL, value: {{ $root.Values.publicUrl | quote }} }
  - { name: DATA_DIR, value: /tmp/perkwire }
  - { name: SHUTDOWN_TIMEOUT_S, value: {{ sub $root.Values.terminationGracePeriodSeconds 5 | quote }} }
  {{- range $name, $value := $root.Values.env }}
  - { name: {{ $name }}, value: {{ $value | quote }} }
  {{- end }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
volumeMounts:
  - { name: tmp, mountPath: /tmp }
{{- end -}}

{{- define "perkwire.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
seccompProfile: { type: RuntimeDefault }
{{- end -}}
