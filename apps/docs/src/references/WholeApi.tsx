import { document } from './document.ts';
import Heading from '@theme/Heading';
import type { ReactNode } from 'react';
import { callsOf } from '../plugins/references/open-api.ts';
import { nameIn } from '../plugins/references/schema.ts';
import { Fields } from './Fields.tsx';
import { OperationSection } from './OperationSection.tsx';
import { Prose, schemaId } from './prose.tsx';

const calls = callsOf(document);
const { schemas, responses } = document.components;
const groups = document.tags.map((tag) => ({
  ...tag,
  calls: calls.filter(({ operation }) => operation.tags.includes(tag.name)),
}));

/** The complete API reference. */
export function WholeApi(): ReactNode {
  return (
    <div className="api-columns">
      <Contents />
      <div className="api-main">
        <Switch />
        {groups.map(({ name, description, calls: own }) => (
          <section key={name}>
            <Heading as="h2" id={tagId(name)}>
              {titleOf(name)}
            </Heading>
            <p>{description}</p>
            {own.map((call) => (
              <OperationSection key={call.operation.operationId} call={call} />
            ))}
          </section>
        ))}
        <Failures />
        <section>
          <Heading as="h2" id="schemas">
            Schemas
          </Heading>
          <p>The JSON objects in requests and responses.</p>
          {Object.entries(schemas).map(([name, schema]) => (
            <section key={name} className="api-part">
              <Heading as="h3" id={schemaId(name)}>
                {name}
              </Heading>
              {schema.description !== undefined && (
                <p>
                  <Prose>{schema.description}</Prose>
                </p>
              )}
              <Fields schema={schema} />
              <Example of={schema.examples} />
            </section>
          ))}
        </section>
      </div>
    </div>
  );
}

/** The contents: all operations by subject, and all schemas. */
function Contents(): ReactNode {
  return (
    <nav className="api-contents" aria-label="Operations and schemas">
      {groups.map(({ name, calls: own }) => (
        <details key={name}>
          <summary>{titleOf(name)}</summary>
          <ul>
            {own.map(({ method, operation }) => (
              <li key={operation.operationId}>
                <a href={`#${operation.operationId}`}>
                  <span className={`api-method api-method--${method.toLowerCase()}`}>{method}</span>
                  {operation.summary}
                </a>
              </li>
            ))}
          </ul>
        </details>
      ))}
      <p>
        <a href="#failures">Failures</a>
      </p>
      <details>
        <summary>Schemas</summary>
        <ul>
          {Object.keys(schemas).map((name) => (
            <li key={name}>
              <a href={`#${schemaId(name)}`}>{name}</a>
            </li>
          ))}
        </ul>
      </details>
    </nav>
  );
}

/** The language of the examples. The style sheet evaluates the selection, so the switch works without a script. */
function Switch(): ReactNode {
  const labels = [
    ...new Set(calls.flatMap(({ operation }) => operation['x-codeSamples'] ?? []).map(({ label }) => label)),
  ];
  return (
    <fieldset className="api-switch">
      <legend>Examples in</legend>
      {labels.map((label, index) => (
        <label key={label}>
          <input type="radio" name="api-example" value={label} defaultChecked={index === 0} /> {label}
        </label>
      ))}
    </fieldset>
  );
}

function Failures(): ReactNode {
  const statusOf = new Map(
    calls.flatMap(({ operation }) =>
      Object.entries(operation.responses).flatMap(([status, answer]) =>
        '$ref' in answer ? [[nameIn(answer.$ref), status] as const] : [],
      ),
    ),
  );
  const rows = [...statusOf].toSorted(([, one], [, other]) => Number(one) - Number(other));
  return (
    <section>
      <Heading as="h2" id="failures">
        Failures
      </Heading>
      <p>
        By default, an error response is plain text: a line with the problem and, for most errors, a second
        line with the prefix <code>hint:</code> and a fix. With the header{' '}
        <code>Accept: application/problem+json</code>, the response contains problem details (RFC 9457) as
        JSON.
      </p>
      <div className="reference-table" role="group" aria-label="Failures" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">Status</th>
              <th scope="col">What it means</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(([name, status]) => (
              <tr key={name}>
                <td>
                  <code>{status}</code>
                </td>
                <td>{responses[name]?.description}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Example({ of: [example] = [] }: { of: readonly unknown[] | undefined }): ReactNode {
  return (
    typeof example === 'object' && (
      <details>
        <summary>Example</summary>
        <pre role="group" tabIndex={0} aria-label="Example">
          <code>{JSON.stringify(example, null, 2)}</code>
        </pre>
      </details>
    )
  );
}

const tagId = (name: string): string => `tag-${name}`;
const titleOf = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);
