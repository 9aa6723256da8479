import type { ChildProcess } from 'node:child_process';
import type { Socket as Datagrams } from 'node:dgram';
import type { Server } from 'node:net';
import { unavailable } from '@toolhive/contract/failure';
import { openFilesCeiling } from '../open-files.ts';
import { exitOf, spawnSealed } from '../spawn.ts';
import { gatewayCommand } from './gateway-command.ts';
import { FromGateways, type GatewaySettings, type SocketKind, type ToGateways } from './gateway-messages.ts';

type Asked = Extract<ToGateways, { request: number }>;
/** A message without the number that the channel assigns. */
type Unnumbered<Message> = Message extends { request: number } ? Omit<Message, 'request'> : never;

interface ChannelOptions {
  settings: Omit<GatewaySettings, 'openFiles'>;
  /** How long the process may work on something else. */
  patienceMs: number;
  onMessage: (message: Exclude<FromGateways, { type: 'done' }>) => void;
}

interface Waiting {
  resolve: () => void;
  reject: (error: Error) => void;
}

/** How much of what the process wrote before its end is kept. */
const SAID_LIMIT = 4_000;

/** A process of the egress gateways, and the conversation with it. Messages arrive in the order in which they are sent. */
export class GatewayChannel {
  readonly #child: ChildProcess;
  readonly #onMessage: ChannelOptions['onMessage'];
  readonly #waiting = new Map<number, Waiting>();
  /** Settles with the reason when the process has ended. Never rejects. */
  readonly ended: Promise<string>;
  #said = '';
  #hasEnded = false;
  #requests = 0;

  private constructor(child: ChildProcess, onMessage: ChannelOptions['onMessage']) {
    this.#child = child;
    this.#onMessage = onMessage;
    this.ended = exitOf(child).then(({ code, signal }) => this.#end(signal ?? `exit code ${code}`));
    child.on('error', () => {}); // a message that could not be sent, whose sender learns of the end
    child.on('message', (message) => this.#receive(message));
    child.stderr
      ?.on('error', () => {})
      .on('data', (chunk: Buffer) => {
        this.#said = `${this.#said}${chunk.toString()}`.slice(-SAID_LIMIT);
      });
  }

  static async open({ settings, patienceMs, onMessage }: ChannelOptions): Promise<GatewayChannel> {
    const { args, env } = gatewayCommand();
    const stdio = [undefined, undefined, 'pipe', 'ipc'] as const;
    const child = spawnSealed(process.execPath, args, stdio, { serialization: 'advanced', env });
    const channel = new GatewayChannel(child, onMessage);
    await channel.ask({ type: 'settings', ...settings, openFiles: openFilesCeiling() });
    channel.#unref();
    channel.#watch(patienceMs);
    return channel;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  /** Sends a message. Returns false if the sender should wait until `drained` is called. Never throws. */
  tell(message: Exclude<ToGateways, { request: number }>, drained: () => void = () => {}): boolean {
    if (!this.#child.connected) return true;
    return this.#child.send(message, drained);
  }

  /** Sends a request, with a socket if it needs one. Rejects if the process cannot carry it out, or ends. */
  ask(message: Unnumbered<Asked>, socket?: Datagrams | Server): Promise<void> {
    const request = ++this.#requests;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    if (!this.#child.connected) return Promise.reject(endedError('it has ended'));
    this.#waiting.set(request, { resolve, reject });
    this.#child.channel?.ref(); // the daemon does not end before the answer
    this.#child.send({ ...message, request }, socket, undefined, () => {});
    return promise;
  }

  /** Passes sockets on. Their owner closes them afterwards. */
  async hand(
    gateway: number,
    sockets: readonly (readonly [SocketKind, Datagrams | Server])[],
  ): Promise<void> {
    await Promise.all(sockets.map(([kind, socket]) => this.ask({ type: 'socket', gateway, kind }, socket)));
  }

  /** The process handles bytes of servers. After a message that makes no sense, it is not believed any more. */
  #receive(message: unknown): void {
    const parsed = FromGateways.safeParse(message);
    if (!parsed.success) {
      this.#said += '\nit sent a message that makes no sense';
      this.kill();
    } else if (parsed.data.type === 'done') {
      this.#settle(parsed.data);
    } else {
      this.#onMessage(parsed.data);
    }
  }

  #settle({ request, error }: Extract<FromGateways, { type: 'done' }>): void {
    const waiting = this.#waiting.get(request);
    this.#waiting.delete(request);
    if (this.#waiting.size === 0) this.#child.channel?.unref();
    if (error === undefined) waiting?.resolve();
    else waiting?.reject(unavailable(`the egress gateway cannot be opened: ${error}`));
  }

  #end(how: string): string {
    this.#hasEnded = true;
    const reason = [how, this.#said.trim()].filter(Boolean).join(': ');
    for (const { reject } of this.#waiting.values()) reject(endedError(reason));
    this.#waiting.clear();
    return reason;
  }

  /** Ends the process if it works on something without end. */
  #watch(patienceMs: number): void {
    let isWaiting = false;
    const timer = setInterval(() => {
      if (isWaiting) {
        this.#said += `\nit did not respond for ${patienceMs / 1000} s`;
        this.kill();
      }
      isWaiting = true;
      this.ask({ type: 'ping' }).then(
        () => (isWaiting = false),
        () => clearInterval(timer), // it has ended
      );
    }, patienceMs).unref();
  }

  /** Lets the daemon end while the process runs, which then ends, too. */
  #unref(): void {
    this.#child.unref();
    const { stderr } = this.#child;
    if (stderr !== null && 'unref' in stderr && typeof stderr.unref === 'function') stderr.unref();
  }
}

const endedError = (reason: string): Error =>
  unavailable(`the process of the egress gateways ended: ${reason}`);
