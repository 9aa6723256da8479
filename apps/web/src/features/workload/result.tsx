import { useState } from 'react';
import type { ReactNode } from 'react';
import { asObject } from '../../api/mcp.ts';
import type { Values } from '../../api/mcp.ts';
import { duration } from '../../ui/format.ts';
import { asJson } from '../../ui/json.ts';
import { LongText } from '../../ui/long-text.tsx';
import { ForeignText } from '../../ui/text.tsx';
import { useValidation } from '../../ui/validate.ts';
import { Block, maxBlocks } from './content.tsx';

/** The result of a call. Everything in it comes from the server, so it is framed and named as such. */
export default function Result({
  workload,
  result,
  ms,
  outputSchema,
}: {
  workload: string;
  result: Values;
  ms: number;
  outputSchema: unknown;
}): ReactNode {
  const [shown, setShown] = useState(maxBlocks);
  // A result can have megabytes, so it is only written as JSON when someone reads it.
  const [isOpen, setOpen] = useState(false);
  const isError = result['isError'] === true;
  const structured = result['structuredContent'];
  const blocks = [result['content'], result['contents'], result['messages']].flatMap((list) =>
    Array.isArray(list) ? (list as unknown[]) : [],
  );
  return (
    <div className="foreign">
      <span className="from">
        From {workload}, {duration(ms)}
        {isError && <strong className="problem"> – the tool reported an error</strong>}
      </span>
      {blocks.slice(0, shown).map((block, index) => (
        <Block key={index} block={asObject(block)} />
      ))}
      {blocks.length > shown && (
        <button type="button" onClick={() => setShown(shown + maxBlocks)}>
          Show {Math.min(maxBlocks, blocks.length - shown)} of {blocks.length - shown} more items
        </button>
      )}
      {structured !== undefined && (
        <>
          <h4>Structured result</h4>
          <LongText text={asJson(structured)} file="result.json" />
          {outputSchema !== undefined && <StructuredCheck schema={outputSchema} value={structured} />}
        </>
      )}
      {blocks.length === 0 && structured === undefined && <p className="quiet">The result is empty.</p>}
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>JSON</summary>
        {isOpen && <LongText text={asJson(result)} file="result.json" />}
      </details>
    </div>
  );
}

function StructuredCheck({ schema, value }: { schema: unknown; value: unknown }): ReactNode {
  const { problems, isChecked } = useValidation(schema, value);
  const found = Object.entries(problems);
  if (!isChecked) return <p className="quiet">The output schema could not be checked.</p>;
  if (found.length === 0) return <p className="good">It matches the output schema.</p>;
  return (
    <div className="problem">
      <p>It does not match the output schema:</p>
      <ul className="plain">
        {found.slice(0, 10).map(([pointer, problem]) => (
          <li key={pointer}>
            <code>
              <ForeignText>{pointer === '' ? '/' : pointer}</ForeignText>
            </code>{' '}
            <ForeignText>{problem}</ForeignText>
          </li>
        ))}
      </ul>
    </div>
  );
}
