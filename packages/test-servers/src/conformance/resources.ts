import { png } from './content.ts';

interface Resource {
  name: string;
  mimeType: string;
  content: { text: string } | { blob: string };
}

/** The resources that the conformance suite asks for, by URI. */
const resources: Record<string, Resource> = {
  'test://static-text': {
    name: 'static-text',
    mimeType: 'text/plain',
    content: { text: 'This is the content of the static text resource.' },
  },
  'test://static-binary': { name: 'static-binary', mimeType: 'image/png', content: { blob: png } },
  'test://watched-resource': {
    name: 'watched-resource',
    mimeType: 'text/plain',
    content: { text: 'Watched resource content' },
  },
};

export const resourceList = Object.entries(resources).map(([uri, { name, mimeType }]) => ({
  uri,
  name,
  mimeType,
}));

export const resourceTemplates = [
  { uriTemplate: 'test://template/{id}/data', name: 'template', mimeType: 'application/json' },
];

/** The contents of a resource. Undefined if the URI has none. */
export function readResource(uri: string) {
  const [, id] = /^test:\/\/template\/([^/]+)\/data$/.exec(uri) ?? [];
  const resource = id === undefined ? resources[uri] : templated(id);
  if (resource === undefined) return undefined;
  return { contents: [{ uri, mimeType: resource.mimeType, ...resource.content }] };
}

const templated = (id: string): Resource => ({
  name: 'template',
  mimeType: 'application/json',
  content: { text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) },
});
