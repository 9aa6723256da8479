// The process of the egress gateways with mistakes that a query for a certain name brings out: in a promise, in a timer, and
// outside of the work for any gateway.
import { Socket } from 'node:dgram';
import { serveGateways } from '../egress/gateway-program.ts';

const fail = (how: string): void => {
  throw new Error(`sabotaged ${how}`);
};

type Listen = (this: Socket, event: string, listener: (packet: Buffer, ...rest: unknown[]) => void) => Socket;
const prototype = Socket.prototype as unknown as { on: Listen };
const { on } = prototype;
prototype.on = function listen(event, listener) {
  if (event !== 'message') return on.call(this, event, listener);
  return on.call(this, event, (packet, ...rest) => {
    if (packet.includes('nowhere')) fail('outside of a gateway');
    listener(packet, ...rest);
  });
};

const { subarray } = Buffer.prototype;
Buffer.prototype.subarray = function part(this: Buffer, ...range: [number?, number?]) {
  const part = subarray.apply(this, range);
  if (part.includes('promise')) void Promise.reject(new Error('sabotaged promise'));
  if (part.includes('timer')) setTimeout(() => fail('timer'), 1);
  return part;
} as typeof subarray;

serveGateways();
