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

const byName = z.object({ name: WorkloadName.meta({ description: 'The workload name.' }) });

export const toolPinOperations = {
  getToolPins: operation({
    method: 'GET',
    path: '/workloads/{name}/tool-pins',
    tag: 'workloads',
    access: 'read',
    command: ['pin show', 'github'],
    summary: 'List changed tools',
    description:
      'ToolHive records each tool, prompt, resource, and resource template of a server, and its instructions, at their first use, and compares every later response with the record.',
    params: byName,
    success: { status: 200, description: 'The recorded and the pending versions.', body: ToolPins },
    failures: ['not-found'],
  }),
  approveToolPins: operation({
    method: 'POST',
    path: '/workloads/{name}/tool-pins/approve',
    tag: 'workloads',
    access: 'write',
    command: ['pin approve', 'github'],
    summary: 'Approve changed tools',
    description:
      'Fails if the server has sent another version since the listing, so that only reviewed versions are approved.',
    params: byName,
    body: PinDecision,
    success: { status: 200, description: 'The versions are approved.', body: DecidedPins },
    failures: ['not-found', 'conflict'],
  }),
  dismissToolPins: operation({
    method: 'POST',
    path: '/workloads/{name}/tool-pins/dismiss',
    tag: 'workloads',
    access: 'write',
    command: ['pin dismiss', 'github'],
    summary: 'Dismiss reverted tool changes',
    description: 'The versions are not approved. ToolHive reports them again if the server sends them again.',
    params: byName,
    body: PinDecision,
    success: { status: 200, description: 'The versions are dismissed.', body: DecidedPins },
    failures: ['not-found', 'conflict'],
  }),
  changeToolPinning: operation({
    method: 'PUT',
    path: '/workloads/{name}/tool-pins/mode',
    tag: 'workloads',
    access: 'write',
    command: ['pin mode', 'github'],
    summary: 'Change the tool pinning mode',
    params: byName,
    body: ToolPinningChange,
    success: { status: 200, description: 'The mode applies.', body: ChangedToolPinning },
    failures: ['not-found'],
  }),
};
