import { parse } from 'yaml';

/** The files of a Helm chart that describe the chart, as texts. */
export interface ChartFiles {
  'Chart.yaml': string;
  'values.yaml': string;
  'values.schema.json': string;
}

/** A JSON schema of values. Each value has a description. */
interface ValuesSchema {
  description?: string;
  properties?: Record<string, ValuesSchema>;
}

/** The README file of a chart, with a table of all values. Throws for a value without a description. */
export function chartReadme(files: ChartFiles): string {
  const manifest = parse(files['Chart.yaml']) as Record<'name' | 'description' | 'kubeVersion', string>;
  const { name, description, kubeVersion } = manifest;
  const schema = JSON.parse(files['values.schema.json']) as ValuesSchema;
  const install = `helm upgrade --install ${name} deploy/charts/${name} --namespace toolhive-system --create-namespace`;
  const rows = rowsOf(schema, parse(files['values.yaml']), []);
  return [
    `# ${name}`,
    `${description}. This chart requires Kubernetes ${kubeVersion.replace('-0', '')}.`,
    `\`\`\`bash\n${install}\n\`\`\``,
    '## Values',
    'Helm refuses other values and wrong types.',
    ['| Value | Default | Description |', '| --- | --- | --- |', ...rows].join('\n'),
    '',
  ].join('\n\n');
}

function rowsOf({ properties = {} }: ValuesSchema, values: unknown, path: readonly string[]): string[] {
  return Object.entries(properties).flatMap(([key, schema]) => {
    const inner = [...path, key];
    const value = (values as Record<string, unknown> | null | undefined)?.[key];
    if (schema.properties !== undefined) return rowsOf(schema, value, inner);
    if (schema.description === undefined) throw new Error(`${inner.join('.')} has no description`);
    const shown = value === undefined ? '' : `\`${JSON.stringify(value)}\``;
    return [`| \`${inner.join('.')}\` | ${shown} | ${schema.description} |`];
  });
}
