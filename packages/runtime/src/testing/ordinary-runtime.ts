import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, get } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import type { Instance, Launch, Runtime } from '../runtime.ts';
import { TestEgress } from './test-egress.ts';
import type { Request, Told } from './ordinary-daemon.ts';
import type { OrdinaryUser } from './ordinary-user.ts';

/** The status of an answer to any request; undefined if there is none. */
export async function statusOf({ address }: Instance): Promise<number | undefined> {
  if (address?.kind !== 'socket') throw new Error('the server has no socket');
  const asked = get({ socketPath: address.path, path: '/mcp', agent: false });
  return once(asked, 'response').then(
    ([response]: IncomingMessage[]) => response?.resume().statusCode,
    () => undefined,
  );
}

/** A daemon that runs as another user, as far as the cases of network rules need one. */
export class OrdinaryDaemon implements Pick<Runtime, 'start'>, AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #uid: number;
  readonly #egresses = new Map<number, TestEgress>();
  readonly #ends = new Map<number, (traffic: { sent: number; received: number }) => void>();
  #errors = '';
  #lastId = 0;

  private constructor(child: ChildProcess, { folder, uid }: { folder: string; uid: number }) {
    this.#child = child;
    this.#folder = folder;
    this.#uid = uid;
    child.setMaxListeners(0);
    child.on('message', (told: Told) => this.#receive(told));
    child.stderr?.on('data', (bytes: Buffer) => (this.#errors += bytes.toString()));
  }

  /**
   * With an image for relays, the daemon sees no process of the engine, as if the engine were in a virtual machine.
   */
  static async start(
    user: OrdinaryUser,
    socket: string,
    { nameServer = '', relayImage }: { nameServer?: string; relayImage?: string } = {},
  ): Promise<OrdinaryDaemon> {
    const folder = await user.folder(`daemon-${randomUUID()}`.slice(0, 12));
    const source = join(import.meta.dirname, 'ordinary-daemon.ts');
    const [program, ...args] = user.command(
      user.readable(process.execPath),
      user.readable(source),
      socket,
      folder,
      nameServer,
      ...(relayImage === undefined ? [] : [relayImage]),
    );
    const apart = relayImage === undefined ? [] : ['unshare', '--pid', '--fork', '--mount-proc', '--'];
    const [first = program, ...others] = [...apart, program, ...args];
    const child = spawn(first, others, {
      env: { PATH: process.env.PATH, ...user.env },
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    });
    return new OrdinaryDaemon(child, { folder, uid: user.uid });
  }

  async start({ network, secrets: _secrets, log: _log, ...launch }: Launch): Promise<Instance> {
    if (network.kind !== 'rules' || !(network.egress instanceof TestEgress)) throw new Error('no rules');
    const id = ++this.#lastId;
    const { egress } = network;
    this.#egresses.set(id, egress);
    const path = `${id}.sock`;
    const answer = this.#answer(
      ({ is, ...told }) => ['started', 'failed'].includes(is) && 'id' in told && told.id === id,
    );
    this.#send({ is: 'start', id, launch, rules: egress.outbound, path });
    const started = await answer;
    if (started.is !== 'started') throw new Error(JSON.stringify(started));
    if (started.uid !== this.#uid || started.limits.length > 0) throw new Error(JSON.stringify(started));
    const stop = async (): Promise<void> => {
      const stopped = this.#answer((told) => told.is === 'stopped' && told.id === id);
      this.#send({ is: 'stop', id });
      await stopped;
    };
    const instance = { id: String(id), exited: never, stop, [Symbol.asyncDispose]: stop };
    if (launch.transport.kind !== 'stdio')
      return { ...instance, ...(started.address && { address: started.address }) };
    const socket = connect(join(this.#folder, path));
    // The rules as they are now arrive before what the server does next.
    const input = new Transform({
      transform: (chunk, _encoding, done) => {
        this.#send({ is: 'rules', id, rules: egress.outbound });
        done(null, chunk);
      },
    });
    input.pipe(socket);
    return { ...instance, stdio: { input, output: socket } };
  }

  async killGateways(): Promise<void> {
    this.#send({ is: 'kill gateways' });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const swept = this.#answer(({ is }) => is === 'swept');
    this.#send({ is: 'sweep' });
    await swept;
    const gone = once(this.#child, 'exit');
    this.#child.disconnect();
    await gone;
  }

  #receive(told: Told): void {
    if (told.is === 'decision') {
      const ended = this.#egresses.get(told.id)?.record(told.decision);
      if (ended !== undefined) this.#ends.set(told.connection, ended);
    } else if (told.is === 'traffic') {
      this.#ends.get(told.connection)?.(told.traffic);
      this.#ends.delete(told.connection);
    }
  }

  async #answer(isIt: (told: Told) => boolean): Promise<Told> {
    const { promise, resolve, reject } = Promise.withResolvers<Told>();
    const look = (told: Told): void => void (isIt(told) && resolve(told));
    const fail = (): void => reject(new Error(`the daemon ended: ${this.#errors}`));
    this.#child.on('message', look).on('close', fail);
    return promise.finally(() => this.#child.off('message', look).off('close', fail));
  }

  #send(request: Request): void {
    this.#child.send(request);
  }
}

const never = new Promise<never>(() => {});
