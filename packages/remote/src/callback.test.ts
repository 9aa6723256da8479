import { request } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { CallbackListener } from './callback.ts';

const { signal } = new AbortController();

async function open() {
  const listener = await CallbackListener.open(0, 'right');
  const url = listener.redirectUri('127.0.0.1');
  return { listener, url, [Symbol.asyncDispose]: () => listener[Symbol.asyncDispose]() };
}

describe('the listener for the browser', () => {
  test('takes the answer with the right state and shows a page that runs nothing', async () => {
    await using place = await open();
    const page = fetch(`${place.url}?code=a&state=right`);

    const answer = await place.listener.answer(signal);
    await answer.show('signed-in');

    const shown = await page;
    expect(answer.parameters.get('code')).toBe('a');
    expect(shown.status).toBe(200);
    expect(shown.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+';/,
    );
    expect(shown.headers.get('cache-control')).toBe('no-store');
    expect(shown.headers.get('referrer-policy')).toBe('no-referrer');
    expect(await shown.text()).toMatchInlineSnapshot(`
      "<!doctype html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width">
      <meta name="color-scheme" content="light dark">
      <title>Signed in – ToolHive</title>
      <style>body{font:1.125rem/1.5 system-ui,sans-serif;max-width:36rem;margin:15vh auto;padding:0 1.5rem}</style>
      </head>
      <body>
      <main>
      <h1>Signed in</h1>
      <p>ToolHive can now use the server. You can close this window.</p>
      </main>
      </body>
      </html>
      "
    `);
  });

  test.each([
    ['no state', '?code=a', 400],
    ['another state', '?code=a&state=wrong', 400],
    ['two states', '?code=a&state=right&state=right', 400],
  ])('ignores an answer with %s', async (_what, query, status) => {
    await using place = await open();

    const ignored = await fetch(`${place.url}${query}`);

    expect(ignored.status).toBe(status);
    expect(await ignored.text()).toContain('Not expected');
    void fetch(`${place.url}?code=b&state=right`).catch(() => {});
    const { parameters } = await place.listener.answer(signal);
    expect(parameters.get('code')).toBe('b');
  });

  test('ignores the right answer the second time', async () => {
    await using place = await open();
    const first = fetch(`${place.url}?code=a&state=right`);
    const answer = await place.listener.answer(signal);

    const second = await fetch(`${place.url}?code=b&state=right`);

    expect(second.status).toBe(400);
    await answer.show('signed-in');
    expect((await first).status).toBe(200);
    expect(answer.parameters.get('code')).toBe('a');
  });

  test.each([
    ['another path', 'GET', '/', {}, 404],
    ['another method', 'POST', '/callback?code=a&state=right', {}, 405],
    [
      'a name that leads here by accident',
      'GET',
      '/callback?code=a&state=right',
      { host: 'evil.example' },
      404,
    ],
    ['another host in the path', 'GET', 'http://evil.example/callback?state=right', {}, 404],
  ])('does not answer %s', async (_what, method, path, headers, status) => {
    await using place = await open();
    const { port } = new URL(place.url);

    const answered = Promise.withResolvers<number | undefined>();
    request({ host: '127.0.0.1', port, method, path, headers }, (answer) => {
      answer.resume();
      answered.resolve(answer.statusCode);
    }).end();

    expect(await answered.promise).toBe(status);
  });

  test('does not repeat anything that it was sent', async () => {
    await using place = await open();

    const page = await fetch(`${place.url}?state=<script>alert(1)</script>`);

    expect(await page.text()).not.toContain('alert');
  });

  test('is on loopback, and gone at the end, with all open connections', async () => {
    const place = await open();
    const { port } = new URL(place.url);
    const socket = connect(Number(port), '127.0.0.1');
    await new Promise((done) => socket.once('connect', done));
    const closed = new Promise((done) => socket.once('close', done));

    await place.listener[Symbol.asyncDispose]();

    await closed;
    await expect(fetch(place.url)).rejects.toThrow();
  });

  test('waits no longer than its signal says', async () => {
    await using place = await open();
    const stop = new AbortController();
    const answer = place.listener.answer(stop.signal);

    stop.abort(new Error('enough'));

    await expect(answer).rejects.toThrow('enough');
  });

  test('says when its port is taken', async () => {
    await using place = await open();
    const { port } = new URL(place.url);

    await expect(CallbackListener.open(Number(port), 'right')).rejects.toMatchObject({
      kind: 'conflict',
      message: `port ${port} for the sign-in callback is in use`,
    });
  });
});
