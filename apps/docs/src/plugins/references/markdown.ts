import { isEmpty, literal, rulesOf, typeOf } from './schema.ts';
import type { Field } from './schema.ts';

/**
 * Converts a description to Markdown for Docusaurus, which parses braces and angle brackets as code. Code in backticks
 * stays.
 */
export function textOf(text: string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((part, index) => (index % 2 === 1 ? part : part.replaceAll(/[\\<>{}[\]*_|]/g, '\\$&')))
    .join('');
}

/** A word as code. */
export function code(text: string): string {
  const fence = text.includes('`') ? '``' : '`';
  return `${fence}${text}${fence}`;
}

/** A table that can be scrolled with the keyboard where it is wider than the page. */
export function table(label: string, head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll(/(?<!\\)\|/g, '\\|').replaceAll(/\s*\n\s*/g, ' ')).join(' | ')} |`;
  return [
    `<div className="reference-table" role="group" aria-label=${JSON.stringify(label)} tabIndex="0">`,
    [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n'),
    '</div>',
  ].join('\n\n');
}

/** The front matter of a generated page. */
export function frontMatter(title: string, description: string): string {
  return `---\ntitle: ${JSON.stringify(title)}\ndescription: ${JSON.stringify(description)}\ncustom_edit_url: null\n---`;
}

/** A heading with an anchor that does not depend on its words. */
export function heading(level: number, text: string, id: string): string {
  return `${'#'.repeat(level)} ${text} {#${id}}`;
}

/** A table of fields. `linkTo` returns the link target of a schema. */
export function fieldTable(
  label: string,
  fields: readonly Field[],
  linkTo: (schema: string) => string,
): string {
  return table(
    label,
    ['Field', 'Type', 'Meaning'],
    fields.map(({ name, schema, isRequired }) => [
      code(name),
      typeOf(schema)
        .map((part) => (typeof part === 'string' ? textOf(part) : `[${part.schema}](${linkTo(part.schema)})`))
        .join(''),
      sentences([
        ...(isRequired ? ['Required'] : []),
        ...(schema.description === undefined ? [] : [textOf(schema.description)]),
        ...capitalised(rulesOf(schema)),
        ...(schema.default === undefined || isEmpty(schema.default)
          ? []
          : [`Default ${literal(schema.default)}`]),
      ]),
    ]),
  );
}

function capitalised(rules: readonly string[]): string[] {
  return rules.map((rule) => rule.charAt(0).toUpperCase() + rule.slice(1));
}

function sentences(texts: readonly string[]): string {
  return texts.map((text) => (/[.!?]$/.test(text) ? text : `${text}.`)).join(' ');
}
