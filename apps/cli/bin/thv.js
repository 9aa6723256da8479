#!/usr/bin/env node
// Starts the bundle when it was built, else the sources; on a Node.js that is too old, on the one installed here.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const [major] = process.versions.node.split('.');
if (Number(major) < 24) {
  const node = createRequire(import.meta.url).resolve('node/bin/node');
  const { status } = spawnSync(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: 'inherit',
  });
  process.exitCode = status ?? 1;
} else {
  const bundle = new URL('../dist/thv.js', import.meta.url);
  const { main } = await import(
    existsSync(bundle) ? bundle.href : new URL('../src/main.ts', import.meta.url).href
  );
  await main(process.argv.slice(2));
}
