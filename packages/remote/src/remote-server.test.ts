import { expect, test } from 'vitest';
import { remoteServer } from './remote-server.ts';
import { SignInPace } from './sign-in-pace.ts';
import type { RemoteAuth } from './remote-auth.ts';
import { openWorld } from './testing/remote-world.ts';
import type { World } from './testing/remote-world.ts';

const serverOf = (world: World, auth: RemoteAuth, { isPatient }: { isPatient: boolean }) =>
  remoteServer({
    url: world.remote.url,
    auth,
    isPatient: () => isPatient,
    onNotSignedIn: () => {},
    hint: 'start it again',
    pace: new SignInPace(),
    signal: new AbortController().signal,
  });

test('a server that refuses every token has the user sign in less and less often', async () => {
  const opened: string[] = [];
  await using world = await openWorld();
  await using auth = await world.open({
    openBrowser: (url) => {
      opened.push(url);
      return world.browser.open(url);
    },
  });
  const server = serverOf(world, auth, { isPatient: true });
  const refuseAll = async (times: number): Promise<number> => {
    for (let time = 0; time < times; time += 1) {
      const { authorization: sent } = await server.headers();
      await server.refused({ status: 401, wwwAuthenticate: 'Bearer', body: undefined, sent }).catch(() => {});
    }
    return opened.length;
  };

  const atOnce = await refuseAll(20);
  world.clock.ms += 61_000;
  const afterAMinute = await refuseAll(20);
  world.clock.ms += 61_000;
  const afterAnother = await refuseAll(20);

  expect([atOnce, afterAMinute, afterAnother]).toEqual([3, 4, 4]);
});

test('a call that does not wait for the user says where to sign in, and for what', async () => {
  const shown = Promise.withResolvers<string>();
  await using world = await openWorld();
  await using auth = await world.open({ openBrowser: async (url) => shown.resolve(url) });
  const server = serverOf(world, auth, { isPatient: false });
  const wwwAuthenticate = 'Bearer error="insufficient_scope", scope="write"';

  const refusal = server.refused({ status: 403, wwwAuthenticate, body: undefined, sent: undefined });

  await expect(refusal).rejects.toThrow(`sign in for write at ${await shown.promise}`);
});

test('a failed sign-in says how to register a client where the authorization server registers none', async () => {
  await using world = await openWorld({
    authority: { metadata: (metadata) => ({ ...metadata, registration_endpoint: undefined }) },
  });
  await using auth = await world.open({});
  const server = serverOf(world, auth, { isPatient: true });

  const refusal = server.refused({
    status: 401,
    wwwAuthenticate: 'Bearer',
    body: undefined,
    sent: undefined,
  });

  await expect(refusal).rejects.toThrow(
    /^sign-in missing: .* does not support dynamic client registration; register a client there .*--remote-auth-client-id/,
  );
});
