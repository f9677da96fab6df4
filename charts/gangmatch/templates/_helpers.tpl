{{/* A cluster has only one gangmatch, so its objects have fixed names. */}}
{{- define "gangmatch.selector" -}}
app.kubernetes.io/name: gangmatch
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "gangmatch.labels" -}}
{{ include "gangmatch.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "gangmatch.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* Whether the API server can set owners: Kubernetes 1.36 and newer. */}}
{{- define "gangmatch.stamps" -}}
{{- if .Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy" }}true{{ end }}
{{- end }}

{{/*
Variables of a policy that say whether the user has a right that exists for policies only: in the whole cluster, or in the request's
namespace by a role that names it. A role that gives everything in one namespace does not name it. The API server lets one expression
ask for two rights at most. Arguments: the name of the variable, the subresource, the verb.
*/}}
{{- define "gangmatch.right" -}}
{{- $resource := "authorizer.group('gangmatch.dev').resource(request.resource.resource)" -}}
{{- $here := printf "%s.namespace(request.?namespace.orValue(''))" $resource -}}
{{- $right := printf ".subresource('%s').check('%s').allowed()" .subresource .verb -}}
- name: {{ .name }}Everywhere
  expression: {{ printf "%s%s" $resource $right | quote }}
- name: {{ .name }}Here
  expression: {{ printf "%s%s && !%s.subresource('everything').check('%s').allowed()" $here $right $here .verb | quote }}
- name: {{ .name }}
  expression: variables.{{ .name }}Everywhere || variables.{{ .name }}Here
{{- end }}

{{/* The right that makes a user the controller: update on jobs/claims, machines/claims and so on; variables.controller. */}}
{{- define "gangmatch.controller" -}}
{{ include "gangmatch.right" (dict "name" "controller" "subresource" "claims" "verb" "update") }}
{{- end }}

{{/* The same right in the whole cluster, independent of the request. */}}
{{- define "gangmatch.isController" -}}
authorizer.group('gangmatch.dev').resource('matches').subresource('claims').check('update').allowed()
{{- end }}

{{/* Binds a policy to everything that it matches. Argument: the name of the policy. */}}
{{- define "gangmatch.binding" -}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ .name }}
  labels:
    {{- include "gangmatch.labels" .root | nindent 4 }}
spec:
  policyName: {{ .name }}
  validationActions: [Deny]
{{- end }}

{{/* The rights of the controller on workloads. */}}
{{- define "gangmatch.workRules" -}}
# Jobs for labelled workloads, created in the name of the user who created the workload.
- apiGroups: [gangmatch.dev]
  resources: [jobs]
  verbs: [create]
- apiGroups: [gangmatch.dev]
  resources: [jobs/owner]
  verbs: [impersonate]
# Workloads of claims: batch Jobs that are created from templates; other batch Jobs, and JobSets, that are started and suspended, and
# deleted if their claim is over and they cannot be suspended, or are resumed again and again.
- apiGroups: [batch]
  resources: [jobs]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [batch]
  resources: [jobs/status]
  verbs: [patch]
- apiGroups: [jobset.x-k8s.io]
  resources: [jobsets]
  verbs: [get, list, watch, patch, delete]
# Pods with the label gangmatch.dev/ad: their scheduling gate is removed, and they are deleted when their claim ends first. Pods of a
# JobSet with several machines at a port: each is placed on one of them, and its gate is removed. All other pods are only read.
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch, patch, delete]
{{- end }}
