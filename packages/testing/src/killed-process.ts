import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * Runs the code of a module in a process of its own, which kills itself before the given step of its work with files. A
 * write of a whole file has two steps. Returns false if there are fewer steps. Compiled code is kept for the next process.
 */
export async function diesAtStep(step: number, code: string): Promise<boolean> {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', `${counting(step)}\n${code}`], {
    stdio: 'ignore',
  });
  const [status, signal] = (await once(child, 'exit')) as [number | null, string | null];
  if (signal !== 'SIGKILL' && status !== 0)
    throw new Error(`the process ended with ${signal ?? status} instead of being killed`);
  return signal !== null;
}

const counting = (step: number): string => `
  import fs from 'node:fs/promises';
  import { enableCompileCache, flushCompileCache, syncBuiltinESMExports } from 'node:module';
  enableCompileCache();
  let left = ${step};
  const count = () => {
    if (left-- !== 0) return;
    flushCompileCache();
    process.kill(process.pid, 'SIGKILL');
  };
  for (const name of ['open', 'link', 'rename', 'rm', 'writeFile']) {
    const real = fs[name];
    fs[name] = async (...args) => {
      count();
      const result = await real(...args);
      if (name === 'open') {
        const { writeFile } = result;
        result.writeFile = async function (text) {
          await writeFile.call(this, text.slice(0, 10));
          count();
          await writeFile.call(this, text.slice(10));
        };
      }
      return result;
    };
  }
  syncBuiltinESMExports();
`;
