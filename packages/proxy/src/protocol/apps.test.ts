import { expect, test } from 'vitest';
import { appOf } from './apps.ts';

test.for([
  [undefined, undefined],
  [{ ui: 'text' }, undefined],
  [{ ui: { resourceUri: 'ui://page' } }, { resource_uri: 'ui://page', is_callable: true }],
  [{ 'ui/resourceUri': 'ui://older' }, { resource_uri: 'ui://older', is_callable: true }],
  [
    { ui: { resourceUri: 'ui://new' }, 'ui/resourceUri': 'ui://older' },
    { resource_uri: 'ui://new', is_callable: true },
  ],
  [{ ui: { resourceUri: 'https://example.com/' } }, undefined],
  [{ ui: { resourceUri: 7 } }, undefined],
  [{ ui: { visibility: ['model'] } }, { is_callable: false }],
  [{ ui: { visibility: ['app'] } }, { is_callable: true }],
] as const)('reads the app from %j', ([meta, app]) => {
  expect(appOf(meta)).toEqual(app);
});
