import { expect, test } from 'vitest';
import { startNotifications } from './notifications.ts';

test('a page without locks, such as one over plain http from another machine, still starts', () => {
  const before = Object.getOwnPropertyDescriptor(Navigator.prototype, 'locks');
  delete (Navigator.prototype as { locks?: unknown }).locks;

  expect('locks' in navigator).toBe(false);
  expect(startNotifications).not.toThrow();

  Object.defineProperty(Navigator.prototype, 'locks', before ?? {});
});
