import { describe, expect, test } from 'vitest';
import type { Exchange } from './testing/authorization-server.ts';
import { openWorld } from './testing/remote-world.ts';
import type { World, WorldChanges } from './testing/remote-world.ts';

/** Signs in, and then has the authorization server forget everything. */
async function openForgotten(changes: WorldChanges) {
  const world = await openWorld(changes);
  await world.signIn();
  world.clock.ms += 60_000;
  world.authority.forgetsClients();
  return world;
}

/** Asks with the stored token, which the server does not take anymore. */
async function refused(world: World): Promise<unknown> {
  const { authorization: sent } = await world.auth.headers();
  return world.auth.challenged({ status: 401, wwwAuthenticate: 'Bearer', sent });
}

const withoutRefresh = (tokens: Record<string, unknown>) => ({ ...tokens, refresh_token: undefined });

describe('a client that the authorization server has forgotten', () => {
  const redirect =
    (error: string, description = '') =>
    ({ reply }: Exchange, back: URL): void => {
      back.searchParams.set('error', error);
      if (description) back.searchParams.set('error_description', description);
      reply(302, '', { location: back.href });
    };

  test.each<[string, (exchange: Exchange, back: URL) => void]>([
    ['redirects with unauthorized_client', redirect('unauthorized_client')],
    ['redirects with invalid_client', redirect('invalid_client')],
    ['redirects with a description', redirect('invalid_request', 'Client ID c1 is not registered.')],
    ['redirects to its own page', ({ reply }) => reply(302, '', { location: '/error?error=invalid_client' })],
    ['answers with an error of OAuth', ({ reply }) => reply(400, { error: 'invalid_client' })],
    ['answers 401', ({ reply }) => reply(401, { detail: 'nope' })],
    [
      'shows an HTML page with 403',
      ({ reply }) => reply(403, '<p>Unknown client</p>', { 'content-type': 'text/html' }),
    ],
    [
      'shows an HTML page with 200',
      ({ reply }) =>
        reply(200, '<h1>Error</h1><p>The client c1 was not found</p>', { 'content-type': 'text/html' }),
    ],
    ['fails with the name of the error', ({ reply }) => reply(500, { error: 'invalid_client' })],
  ])('is registered again when the page for the sign-in %s', async (_what, unknownClient) => {
    await using world = await openForgotten({ authority: { given: withoutRefresh, unknownClient } });
    expect(await refused(world)).toBe('needs authorization');

    await world.signIn();

    expect(world.authority.registrations).toHaveLength(2);
    expect(await world.ask()).toBe(200);
    expect((await world.pages()).map(({ status }) => status)).toEqual([200, 200]); // one page for each sign-in
  });

  test('is registered again in the same tab when only the browser of the user learns of it', async () => {
    const opened: string[] = [];
    await using world = await openForgotten({
      authority: {
        given: withoutRefresh,
        unknownClient(exchange, back) {
          const isBrowser = exchange.headers['user-agent'] === 'node'; // the browser of these tests
          if (isBrowser) redirect('unauthorized_client')(exchange, back);
          else exchange.reply(200, '<form>user name</form>', { 'content-type': 'text/html' });
        },
      },
    });
    world.browser.open = (url) => {
      opened.push(url);
      return world.browser.visit(url);
    };

    await world.signIn();

    expect(opened).toHaveLength(1);
    expect(world.authority.registrations).toHaveLength(2);
    expect(await world.ask()).toBe(200);
  });

  test.each<[string, (exchange: Exchange) => void]>([
    ['invalid_client', ({ reply }) => reply(401, { error: 'invalid_client' })],
    ['unauthorized_client', ({ reply }) => reply(400, { error: 'unauthorized_client' })],
    ['an HTML page', ({ reply }) => reply(400, '<p>No such client</p>', { 'content-type': 'text/html' })],
  ])('is registered again when the token endpoint answers a code with %s', async (_what, answer) => {
    await using world = await openForgotten({ authority: { given: withoutRefresh } });
    world.authority.changes.token = (exchange) => {
      delete world.authority.changes.token;
      answer(exchange);
    };

    await world.signIn();

    expect(world.authority.registrations).toHaveLength(2);
    expect(await world.ask()).toBe(200);
  });

  test.each<[string, (exchange: Exchange) => void]>([
    ['unauthorized_client', ({ reply }) => reply(400, { error: 'unauthorized_client' })],
    [
      'a description',
      ({ reply }) => reply(400, { error: 'invalid_grant', error_description: 'Client not found' }),
    ],
    ['an HTML page', ({ reply }) => reply(401, '<p>Unknown client</p>', { 'content-type': 'text/html' })],
    ['a failure with the name of the error', ({ reply }) => reply(500, { error: 'invalid_client' })],
  ])('is registered again after a refresh that got %s', async (_what, token) => {
    await using world = await openForgotten({});
    world.authority.changes.token = token;
    expect(await refused(world)).toBe('needs authorization');
    delete world.authority.changes.token;

    await world.signIn();

    expect(world.authority.registrations).toHaveLength(2);
    expect(world.authority.asked).toHaveLength(2); // nothing is asked in the name of the forgotten client
  });

  test.each(['timeout', 'cancellation'])(
    'is registered again after a sign-in without an answer that ended with a %s',
    async (end) => {
      await using world = await openForgotten({
        authority: {
          given: withoutRefresh,
          unknownClient: ({ reply }) =>
            reply(200, '<p>Something went wrong</p>', { 'content-type': 'text/html' }),
        },
        config: end === 'timeout' ? { timeout: '2s' } : {},
      });
      const stop = new AbortController();
      const ended = world.auth.authorize(stop.signal).catch((error: unknown) => error);
      await world.auth.page;
      if (end === 'cancellation') stop.abort();
      expect(await ended).toMatchObject({ kind: end === 'timeout' ? 'timeout' : 'cancelled' });

      await world.signIn();

      expect(world.authority.registrations).toHaveLength(2);
      expect(await world.ask()).toBe(200);
    },
  );

  test('still refreshes its tokens after a sign-in without an answer', async () => {
    await using world = await openWorld({ authority: { expiresIn: 3600 } });
    await world.signIn();
    const stop = new AbortController();
    world.browser.open = async () => {};
    const ended = world.auth.authorize(stop.signal).catch(() => {});
    await world.auth.page;
    stop.abort();
    await ended;
    world.clock.ms += 3_590_000;

    const headers = await world.auth.headers();

    expect(await world.ask(headers)).toBe(200);
    expect(world.authority.registrations).toHaveLength(1);
  });

  test('that is not accepted again after its registration is reported, and not registered without end', async () => {
    await using world = await openForgotten({
      authority: { given: withoutRefresh, unknownClient: redirect('unauthorized_client') },
    });
    world.authority.changes.register = ({ reply, json }) => reply(201, { ...json, client_id: 'never-known' });

    const failure = await world.signIn().catch((error: unknown) => error);

    expect(failure).toMatchObject({
      message: 'the answer of the browser is refused: unauthorized_client',
    });
    expect(world.authority.countOf('POST /register')).toBe(2);
  });

  test('and that the user has configured is not replaced', async () => {
    await using world = await openWorld({
      authority: { clients: { mine: 'hush' }, unknownClient: redirect('unauthorized_client') },
      config: { client_id: 'other', client_secret: 'remote-secret,target=CLIENT_SECRET' },
    });

    const failure = await world.signIn().catch((error: unknown) => error);

    expect(failure).toMatchObject({
      message: 'the answer of the browser is refused: unauthorized_client',
    });
    expect(world.authority.registrations).toEqual([]);
  });
});
