import type { KeptMount, LearnedMount } from './schemas/network.ts';

/** The access to each mount that was used in learning mode, or that can have been used. */
export const mountsInUse = (mounts: readonly LearnedMount[]): KeptMount[] =>
  mounts.flatMap(({ target, used }) => (used === 'none' ? [] : [{ target, access: used }]));
