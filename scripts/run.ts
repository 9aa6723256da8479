import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Runs a program with the terminal of this one, and returns its exit code. */
export async function run(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<number> {
  const child = spawn(program, args, { stdio: 'inherit', env });
  child.once('error', (error) => process.stderr.write(`${program} could not be started: ${error.message}\n`));
  const [code] = (await once(child, 'close')) as [number | null];
  return code ?? 1;
}
