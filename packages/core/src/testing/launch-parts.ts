import { Rules } from '@toolhive/runtime/outbound-rules';
import type { LaunchParts } from '../supervision/launch.ts';

/** Nothing mounted, no secrets, and no network. */
export const launchParts: LaunchParts = {
  mounts: [],
  secrets: {},
  egress: {
    rules: new Rules({ hosts: [], ports: [] }),
    watchRules: () => ({ [Symbol.dispose]() {} }),
    record: () => undefined,
  },
  log: () => {},
};
