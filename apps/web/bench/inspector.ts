import { spawn } from 'node:child_process';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isListening, until } from '../../../e2e/testing/thv.ts';
import { run } from '../../../scripts/run.ts';
import { freePort } from './browser.ts';

/** Installs MCP Inspector from npm, and serves its built client with its own server. */
export async function serveInspector(): Promise<{ address: string } & AsyncDisposable> {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await mkdtempDisposable(join(tmpdir(), 'inspector-')));
  const install = [
    'install',
    '--prefix',
    folder.path,
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--silent',
  ];
  const code = await run('npm', [...install, '@modelcontextprotocol/inspector@2.12.0']);
  if (code !== 0) throw new Error(`npm cannot install MCP Inspector: it ended with ${code}`);
  const port = await freePort();
  const program = join(
    folder.path,
    'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js',
  );
  const child = spawn(process.execPath, [program, '--web'], {
    env: { ...process.env, CLIENT_PORT: String(port), MCP_AUTO_OPEN_ENABLED: 'false' },
    stdio: 'ignore',
  });
  opened.defer(() => void child.kill());
  await until(() => {
    if (child.exitCode !== null) throw new Error(`MCP Inspector ended with ${child.exitCode}`);
    return isListening(port);
  });
  const everything = opened.move();
  return { address: `http://localhost:${port}/`, [Symbol.asyncDispose]: () => everything.disposeAsync() };
}
