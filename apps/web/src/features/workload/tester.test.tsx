import { useState } from 'react';
import type { ReactNode } from 'react';
import type { ListedTool } from '@toolhive/contract/capabilities';
import { abandonKey } from '@toolhive/contract/mcp-meta';
import { afterEach, expect, test, vi } from 'vitest';
import { render } from 'vitest-browser-react';
import type { Values } from '../../api/mcp.ts';
import { Tester } from './tester.tsx';

const tool: ListedTool = {
  name: 'act',
  original_name: 'act',
  is_shown: true,
  estimated_tokens: 10,
  input_schema: { type: 'object', properties: { word: { type: 'string' } } },
};

/** A request that the tester has sent to the server. */
interface Sent {
  id: unknown;
  method: string;
  params: Values & { _meta: Values };
  signal: AbortSignal | undefined;
}

afterEach(() => vi.restoreAllMocks());

/** Answers requests to the server. Without an answer, the call stays open until it is canceled. */
function serve(answer: (request: Sent, index: number) => Values | undefined): Sent[] {
  const sent: Sent[] = [];
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (url, options = {}) => {
    if (!(url as string).endsWith('/mcp')) return Response.json({ workloads: [] });
    const request = JSON.parse(options.body as string) as Sent; // as the tester sends it
    sent.push({ ...request, signal: options.signal ?? undefined });
    const result = answer(request, sent.length - 1);
    if (result !== undefined) return Response.json({ jsonrpc: '2.0', id: request.id, result });
    const { promise, reject } = Promise.withResolvers<Response>();
    options.signal?.addEventListener('abort', () => reject(options.signal?.reason as Error));
    return promise;
  });
  return sent;
}

const text = (value: string): Values => ({ content: [{ type: 'text', text: value }] });
const question = (method: string, params: Values): Values => ({
  resultType: 'input_required',
  requestState: 'state',
  inputRequests: { q1: { method, params } },
});
const elicitation = question('elicitation/create', {
  message: 'Who are you?',
  requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
});
const sampling = question('sampling/createMessage', { messages: [], maxTokens: 1 });

let opened = 0;

/** The tester on a screen that can be left, for a workload without calls. */
async function open(name: string) {
  const workload = `${name}-${(opened += 1)}`;
  function Screen(): ReactNode {
    const [isOpen, setOpen] = useState(true);
    return (
      <>
        <button type="button" onClick={() => setOpen(false)}>
          Leave
        </button>
        {isOpen && (
          <Tester
            workload={workload}
            item={{ kind: 'tool', key: 'tool act', label: 'act', tool }}
            tools={[tool]}
          />
        )}
      </>
    );
  }
  const screen = await render(<Screen />);
  const press = (button: string) => screen.getByRole('button', { name: new RegExp(`^${button}`) });
  return { screen, press };
}

test('a call ends when its user leaves the screen', async () => {
  const sent = serve(() => undefined);
  const { press } = await open('left');
  await press('Call tool').click();
  await expect.poll(() => sent.length).toBe(1);
  expect(sent[0]?.signal?.aborted).toBe(false);

  await press('Leave').click();

  expect(sent[0]?.signal?.aborted).toBe(true);
});

test('a call ends with its page', async () => {
  const sent = serve(() => undefined);
  const { screen, press } = await open('closed');
  await press('Call tool').click();
  await expect.poll(() => sent.length).toBe(1);

  window.dispatchEvent(new PageTransitionEvent('pagehide'));

  expect(sent[0]?.signal?.aborted).toBe(true);
  await expect.element(screen.getByText(/Canceled after/)).toBeVisible();
  // A browser can show such a page again.
  await press('Call tool').click();
  await expect.poll(() => sent[1]?.signal?.aborted).toBe(false);
});

test.each([
  ['elicitation', elicitation],
  ['sampling', sampling],
])('a server that asks for input is told that its user has left: %s', async (name, asked) => {
  const sent = serve((_request, index) => (index === 0 ? asked : text('over')));
  const { screen, press } = await open(`asked-${name}`);
  await press('Call tool').click();
  await expect.element(screen.getByRole('dialog', { name: /asks for input/ })).toBeVisible();

  // The dialog covers the page, so only Back or another address leaves it.
  await screen.unmount();

  await expect.poll(() => sent.length).toBe(2);
  expect(sent[1]).toMatchObject({
    method: 'tools/call',
    params: { name: 'act', requestState: 'state', _meta: { [abandonKey]: true } },
  });
  expect(sent[1]?.params).not.toHaveProperty('inputResponses');
});

test('a server that asks for input is told that its user has canceled the call', async () => {
  const sent = serve((_request, index) => (index === 0 ? elicitation : text('over')));
  const { screen, press } = await open('canceled');
  await press('Call tool').click();

  await press('Cancel the call').click();

  await expect.element(screen.getByText(/Canceled after/)).toBeVisible();
  await expect.poll(() => sent[1]?.params['_meta'][abandonKey]).toBe(true);
  expect(screen.getByRole('dialog').query()).toBe(null);
});

test('a call is not replayed while another one runs', async () => {
  const sent = serve((_request, index) => (index === 0 ? text('first') : undefined));
  const { screen, press } = await open('replayed');
  await press('Call tool').click();
  // The result moves the history below it.
  await expect.element(screen.getByText('first', { exact: true })).toBeVisible();
  await screen.getByText('Calls in this tab (1)').click();
  await press('Replay').click();
  await expect.poll(() => sent.length).toBe(2);

  await expect.element(press('Replay')).toHaveAttribute('aria-disabled', 'true');
  await press('Cancel').click();

  await expect.element(screen.getByText(/Canceled after/)).toBeVisible();
  expect(screen.getByText('Waiting for the server.').query()).toBe(null);
  await expect.element(press('Replay').first()).not.toHaveAttribute('aria-disabled');
  expect(sent).toHaveLength(2);
});

test('a result does not take the focus from a user who writes', async () => {
  const { promise, resolve } = Promise.withResolvers<Response>();
  vi.spyOn(globalThis, 'fetch').mockImplementation((url) =>
    (url as string).endsWith('/mcp') ? promise : Promise.resolve(Response.json({ workloads: [] })),
  );
  const { screen, press } = await open('writing');
  await press('Call tool').click();
  await screen.getByLabelText(/^word/).click();

  resolve(Response.json({ jsonrpc: '2.0', id: 1, result: text('arrived') }));

  await expect.element(screen.getByText('arrived', { exact: true })).toBeVisible();
  await expect.element(screen.getByLabelText(/^word/)).toHaveFocus();
});
