import { expect, test } from 'vitest';
import type { Catalog } from './catalog.ts';
import { Names, uriNaming } from './names.ts';
import { ResourceRoutes } from './resource-routes.ts';
import type { MemberView } from './view.ts';

const servers = ['files', 'notes'];

/** The routes of two servers with the same templates. */
function openRoutes(templates: readonly string[]): ResourceRoutes {
  const uris = new Names(uriNaming, () => servers);
  const routes = new ResourceRoutes({ uris, servers: () => servers } as unknown as Catalog); // the parts that links need
  for (const name of servers) {
    const lists = { templates: { items: templates.map((template) => ({ name: template })) } };
    routes.learn({ member: { name }, lists } as unknown as MemberView, 'templates');
  }
  return routes;
}

/** The URIs that clients get in the place of the links of a result. */
function linked(routes: ResourceRoutes, uris: readonly string[]): string[] {
  const result = { content: uris.map((uri) => ({ type: 'resource_link', uri, name: 'x' })) };
  const passed = routes.linked('one', 'files', { json: JSON.stringify(result), result });
  return (passed.result as typeof result).content.map(({ uri }) => uri);
}

test('links that two servers may have name their server, up to a limit', () => {
  const routes = openRoutes(['a:{x}{y}.txt', 'b:{x}']);

  expect(linked(routes, ['a:1.txt', 'a:1.pdf', 'b:2', 'c:3'])).toEqual([
    'a://combined.toolhive/files/1.txt',
    'a:1.pdf',
    'b://combined.toolhive/files/2',
    'c:3',
  ]);
  const many = linked(
    routes,
    Array.from({ length: 300 }, (_, at) => `b:${at}`),
  );
  expect(many.filter((uri) => uri.includes('combined'))).toHaveLength(200);
});

test('very many links are read in time, whatever the templates of a server are', { timeout: 60_000 }, () => {
  const routes = openRoutes(Array.from({ length: 100 }, (_, at) => `a:${'{x}'.repeat(600)}${at}z`));
  const uris = Array.from({ length: 30_000 }, (_, at) => `a:${at}`);

  expect(linked(routes, uris)).toEqual(uris);
});
