import { expect, test } from 'vitest';
import { chartReadme } from './chart-readme.ts';

const files = (schema: object) => ({
  'Chart.yaml': 'name: sample\ndescription: A sample\nkubeVersion: ">=1.29.0-0"\n',
  'values.yaml': 'pod: { labels: { a: b } }\n',
  'values.schema.json': JSON.stringify(schema),
});

test('a README file has a row for each value of a chart, with its default', () => {
  const labels = { type: 'object', description: 'More labels.' };
  const image = { type: 'string', description: 'The image.' };

  const readme = chartReadme(files({ properties: { pod: { properties: { labels, image } } } }));

  expect(readme).toContain('A sample. This chart requires Kubernetes >=1.29.0.');
  expect(readme).toContain(
    '| `pod.labels` | `{"a":"b"}` | More labels. |\n| `pod.image` |  | The image. |\n',
  );
});

test('a value without a description is an error that names the value', () => {
  const schema = { properties: { pod: { properties: { labels: { type: 'object' } } } } };

  expect(() => chartReadme(files(schema))).toThrow('pod.labels has no description');
});
