import { describe, expect, test } from 'vitest';
import { refuseOtherSourcesIn } from './npm-sources.ts';

const refusal = (wanted: string, allowed: string[] = []) => {
  const manifest = { dependencies: { ordinary: '^1.0.0', inner: wanted } };
  return () => refuseOtherSourcesIn('outer', manifest, { allowed });
};

describe('a dependency from outside the registry', () => {
  test.each([
    [
      'https://github.com/someone/inner/releases/download/v1.0.0/inner.tar.gz',
      [],
      'github.com/someone/inner',
    ],
    ['someone/inner#v1', [], 'github.com/someone/inner'],
    ['git+ssh://git@git.example/team/inner.git#main', [], 'git.example/team/inner'],
    ['https://files.example/inner.tgz', ['github.com/a/b'], 'github.com/a/b,files.example/inner.tgz'],
    ["https://files.example/in'ner.tgz;id", [], String.raw`'files.example/in'\''ner.tgz;id'`],
  ])('%s is named with the command that allows it beside %j', (wanted, allowed, sources) => {
    expect(refusal(wanted, allowed)).toThrow(
      expect.objectContaining({
        kind: 'unsupported',
        message: `package outer does not come entirely from a package registry: inner comes from ${wanted}`,
        hint: `if you trust that source, allow it with thv config set-package-sources ${sources}`,
      }),
    );
  });

  test.each(['file:../inner', '../inner', '/home/someone/inner.tgz'])(
    'at %s cannot be allowed, so the author is asked',
    (wanted) => {
      expect(refusal(wanted)).toThrow(
        expect.objectContaining({ hint: 'ask the author of the package to publish that dependency, too' }),
      );
    },
  );

  test('is accepted from a repository that is allowed', () => {
    const wanted = 'https://github.com/someone/inner/releases/download/v1.0.0/inner.tar.gz';

    expect(refusal(wanted, ['github.com/someone/inner'])()).toBe(true);
  });
});
