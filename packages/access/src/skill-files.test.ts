import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import { differingSkill } from './skill-files.ts';
import type { RecordedSkill } from './skill-files.ts';

const script = 'skill://a/run.sh';
const digest = hash('sha256', 'echo');

const skillAt = (uri: string, ...versions: (object | undefined)[]): RecordedSkill => ({
  uri,
  contents: () => versions.map((version) => version && JSON.stringify(version)),
});
const listing = (uri: string, ...digests: string[]): object => ({
  resources: digests.map((one) => ({ uri, digest: one })),
});

test.each<[string, RecordedSkill[], string[], string | undefined]>([
  [
    'a file with its digest',
    [skillAt('skill://a/SKILL.md', listing(script, `sha256:${digest}`))],
    [digest],
    undefined,
  ],
  [
    'a file of one of two versions',
    [skillAt('skill://a/SKILL.md', listing(script), listing(script, `sha256:${digest}`))],
    [digest],
    undefined,
  ],
  ['a file without digests in its skill', [skillAt('skill://a/SKILL.md', {})], [digest], undefined],
  ['a file of no skill', [skillAt('skill://b/SKILL.md', listing(script))], [digest], undefined],
  [
    'a file of a skill that is only named like it',
    [skillAt('skill://a/run/SKILL.md', listing(script))],
    [digest],
    undefined,
  ],
  [
    'an unlisted file',
    [skillAt('skill://a/SKILL.md', listing('skill://a/SKILL.md'))],
    [digest],
    'skill://a/SKILL.md',
  ],
  [
    'other content',
    [skillAt('skill://a/SKILL.md', listing(script, 'sha256:00'))],
    [digest],
    'skill://a/SKILL.md',
  ],
  [
    'a second content',
    [skillAt('skill://a/SKILL.md', listing(script, `sha256:${digest}`))],
    [digest, hash('sha256', 'evil')],
    'skill://a/SKILL.md',
  ],
  [
    'a content that cannot be compared',
    [skillAt('skill://a/SKILL.md', listing(script, 'sha256:'))],
    [''],
    'skill://a/SKILL.md',
  ],
  [
    'no content',
    [skillAt('skill://a/SKILL.md', listing(script, `sha256:${digest}`))],
    [],
    'skill://a/SKILL.md',
  ],
  [
    'a skill that is too long to be known',
    [skillAt('skill://a/SKILL.md', undefined)],
    [digest],
    'skill://a/SKILL.md',
  ],
  ['a URI without a directory', [skillAt('plain', listing(script))], [digest], undefined],
])('%s', (_what, skills, digests, expected) => {
  expect(differingSkill(script, skills, () => digests)).toBe(expected);
});

test('thousands of skills in each other take no more time than a few', () => {
  let read = 0;
  const skills = Array.from({ length: 5_000 }, (_, depth): RecordedSkill => ({
    uri: `skill://${'a/'.repeat(depth)}SKILL.md`,
    contents() {
      read += 1;
      return ['{"resources":[]}'];
    },
  }));

  expect(differingSkill(`skill://${'a/'.repeat(5_000)}file`, skills, () => [digest])).toBeDefined();
  expect(read).toBeLessThanOrEqual(10);
});
