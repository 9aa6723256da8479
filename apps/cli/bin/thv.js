#!/usr/bin/env node
// Starts the bundle when it was built, else the sources; on a Node.js that is too old, on the one installed here.
// Node's own modules are loaded only where they are needed: this file is part of the time of every command.
const [major] = process.versions.node.split('.');
if (Number(major) < 24) {
  const [{ spawn }, { createRequire }, { fileURLToPath }] = await Promise.all([
    import('node:child_process'),
    import('node:module'),
    import('node:url'),
  ]);
  const node = createRequire(import.meta.url).resolve('node/bin/node');
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' });
  // Ctrl-C reaches both of them by itself; what is sent to this one alone is passed on.
  process.on('SIGINT', () => {});
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code) => (process.exitCode = code ?? 1));
} else {
  const { existsSync } = process.getBuiltinModule('node:fs');
  const bundle = new URL('../dist/thv.js', import.meta.url);
  const { main } = await import(
    existsSync(bundle) ? bundle.href : new URL('../src/main.ts', import.meta.url).href
  );
  await main(process.argv.slice(2));
}
