import { messageOf } from '@toolhive/contract/failure';
import * as z from 'zod';

/** Why something of others was not taken, in a line. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof z.ZodError)) return messageOf(error);
  const [issue] = error.issues;
  return issue === undefined
    ? error.message
    : [issue.path.join('.'), issue.message].filter(Boolean).join(': ');
}
