import { execFile } from 'node:child_process';
import { open, realpath } from 'node:fs/promises';
import { promisify } from 'node:util';
import { unavailable } from '@toolhive/contract/failure';
import { findProgram } from '../programs.ts';
import { type InstallContext, requireProgram } from './tool.ts';

const run = promisify(execFile);
const missing = 'install it from https://docs.astral.sh/uv/ or with: python3 -m pip install uv';

/** The path of uv itself. Version managers put a script on PATH that looks it up. */
export async function findUv({ env }: Pick<InstallContext, 'env'>): Promise<string> {
  const found = await realpath(await requireProgram('uv', { env }, missing));
  if (!(await isScript(found))) return found;
  for (const name of ['pyenv', 'asdf', 'mise']) {
    const manager = await findProgram(name, env);
    if (manager === undefined) continue;
    const options = { cwd: '/', env: { PATH: env['PATH'], HOME: env['HOME'] } };
    const { stdout } = await run(manager, ['which', 'uv'], options).catch(() => ({ stdout: '' }));
    const program = await realpath(stdout.trim()).catch(() => undefined);
    if (stdout.trim() !== '' && program !== undefined && !(await isScript(program))) return program;
  }
  throw unavailable(`cannot find uv itself: ${found} is a script that starts it`, { hint: missing });
}

async function isScript(path: string): Promise<boolean> {
  await using file = await open(path);
  const { buffer } = await file.read(Buffer.alloc(2), 0, 2, 0);
  return buffer.toString('latin1') === '#!';
}
