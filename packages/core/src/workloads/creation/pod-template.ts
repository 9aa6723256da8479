import { invalid, messageOf } from '@toolhive/contract/failure';
import { parseJson } from '@toolhive/contract/json-text';

/** Reads the patch for the pods of a server in Kubernetes. Throws `invalid` for anything but a JSON object. */
export function readPodTemplate(patch: string): object {
  const template = parsed(patch);
  if (typeof template === 'object' && template !== null && !Array.isArray(template)) return template;
  throw invalid('invalid k8s_pod_template_patch: not a JSON object', {
    hint: 'write a pod template, for example {"spec": {"priorityClassName": "low"}}',
  });
}

function parsed(patch: string): unknown {
  try {
    return parseJson(patch, 'the pod template patch', { maxDepth: 64 });
  } catch (error) {
    throw invalid(`invalid k8s_pod_template_patch: ${messageOf(error)}`);
  }
}
