import Heading from '@theme/Heading';
import type { ReactNode } from 'react';
import type { Answer, Call, Operation } from '../plugins/references/open-api.ts';
import { typeOf } from '../plugins/references/schema.ts';
import { FieldItem } from './Fields.tsx';
import { Prose, TypeName } from './prose.tsx';

/** One operation with its call, its responses, and its errors. */
export function OperationSection({ call: { method, path, operation } }: { call: Call }): ReactNode {
  const { operationId, summary, description, requestBody } = operation;
  const body = requestBody?.content['application/json']?.schema;
  return (
    <section className="api-part">
      <Heading as="h3" id={operationId}>
        {summary}
      </Heading>
      <p className="api-path">
        <span className={`api-method api-method--${method.toLowerCase()}`}>{method}</span> <code>{path}</code>
      </p>
      {description !== undefined && (
        <p>
          <Prose>{description}</Prose>
        </p>
      )}
      <Parameters operation={operation} />
      {body !== undefined && (
        <p>
          <span className="api-label">Body</span> <TypeName parts={typeOf(body)} />
        </p>
      )}
      <Answers operation={operation} />
      <Examples operation={operation} />
    </section>
  );
}

function Parameters({ operation: { parameters } }: { operation: Operation }): ReactNode {
  return (
    parameters.length > 0 && (
      <>
        <p className="api-label">Parameters</p>
        <ul className="api-fields">
          {parameters.map(({ name, in: place, required, description, schema }) => (
            <FieldItem
              key={name}
              field={{
                name,
                schema: { ...schema, ...(description && { description }) },
                isRequired: required,
              }}
              remark={`in the ${place}`}
            />
          ))}
        </ul>
      </>
    )
  );
}

function Answers({ operation: { responses } }: { operation: Operation }): ReactNode {
  const entries = Object.entries(responses);
  const failures = entries.filter(([, answer]) => '$ref' in answer);
  return (
    <>
      <p className="api-label">Answers</p>
      <ul className="api-fields">
        {entries.map(
          ([status, answer]) => '$ref' in answer || <Success key={status} status={status} answer={answer} />,
        )}
        <li data-unsearched>
          {failures.map(([status]) => (
            <span key={status}>
              <code>{status}</code>{' '}
            </span>
          ))}
          <a href="#failures">Failures</a>
        </li>
      </ul>
    </>
  );
}

function Success({ status, answer }: { status: string; answer: Answer }): ReactNode {
  const [media = 'application/json', content] = Object.entries(answer.content ?? {})[0] ?? [];
  return (
    <li>
      <code>{status}</code> {content !== undefined && <TypeName parts={typeOf(content.schema)} />}
      {media !== 'application/json' && <span className="api-remark"> {media}</span>}
      <p>
        <Prose>{answer.description}</Prose>
      </p>
    </li>
  );
}

/** The call in each language. The switch at the top selects the visible language. */
function Examples({ operation }: { operation: Operation }): ReactNode {
  const samples = operation['x-codeSamples'] ?? [];
  const isReachable = samples.some(({ label }) => label === 'JavaScript');
  return (
    <div className="api-examples" data-unsearched data-labels={samples.map(({ label }) => label).join(' ')}>
      {samples.map(({ label, source }) => (
        <pre key={label} data-label={label} role="group" tabIndex={0} aria-label={`Example in ${label}`}>
          <code>{source}</code>
        </pre>
      ))}
      <div className="api-buttons">
        <button type="button" className="api-button" data-copy>
          Copy
        </button>
        {isReachable && (
          <button type="button" className="api-button" data-try={operation.operationId}>
            Try it
          </button>
        )}
      </div>
    </div>
  );
}
