// The process of the egress gateways with mistakes that a query for a certain name brings out: in a promise, in a timer, and
// outside of the work for any gateway.
import { Socket } from 'node:dgram';
import { serveGateways } from '../egress/gateway-program.ts';

const originalOn = Socket.prototype.on;
const fail = (how: string): void => {
  throw new Error(`sabotaged ${how}`);
};

Socket.prototype.on = function on(this: Socket, event: string, listener: (...args: never[]) => void) {
  if (event !== 'message') return originalOn.call(this, event as 'message', listener);
  return originalOn.call(this, event, (packet: Buffer, ...rest: unknown[]) => {
    if (packet.includes('nowhere')) fail('outside of a gateway');
    listener(...([packet, ...rest] as never[]));
  });
} as typeof originalOn;

const originalSubarray = Buffer.prototype.subarray;
Buffer.prototype.subarray = function subarray(this: Buffer, ...range: [number?, number?]) {
  const part = originalSubarray.apply(this, range);
  if (part.includes('promise')) void Promise.reject(new Error('sabotaged promise'));
  if (part.includes('timer')) setTimeout(() => fail('timer'), 1);
  return part;
} as typeof originalSubarray;

serveGateways();
