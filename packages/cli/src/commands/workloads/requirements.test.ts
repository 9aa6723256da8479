import type { Client } from '@toolhive/contract/client';
import { describe, expect, test } from 'vitest';
import { withNeeds } from './requirements.ts';

/** The part of the API that is asked: which secrets there are. */
function asking(...secrets: string[]) {
  const notes: string[] = [];
  const daemon = {
    listSecrets: async () => ({ keys: secrets.map((key) => ({ key })) }),
  } as unknown as Client;
  const out = { note: (text: string) => void notes.push(text) } as unknown as Parameters<
    typeof withNeeds
  >[2]['out'];
  return { daemon, out, notes, signal: new AbortController().signal };
}

const header = {
  kind: 'header' as const,
  name: 'X-Team',
  description: 'Whose it is.',
  required: true,
  secret: false,
};

describe('a header that a remote server needs, without a terminal', () => {
  test('comes from a stored secret, even if it is none', async () => {
    const request = await withNeeds(
      {},
      { name: 'wiki', isRemote: true, needs: [header] },
      asking('wiki-X-Team'),
    );

    expect(request.headers).toEqual([
      expect.objectContaining({ name: 'X-Team', secret: true, default: 'wiki-X-Team,target=X-Team' }),
    ]);
  });

  test('comes from the request, beside the other headers of the entry', async () => {
    const preset = { ...header, name: 'X-Version', required: false, default: '2' };
    const given = { name: 'x-team', description: '', required: true, secret: false, default: 'red' };
    const request = await withNeeds(
      { headers: [given] },
      { name: 'wiki', isRemote: true, needs: [header, preset] },
      asking(),
    );

    expect(request.headers).toEqual([given, expect.objectContaining({ name: 'X-Version', default: '2' })]);
  });

  test('is missed with a hint that works', async () => {
    const completed = withNeeds({}, { name: 'wiki', isRemote: true, needs: [header] }, asking());

    await expect(completed).rejects.toMatchObject({
      message: 'wiki needs X-Team',
      hint: 'store it with thv secret set wiki-X-Team; X-Team: Whose it is',
    });
  });
});

describe('a variable that the server can do without, without a terminal', () => {
  const optional = {
    kind: 'variable' as const,
    name: 'TEAM_TOKEN',
    description: 'Whose it is.',
    required: false,
    isOffered: true,
    secret: true,
  };

  test('comes from a stored secret', async () => {
    const request = await withNeeds(
      {},
      { name: 'wiki', isRemote: false, needs: [optional] },
      asking('TEAM_TOKEN'),
    );

    expect(request.secrets).toEqual([{ name: 'TEAM_TOKEN', target: 'TEAM_TOKEN' }]);
  });

  test('is left out with a note', async () => {
    const asked = asking();

    const request = await withNeeds({}, { name: 'wiki', isRemote: false, needs: [optional] }, asked);

    expect(request.secrets).toEqual([]);
    expect(asked.notes).toEqual(['optional, and not set: TEAM_TOKEN']);
  });
});
