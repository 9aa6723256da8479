import { expect, test } from 'vitest';
import { answeredDraft, asCommand, draftOfRequest, emptyDraft, requestOf } from './workload-draft.ts';
import type { Need } from './workload-draft.ts';

const placeholder = (name: string): Need => ({
  kind: 'placeholder',
  name,
  token: `\${${name}}`,
  description: '',
  secret: false,
});

test('answers replace the placeholders of an imported server, and are no variables', () => {
  const needs: Need[] = [
    placeholder('ORG'),
    { kind: 'variable', name: 'KEY', description: '', secret: true },
  ];
  const request = {
    image: 'npx://server',
    cmd_arguments: ['--org=${ORG}', '${OTHER}'],
    volumes: ['${ORG}:/data:ro'],
  };
  const draft = draftOfRequest(request, 'one', needs);

  const answered = requestOf(answeredDraft(draft, [placeholder('ORG')], { ORG: '/acme' }));

  expect(draft.variables.map(({ name }) => name)).toEqual(['KEY']);
  expect(answered).toMatchObject({
    cmd_arguments: ['--org=/acme', '${OTHER}'],
    volumes: ['/acme:/data:ro'],
    env_vars: {},
  });
});

test('the answer for a header of a remote server becomes a secret beside its other headers', () => {
  const header = { name: 'X-Plain', description: '', required: true, secret: false, default: '1' };
  const need: Need = { kind: 'header', name: 'Authorization', description: '', secret: true };
  const draft = draftOfRequest({ url: 'https://${ORG}.example.com/mcp', headers: [header] }, 'one', [
    need,
    placeholder('ORG'),
  ]);

  const answered = answeredDraft(draft, [need, placeholder('ORG')], {
    Authorization: 'Bearer x',
    ORG: 'acme',
  });

  expect(requestOf(answered, new Map([['Authorization', 'one-authorization']]))).toMatchObject({
    url: 'https://acme.example.com/mcp',
    headers: [
      header,
      { name: 'Authorization', secret: true, default: 'one-authorization,target=Authorization' },
    ],
  });
});

test('published ports become a part of the request and of its command', () => {
  const draft = { ...emptyDraft, image: 'npx://server', published: '8000, 3000:8080' };

  expect(requestOf(draft).publish).toEqual(['8000', '3000:8080']);
  expect(requestOf({ ...draft, published: '' })).not.toHaveProperty('publish');
  expect(asCommand(draft)).toContain('--publish 8000 --publish 3000:8080 npx://server');
});

test('local ports become a part of the request and of its command', () => {
  const draft = { ...emptyDraft, image: 'npx://server', localPorts: '5432, 6379' };

  expect(requestOf(draft).local_ports).toEqual([5432, 6379]);
  expect(requestOf({ ...draft, localPorts: '' })).not.toHaveProperty('local_ports');
  expect(asCommand(draft)).toContain('--allow-local-port 5432 --allow-local-port 6379 npx://server');
});
