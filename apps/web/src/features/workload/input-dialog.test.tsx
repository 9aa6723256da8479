import { expect, test } from 'vitest';
import { render } from 'vitest-browser-react';
import type { Values } from '../../api/mcp.ts';
import InputDialog from './input-dialog.tsx';

const picture =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** The dialog that a server opens with a request for sampling. */
const open = (params: Values) =>
  render(
    <InputDialog
      workload="odd"
      requests={[{ key: 'q1', method: 'sampling/createMessage', params }]}
      answer={() => {}}
    />,
  );

test('the user sees every kind of content that a model would see', async () => {
  const screen = await open({
    messages: [
      { role: 'user', content: { type: 'image', mimeType: 'image/png', data: picture } },
      { role: 'user', content: { type: 'audio', mimeType: 'audio/wav', data: 'AAAA' } },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'I look it up.' },
          { type: 'tool_use', id: 't1', name: 'look_up', input: { word: 'hive' } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', toolUseId: 't1', content: [{ type: 'text', text: 'a house of bees' }] },
        ],
      },
      { role: 'user', content: { type: 'resource_link', uri: 'file:///notes.txt', name: 'notes' } },
    ],
    maxTokens: 100,
  });

  await expect.element(screen.getByRole('img', { name: 'Image from the server' })).toBeInTheDocument();
  await expect.element(screen.getByLabelText('Sound from the server')).toBeInTheDocument();
  await expect.element(screen.getByText('I look it up.')).toBeInTheDocument();
  await expect.element(screen.getByText(/"look_up"/)).toBeInTheDocument();
  await expect.element(screen.getByText('a house of bees')).toBeInTheDocument();
  await expect.element(screen.getByText('file:///notes.txt')).toBeInTheDocument();
});

test('the user sees the system prompt, the wanted model, the limits, and what else the server asks for', async () => {
  const screen = await open({
    messages: [{ role: 'user', content: { type: 'text', text: 'Who are you?' } }],
    systemPrompt: 'Be brief.\u202E',
    modelPreferences: { hints: [{ name: 'sonnet' }, { name: 'haiku' }], costPriority: 0.2, speedPriority: 1 },
    maxTokens: 1_500,
    temperature: 0,
    stopSequences: ['END'],
    includeContext: 'allServers',
    tools: [{ name: 'look_up', inputSchema: { type: 'object' } }],
    constructor: 'odd',
    _meta: { progressToken: 1 },
  });

  const pairs = [...document.querySelectorAll('dialog dl.pairs > div')].map((pair) => [
    pair.querySelector('dt')?.textContent,
    pair.querySelector('dd')?.textContent,
  ]);
  expect(pairs).toEqual([
    ['System prompt', 'Be brief.U+202E'],
    ['Model', 'sonnet, haiku, low cost: 0.2, speed: 1'],
    ['Most tokens', '1500'],
    ['Temperature', '0'],
    ['Stop at', '"END"'],
    ['Context', 'allServers'],
    ['Tools', expect.stringContaining('"look_up"')],
    ['constructor', 'odd'],
  ]);
  await expect.element(screen.getByText('At most 1,500 tokens')).toBeInTheDocument();
});
