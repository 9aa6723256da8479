import { isSea } from 'node:sea';
import { findNode, findProgram, installWith } from '../programs.ts';

/** The programs that connect a network namespace to its gateway. */
export interface EgressTools {
  unshare: string;
  nsenter: string;
  ip: string;
  sh: string;
  node: string;
}

const programs = [
  ['unshare', 'util-linux'],
  ['nsenter', 'util-linux'],
  ['ip', 'iproute2'],
  ['sh', 'dash'],
] as const;

/** Looks for the programs, also where only root has them on PATH. */
export async function findEgressTools(
  env: NodeJS.ProcessEnv,
): Promise<EgressTools | { problem: string; hint: string }> {
  // The single executable is Node.js, but cannot be used as such.
  const node = isSea() ? (await findNode(env))?.path : process.execPath;
  if (node === undefined) return { problem: 'Node.js is not installed', hint: 'install Node.js 24 or newer' };
  const widely = { PATH: `${env.PATH ?? ''}:/usr/bin:/bin:/usr/sbin:/sbin` };
  const tools = { node } as EgressTools; // completed below
  for (const [program, packageName] of programs) {
    const path = await findProgram(program, widely);
    if (path === undefined) {
      return { problem: `${program} is not installed`, hint: installWith(packageName) };
    }
    tools[program] = path;
  }
  return tools;
}
