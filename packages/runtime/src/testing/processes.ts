import { readFileSync } from 'node:fs';
import { childrenOf as allChildrenOf } from '../proc.ts';

/** The processes that a process started and that still run, and in whose command line the text stands. */
export function childrenOf(pid: number, text: string): number[] {
  return allChildrenOf(pid).filter((child) => {
    try {
      return readFileSync(`/proc/${child}/cmdline`, 'utf8').includes(text);
    } catch {
      return false; // it has just ended
    }
  });
}
