import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

/** What the stand-in was started with. */
interface Started {
  pid: number;
  arguments: string[];
  token: string | undefined;
}

/**
 * A stand-in for the agent of ngrok, which needs an account: it takes the same arguments, writes the same log, and
 * really forwards what comes to its public URL, which is on this machine. It knows one token.
 */
export async function installNgrok({ isWrapped = false } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'thv-ngrok-'));
  const program = join(folder, isWrapped ? 'agent' : 'ngrok');
  const seen = join(folder, 'started.json');
  await writeFile(program, `#!${process.execPath}\n${source(seen)}`, { mode: 0o755 });
  // As package managers install programs: a script starts it, waits, and passes no signal on.
  if (isWrapped)
    await writeFile(join(folder, 'ngrok'), `#!/bin/sh\n${program} "$@"\ntrue\n`, { mode: 0o755 });
  return {
    /** The variable that lets a command find it. */
    env: { PATH: `${folder}${delimiter}${process.env['PATH']}` },
    started: async () => JSON.parse(await readFile(seen, 'utf8')) as Started,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

/** The only token that the stand-in takes. */
export const goodToken = 'ngrok-token-that-is-good';

const source = (seen: string): string => `
const http = require('node:http');
const fs = require('node:fs');
const [kind, target, ...flags] = process.argv.slice(2);
const token = process.env.NGROK_AUTHTOKEN;
fs.writeFileSync(${JSON.stringify(seen)}, JSON.stringify({ pid: process.pid, arguments: process.argv.slice(2), token }));
const log = (fields) => {
  if (flags.includes('--log=stdout') && flags.includes('--log-format=json'))
    process.stdout.write(JSON.stringify({ t: new Date().toISOString(), ...fields }) + '\\n');
};
log({ lvl: 'info', msg: 'no configuration paths supplied' });
if (kind !== 'http' || token !== ${JSON.stringify(goodToken)}) {
  log({ lvl: 'eror', msg: 'session closing', err: 'authentication failed: the authtoken is not valid' });
  process.stderr.write('ERROR:  authentication failed\\nERROR:  \\nERROR:  ERR_NGROK_105\\n');
  process.exit(1);
}
const server = http.createServer((request, response) => {
  const headers = { ...request.headers, host: new URL(target).host };
  if (!flags.includes('--host-header=rewrite')) headers.host = 'abc.ngrok.app';
  const onward = http.request(target + request.url, { method: request.method, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  onward.on('error', () => response.destroy());
  response.on('close', () => onward.destroy());
  request.pipe(onward);
});
server.listen(0, '127.0.0.1', () => {
  const url = 'http://127.0.0.1:' + server.address().port;
  log({ lvl: 'info', msg: 'started tunnel', obj: 'tunnels', name: 'command_line', addr: target, url });
});
`;
