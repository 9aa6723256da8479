import { setTimeout as delay } from 'node:timers/promises';
import type { KubernetesClient } from '@toolhive/kubernetes/client';
import * as z from 'zod';

const Groups = z.looseObject({ groups: z.array(z.looseObject({ name: z.string() })) });

/** The API groups by which OpenShift is known. */
const openShiftGroups = new Set(['route.openshift.io', 'security.openshift.io']);
const RETRY_MS = 1_000;

/** Whether the cluster is OpenShift. Asks until the API server answers. Returns false when the signal aborts. */
export async function detectOpenShift(
  client: KubernetesClient,
  signal: AbortSignal,
  onError: (error: unknown) => void,
): Promise<boolean> {
  while (!signal.aborted) {
    try {
      const { groups } = Groups.parse(await client.read('/apis', signal));
      return groups.some(({ name }) => openShiftGroups.has(name));
    } catch (error) {
      if (signal.aborted) return false;
      onError(error);
      await delay(RETRY_MS, undefined, { signal }).catch(() => {}); // the loop sees the abort
    }
  }
  return false;
}
