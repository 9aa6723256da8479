import { describe, expect, test } from 'vitest';
import { openWorld } from './testing/remote-world.ts';

describe('signing in', () => {
  test('lets the user agree and then sends the token', async () => {
    await using world = await openWorld();
    expect(await world.ask()).toBe(401);

    await world.auth.authorize();

    expect(await world.ask()).toBe(200);
    expect(world.auth.state).toEqual({ kind: 'authorized', onlyInMemory: 'no encrypted secrets are set up' });
  });
});
