import * as z from 'zod';
import { operation } from '../operation.ts';
import { WorkloadName } from '../schemas/names.ts';
import {
  ChangedToolPinning,
  DecidedPins,
  PinDecision,
  ToolPinningChange,
  ToolPins,
} from '../schemas/tool-pins.ts';

const byName = z.object({ name: WorkloadName.meta({ description: 'The name of the workload.' }) });

export const toolPinOperations = {
  getToolPins: operation({
    method: 'GET',
    path: '/workloads/{name}/tool-pins',
    tag: 'workloads',
    summary: 'Read which tools of a server have changed',
    description:
      'ToolHive records each tool, prompt, resource, and resource template of a server and its instructions at their first use, and compares every later answer of the server with that.',
    params: byName,
    success: { status: 200, description: 'What was recorded, and what waits for approval.', body: ToolPins },
    failures: ['not-found'],
  }),
  approveToolPins: operation({
    method: 'POST',
    path: '/workloads/{name}/tool-pins/approve',
    tag: 'workloads',
    summary: 'Approve changed tools of a server',
    description:
      'Fails if the server has shown another version since, so that only what was shown is approved.',
    params: byName,
    body: PinDecision,
    success: { status: 200, description: 'The versions are approved.', body: DecidedPins },
    failures: ['not-found', 'conflict'],
  }),
  dismissToolPins: operation({
    method: 'POST',
    path: '/workloads/{name}/tool-pins/dismiss',
    tag: 'workloads',
    summary: 'Forget changes that a server has taken back',
    description: 'The versions are not approved. They are reported again when the server shows them again.',
    params: byName,
    body: PinDecision,
    success: { status: 200, description: 'The versions are forgotten.', body: DecidedPins },
    failures: ['not-found', 'conflict'],
  }),
  changeToolPinning: operation({
    method: 'PUT',
    path: '/workloads/{name}/tool-pins/mode',
    tag: 'workloads',
    summary: 'Change what happens when tools change',
    params: byName,
    body: ToolPinningChange,
    success: { status: 200, description: 'The mode applies.', body: ChangedToolPinning },
    failures: ['not-found'],
  }),
};
