import '../css/styles.css';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { expect, test } from 'vitest';
import { render } from 'vitest-browser-react';
import { initialValue } from './schema.ts';
import { SchemaForm, isWithoutMembers } from './schema-form.tsx';

/** A form of a schema, and its value as JSON in the element `value`. */
function Example({
  schema,
  problems = {},
}: {
  schema: unknown;
  problems?: Record<string, string>;
}): ReactNode {
  const [value, setValue] = useState(() => initialValue(schema, schema));
  return (
    <>
      <SchemaForm schema={schema} value={value} onChange={setValue} problems={problems} />
      <output data-testid="value">{JSON.stringify(value)}</output>
    </>
  );
}

const object = (properties: object, more: object = {}): object => ({ type: 'object', properties, ...more });

const open = async (schema: object, problems: Record<string, string> = {}) => {
  const screen = await render(<Example schema={schema} problems={problems} />);
  const value = screen.getByTestId('value');
  return { ...screen, value: () => JSON.parse(value.element().textContent) as unknown };
};

test('a reference leads to the fields of its definition', async () => {
  const form = await open(
    object(
      { owner: { $ref: '#/$defs/person', title: 'Owner' } },
      { $defs: { person: object({ name: { type: 'string' }, parent: { $ref: '#/$defs/person' } }) } },
    ),
  );

  await form.getByRole('button', { name: 'Add' }).click();
  await form.getByLabelText('name').fill('Ada');
  await form.getByRole('button', { name: 'Add' }).click();
  await form.getByLabelText('name').nth(1).fill('Anne');

  expect(form.value()).toEqual({ owner: { name: 'Ada', parent: { name: 'Anne' } } });
});

test('a variant of oneOf is chosen, and replaces the value of another variant', async () => {
  const form = await open(
    object(
      {
        shape: {
          oneOf: [
            { title: 'Circle', ...object({ kind: { const: 'circle' }, radius: { type: 'number' } }) },
            { title: 'Square', ...object({ kind: { const: 'square' }, side: { type: 'number' } }) },
          ],
        },
      },
      { required: ['shape'] },
    ),
  );
  await form.getByLabelText('radius').fill('2.5');

  await form.getByLabelText('Kind').selectOptions('Square');
  await form.getByLabelText('side').fill('4');

  expect(form.value()).toEqual({ shape: { kind: 'square', side: 4 } });
});

test('a nullable text becomes null, and a text again', async () => {
  const form = await open(object({ note: { type: ['string', 'null'] } }));

  await form.getByRole('button', { name: 'Set note to null' }).click();
  expect(form.value()).toEqual({ note: null });
  await form.getByRole('button', { name: 'Enter a value' }).click();
  await form.getByLabelText('note').fill('text');

  expect(form.value()).toEqual({ note: 'text' });
});

test('items of nested arrays are added, changed, and removed', async () => {
  const form = await open(
    object({ rows: { type: 'array', items: { type: 'array', items: { type: 'integer' } } } }),
  );

  await form.getByRole('button', { name: 'Add an item' }).click();
  await form.getByRole('button', { name: 'Add an item' }).first().click();
  await form.getByRole('button', { name: 'Add an item' }).first().click();
  await form.getByRole('textbox').first().fill('7');
  expect(form.value()).toEqual({ rows: [[7, 0]] });
  await form.getByRole('button', { name: 'Remove rows 1 1' }).click();

  expect(form.value()).toEqual({ rows: [[0]] });
});

test('formats choose the kind of the input', async () => {
  const form = await open(
    object({
      day: { type: 'string', format: 'date' },
      mail: { type: 'string', format: 'email' },
      page: { type: 'string', format: 'uri' },
    }),
  );

  const types = ['day', 'mail', 'page'].map((label) =>
    form.getByLabelText(label).element().getAttribute('type'),
  );

  expect(types).toEqual(['date', 'email', 'url']);
});

test('a number that cannot be represented exactly is not rounded', async () => {
  const form = await open(object({ id: { type: 'integer' } }));

  await form.getByLabelText('id').fill('9007199254740993');

  expect(form.value()).toEqual({ id: '9007199254740993' });
  await expect.element(form.getByText('must be a number that can be represented exactly')).toBeVisible();
});

test('an optional text that is cleared is left out, and a required one is empty', async () => {
  const text = { type: 'string' };
  const form = await open(object({ must: text, may: text }, { required: ['must'] }));

  for (const label of [/^must/, /^may/]) {
    await form.getByLabelText(label).fill('x');
    await form.getByLabelText(label).clear();
  }

  expect(form.value()).toEqual({ must: '' });
});

test('a problem belongs to the field with its pointer', async () => {
  const form = await open(object({ 'a/b': { type: 'string' } }), { '/a~1b': 'is too short' });
  const field = form.getByLabelText('a/b');

  await expect.element(field).toHaveAttribute('aria-invalid', 'true');
  await expect.element(field).toHaveAccessibleDescription('is too short');
});

test('the JSON editor keeps text that is not JSON, and changes the value when the text is valid again', async () => {
  const form = await open({ type: 'array', prefixItems: [{ type: 'string' }] });
  const editor = form.getByLabelText(/^Value/);

  await editor.fill('["a"]');
  await editor.fill('["a", ');
  await expect.element(form.getByText('is not valid JSON')).toBeVisible();
  expect(form.value()).toEqual(['a']);
  await editor.fill('["a", "b"]');

  expect(form.value()).toEqual(['a', 'b']);
  expect(form.getByText('is not valid JSON').query()).toBeNull();
});

test('variants without titles are called after the constant that marks them, or after their properties', async () => {
  const form = await open(
    object({
      leg: {
        oneOf: [
          object({ kind: { const: 'train' }, line: { type: 'string' } }),
          object({ from: { type: 'string' }, to: { type: 'string' } }, { required: ['to'] }),
          object({ to: { type: 'string' }, from: { type: 'string' } }, { required: ['to'] }),
        ],
      },
    }),
  );

  const options = [...form.container.querySelectorAll('option')].map(({ textContent }) => textContent);

  expect(options).toEqual(['kind: train', 'to, from', 'to, from (2)']);
});

test('the fields of nested lists stay in their boxes', async () => {
  const leg = object({ stops: { type: 'array', items: object({ name: { type: 'string' } }) } });
  const form = await open(object({ legs: { type: 'array', items: leg } }, { required: ['legs'] }));
  form.container.style.width = '20rem';

  await form.getByRole('button', { name: 'Add an item' }).click();
  await form
    .getByRole('group', { name: /^legs 1/ })
    .getByRole('button', { name: 'Add an item' })
    .click();

  const input = form.getByRole('textbox', { name: 'name' }).element();
  const box = input.closest('fieldset')?.getBoundingClientRect();
  expect(input.getBoundingClientRect().right).toBeLessThanOrEqual(box?.right ?? 0);
  expect(box?.right).toBeLessThanOrEqual(form.container.getBoundingClientRect().right);
});

test('only a schema that allows no members has no arguments', () => {
  expect(
    [{}, { type: 'object' }, object({}), object({}, { additionalProperties: false })].map(isWithoutMembers),
  ).toEqual([true, true, true, true]);
  expect(
    [
      object({ a: {} }),
      object({}, { additionalProperties: true }),
      object({}, { patternProperties: {} }),
      object({}, { required: ['a'] }),
      { type: 'object', anyOf: [object({ a: {} })] },
    ].map(isWithoutMembers),
  ).toEqual([false, false, false, false, false]);
});
