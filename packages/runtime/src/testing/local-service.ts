import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

/** A service of another program on a loopback address of this machine, which greets and repeats each client. */
export class LocalService implements AsyncDisposable {
  readonly port: number;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.port = port;
  }

  static async open(host: string, port = 0): Promise<LocalService> {
    const script = `
const server = require('node:net').createServer((client) => {
  client.on('error', () => {}).write('welcome ');
  client.pipe(client);
});
server.listen(${port}, '${host}', () => console.log(server.address().port));
`;
    const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [text] = (await once(child.stdout, 'data')) as [Buffer];
    return new LocalService(child, Number(text.toString()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL');
    await once(this.#child, 'close');
  }
}
