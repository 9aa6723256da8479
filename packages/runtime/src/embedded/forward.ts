import { type Socket, connect } from 'node:net';

interface Target {
  host: string;
  port: number;
}

/** Forwards a connection to the first target that accepts it, or else to the first target from `otherwise`. */
export function forward(
  outer: Socket,
  [target, ...others]: readonly Target[],
  otherwise?: () => readonly Target[],
): void {
  if (target === undefined) {
    if (otherwise === undefined) outer.destroy();
    else forward(outer, otherwise());
    return;
  }
  const inner = connect({ ...target, allowHalfOpen: true });
  const next = (): void => forward(outer, others, otherwise);
  inner.once('error', next).once('connect', () => {
    inner.off('error', next);
    outer.on('close', () => inner.destroy());
    inner.on('error', () => {}).on('close', () => outer.destroy());
    outer.pipe(inner).pipe(outer);
  });
}
