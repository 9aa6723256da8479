import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { thvStart } from './thv.ts';
import type { User } from './thv.ts';

/** Runs a command with this on its standard input. */
export async function feed(
  { env }: User,
  input: string,
  ...words: string[]
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [...thvStart, ...words], { env, stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.on('error', () => {}); // it did not want to read everything
  child.stdin.end(input);
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await ended, stdout, stderr };
}
