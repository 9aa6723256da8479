import type { Operation } from '../operation.ts';
import { adoptionOperations } from './adoption.ts';
import { authorizationOperations } from './authorization.ts';
import { auditOperations } from './audit.ts';
import { clientOperations } from './clients.ts';
import { diagnosisOperations } from './diagnosis.ts';
import { eventOperations } from './events.ts';
import { groupOperations } from './groups.ts';
import { historyOperations } from './history.ts';
import { imageOperations } from './images.ts';
import { networkOperations } from './network.ts';
import { projectOperations } from './projects.ts';
import { registryOperations } from './registry.ts';
import { secretOperations } from './secrets.ts';
import { settingOperations } from './settings.ts';
import { systemOperations } from './system.ts';
import { toolPinOperations } from './tool-pins.ts';
import { toolOperations } from './tools.ts';
import { trafficOperations } from './traffic.ts';
import { uiOperations } from './ui.ts';
import { workloadOperations } from './workloads.ts';

/** All operations of the API, by operation ID. */
export const operations = {
  ...systemOperations,
  ...uiOperations,
  ...workloadOperations,
  ...networkOperations,
  ...authorizationOperations,
  ...toolPinOperations,
  ...toolOperations,
  ...trafficOperations,
  ...historyOperations,
  ...groupOperations,
  ...clientOperations,
  ...adoptionOperations,
  ...projectOperations,
  ...registryOperations,
  ...secretOperations,
  ...settingOperations,
  ...eventOperations,
  ...auditOperations,
  ...diagnosisOperations,
  ...imageOperations,
} satisfies Record<string, Operation>;

export type Operations = typeof operations;
export type OperationId = keyof Operations;
